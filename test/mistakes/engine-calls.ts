// Calls of an engine: inputs, options of a call, streams, warm-up, memory and measuring; what comes before it is open,
// and after it is closed.
import { Engine as TypedEngine, Tensor } from '../../lib/index.js'
import {
  loadTest as typedLoadTest,
  randomInputs as typedRandomInputs,
  sweep as typedSweep,
} from '../../lib/benchmark/index.js'
import { reluModel, reshapeModel, twoInTwoOut } from '../support/models.js'
import { argument, type Room, wrongly } from './table.js'

const cpu = { backend: 'cpu', cpu: { threads: 1 } } as const
const one = Tensor.zeros('float32', [1, 4])

const inputs: Room = async ({ use }) => {
  const engine = wrongly(use(await TypedEngine.load(reluModel(['N', 4], 'images'), cpu)))
  const two = wrongly(use(await TypedEngine.load(twoInTwoOut(), cpu)))
  const row = Tensor.zeros('float32', [1, 3])
  const picture = { width: 2, height: 2, channels: 3, data: new Uint8Array(12) }
  const moved = Tensor.zeros('float32', [1, 4])
  structuredClone(moved.data.buffer, { transfer: [moved.data.buffer as ArrayBuffer] })
  return [
    [() => engine.infer(), argument, ['a Tensor or a record of Tensors', 'the input of infer', 'undefined']],
    [() => engine.infer(null), argument, ['the input of infer', 'null']],
    [() => engine.infer([0, 1, 2, 3]), argument, ['the input of infer', 'array [0, 1, 2, 3]']],
    [() => engine.infer([one]), argument, ['the input of infer', 'array of 1']],
    [() => engine.infer(new Float32Array(4)), argument, ['the input of infer', 'Float32Array']],
    [() => engine.infer('cat.jpg'), argument, ['the input of infer', '"cat.jpg"']],
    [() => engine.infer(picture), argument, ['a Tensor for input "width"', 'number 2']],
    [() => engine.infer(new Map([['images', one]])), argument, ['Object.fromEntries(map)']],
    [() => engine.infer(Promise.resolve(one)), argument, ['a Promise: await it']],
    [() => engine.infer(Promise.resolve({ images: one })), argument, ['a Promise: await it']],
    [() => engine.infer({ images: Promise.resolve(one) }), argument, ['input "images"', 'a Promise: await it']],
    [() => engine.infer({ images: new Float32Array(4) }), argument, ['a Tensor for input "images"', 'Float32Array']],
    [() => engine.infer({ images: [[0, 1, 2, 3]] }), argument, ['a Tensor for input "images"', 'array of 1']],
    [() => engine.infer({ images: Buffer.alloc(16) }), argument, ['a Tensor for input "images"', 'Buffer']],
    [
      () => engine.infer({ images: { type: 'float32', dims: [1, 4], data: new Float32Array(4) } }),
      argument,
      ['input "images"', 'onnxruntime', 'Tensor.from'],
    ],
    [() => engine.infer({ images: structuredClone(one) }), argument, ['input "images"', 'the fields of a Tensor']],
    [() => engine.infer({ image: one }), 'ERR_TRT_UNKNOWN_INPUT', ['no input "image"', '"images"']],
    [() => engine.infer({ Images: one }), 'ERR_TRT_UNKNOWN_INPUT', ['no input "Images"', '"images"']],
    [() => engine.infer({ input: one }), 'ERR_TRT_UNKNOWN_INPUT', ['no input "input"', '"images"']],
    [() => engine.infer({}), 'ERR_TRT_MISSING_INPUT', ['Input "images"', 'is missing']],
    [() => engine.infer({ images: undefined }), argument, ['a Tensor for input "images"', 'undefined']],
    [() => engine.infer(Tensor.zeros('float64', [1, 4])), 'ERR_TRT_DTYPE', ['float32', '"images"', 'float64']],
    [() => engine.infer(Tensor.zeros('uint8', [1, 4])), 'ERR_TRT_DTYPE', ['float32', '"images"', 'uint8']],
    [() => engine.infer(Tensor.zeros('float32', [4])), 'ERR_TRT_SHAPE', ['[-1, 4]', '"images"', '[4]']],
    [() => engine.infer(Tensor.zeros('float32', [1, 5])), 'ERR_TRT_SHAPE', ['[-1, 4]', '"images"', '[1, 5]']],
    [() => engine.infer(Tensor.zeros('float32', [4, 1])), 'ERR_TRT_SHAPE', ['[-1, 4]', '[4, 1]']],
    [() => engine.infer(moved), 'ERR_TRT_DETACHED', ['16 bytes', '"images"', 'transferred away']],
    [() => two.infer(row), argument, ['a record of Tensors', 'the inputs "a", "b"']],
    [() => two.infer([row, row]), argument, ['a record of Tensors', 'array of 2']],
    [() => two.infer({ a: row }), 'ERR_TRT_MISSING_INPUT', ['Input "b"', 'is missing']],
    [() => two.infer({ a: row, B: row }), 'ERR_TRT_UNKNOWN_INPUT', ['no input "B"', '"a", "b"']],
    [() => engine.inferSync(), argument, ['a Tensor or a record of Tensors', 'undefined']],
    [() => engine.inferSync({ image: one }), 'ERR_TRT_UNKNOWN_INPUT', ['no input "image"']],
  ]
}

