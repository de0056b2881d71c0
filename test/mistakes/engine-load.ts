// Engine.load: sources, options of both groups and at the top, their old places, and words of other programs.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReadStream } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Engine as TypedEngine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { oneNode, reluModel, reshapeModel, foreignInput } from '../support/models.js'
import { argument, type Room, wrongly } from './table.js'

const Engine = wrongly(TypedEngine)
const cpu = { backend: 'cpu' } as const

/** A model of a newer ONNX, or with a custom operator. */
function odd(kind: 'newer' | 'custom'): Uint8Array {
  const g = new GraphBuilder({ name: kind, domains: { my: 1 } })
  const [name, domain] = kind === 'newer' ? ['Relu', ''] : ['MyOp', 'my']
  g.output(g.node(name, [g.input('x', 'float32', [4])], {}, { output: 'y', domain }), 'float32', [4])
  const model = g.toModel()
  if (kind === 'newer') model.irVersion = 50n
  return writeModel(model)
}

const sources: Room = ({ folder }) => {
  const model = reluModel()
  const file = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const onnx = file('model.onnx', model)
  const empty = file('empty.onnx', '')
  const page = file('page.onnx', '<!DOCTYPE html><html><body>404</body></html>')
  const cut = file('cut.onnx', model.subarray(0, model.length / 2))
  const plan = Buffer.from('ftrt')
  return [
    [() => Engine.load(), argument, ['Expected a path', 'for source but received undefined']],
    [() => Engine.load({ model: onnx }), argument, ['Expected a path', 'received Object']],
    [() => Engine.load([onnx]), argument, ['Expected a path', 'for source', 'array of 1']],
    [() => Engine.load(null, cpu), argument, ['for source but received null']],
    [() => Engine.load(''), argument, ['for source but received string ""']],
    [() => Engine.load(Promise.resolve(onnx)), argument, ['for source', 'a Promise: await it']],
    [() => Engine.load(import('node:fs')), argument, ['a Promise: await it']],
    [() => Engine.load(createReadStream(onnx)), argument, ['for source', 'ReadStream']],
    [() => Engine.load(new Float32Array(8)), argument, ['for source but received Float32Array']],
    [() => Engine.load('https://example.com/model.onnx'), argument, ['download it first']],
    [() => Engine.load(new URL('https://example.com/model.onnx')), argument, ['download it first']],
    [() => Engine.load('s3://bucket/model.onnx'), argument, ['download it first']],
    [() => Engine.load('hf://org/model'), argument, ['download it first']],
    [() => Engine.load('nope.onnx', cpu), 'ERR_TRT_FILE', ['nope.onnx', 'no such file']],
    [() => Engine.load(join(folder, 'models', 'nope.onnx'), cpu), 'ERR_TRT_FILE', ['nope.onnx', 'there is no folder']],
    [() => Engine.load(folder, cpu), 'ERR_TRT_FILE', ['is a folder']],
    [() => Engine.load(pathToFileURL(folder), cpu), 'ERR_TRT_FILE', ['is a folder']],
    [() => Engine.load(empty, cpu), 'ERR_TRT_MODEL_FORMAT', ['empty']],
    [() => Engine.load(new Uint8Array(), cpu), 'ERR_TRT_MODEL_FORMAT', ['0 bytes']],
    [() => Engine.load(page, cpu), 'ERR_TRT_MODEL_FORMAT', ['page.onnx']],
    [() => Engine.load(Buffer.from('{"nodes": []}'), cpu), 'ERR_TRT_MODEL_FORMAT', ['ONNX']],
    [() => Engine.load(cut, cpu), 'ERR_TRT_ONNX_PARSE', ['model']],
    [() => Engine.load(plan, cpu), argument, ['TensorRT plan', 'only TensorRT runs it', 'ONNX']],
    [() => Engine.load(foreignInput(), cpu), 'ERR_TRT_DTYPE', ['input "s"', 'float8e5m2', 'What to do']],
    [() => Engine.load(oneNode('NoSuchOperator'), cpu), 'ERR_TRT_ONNX_PARSE', ['NoSuchOperator']],
    [
      () => Engine.load(odd('newer'), cpu),
      'ERR_TRT_ONNX_PARSE',
      ['The model has IR version 50', 'supports up to', 'To fix'],
      'onnxruntime_src',
    ],
    [
      () => Engine.load(odd('custom'), cpu),
      'ERR_TRT_ONNX_PARSE',
      ['no operator my:MyOp', 'cpu: { customOps'],
      ['onnxruntime_src', 'Fatal error'],
    ],
    [() => Engine.load(Tensor.zeros('uint8', [8])), argument, ['for source', 'Tensor']],
  ]
}

