// The messages that docs/guides/errors.md shows are those that come: each is provoked, on the fakes or on the CPU.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { Builder, Engine, type EngineOptions, Plan, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Calibrator } from '../../lib/quantization/index.js'
import { serve } from '../../lib/serve/index.js'
import { probeVideo, writeVideo } from '../../lib/video/index.js'
import { readImage } from '../../lib/vision/index.js'
import { fakePlan } from '../fake/plan.js'
import { useFakes } from '../native/fakes.js'
import { runNode } from '../support/children.js'
import { failureOf } from '../support/errors.js'
import { identity, oneNode, weightedModel } from '../support/models.js'
import { range } from '../support/values.js'
import { merged } from '../support/groups.js'
import { sectionsOf } from './sections.js'

const { families, driver } = await useFakes()
const [ten, eleven] = families
// which the driver looks at once
driver.set({ devices: 2 })
const onGpu: EngineOptions = { tensorrt: { library: ten.path } }
const cpu = { backend: 'cpu' } as const
/** The name of the first file in a zip archive says that it is PyTorch's. */
const checkpoint = Buffer.alloc(64)
checkpoint.write('PK\x03\x04')
checkpoint.writeUInt16LE('yolo/data.pkl'.length, 26)
checkpoint.write('yolo/data.pkl', 30)
const folder = t.testdir({
  'yolo11n.pt': checkpoint,
  'model.onnx': Buffer.from(identity()),
  'timing.cache': 'none',
  models: { resnet50: { 'config.pbtxt': 'max_batch_sise: 8', 1: {} } },
})

const model = identity('float32', ['batch', 3, 224, 224], 'images', 'scores')
const plan = fakePlan({
  inputs: [{ name: 'images', shape: [-1, 10] }],
  outputs: [{ name: 'scores', shape: [-1, 10] }],
  ops: [{ type: 'identity', inputs: ['images'], output: 'scores' }],
  profiles: [{ dims: { images: range([1, 10], [1, 10], [8, 10]) } }],
})
/** TensorRT's fake dies of it. */
const dying = (): Uint8Array => {
  const graph = new GraphBuilder({ name: 'dying;die=build:segv' })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', [1, 4])]), 'float32', [1, 4])
  return writeModel(graph.toModel())
}
const row = (): Tensor<'float32'> => Tensor.zeros('float32', [1, 10])

async function onCpu<T>(body: (engine: Engine) => Promise<T>): Promise<T> {
  await using engine = await Engine.load(model, cpu)
  return await body(engine)
}

/** An engine on the fakes whose device computes until the body has ended. */
async function held<T>(options: EngineOptions, body: (engine: Engine) => Promise<T>): Promise<T> {
  await using engine = await Engine.load(plan, merged(onGpu, options))
  driver.set({ clock: 'manual', computeMs: 1 })
  try {
    return await body(engine)
  } finally {
    driver.set({ clock: 'real', computeMs: 0 })
  }
}

/** Fulfilled with what a call fails with. */
const refused = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error('it ran')),
    (error: unknown) => error,
  )

const built = (
  tensorrt: string,
  bytes: Uint8Array,
  options: ConstructorParameters<typeof Builder>[0] = {},
): Promise<Plan> => new Builder({ tensorrt: { library: tensorrt }, ...options }).build(bytes)

const image = (): Tensor<'float32'> => Tensor.zeros('float32', [1, 3, 224, 224])

