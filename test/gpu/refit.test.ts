import t from 'tap'
import { Builder, Engine, Refitter, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../support/random.js'

// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu. Refitted plans compute what onnxruntime
// computes with the new weights.

/** Numbers around 0, the same each time. */
function numbers(shape: readonly number[], seed: number, scale: number): Tensor<'float32'> {
  const tensor = Tensor.zeros('float32', shape)
  const random = new Random(seed)
  tensor.data.forEach((_, i) => (tensor.data[i] = random.around() * scale))
  return tensor
}

const channels = 16
const weightShapes: Readonly<Record<string, readonly number[]>> = {
  'stem.weight': [channels, 3, 3, 3],
  'stem.bias': [channels],
  ...Object.fromEntries(
    [0, 1, 2].flatMap((block) => [
      [`block${block}.a.weight`, [channels, channels, 3, 3]],
      [`block${block}.a.bias`, [channels]],
      [`block${block}.b.weight`, [channels, channels, 3, 3]],
      [`block${block}.b.bias`, [channels]],
    ]),
  ),
  'head.weight': [channels, 10],
  'head.bias': [10],
}

const weightsOf = (seed: number): Record<string, Tensor<'float32'>> =>
  Object.fromEntries(
    Object.entries(weightShapes).map(([name, shape], i) => [
      name,
      numbers(shape, seed * 1000 + i, name.endsWith('bias') ? 0.1 : 0.12),
    ]),
  )

/** A ResNet in small: a stem, three residual blocks, a mean over the picture, a classifier. */
function modelOf(weights: Readonly<Record<string, Tensor<'float32'>>>): Uint8Array {
  const graph = new GraphBuilder({ name: 'residual' })
  const weight = (name: string): string => {
    const tensor = weights[name]
    if (tensor === undefined) throw new Error(name)
    return graph.constant(name, tensor)
  }
  const convolution = (x: string, name: string): string =>
    graph.node('Conv', [x, weight(`${name}.weight`), weight(`${name}.bias`)], {
      kernel_shape: [3, 3],
      pads: [1, 1, 1, 1],
    })
  let x = graph.node('Relu', [convolution(graph.input('x', 'float32', ['N', 3, 32, 32]), 'stem')])
  for (const block of [0, 1, 2]) {
    const inner = graph.node('Relu', [convolution(x, `block${block}.a`)])
    x = graph.node('Relu', [graph.node('Add', [x, convolution(inner, `block${block}.b`)])])
  }
  const pooled = graph.node('Flatten', [graph.node('GlobalAveragePool', [x])])
  const scores = graph.node('Gemm', [pooled, weight('head.weight'), weight('head.bias')], {}, { output: 'scores' })
  graph.output(scores, 'float32', ['N', 10])
  return writeModel(graph.toModel())
}

const shapes = { x: { min: [1, 3, 32, 32], opt: [4, 3, 32, 32], max: [8, 3, 32, 32] } }
const input = numbers([4, 3, 32, 32], 7, 1)
const [old, fresh] = [weightsOf(1), weightsOf(2)]

async function scoresOf(engine: Engine): Promise<Float32Array> {
  return (await engine.infer({ x: input }))['scores']?.data as Float32Array
}

async function computed(weights: typeof old): Promise<Float32Array> {
  await using cpu = await Engine.load(modelOf(weights), { backend: 'cpu' })
  return await scoresOf(cpu)
}

function difference(a: Float32Array, b: Float32Array): number {
  const largest = Math.max(...b.map(Math.abs))
  return Math.max(...a.map((value, i) => Math.abs(value - (b[i] ?? NaN)))) / largest
}

const [ofOld, ofFresh] = [await computed(old), await computed(fresh)]
t.ok(difference(ofOld, ofFresh) > 0.1, 'the two sets of weights give different answers')

const build = (options: object): ReturnType<Builder['build']> =>
  new Builder({ tf32: false, ...options }).build(modelOf(old), { shapes })

await t.test('new weights from ONNX and from tensors', async (t) => {
  const plan = await build({ refit: true })
  await using refitter = new Refitter(plan)
  const all = await refitter.weights()
  t.comment(JSON.stringify(all))
  t.ok(all.length > 0 && all.every(({ missing }) => !missing), 'the plan has its weights')
  await refitter.setFromOnnx(modelOf(fresh))
  await using fromOnnx = await Engine.load((await refitter.refit()).bytes)
  t.ok(
    difference(await scoresOf(fromOnnx), ofFresh) < 1e-3,
    `from ONNX: ${difference(await scoresOf(fromOnnx), ofFresh)}`,
  )
  for (const { name } of all) {
    const tensor = old[name]
    if (tensor === undefined) t.fail(`TensorRT names weights ${name}, and the model has none of that name`)
    else await refitter.set(name, tensor)
  }
  await using fromTensors = await Engine.load((await refitter.refit()).bytes)
  t.ok(
    difference(await scoresOf(fromTensors), ofOld) < 1e-3,
    `from tensors: ${difference(await scoresOf(fromTensors), ofOld)}`,
  )
})

await t.test('a stripped plan runs with the weights of its model, and not without', async (t) => {
  const whole = await build({})
  const stripped = await build({ stripWeights: true })
  t.comment(`${whole.bytes.length} bytes with its weights, ${stripped.bytes.length} without`)
  t.ok(stripped.bytes.length < whole.bytes.length)
  await t.rejects(Engine.load(stripped.bytes), { code: 'ERR_TRT_WEIGHTS' })
  await using engine = await Engine.load(stripped.bytes, { tensorrt: { weights: modelOf(old) }, lanes: 2 })
  t.ok(difference(await scoresOf(engine), ofOld) < 1e-3)
  await using refitter = new Refitter(stripped)
  await refitter.setFromOnnx(modelOf(old))
  const full = await refitter.refit()
  t.ok(full.bytes.length > stripped.bytes.length, 'the refitted plan has its weights')
  await using again = await Engine.load(full.bytes)
  t.ok(difference(await scoresOf(again), ofOld) < 1e-3)
})

await t.test('stripped, with any weights', async (t) => {
  const stripped = await build({ refit: true, stripWeights: true })
  await using engine = await Engine.load(stripped.bytes, { tensorrt: { weights: modelOf(fresh) } })
  t.ok(difference(await scoresOf(engine), ofFresh) < 1e-3)
})
