// The repository: its index, loads with and without a config of their own, unloads.
import type { Ask } from '../ask.js'
import { get, infer, input, post, type Json } from './make.js'

const load = (name: string, model: string, body: Json | string = '') =>
  post(name, `/v2/repository/models/${model}/load`, body)
const unload = (name: string, model: string, body: Json | string = '') =>
  post(name, `/v2/repository/models/${model}/unload`, body)
const index = (name: string, body: Json | string = '') => post(name, '/v2/repository/index', body)
const good = { inputs: [input('FP32', [2], [1, 2])] }

/** A config as JSON, as a load has it as its parameter. */
const config = (change: Json = {}) =>
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
const configured = (name: string, text: unknown) => load(name, 'overridden', { parameters: { config: text } })

const indexes: readonly Ask[] = [
  index('index'),
  index('index: an object', {}),
  index('index: ready ones', { ready: true }),
  index('index: ready or not', { ready: false }),
  index('index: ready is a text', { ready: 'yes' }),
  index('index: no JSON', 'x'),
  post('index of a repository by name', '/v2/repository/main/index'),
]

const loads: readonly Ask[] = [
  load('load', 'later'),
  get('/v2/models/later/versions/1/ready'),
  infer('after the load', 'later', good),
  load('load again', 'later'),
  load('load: an unknown model', 'nothing'),
  load('load: a faulty config', 'broken'),
  get('/v2/models/broken/ready'),
  infer('after a load that failed', 'broken', good),
  load('load: a config that is none', 'garbled'),
  load('load: no version', 'versionless'),
  load('load: no JSON', 'later', '{'),
  load('load: a list', 'later', '[]'),
  load('load: parameters are a list', 'later', { parameters: [] }),
  load('load: an unknown parameter', 'later', { parameters: { color: 'red' } }),
  load('load: an unknown parameter, a number', 'later', { parameters: { color: 1 } }),
  load('load: a name that leads out', '..%2Flater'),
  load('load: an empty name', ''),
  index('index after loads that failed'),
]

const overrides: readonly Ask[] = [
  configured('config: its own', config()),
  get('/v2/models/overridden/config'),
  infer('after a config of its own', 'overridden', { inputs: [input('FP32', [1, 2], [1, 2])] }),
  configured('config: batches', config(inBatches)),
  get('/v2/models/overridden'),
  infer('with batches', 'overridden', { inputs: [input('FP32', [2, 3], [1, 2, 3, 4, 5, 6])] }),
  configured('config: no JSON', '{'),
  configured('config: a number', 1),
  configured('config: an object', {}),
  configured('config: an empty text', ''),
  configured('config: an unknown field', config({ color: 'red' })),
  configured('config: a wrong type', config({ max_batch_size: 'many' })),
  configured('config: another name', config({ name: 'other' })),
  configured('config: a faulty one', config({ max_batch_size: -1 })),
  configured('config: an unknown backend', config({ backend: 'nothing' })),
  infer('the old one is at work still', 'overridden', { inputs: [input('FP32', [2, 3], [1, 2, 3, 4, 5, 6])] }),
  index('index after configs that failed'),
  configured('config: empty', '{}'),
  load('file without config', 'overridden', { parameters: { 'file:1/model.onnx': 'AAAA' } }),
  load('file that leads out', 'overridden', { parameters: { config: config(), 'file:../x': 'AAAA' } }),
  load('file at the root', 'overridden', { parameters: { config: config(), 'file:/tmp/x': 'AAAA' } }),
  load('file that is not base64', 'overridden', { parameters: { config: config(), 'file:1/model.onnx': '***' } }),
  load('file that is a number', 'overridden', { parameters: { config: config(), 'file:1/model.onnx': 1 } }),
]

const unloads: readonly Ask[] = [
  unload('unload', 'later'),
  index('index after an unload, of ready ones', { ready: true }),
  get('/v2/models/later/versions/1/config'),
  unload('unload again', 'later'),
  unload('unload: an unknown model', 'nothing'),
  unload('unload: one that never loaded', 'broken'),
  unload('unload: no JSON', 'overridden', '{'),
  unload('unload: dependents', 'overridden', { parameters: { unload_dependents: true } }),
  unload('unload: dependents is a text', 'fp64', { parameters: { unload_dependents: 'yes' } }),
  unload('unload: an unknown parameter', 'fp64', { parameters: { color: 1 } }),
  load('load after an unload', 'later'),
  infer('after that', 'later', good),
]

const after: readonly Ask[] = [
  { ...get('/v2/health/ready'), name: 'ready after all that' },
  { ...get('/v2/health/live'), name: 'live after all that' },
  post('load by the name of a repository', '/v2/repository/main/models/later/load'),
]

export const controlAsks: readonly Ask[] = [...indexes, ...loads, ...overrides, ...unloads, ...after]