const options: Room = () => {
  const model = reluModel(['N', 4])
  const load = (options?: unknown) => Engine.load(model, options)
  const shapes = { x: { min: [1, 4], opt: [2, 4], max: [4, 4] } }
  return [
    [() => load('cpu'), argument, ['an object for the options of Engine', 'string "cpu"']],
    [() => load(null), argument, ['the options of Engine', 'null']],
    [() => load([cpu]), argument, ['the options of Engine', 'array of 1']],
    [() => load({ backend: 'gpu' }), argument, ["'auto', 'tensorrt', 'cpu'", 'for backend', '"gpu"']],
    [() => load({ backend: 'cuda' }), argument, ["'tensorrt'", 'for backend']],
    [() => load({ backend: 'CPU' }), argument, ["'cpu'", 'for backend']],
    [() => load({ backend: 'onnxruntime' }), argument, ["'cpu'", 'for backend']],
    [() => load({ backend: ['tensorrt', 'cpu'] }), argument, ['for backend', 'array of 2']],
    [() => load({ backend: true }), argument, ['for backend', 'true']],
    [() => load({ backend: null }), argument, ['for backend', 'null']],
    [() => load({ backned: 'cpu' }), argument, ['did you mean backend?']],
    [() => load({ Backend: 'cpu' }), argument, ['did you mean backend?']],
    // the old places
    [() => load({ tensorrt: '/usr/local/tensorrt' }), argument, ['for tensorrt', 'the path is tensorrt.library']],
    [() => load({ tensorrt: new URL('file:///opt/trt') }), argument, ['the path is tensorrt.library']],
    [() => load({ tensorrt: true }), argument, ['tensorrt', 'true']],
    [() => load({ tensorrt: null }), argument, ['tensorrt', 'null']],
    [() => load({ cpu: true }), argument, ['cpu', 'true']],
    [() => load({ cpu: 4 }), argument, ['cpu', 'number 4']],
    [() => load({ cpu: 'onnxruntime.so' }), argument, ['the path is cpu.library']],
    [() => load({ device: 0 }), argument, ['did you mean tensorrt.device?']],
    [() => load({ library: '/opt/trt' }), argument, ['did you mean tensorrt.library?']],
    [() => load({ builder: { precision: 'fp16' } }), argument, ['did you mean tensorrt.builder?']],
    [() => load({ cudaGraph: true }), argument, ['did you mean tensorrt.cudaGraph?']],
    [() => load({ memoryLimit: 2 ** 30 }), argument, ['did you mean tensorrt.memoryLimit?']],
    [() => load({ profile: 0 }), argument, ['did you mean tensorrt.profile?']],
    [() => load({ priority: 'high' }), argument, ['did you mean tensorrt.priority?']],
    [() => load({ plugins: ['a.so'] }), argument, ['did you mean tensorrt.plugins?']],
    [() => load({ hostCode: true }), argument, ['did you mean tensorrt.hostCode?']],
    [() => load({ weights: 'model.onnx' }), argument, ['did you mean tensorrt.weights?']],
    [() => load({ wait: 'spin' }), argument, ['did you mean tensorrt.wait?']],
    [() => load({ threads: 4 }), argument, ['did you mean cpu.threads?']],
    [() => load({ optimization: 'all' }), argument, ['did you mean cpu.optimization?']],
    [() => load({ onnxruntime: { path: 'x' } }), argument, ['did you mean cpu?']],
    // options of a group in the other, or of a place below
    [() => load({ tensorrt: { threads: 4 } }), argument, ['"threads" for tensorrt', 'It knows']],
    [() => load({ tensorrt: { path: '/opt/trt' } }), argument, ['"path" for tensorrt', 'library']],
    [() => load({ tensorrt: { gpu: 0 } }), argument, ['"gpu" for tensorrt', 'device']],
    [() => load({ tensorrt: { deviceId: 0 } }), argument, ['did you mean device?']],
    [() => load({ tensorrt: { fp16: true } }), argument, ['"fp16" for tensorrt', 'builder']],
    [() => load({ tensorrt: { precision: 'fp16' } }), argument, ['"precision" for tensorrt', 'builder']],
    [() => load({ tensorrt: { workspace: '4g' } }), argument, ['"workspace" for tensorrt', 'builder']],
    [() => load({ tensorrt: { builder: 'fp16' } }), argument, ['builder', '"fp16"']],
    [() => load({ tensorrt: { builder: { precision: 'half' } } }), argument, ['precision', "'fp16'", '"half"']],
    [() => load({ tensorrt: { builder: { fp16: true } } }), argument, ["precision: 'fp16' says it"]],
    [
      () => load({ tensorrt: { builder: { tensorrt: { device: 1 } } } }),
      argument,
      ["the engine's own library and GPU build", 'tensorrt.builder.tensorrt'],
    ],
    [() => load({ tensorrt: { device: 'cuda:0' } }), argument, ['the number of a GPU', 'tensorrt.device', '"cuda:0"']],
    [() => load({ tensorrt: { device: -1 } }), argument, ['the number of a GPU', 'tensorrt.device', '-1']],
    [() => load({ tensorrt: { device: '0' } }), argument, ['the number of a GPU', 'tensorrt.device', '"0"']],
    [() => load({ tensorrt: { memoryLimit: '2g' } }), argument, ['a number of bytes', 'tensorrt.memoryLimit', '"2g"']],
    [() => load({ tensorrt: { memoryLimit: 0.5 } }), argument, ['a number of bytes', 'tensorrt.memoryLimit', '0.5']],
    [() => load({ tensorrt: { cudaGraph: 'yes' } }), argument, ["'auto', true or false", 'tensorrt.cudaGraph']],
    [() => load({ tensorrt: { profile: 'first' } }), argument, ["'auto' or the number", 'tensorrt.profile']],
    [() => load({ tensorrt: { priority: 1 } }), argument, ["'normal' or 'high'", 'tensorrt.priority']],
    [() => load({ tensorrt: { wait: 'blocking' } }), argument, ["'spin', 'block', 'adaptive'", 'tensorrt.wait']],
    [() => load({ tensorrt: { plugins: 'a.so' } }), argument, ['an array of paths', 'tensorrt.plugins', '"a.so"']],
    [() => load({ tensorrt: { hostCode: 'yes' } }), argument, ['true or false', 'tensorrt.hostCode']],
    [() => load({ tensorrt: { anyGpu: 1 } }), argument, ['true or false', 'tensorrt.anyGpu']],
    [() => load({ tensorrt: { library: '' } }), argument, ['a path', 'tensorrt.library', '""']],
    [
      () => load({ tensorrt: { library: 'https://nvidia.com/trt.tar' } }),
      argument,
      ['tensorrt.library', 'download it first'],
    ],
    [() => load({ cpu: { threads: 0 } }), argument, ['a number of threads from 1 to 1024', 'cpu.threads']],
    [() => load({ cpu: { threads: 'all' } }), argument, ['a number of threads', 'cpu.threads', '"all"']],
    [() => load({ cpu: { thread: 2 } }), argument, ['did you mean threads?']],
    [() => load({ cpu: { optimization: 99 } }), argument, ["'disabled', 'basic'", 'cpu.optimization', '99']],
    [() => load({ cpu: { optimization: 'ORT_ENABLE_ALL' } }), argument, ["'all'", 'cpu.optimization']],
    [() => load({ cpu: { config: new Map() } }), argument, ['Object.fromEntries(map)', 'cpu.config']],
    [
      () => load({ cpu: { config: { 'session.disable_prepacking': 1 } } }),
      argument,
      ['a string', 'session.disable_prepacking', 'number 1'],
    ],
    [() => load({ cpu: { customOps: 'ops.so' } }), argument, ['an array of paths', 'cpu.customOps', '"ops.so"']],
    [() => load({ cpu: { customOps: [5] } }), argument, ['a path', 'cpu.customOps[0]', 'number 5']],
    [() => load({ customOps: ['ops.so'] }), argument, ['did you mean cpu.customOps?']],
    [
      () => load({ ...cpu, cpu: { customOps: ['/nowhere/ops.so'] } }),
      'ERR_TRT_FILE',
      ['custom operators of /nowhere/ops.so', 'RegisterCustomOps'],
    ],
    [() => load({ freeDimensions: ['N'] }), argument, ['a record of sizes by dimension', 'freeDimensions']],
    [() => load({ freeDimensions: new Map([['N', 1]]) }), argument, ['Object.fromEntries(map)', 'freeDimensions']],
    [() => load({ freeDimensions: { N: 0 } }), argument, ['a size from 1', 'freeDimensions["N"]', 'number 0']],
    [() => load({ freeDimensions: { N: '1' } }), argument, ['a size from 1', 'freeDimensions["N"]', 'string "1"']],
    [() => load({ ...cpu, freeDimensions: { n: 1 } }), argument, ['"n"', 'did you mean "N"?']],
    [() => load({ freeDimension: { N: 1 } }), argument, ['did you mean freeDimensions?']],
    [() => load({ cpu: { library: 5 } }), argument, ['a path', 'cpu.library', 'number 5']],
    [
      () => load({ ...cpu, cpu: { library: '/nowhere/libonnxruntime.so' } }),
      'ERR_TRT_NO_ONNXRUNTIME',
      ['/nowhere/libonnxruntime.so'],
    ],
    [() => load({ cpu: { device: 0 } }), argument, ['"device" for cpu', 'It knows']],
    // words of onnxruntime, ultralytics, trtexec and torch
    [() => load({ executionProviders: ['cuda', 'cpu'] }), argument, ["backend: 'tensorrt', 'cpu' or 'auto'"]],
    [() => load({ graphOptimizationLevel: 'all' }), argument, ['cpu: { optimization }']],
    [() => load({ freeDimensionOverrides: { N: 1 } }), argument, ['freeDimensions is its name']],
    [() => load({ intraOpNumThreads: 4 }), argument, ['cpu: { threads }']],
    [() => load({ interOpNumThreads: 4 }), argument, ['cpu: { threads }']],
    [() => load({ enableProfiling: true }), argument, ['engine.layers()']],
    [() => load({ logSeverityLevel: 3 }), argument, ['onLog(listener, level)']],
    [() => load({ executionMode: 'parallel' }), argument, ['"executionMode" for Engine']],
    [() => load({ half: true }), argument, ["tensorrt: { builder: { precision: 'fp16' } }"]],
    [() => load({ fp16: true }), argument, ["tensorrt: { builder: { precision: 'fp16' } }"]],
    [() => load({ int8: true }), argument, ["tensorrt: { builder: { precision: 'int8' } }"]],
    [() => load({ precision: 'fp16' }), argument, ['tensorrt: { builder: { precision } }']],
    [() => load({ maxBatchSize: 8 }), argument, ['batching: { maxBatch } is its place']],
    [() => load({ workspace: 4096 }), argument, ['"workspace" for Engine']],
    [() => load({ optShapes: shapes }), argument, ['shapes: { input: { min, opt, max } }']],
    [() => load({ verbose: true }), argument, ['onLog(listener, level)']],
    [() => load({ provider: 'CUDAExecutionProvider' }), argument, ['"provider" for Engine']],
    // what every runtime means
    [() => load({ lanes: 0 }), argument, ['a number of lanes from 1 to 64', 'number 0']],
    [() => load({ lanes: 'auto' }), argument, ['a number of lanes from 1 to 64', '"auto"']],
    [() => load({ lanes: 128 }), argument, ['a number of lanes from 1 to 64', '128']],
    [() => load({ lane: 2 }), argument, ['did you mean lanes?']],
    [() => load({ batching: true }), argument, ['batching', 'true']],
    [() => load({ batching: 8 }), argument, ['batching', 'number 8']],
    [() => load({ batching: {} }), argument, ['a number of rows', 'batching.maxBatch', 'undefined']],
    [() => load({ batching: { maxBatch: 0 } }), argument, ['a number of rows from 1', 'batching.maxBatch']],
    [() => load({ batching: { maxBatchSize: 8 } }), argument, ['maxBatch is its name']],
    [() => load({ batching: { maxBatch: 8, maxDelay: 5 } }), argument, ['did you mean maxDelayMs?']],
    [() => load({ batching: { maxBatch: 8, delayMs: 5 } }), argument, ['"delayMs" for batching', 'maxDelayMs']],
    [() => load({ batching: { maxBatch: 8, maxDelayMs: '5ms' } }), argument, ['milliseconds', 'batching.maxDelayMs']],
    [() => load({ batching: { maxBatch: 8, maxDelayMs: 1e6 } }), argument, ['60000', 'batching.maxDelayMs']],
    [() => load({ batching: { maxBatch: 8, preferred: 4 } }), argument, ['an array of sizes', 'batching.preferred']],
    [() => load({ batching: { maxBatch: 8, preferred: [16] } }), argument, ['sizes from 1 to 8', 'batching.preferred']],
    [() => load({ batching: { maxBatch: 8, pad: 'yes' } }), argument, ['batching.pad', '"yes"']],
    [
      () => load({ batching: { maxBatch: 8, priorities: 3 } }),
      argument,
      ['the options of batching.priorities', 'number 3'],
    ],
    [
      () => load({ batching: { maxBatch: 8, priorities: { levels: 1 } } }),
      argument,
      ['a number of levels from 2 to 100', 'batching.priorities.levels'],
    ],
    [
      () => load({ batching: { maxBatch: 8, priorities: { levels: 3, default: 4 } } }),
      argument,
      ['a level from 1 to 3', 'batching.priorities.default'],
    ],
    [
      () => load({ batching: { maxBatch: 8, priorities: { levels: 3, policies: { low: {} } } } }),
      argument,
      ['a level from 1 to 3', '"low"'],
    ],
    [
      () => load({ batching: { maxBatch: 8, queue: { onQueueTimeout: 'drop' } } }),
      argument,
      ["'reject' or 'delay'", 'batching.queue.onQueueTimeout'],
    ],
    [() => load({ batching: { maxBatch: 8, holdUntil: 9999 } }), argument, ['maxQueue (4096)', 'batching.holdUntil']],
    [() => load({ maxBatch: 8 }), argument, ['"maxBatch" for Engine', 'batching']],
    [() => load({ maxQueue: 0 }), argument, ['a number of requests from 1', 'maxQueue']],
    [() => load({ maxQueue: Infinity }), argument, ['a number of requests from 1', 'maxQueue', 'Infinity']],
    [() => load({ maxQueueBytes: '256MB' }), argument, ['a number of bytes from 1', 'maxQueueBytes']],
    [() => load({ queueSize: 5 }), argument, ['"queueSize" for Engine']],
    [() => load({ signal: new AbortController() }), argument, ['an AbortSignal', 'for signal', 'AbortController']],
    [() => load({ onProgress: 'log' }), argument, ['a function for onProgress', '"log"']],
    [() => load({ cache: 5 }), argument, ['cache', 'number 5']],
    [() => load({ cache: null }), argument, ['cache', 'null']],
    [() => load({ cache: '' }), argument, ['cache', '""']],
    [() => load({ cache: { dir: '/tmp/x' } }), argument, ['"dir"', 'folder']],
    [() => load({ cache: { maxBytes: -1 } }), argument, ['maxBytes', '-1']],
    // shapes
    [() => load({ shapes: 'x:1x4' }), argument, ['an object for shapes', '"x:1x4"']],
    [() => load({ ...cpu, shapes: { x: 4 } }), argument, ['x', 'number 4']],
    [() => load({ ...cpu, shapes: { images: shapes.x } }), 'ERR_TRT_UNKNOWN_INPUT', ['images', 'x']],
    [() => load({ ...cpu, shapes: { x: { min: [1, 4], max: [4, 4] } } }), 'ERR_TRT_SHAPES_REQUIRED', ['opt', 'x']],
    [
      () => load({ ...cpu, shapes: { x: { min: [4, 4], opt: [2, 4], max: [1, 4] } } }),
      'ERR_TRT_SHAPE',
      ['x', 'min', 'opt'],
    ],
    [() => load({ ...cpu, shapes: { x: { min: [1], opt: [2], max: [4] } } }), 'ERR_TRT_SHAPE', ['x', '[-1, 4]']],
    [
      () => load({ ...cpu, shapes: { x: { min: [1, 3], opt: [2, 3], max: [4, 3] } } }),
      'ERR_TRT_SHAPE',
      ['x', '[-1, 4]'],
    ],
    [
      () => load({ ...cpu, shapes: { x: { min: ['1', 4], opt: [2, 4], max: [4, 4] } } }),
      'ERR_TRT_SHAPE',
      ['integers for min', 'x', '"1"'],
    ],
    // declarations
    [() => load({ ...cpu, inputs: { x: 'float16' } }), 'ERR_TRT_DECLARATION', ['"x": float16', '"x": float32']],
    [() => load({ ...cpu, inputs: { images: 'float32' } }), 'ERR_TRT_DECLARATION', ['images', '"x"']],
    [() => load({ ...cpu, inputs: ['x'] }), argument, ['inputs', 'array of 1']],
    [() => load({ ...cpu, outputs: { y: 'fp32' } }), argument, ['outputs', 'float32', '"fp32"']],
    [() => load({ inputNames: ['x'] }), argument, ['"inputNames" for Engine', 'inputs']],
    // what the runtime cannot do
    [
      () => Engine.load(reluModel([1, 4]), { ...cpu, batching: { maxBatch: 4 } }),
      argument,
      ['Batching', 'dynamic dimension 0', 'x'],
    ],
    [
      () => Engine.load(reshapeModel(), { ...cpu, batching: { maxBatch: 4 } }),
      argument,
      ['Batching', 'dynamic dimension 0'],
    ],
  ]
}

