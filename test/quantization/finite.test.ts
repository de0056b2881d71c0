// What is not finite: in what models give, in their weights, and in half precision.
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, type ModelProto } from '../../lib/onnx/index.js'
import { compare, type Difference } from '../../lib/quantization/index.js'
import { worstCosine } from '../../lib/quantization/ranking.js'
import { openEngine } from '../../lib/quantization/running.js'

const vector = (...values: number[]): Tensor<'float32'> => new Tensor('float32', Float32Array.from(values), [values.length])

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
