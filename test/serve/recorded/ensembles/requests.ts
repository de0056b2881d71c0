// The recorded requests for ensembles, over HTTP and then over gRPC, in the order in which they are sent.
import type { Ask } from '../ask.js'
import { binary, floats, get, infer, input, inputOf, type Json, post } from '../asks/make.js'
import type { GrpcAsk } from '../grpc/ask.js'
import * as grpc from '../grpc/asks/make.js'

const of = (shape: readonly number[], data: readonly number[], name = 'IN', datatype = 'FP32'): Json =>
  input(datatype, shape, data, name)
const good: Json = { inputs: [of([2], [1, 2])] }
const row: Json = { inputs: [of([1, 4], [4, 3, 2, 1])] }
const parted: Json = { inputs: [of([1, 3], [1, 2, 3]), of([1, 3], [4, 5, 6], 'IN1', 'INT32')] }

const names = [
  'straight',
  'chain',
  'rows',
  'diamond',
  'between',
  'part',
  'nested',
  'labelled',
  'classified',
  'open',
  'numbered',
  'lazy',
]

const reads: readonly Ask[] = [
  post('index at first', '/v2/repository/index'),
  get('/v2/models/stats'),
  ...names.flatMap((name) => [get(`/v2/models/${name}`), get(`/v2/models/${name}/config`)]),
  get('/v2/models/chain/ready'),
  get('/v2/models/chain/versions/2/ready'),
  get('/v2/models/numbered/versions/1'),
]

const infers: readonly Ask[] = [
  infer('one step', 'straight', good),
  infer('two steps', 'chain', good),
  infer('two steps, with an id', 'chain', { ...good, id: 'x' }),
  infer('no elements', 'chain', { inputs: [of([0], [])] }),
  binary(
    'two steps, in bytes',
    'chain',
    { inputs: [inputOf('FP32', [2], 8, 'IN')], parameters: { binary_data_output: true } },
    floats(1, 2),
  ),
  infer('rows', 'rows', { inputs: [of([2, 4], [1, 2, 3, 4, 5, 6, 7, 8])] }),
  infer('more rows than there may be', 'rows', { inputs: [of([5, 4], Array<number>(20).fill(1))] }),
  infer('no rows', 'rows', { inputs: [of([0, 4], [])] }),
  infer('a diamond', 'diamond', good),
  infer('a diamond, one output', 'diamond', { ...good, outputs: [{ name: 'MORE' }] }),
  infer('what lies between', 'between', good),
  infer('what lies between, alone', 'between', { ...good, outputs: [{ name: 'MID' }] }),
  infer('a part of the outputs', 'part', parted),
  infer('an ensemble in an ensemble', 'nested', good),
  infer('versions', 'numbered', good),
  infer('an older version', 'numbered/1', good),
  infer('a version that is not there', 'numbered/2', good),
  infer('any size for a row', 'open', { inputs: [of([1, 4], [1, 2, 3, 4])] }),
  infer('a size that the step has not', 'open', { inputs: [of([1, 3], [1, 2, 3])] }),
  infer('a step that rejects', 'rejecting', row),
  infer('a step that rejects, with an id', 'rejecting', { ...row, id: 'y' }),
]

const faults: readonly Ask[] = [
  infer('no inputs', 'chain', { inputs: [] }),
  infer('an unknown input', 'chain', { inputs: [of([2], [1, 2], 'INPUT0')] }),
  infer('an unknown input beside the right one', 'chain', { inputs: [of([2], [1, 2]), of([2], [1, 2], 'x')] }),
  infer('what lies between as an input', 'chain', { inputs: [of([2], [1, 2], 'MID')] }),
  infer('an input is missing', 'part', { inputs: [of([1, 3], [1, 2, 3])] }),
  infer('a wrong type', 'chain', { inputs: [of([2], [1, 2], 'IN', 'INT32')] }),
  infer('a wrong rank', 'chain', { inputs: [of([1, 2], [1, 2])] }),
  infer('a wrong size', 'rows', { inputs: [of([1, 5], [1, 2, 3, 4, 5])] }),
  infer('batches that differ', 'part', {
    inputs: [of([1, 3], [1, 2, 3]), of([2, 3], [1, 2, 3, 4, 5, 6], 'IN1', 'INT32')],
  }),
  infer('an unknown output', 'chain', { ...good, outputs: [{ name: 'x' }] }),
  infer('what lies between as an output', 'chain', { ...good, outputs: [{ name: 'MID' }] }),
  infer('an output of a step', 'chain', { ...good, outputs: [{ name: 'OUTPUT0' }] }),
]

const classes = (name: string, model: string, count: number): Ask =>
  infer(name, model, { ...row, outputs: [{ name: 'OUT', parameters: { classification: count } }] })

const wishes: readonly Ask[] = [
  classes('classes by labels of the ensemble', 'labelled', 2),
  classes('classes by labels of its last step', 'classified', 2),
  classes('classes whose labels are of a step before', 'unclassified', 2),
  classes('classes without labels', 'rows', 1),
  infer('a priority', 'chain', { ...good, parameters: { priority: 1 } }),
  infer('a timeout', 'chain', { ...good, parameters: { timeout: 60_000_000 } }),
  infer('parameters', 'chain', { ...good, parameters: { color: 'red', size: 1, round: true } }),
  infer('a sequence', 'chain', { ...good, parameters: { sequence_id: 7, sequence_start: true, sequence_end: true } }),
]

const load = (name: string, model: string, body: Json | string = '') =>
  post(name, `/v2/repository/models/${model}/load`, body)