const calls: Room = async ({ use }) => {
  const engine = wrongly(use(await TypedEngine.load(reluModel(['N', 4]), cpu)))
  return [
    [() => engine.infer(one, null), argument, ['the options of infer', 'null']],
    [() => engine.infer(one, 5000), argument, ['the options of infer', 'number 5000']],
    [() => engine.infer(one, ['y']), argument, ['the options of infer', 'array of 1']],
    [() => engine.infer(one, { timeout: 100 }), argument, ['did you mean timeoutMs?']],
    [() => engine.infer(one, { timeoutMs: '1s' }), argument, ['milliseconds above 0', 'timeoutMs', '"1s"']],
    [() => engine.infer(one, { timeoutMs: 0 }), argument, ['milliseconds above 0', 'timeoutMs', 'number 0']],
    [() => engine.infer(one, { timeoutMs: Infinity }), argument, ['at most 2147483647', 'timeoutMs', 'Infinity']],
    [() => engine.infer(one, { signal: new AbortController() }), argument, ['an AbortSignal', 'AbortController']],
    [() => engine.infer(one, { signal: 'abort' }), argument, ['an AbortSignal', '"abort"']],
    [() => engine.infer(one, { outputs: 'y' }), argument, ['an array of names of outputs', '"y"']],
    [() => engine.infer(one, { outputs: [] }), argument, ['an array of names of outputs']],
    [() => engine.infer(one, { outputs: ['scores'] }), argument, ['"Relu_0"', '"scores"']],
    [() => engine.infer(one, { output: ['y'] }), argument, ['did you mean outputs?']],
    [() => engine.infer(one, { into: one }), argument, ['into', 'Tensor']],
    [() => engine.infer(one, { into: { scores: one } }), argument, ['scores']],
    [() => engine.infer(one, { location: 'gpu' }), argument, ["'host', 'device'", 'location', '"gpu"']],
    [() => engine.infer(one, { priority: 'high' }), argument, ['a level from 1 to 100', '"high"']],
    [() => engine.infer(one, { priority: 2 }), argument, ['priority', 'batching']],
    [() => engine.infer(one, { queueTimeoutMs: -1 }), argument, ['queueTimeoutMs', '-1']],
    [() => engine.infer(one, { queueTimeout: 5 }), argument, ['did you mean queueTimeoutMs?']],
    [() => engine.infer(one, { batch: 4 }), argument, ['"batch" for infer', 'It knows']],
    [() => engine.infer(one, { logSeverityLevel: 0 }), argument, ['"logSeverityLevel" for infer']],
    [() => engine.infer(one, ['y'], {}), argument, ['the options of infer', 'array of 1']],
    [() => engine.inferSync(one, { timeoutMs: 5 }), argument, ['"timeoutMs" for inferSync', 'It knows']],
    [() => engine.inferSync(one, { signal: AbortSignal.abort() }), argument, ['"signal" for inferSync']],
    [() => engine.stream(), argument, ['stream', 'undefined']],
    [() => engine.stream(5), argument, ['stream', 'number 5']],
    [() => engine.stream(one), argument, ['stream', 'Tensor']],
    [() => engine.stream([one], { inFlight: 0 }), argument, ['inFlight', 'number 0']],
    [() => engine.stream([one], { concurrency: 4 }), argument, ['"concurrency" for stream', 'inFlight']],
    [() => engine.stream(['cat.jpg']), argument, ['"cat.jpg"']],
    [() => engine.stream([Tensor.zeros('int8', [1, 4])]), 'ERR_TRT_DTYPE', ['float32', 'int8']],
    [() => engine.allocate(), argument, ['undefined']],
    [() => engine.allocate('images', [1, 4]), argument, ['images', 'x']],
    [() => engine.allocate('x'), argument, ['shape', 'undefined']],
    [() => engine.allocate('x', 4), argument, ['shape', 'number 4']],
    [() => engine.allocate('x', [-1, 4]), 'ERR_TRT_SHAPE', ['shape', '-1']],
    [() => engine.allocate('x', [1, 5]), 'ERR_TRT_SHAPE', ['[-1, 4]', '[1, 5]']],
    [() => engine.allocateBytes('1k'), argument, ['bytes', '"1k"']],
    [() => engine.allocateBytes(-1), argument, ['bytes', '-1']],
    [() => engine.upload([1, 2]), argument, ['a Tensor', 'array [1, 2]']],
    [() => engine.released('x'), argument, ['"x"']],
    [() => engine.layers(), 'ERR_TRT_UNSUPPORTED', ['layers', 'TensorRT', 'CPU']],
    [() => engine.layers({ iterations: 0 }), argument, ['iterations', 'number 0']],
    [() => engine.layers({ precision: 'fp16' }), argument, ['"precision" for layers']],
  ]
}