/** What fails with each code, in this process. */
const provoked: Record<string, () => unknown> = {
  INVALID_ARGUMENT: () => Engine.load(model, { ...cpu, lanes: 0 }),
  UNKNOWN_INPUT: () => onCpu((engine) => engine.infer({ image: image() })),
  MISSING_INPUT: () => onCpu((engine) => engine.infer({})),
  DTYPE: () => onCpu((engine) => engine.infer({ images: Tensor.zeros('float64', [1, 3, 224, 224]) })),
  SHAPE: () => onCpu((engine) => engine.infer({ images: Tensor.zeros('float32', [1, 224, 224, 3]) })),
  DETACHED: () =>
    onCpu((engine) => {
      const tensor = image()
      structuredClone(tensor.data.buffer, { transfer: [tensor.data.buffer as ArrayBuffer] })
      return engine.infer({ images: tensor })
    }),
  DECLARATION: () => Engine.load(model, { ...cpu, inputs: { images: 'float16' }, outputs: { scores: 'float32' } }),
  SHAPES_REQUIRED: () => built(ten.path, model),
  NOT_READY: () => new Engine(model, cpu).inputs,
  CLOSED: async () => {
    const engine = await Engine.load(model, cpu)
    await engine.close()
    return engine.infer(image())
  },
  QUEUE_FULL: () =>
    held({ maxQueue: 1 }, async (engine) => {
      // two are on the device, one waits
      const calls = Array.from({ length: 8 }, () => engine.infer(row()))
      const failure = await Promise.any(calls.map(refused))
      driver.set({ clock: 'real', computeMs: 0 })
      await Promise.allSettled(calls)
      throw failure
    }),
  BUFFER_IN_USE: () =>
    held({}, async (engine) => {
      const tensor = engine.allocate('images', [1, 10])
      const other = engine.infer(tensor)
      const failure = await failureOf(() => engine.infer(tensor))
      driver.set({ clock: 'real', computeMs: 0 })
      await other
      throw failure
    }),
  DISPOSED: () =>
    held({}, async (engine) => {
      driver.set({ clock: 'real', computeMs: 0 })
      const tensor = await engine.upload(row())
      tensor.dispose()
      return tensor.toHost()
    }),
  DEVICE: async () => {
    await using first = await Engine.load(plan, merged(onGpu, { tensorrt: { device: 0 } }))
    await using second = await Engine.load(plan, merged(onGpu, { tensorrt: { device: 1 } }))
    using tensor = await first.upload(row())
    return await second.infer({ images: tensor })
  },
  TOKEN: async () => {
    const engine = await Engine.load(plan, onGpu)
    const token = engine.share()
    await engine.close()
    return Engine.attach(token)
  },
  TIMEOUT: () => held({}, (engine) => engine.infer(row(), { timeoutMs: 50 })),
  QUEUE_TIMEOUT: () =>
    held({ batching: { maxBatch: 1, holdUntil: 2 } }, (engine) => engine.infer(row(), { queueTimeoutMs: 20 })),
  SERVER: () => serve({ modelRepository: join(folder, 'models'), http: { port: 0, address: '127.0.0.1' } }),
  FILE: () => Engine.load(join(folder, 'none.onnx'), cpu),
  MODEL_FORMAT: () => Engine.load(join(folder, 'yolo11n.pt'), cpu),
  IMAGE: () => readImage(join(folder, 'model.onnx')),
  ONNX_PARSE: () => built(ten.path, model.subarray(0, model.length - 3)),
  UNSUPPORTED_OPERATOR: () => built(ten.path, oneNode('MyCrop')),
  PRECISION: () => built(eleven.path, oneNode('Relu'), { precision: 'int8' }),
  BUILD: () => {
    ten.control.failNth('buildSerializedNetwork', 1)
    return built(ten.path, oneNode('Relu'))
  },
  TIMING_CACHE: () => built(ten.path, oneNode('Relu'), { timingCache: join(folder, 'timing.cache') }),
  CALIBRATION: () => new Calibrator([]).calibrate(model),
  CRASH: async () => {
    await using builder = new Builder({ tensorrt: { library: ten.path }, isolation: 'process' })
    return await builder.build(dying())
  },
  PLAN: () => new Plan(new Uint8Array(8)),
  PLACEHOLDER_RANGES: async () =>
    Engine.load(await built(ten.path, oneNode('Relu'), { precision: 'int8', placeholderRanges: true }), onGpu),
  WEIGHTS: async () => Engine.load(await built(ten.path, weightedModel(), { stripWeights: true }), onGpu),
  EXECUTION: () =>
    held({ tensorrt: { cudaGraph: false } }, async (engine) => {
      ten.control.failNth('enqueueV3', 1)
      return await engine.infer(row())
    }),
  CUDA: () => {
    driver.failNth('cuStreamCreateWithPriority', 1, 800)
    return Engine.load(plan, onGpu)
  },
  OUT_OF_MEMORY: () => Engine.load(plan, merged(onGpu, { tensorrt: { memoryLimit: 1 } })),
  UNSUPPORTED: () => built(ten.path, oneNode('Relu'), { computeCapabilities: 'current' }),
  NO_LIBRARY: () => built('/opt/tensorrt', oneNode('Relu')),
  NO_GPU: () => Engine.load(plan, merged(onGpu, { tensorrt: { device: 7 } })),
  NO_ONNXRUNTIME: () => Engine.load(model, { ...cpu, cpu: { library: '/opt/onnxruntime' } }),
  VIDEO_PROGRAM: () => writeVideo(join(folder, 'a.mp4'), { ffmpeg: '/opt/ffmpeg' }),
  VIDEO_DATA: () => probeVideo(new Uint8Array(1024)),
  // from then on nothing runs on the device
  DEVICE_LOST: async () => {
    await using engine = await Engine.load(plan, onGpu)
    driver.set({ lost: 700 })
    await failureOf(() => engine.infer(row()))
    return await engine.infer(row())
  },
}