const unload = (name: string, model: string, body: Json | string = '') =>
  post(name, `/v2/repository/models/${model}/unload`, body)
const again = (name: string, ask: Ask): Ask => ({ ...ask, name })
const dependents = { parameters: { unload_dependents: true } }

const control: readonly Ask[] = [
  ...['chain', 'fp32', 'rows', 'diamond', 'nested', 'rejecting', 'rejects', 'join'].map((name) =>
    get(`/v2/models/${name}/stats`),
  ),
  again('before its load', get('/v2/models/lazy/ready')),
  load('load: its step comes too', 'lazy'),
  again('after its load', get('/v2/models/lazy/ready')),
  again('its step, after the load', get('/v2/models/late/ready')),
  infer('after its load, an inference', 'lazy', good),
  unload('unload: its step stays', 'lazy'),
  again('its step, after the unload', get('/v2/models/late/ready')),
  load('load again', 'lazy'),
  unload('unload with dependents', 'lazy', dependents),
  again('its step, after the unload with dependents', get('/v2/models/late/ready')),
  again('a step of others, after the unload with dependents', get('/v2/models/fp32/ready')),
  load('load: an ensemble of an ensemble', 'lazier'),
  infer('an ensemble that was loaded as a step', 'lazy', good),
  unload('unload: a step of a loaded ensemble', 'late'),
  again('an ensemble whose step is gone', get('/v2/models/lazy/ready')),
  infer('an inference of an ensemble whose step is gone', 'lazy', good),
  infer('an inference of an ensemble of that', 'lazier', good),
  post('index with an ensemble whose step is gone', '/v2/repository/index'),
  load('load: the step comes back', 'late'),
  again('an ensemble whose step is back', get('/v2/models/lazy/ready')),
  infer('an inference after the step is back', 'lazy', good),
  load('load: a step without batches becomes one with', 'late', {
    parameters: {
      config: JSON.stringify({
        name: 'late',
        backend: 'onnxruntime',
        max_batch_size: 4,
        input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
        output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
        instance_group: [{ kind: 'KIND_CPU' }],
      }),
    },
  }),
  again('an ensemble whose step fits no longer', get('/v2/models/lazy/ready')),
  infer('an inference of an ensemble whose step fits no longer', 'lazy', good),
  post('index with an ensemble whose step fits no longer', '/v2/repository/index'),
  unload('unload of all with dependents', 'lazier', dependents),
  load('load: a step that cannot be loaded', 'hopeless'),
  load('load: a step that is not there', 'missing'),
  post('index at last', '/v2/repository/index'),
]

export const asks: readonly Ask[] = [...reads, ...infers, ...faults, ...wishes, ...control]

const floatsOf = (...values: readonly number[]) => grpc.bytes(floats(...values))
const given = { inputs: [grpc.input('FP32', [2], undefined, 'IN')], raw_input_contents: floatsOf(1, 2) }
const rowOf = { inputs: [grpc.input('FP32', [1, 4], undefined, 'IN')], raw_input_contents: floatsOf(4, 3, 2, 1) }

/** Of a Triton or server of its own, since the HTTP ones leave it changed. */
export const calls: readonly GrpcAsk[] = [
  ...['straight', 'rows', 'diamond', 'nested', 'labelled'].flatMap((name) => [
    grpc.call(`metadata of ${name}`, 'ModelMetadata', { name }),
    grpc.call(`config of ${name}`, 'ModelConfig', { name }),
  ]),
  grpc.infer('two steps', 'chain', given),
  grpc.infer('two steps, with an id', 'chain', { ...given, id: 'x' }),
  grpc.infer('contents', 'chain', { inputs: [grpc.input('FP32', [2], { fp32_contents: [1, 2] }, 'IN')] }),
  grpc.infer('rows', 'rows', rowOf),
  grpc.infer('a diamond', 'diamond', given),
  grpc.infer('one output', 'diamond', { ...given, outputs: [{ name: 'MORE' }] }),
  grpc.infer('classes', 'labelled', {
    ...rowOf,
    outputs: [{ name: 'OUT', parameters: { classification: { int64_param: '1' } } }],
  }),
  grpc.infer('parameters', 'chain', { ...given, parameters: { color: { string_param: 'red' } } }),
  grpc.infer('an unknown input', 'chain', { ...given, inputs: [grpc.input('FP32', [2], undefined, 'INPUT0')] }),
  grpc.infer('a wrong type', 'chain', { ...given, inputs: [grpc.input('INT32', [2], undefined, 'IN')] }),
  grpc.infer('an unknown output', 'chain', { ...given, outputs: [{ name: 'MID' }] }),
  grpc.infer('a step that rejects', 'rejecting', rowOf),
  grpc.stream('stream', grpc.request('chain', { ...given, id: '1' }), grpc.request('rejecting', { ...rowOf, id: '2' })),
  grpc.call('load', 'RepositoryModelLoad', { model_name: 'lazy' }),
  grpc.call('a step that came with it', 'ModelReady', { name: 'late' }),
  grpc.call('unload with dependents', 'RepositoryModelUnload', {
    model_name: 'lazy',
    parameters: { unload_dependents: { bool_param: true } },
  }),
  grpc.call('a step that went with it', 'ModelReady', { name: 'late' }),
  grpc.call('load: a step that is not there', 'RepositoryModelLoad', { model_name: 'missing' }),
  grpc.call('statistics of the ensemble', 'ModelStatistics', { name: 'chain' }),
  grpc.call('statistics of its step', 'ModelStatistics', { name: 'fp32' }),
]
