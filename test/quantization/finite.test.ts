// What is not finite: in what models give, in their weights, and in half precision.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { convertPrecision, GraphBuilder, type ModelProto, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { compare, type Difference } from '../../lib/quantization/index.js'
import { worstCosine } from '../../lib/quantization/sensitivity.js'
import { openEngine } from '../../lib/quantization/running.js'
import { writeTensor } from '../../lib/tensor-files/index.js'
import { trt } from '../cli/rig.js'
import { temporaryFolder } from '../support/folders.js'

const vector = (...values: number[]): Tensor<'float32'> =>
  new Tensor('float32', Float32Array.from(values), [values.length])

/** y = operator(x), element by element. */
function pointwise(operator: string, constants: readonly number[] = []): ModelProto {
  const g = new GraphBuilder({ name: operator, opset: 17 })
  const x = g.input('x', 'float32', ['N'])
  const others = constants.map((value, i) => g.constant(`c${i}`, new Tensor('float32', Float32Array.of(value), [])))
  g.output(g.node(operator, [x, ...others], {}, { output: 'y' }), 'float32', ['N'])
  return g.toModel()
}

const identity = pointwise('Identity')

async function differenceOf(other: ModelProto, ...values: number[]): Promise<Difference> {
  return (await compare(identity, other, [vector(...values)])).outputs['y'] as Difference
}

t.test('a comparison fails where one model alone gives what is not finite', async (t) => {
  const failed = { cosine: NaN, psnr: -Infinity, equal: false }
  t.match(await differenceOf(pointwise('Sqrt'), -1, -2), { ...failed, count: 0, nonFinite: 2 }, 'nothing but NaN')
  t.match(await differenceOf(pointwise('Sqrt'), 1, -2, 0), { ...failed, count: 2, nonFinite: 1 }, 'NaN, the rest equal')
  t.match(await differenceOf(pointwise('Mul', [1e38]), 1e38, 0), { ...failed, nonFinite: 1 }, 'infinity')
  t.match(await differenceOf(pointwise('Neg'), Infinity, 0), { ...failed, nonFinite: 1 }, 'the other infinity')
  const same = { cosine: 1, psnr: Infinity, equal: true, nonFinite: 0 }
  t.match(await differenceOf(identity, 1, Infinity, NaN), same, 'what is not finite in both, alike')
  t.match(await differenceOf(pointwise('Mul', [1.5]), 1, 2), { equal: false, nonFinite: 0 })
})

t.test('the worst cosine of a model that gives NaN is -1', async (t) => {
  await using engine = await openEngine(pointwise('Sqrt'), {}, undefined)
  const x = vector(1, -4)
  t.equal(await worstCosine(engine, [{ inputs: { x }, outputs: { y: vector(1, 2) } }], undefined, () => {}), -1)
})

t.test('half precision is rounded after each operator, so an overflow inside of a model shows', async (t) => {
  const g = new GraphBuilder({ name: 'overflow', opset: 17 })
  const constant = (name: string, value: number): string =>
    g.constant(name, new Tensor('float32', Float32Array.of(value), []))
  const scaled = g.node('Mul', [g.input('x', 'float32', ['N']), constant('k', 1000)])
  g.output(g.node('Mul', [scaled, constant('l', 0.001)], {}, { output: 'y' }), 'float32', ['N'])
  const bytes = writeModel(g.toModel())
  const half = convertPrecision(parseModel(bytes), 'fp16').model
  // onnx's ReferenceEvaluator: 1, 60.03, inf, inf
  const { outputs } = await compare(bytes, half, [vector(1, 60, 70, 1000)])
  t.match(outputs['y'], { cosine: NaN, nonFinite: 2, count: 2 })
  t.equal(outputs['y']?.maxAbsolute.toFixed(3), '0.031')
  const folder = temporaryFolder(t)
  await writeFile(join(folder, 'full.onnx'), bytes)
  await writeFile(join(folder, 'half.onnx'), writeModel(half))
  await writeTensor(join(folder, 'x.npy'), vector(1, 60, 70, 1000))
  const [full, other, x] = ['full.onnx', 'half.onnx', 'x.npy'].map((name) => join(folder, name))
  const ran = await trt(['compare', full!, other!, '--backend', 'cpu', '--data', x!, '--json'])
  t.equal(ran.code, 3, ran.stderr)
  t.match(JSON.parse(ran.stdout), { outputs: { y: { nonFinite: 2 } } })
})