const measures: Room = async ({ use }) => {
  const fixed = wrongly(use(await TypedEngine.load(reluModel([1, 4]), cpu)))
  const open = wrongly(use(await TypedEngine.load(reluModel(['N', 4]), cpu)))
  const shaped = wrongly(use(await TypedEngine.load(reshapeModel(), cpu)))
  const loadTest = wrongly(typedLoadTest)
  const sweep = wrongly(typedSweep)
  const randomInputs = wrongly(typedRandomInputs)
  return [
    [() => open.warmup(), 'ERR_TRT_SHAPES_REQUIRED', ['x', 'warmup({ shapes', 'inputs']],
    [() => open.warmup([1, 4]), argument, ['the options of warmup', 'array [1, 4]']],
    [() => open.warmup(one), argument, ['for warmup', 'inputs']],
    [() => open.warmup({ x: [1, 4] }), argument, ['"x" for warmup', 'shapes']],
    [() => open.warmup({ shape: { x: [1, 4] } }), argument, ['did you mean shapes?']],
    [() => open.warmup({ shapes: [1, 4] }), argument, ['shapes', 'array [1, 4]']],
    [() => open.warmup({ shapes: { x: '1x4' } }), argument, ['x', '"1x4"']],
    [() => open.warmup({ shapes: { x: [1, 5] } }), 'ERR_TRT_SHAPE', ['[-1, 4]', '[1, 5]']],
    [() => open.warmup({ shapes: { images: [1, 4] } }), 'ERR_TRT_UNKNOWN_INPUT', ['images', '"x"']],
    [() => open.warmup({ inputs: one }), argument, ['inputs', 'Tensor']],
    [() => open.warmup({ inputs: { x: [1, 4] } }), argument, ['a Tensor', 'x', 'array [1, 4]']],
    [() => open.warmup({ inputs: { x: Tensor.zeros('int8', [1, 4]) } }), 'ERR_TRT_DTYPE', ['float32', 'int8']],
    [() => open.warmup(10), argument, ['the options of warmup', 'number 10']],
    [() => open.warmup({ iterations: 0 }), argument, ['iterations', 'number 0']],
    [() => open.warmup({ runs: 5 }), argument, ['"runs" for warmup', 'iterations']],
    [() => shaped.warmup({ shapes: { shape: [3] } }), 'ERR_TRT_SHAPE', ['shape', '[3]']],
    [() => open.benchmark(), 'ERR_TRT_SHAPES_REQUIRED', ['x', 'shapes']],
    [() => fixed.benchmark({ duration: 3 }), argument, ['durationMs is its name']],
    [() => fixed.benchmark({ durationMs: '3s' }), argument, ['durationMs', '"3s"']],
    [() => fixed.benchmark({ iterations: -1 }), argument, ['iterations', '-1']],
    [() => fixed.benchmark({ warmUp: 200 }), argument, ['warmUpMs is its name']],
    [() => fixed.benchmark({ warmupMs: 200 }), argument, ['did you mean warmUpMs?']],
    [() => fixed.benchmark({ percentile: 99 }), argument, ['percentiles is its name']],
    [() => fixed.benchmark({ percentiles: 99 }), argument, ['percentiles', 'number 99']],
    [() => fixed.benchmark({ percentiles: [101] }), argument, ['percentiles from 0 to 100', '101']],
    [() => fixed.benchmark({ streams: 0 }), argument, ['streams', 'number 0']],
    [() => fixed.benchmark({ batch: 8 }), argument, ['"batch" for']],
    [() => fixed.benchmark({ shapes: { x: [2, 4] } }), 'ERR_TRT_SHAPE', ['[1, 4]', '[2, 4]']],
    [() => fixed.benchmark({ inputs: one }), argument, ['inputs', 'Tensor']],
    [() => fixed.benchmark({ onProgress: true }), argument, ['a function', 'onProgress']],
    [() => fixed.benchmark({ endToEnd: false, javascript: true }), argument, ['javascript', 'endToEnd']],
    [() => fixed.benchmark({ layers: true }), 'ERR_TRT_UNSUPPORTED', ['layers', 'TensorRT']],
    [() => loadTest(), argument, ['an Engine', 'undefined']],
    [() => loadTest(fixed, { rates: 100 }), argument, ['rates', 'number 100']],
    [() => loadTest(fixed, { rates: [0] }), argument, ['rates', 'number 0']],
    [() => loadTest(fixed, { rate: [100] }), argument, ['did you mean rates?']],
    [() => loadTest(fixed, { duration: 5 }), argument, ['did you mean durationMs?']],
    [() => loadTest(fixed, { rows: { 0: 1 } }), argument, ['rows', '"0"']],
    [() => sweep(), argument, ['undefined']],
    [() => sweep(fixed, { batches: 8 }), argument, ['batches', 'number 8']],
    [() => sweep(fixed, { streams: [0] }), argument, ['streams', 'number 0']],
    [() => randomInputs(), argument, ['Object.values(engine.inputs)', 'undefined']],
    [() => randomInputs(open.inputs), argument, ['Object.values(engine.inputs)', 'object']],
    [() => randomInputs([], { shape: { x: [1, 4] } }), argument, ['did you mean shapes?']],
    [() => randomInputs(['x']), argument, ['inputs[0]', '"x"']],
    [() => randomInputs([], { seed: 'a' }), argument, ['seed', '"a"']],
  ]
}