const attach: Room = async ({ use }) => {
  const engine = use(await TypedEngine.load(reluModel(), cpu))
  const token = engine.share()
  const gone = await TypedEngine.load(reluModel(), cpu)
  const stale = gone.share()
  await gone.close()
  return [
    [() => Engine.attach(), argument, ['a token of engine.share()', 'undefined']],
    [() => Engine.attach(engine), argument, ['a token of engine.share()', 'Engine']],
    [() => Engine.attach('0'), argument, ['a token of engine.share()', '"0"']],
    [() => Engine.attach({ ...token, pid: 1 }), 'ERR_TRT_TOKEN', ['process 1', 'within one process']],
    [() => Engine.attach({ pid: process.pid, id: '999999' }), 'ERR_TRT_TOKEN', ['token']],
    [() => Engine.attach(stale), 'ERR_TRT_TOKEN', ['closed']],
    [() => Engine.attach(token, { queue: 'own', lanes: 0 }), argument, ['a number of lanes']],
    [() => Engine.attach(token, { queue: 'mine' }), argument, ["'own' or 'shared'", 'queue', '"mine"']],
    [() => Engine.attach(token, { queue: 'shared', lanes: 2 }), argument, ['no lanes beside queue', "'shared'"]],
    [
      () => Engine.attach(token, { queue: 'shared', tensorrt: { profile: 1 } }),
      argument,
      ['tensorrt.profile', "'shared'"],
    ],
    [() => Engine.attach(token, { backend: 'cpu' }), argument, ['"backend" for Engine.attach']],
    [() => Engine.attach(token, { profile: 0 }), argument, ['did you mean tensorrt.profile?']],
    [() => Engine.attach(token, { cpu: { threads: 2 } }), argument, ['"cpu" for Engine.attach']],
  ]
}

export const engineLoad: readonly Room[] = [sources, options, attach]
