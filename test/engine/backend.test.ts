import t from 'tap'
import { capabilities, Engine, Tensor } from '../../lib/index.js'
import { identity } from '../support/models.js'

const x = Tensor.from(Float32Array.of(1, 2))
const shapes = { x: { min: [1], opt: [2], max: [4] } }

/** Whether this machine has a GPU and a TensorRT that builds and runs on it. */
const { gpus, tensorrt } = await capabilities()
const canRun = gpus.length > 0 && tensorrt.some((library) => library.canBuild && library.canRun)

t.test('auto says what it took', async (t) => {
  await using engine = await Engine.load(identity(), { shapes })
  t.equal(engine.backend, canRun ? 'tensorrt' : 'cpu')
  t.equal(engine.backendReason !== undefined, !canRun, 'and why')
  t.same((await engine.infer(x)).data, x.data)
})

t.test(
  'auto on the CPU says once what the model needs on TensorRT',
  { skip: canRun && 'this machine has TensorRT' },
  async (t) => {
    const warnings: { code?: string; message: string }[] = []
    const heard = (warning: Error & { code?: string }): void => void warnings.push(warning)
    process.on('warning', heard)
    t.teardown(() => process.off('warning', heard))
    const model = identity('float32', ['batch', 3, 'height', 'w'])
    const needed =
      /on TensorRT this model needs shapes for 'x'\. To fix: add shapes: \{ "x": \{ min: \[1, 3, height, w\], opt: \[1, 3, height, w\], max: \[8, 3, height, w\] \} \}/
    const loaded = [await Engine.load(model), await Engine.load(model)]
    for (const engine of loaded) {
      t.match(engine.backendReason, needed)
      await engine.close()
    }
    const range = { min: [1, 3, 4, 4], opt: [1, 3, 4, 4], max: [8, 3, 4, 4] }
    for (const options of [{ shapes: { x: range } }, { backend: 'cpu' }, { freeDimensions: { batch: 1 } }] as const) {
      await using engine = await Engine.load(identity('float32', ['batch', 3, 4, 4]), options as object)
      t.notMatch(engine.backendReason ?? '', /needs shapes/, JSON.stringify(options))
    }
    await new Promise(setImmediate)
    const ours = warnings.filter(({ code }) => code === 'TRT_SHAPES')
    t.equal(ours.length, 1, 'once for a model')
    t.match(ours[0]?.message, needed)
  },
)

t.test('tensorrt never falls back', { skip: canRun && 'this machine has TensorRT' }, async (t) => {
  const code = /^ERR_TRT_(NO_ADDON|NO_LIBRARY|NO_DRIVER|NO_GPU|PLATFORM)$/
  await t.rejects(Engine.load(identity(), { backend: 'tensorrt', shapes }), { name: 'TensorRTError', code })
  // where a TensorRT of another kind is found, the plan is refused with both sides named
  await t.rejects(Engine.load(Buffer.from('ftrt'.padEnd(64))), {
    name: 'TensorRTError',
    code: /^ERR_TRT_(PLAN|NO_ADDON|NO_LIBRARY|PLATFORM)$/,
  })
})

t.test('an explicit path of TensorRT that is none', async (t) => {
  await t.rejects(Engine.load(identity(), { backend: 'tensorrt', shapes, tensorrt: { library: '/nowhere' } }), {
    name: 'TensorRTError',
    message: /\/nowhere/,
  })
})