const library = JSON.stringify(new URL('../../lib/index.js', import.meta.url).href)
/** What fails with each code in a process of its own, where what decides it is looked at once. */
const children: Record<string, { program: string; env: NodeJS.ProcessEnv }> = {
  NO_DRIVER: {
    program: `Engine.load(new Uint8Array(${JSON.stringify([...plan])}), { tensorrt: { library: ${JSON.stringify(ten.path)} } })`,
    env: { NODE_TENSORRT_LIBCUDA: '/no/such/libcuda.so.1' },
  },
  NO_ADDON: { program: 'onLog(() => {})', env: { NODE_TENSORRT_ADDON: '/no/such/addon.node' } },
  PLATFORM: {
    program: `{ Object.defineProperties(process, { platform: { value: 'darwin' }, arch: { value: 'arm64' } }); onLog(() => {}) }`,
    env: { NODE_TENSORRT_ADDON: '/no/such/addon.node' },
  },
}

/** What no test here can bring about at will. */
const elsewhere = {
  NO_THREAD: 'test/lanes/no-thread.test.ts takes threads away from a process',
}

const sections = sectionsOf(readFileSync(join(packageRoot(), 'docs', 'guides', 'errors.md'), 'utf8'))
const pattern = (message: string): RegExp =>
  new RegExp(
    `^${message
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}`,
    's',
  )

t.test('each code is provoked here, or where it is said', (t) => {
  const known = [...Object.keys(provoked), ...Object.keys(children), ...Object.keys(elsewhere)].map(
    (name) => `ERR_TRT_${name}`,
  )
  t.same(known.sort(), [...sections.keys()].sort())
  t.end()
})

t.test('the messages of this process', async (t) => {
  for (const [name, call] of Object.entries(provoked)) {
    const { code, message } = await failureOf(call)
    t.equal(code, `ERR_TRT_${name}`, message)
    t.match(message.replace(folder, '/models'), pattern(sections.get(code)?.message ?? 'none'), code)
  }
})

t.test('those of others', async (t) => {
  const file = join(folder, 'child.mjs')
  for (const [name, { program, env }] of Object.entries(children)) {
    writeFileSync(
      file,
      `import { Engine, onLog } from ${library}
      try { await ${program.startsWith('{') ? `(async () => ${program})()` : program} } catch ({ code, message }) { console.log(code + '\\n' + message) }`,
    )
    const { stdout, stderr } = await runNode([file], packageRoot(), undefined, env)
    const [code = '', ...lines] = stdout.split('\n')
    t.equal(code, `ERR_TRT_${name}`, stderr)
    t.match(lines.join('\n').replace('/no/such/', ''), pattern(sections.get(code)?.message ?? 'none'), code)
  }
})
