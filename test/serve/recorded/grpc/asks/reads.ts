// What is asked of the server and of models without an inference.
import type { GrpcAsk } from '../ask.js'
import { typed } from '../../repository.js'
import { call, raw } from './make.js'

const healthOf = (service: string): GrpcAsk =>
  call(`health of '${service}'`, 'grpc.health.v1.Health/Check', { service })

const server: readonly GrpcAsk[] = [
  call('live', 'ServerLive'),
  call('ready', 'ServerReady'),
  call('server', 'ServerMetadata'),
  ...['', 'inference.GRPCInferenceService', 'grpc.health.v1.Health', 'nothing'].map(healthOf),
  { ...call('watch', 'grpc.health.v1.Health/Watch'), leavesAfter: 1 },
  { ...call('watch of an unknown service', 'grpc.health.v1.Health/Watch', { service: 'nothing' }), leavesAfter: 1 },
]

const at = (method: string, what: string, names: readonly string[]): readonly GrpcAsk[] =>
  names.map((each) => {
    const [name = '', version = ''] = each.split('/')
    return call(`${what} of '${each}'`, method, { name, version })
  })

const unknown = ['', 'nothing', 'nothing/1', 'fp32/2', 'fp32/x', 'fp32/-1', 'fp32/01', 'fp32/0', 'later']

const models: readonly GrpcAsk[] = [
  ...at('ModelReady', 'ready', [
    'fp32',
    'fp32/1',
    'versions',
    'versions/2',
    'chosen/2',
    'newest/10',
    'newest/9',
    ...unknown,
  ]),
  ...at('ModelMetadata', 'metadata', [
    ...typed.map((datatype) => datatype.toLowerCase()),
    ...['batched', 'two', 'reshaped', 'scalar', 'classes', 'versions', 'versions/2', 'chosen', 'newest'],
    ...unknown,
  ]),
  ...at('ModelConfig', 'config', [
    'batched',
    'two',
    'reshaped',
    'classes',
    'versions',
    'chosen',
    'full',
    'delays',
    'levels',
    ...unknown,
  ]),
  ...at('ModelStatistics', 'statistics', ['', 'fp32', 'versions/2', ...unknown.slice(1)]),
]

const garbled: readonly GrpcAsk[] = [
  raw('a message that is none', 'ModelReady', Buffer.of(0x0a, 0xff)),
  raw('a message with a text that is not UTF-8', 'ModelReady', Buffer.of(0x0a, 2, 0xff, 0xfe)),
  raw(
    'a message with a field that nobody knows',
    'ModelReady',
    Buffer.of(0x0a, 4, ...Buffer.from('fp32'), 0x7a, 1, 65),
  ),
  raw('a message with a field of another kind', 'ModelReady', Buffer.of(0x08, 1)),
  raw('a message with a field twice', 'ModelReady', Buffer.of(0x0a, 1, 120, 0x0a, 4, ...Buffer.from('fp32'))),
  raw('a message of zeros', 'ModelReady', Buffer.alloc(8)),
  raw('an empty message', 'ModelMetadata', Buffer.alloc(0)),
  raw('no message', 'ModelReady'),
  raw('two messages', 'ServerLive', Buffer.alloc(0), Buffer.alloc(0)),
]

const absent: readonly GrpcAsk[] = [
  raw('an unknown method', 'Nothing', Buffer.alloc(0)),
  raw('an unknown service', 'nothing.Service/ServerLive', Buffer.alloc(0)),
  raw('reflection', 'grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo', Buffer.of(0x3a, 0)),
  call('system shared memory', 'SystemSharedMemoryStatus'),
  call('system shared memory, one', 'SystemSharedMemoryStatus', { name: 'region' }),
  call('system shared memory, register', 'SystemSharedMemoryRegister', {
    name: 'region',
    key: '/none',
    byte_size: '8',
  }),
  call('system shared memory, unregister', 'SystemSharedMemoryUnregister'),
  call('CUDA shared memory', 'CudaSharedMemoryStatus'),
  call('CUDA shared memory, register', 'CudaSharedMemoryRegister', {
    name: 'region',
    raw_handle: 'AAAA',
    byte_size: '8',
  }),
  call('CUDA shared memory, unregister', 'CudaSharedMemoryUnregister'),
  call('trace settings', 'TraceSetting'),
  call('trace settings, change', 'TraceSetting', {
    model_name: 'fp32',
    settings: { trace_level: { value: ['TIMESTAMPS'] } },
  }),
  call('log settings', 'LogSettings'),
  call('log settings, change', 'LogSettings', { settings: { log_verbose_level: { uint32_param: 0 } } }),
]

export const readCalls: readonly GrpcAsk[] = [...server, ...models, ...garbled, ...absent]
