// The repository: its index, loads with and without a config or files of their own, unloads; statistics after all that.
import type { JsonObject } from '@bufbuild/protobuf'
import type { GrpcAsk } from '../ask.js'
import { bytes, call, floats, good, infer, input } from './make.js'

const load = (name: string, model_name: string, parameters: JsonObject = {}, repository_name = ''): GrpcAsk =>
  call(name, 'RepositoryModelLoad', { repository_name, model_name, parameters })
const unload = (name: string, model_name: string, parameters: JsonObject = {}): GrpcAsk =>
  call(name, 'RepositoryModelUnload', { model_name, parameters })
const index = (name: string, body: JsonObject = {}): GrpcAsk => call(name, 'RepositoryIndex', body)

/** A config as JSON, as a load has it as its parameter. */
const config = (change: object = {}): string =>
  JSON.stringify({
    name: 'overridden',
    backend: 'onnxruntime',
    max_batch_size: 0,
    input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
    output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
    instance_group: [{ kind: 'KIND_CPU', count: 1 }],
    ...change,
  })
const inBatches = {
  max_batch_size: 2,
  input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
  output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
}
const configured = (name: string, string_param: string): GrpcAsk =>
  load(name, 'overridden', { config: { string_param } })
const own = { config: { string_param: config() } }

const loads: readonly GrpcAsk[] = [
  index('index'),
  index('index: ready ones', { ready: true }),
  index('index of a repository by name', { repository_name: 'main' }),
  load('load', 'later'),
  infer('after the load', 'later', good),
  load('load again', 'later'),
  load('load: an unknown model', 'nothing'),
  load('load: no name', ''),
  load('load: a faulty config', 'broken'),
  call('ready after a load that failed', 'ModelReady', { name: 'broken' }),
  infer('after a load that failed', 'broken', good),
  load('load: no version', 'versionless'),
  load('load: an unknown parameter', 'later', { color: { string_param: 'red' } }),
  load('load: an unknown parameter, a number', 'later', { color: { int64_param: '1' } }),
  load('load: a parameter without a value', 'later', { color: {} }),
  load('load: a name that leads out', '../later'),
  load('load by the name of a repository', 'later', {}, 'main'),
  index('index after loads that failed'),
]

const overrides: readonly GrpcAsk[] = [
  configured('config: its own', config()),
  call('config after a config of its own', 'ModelConfig', { name: 'overridden' }),
  configured('config: batches', config(inBatches)),
  infer('with batches', 'overridden', { inputs: [input('FP32', [2, 1])], raw_input_contents: bytes(floats(1, 2)) }),
  configured('config: no JSON', '{'),
  configured('config: an empty text', ''),
  configured('config: an unknown field', config({ color: 'red' })),
  configured('config: a wrong type', config({ max_batch_size: 'many' })),
  configured('config: another name', config({ name: 'other' })),
  configured('config: a faulty one', config({ max_batch_size: -1 })),
  load('config: bytes', 'overridden', { config: { bytes_param: Buffer.from(config()).toString('base64') } }),
  load('config: a number', 'overridden', { config: { int64_param: '1' } }),
  load('config: nothing', 'overridden', { config: {} }),
  load('file without config', 'overridden', { 'file:1/model.onnx': { bytes_param: 'AAAA' } }),
  load('file that leads out', 'overridden', { ...own, 'file:../x': { bytes_param: 'AAAA' } }),
  load('file at the root', 'overridden', { ...own, 'file:/tmp/x': { bytes_param: 'AAAA' } }),
  load('file that is a text', 'overridden', { ...own, 'file:1/model.onnx': { string_param: 'AAAA' } }),
  load('file that is a number', 'overridden', { ...own, 'file:1/model.onnx': { int64_param: '1' } }),
]

const unloads: readonly GrpcAsk[] = [
  unload('unload', 'later'),
  call('ready after an unload', 'ModelReady', { name: 'later' }),
  unload('unload again', 'later'),
  unload('unload: an unknown model', 'nothing'),
  unload('unload: no name', ''),
  unload('unload: dependents', 'overridden', { unload_dependents: { bool_param: true } }),
  unload('unload: dependents is a text', 'fp64', { unload_dependents: { string_param: 'yes' } }),
  unload('unload: an unknown parameter', 'fp64', { color: { int64_param: '1' } }),
  load('load after an unload', 'later'),
  call('ready after all that', 'ServerReady'),
]

/** Of models whose counters no refused value decides. */
const counted = [
  'batched',
  'two',
  'classes',
  'reshaped',
  'full',
  'rejects',
  'delays',
  'shortens',
  'endless',
  'levels',
  'gathers',
  'versions',
]
const statistics = counted.map((name) => call(`statistics of ${name}, after all that`, 'ModelStatistics', { name }))

export const controlCalls: readonly GrpcAsk[] = [...loads, ...overrides, ...unloads, ...statistics]