const ends: Room = async () => {
  const closed = wrongly(await TypedEngine.load(reluModel(['N', 4]), cpu))
  await closed.close()
  const failed = wrongly(new TypedEngine('nope.onnx', cpu))
  await failed.ready.catch(() => {})
  const loading = wrongly(new TypedEngine(reluModel(), cpu))
  const early = [
    [() => loading.inputs, 'ERR_TRT_NOT_READY', ['await engine.ready']],
    [() => loading.inferSync(one), 'ERR_TRT_NOT_READY', ['await engine.ready']],
    [() => loading.stats(), 'ERR_TRT_NOT_READY', ['await engine.ready']],
    [() => loading.share(), 'ERR_TRT_NOT_READY', ['await engine.ready']],
  ] as const
  return [
    ...early,
    [() => loading.ready.then(() => loading.close()).then(() => loading.infer(one)), 'ERR_TRT_CLOSED', ['is closed']],
    [() => closed.infer(one), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.infer({ wrong: one }), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.inferSync(one), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.stream([one]), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.warmup({ shapes: { x: [1, 4] } }), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.benchmark({ shapes: { x: [1, 4] } }), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.layers(), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.allocate('x', [1, 4]), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.upload(one), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => closed.share(), 'ERR_TRT_CLOSED', ['The engine is closed']],
    [() => failed.infer(one), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => failed.inputs, 'ERR_TRT_FILE', ['nope.onnx']],
  ]
}

export const engineCalls: readonly Room[] = [inputs, calls, measures, ends]
