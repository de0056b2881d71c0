// What half precision cannot hold: masks, integers, values that overflow. Each float16 value is rounded (compare sees
// to it), as on a GPU and in onnx's ReferenceEvaluator.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Tensor } from '../../lib/index.js'
import {
  convertPrecision,
  GraphBuilder,
  type HalfPrecision,
  type ModelProto,
  type PrecisionOptions,
  type PrecisionReport,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { Calibration, Calibrator, compare, type Difference, quantize } from '../../lib/quantization/index.js'
import { readTensor, writeTensor } from '../../lib/tensor-files/index.js'
import { trt } from '../cli/rig.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { floats, ints, randomFloats, randomTensor, scalar } from '../support/values.js'

type Inputs = Readonly<Record<string, Tensor>>

interface Converted {
  readonly model: ModelProto
  readonly report: PrecisionReport
}

const convert = (bytes: Uint8Array, options?: PrecisionOptions, precision: HalfPrecision = 'fp16'): Converted =>
  convertPrecision(parseModel(bytes), precision, options)

const reasons = ({ report }: Converted): Record<string, string> =>
  Object.fromEntries(report.kept.map(({ node, reason }) => [node, reason]))

async function difference(bytes: Uint8Array, { model }: Converted, inputs: Inputs): Promise<Difference> {
  return (await compare(bytes, model, [inputs])).outputs['y'] as Difference
}

/** As float32 has it, but for the rounding. */
async function agrees(t: Test, name: string, bytes: Uint8Array, converted: Converted, inputs: Inputs): Promise<void> {
  const { cosine, nonFinite } = await difference(bytes, converted, inputs)
  t.equal(nonFinite, 0, `${name}: all finite`)
  t.ok(cosine > 0.9999, `${name}: cosine ${cosine}`)
}

const lowest = -3.4028234663852886e38
const [batch, length, width] = [2, 6, 8]

/** softmax(masked(q · kᵀ)) · v, q = k = v = x. */
function attention(name: string, masked: (g: GraphBuilder, scores: string) => string): Uint8Array {
  const g = new GraphBuilder({ name, opset: 17 })
  const x = g.input('x', 'float32', [batch, length, width])
  const scores = g.node('MatMul', [x, g.node('Transpose', [x], { perm: [0, 2, 1] })], {}, { name: 'scores' })
  const weights = g.node('Softmax', [masked(g, scores)], {}, { name: 'softmax' })
  g.output(g.node('MatMul', [weights, x], {}, { name: 'mix', output: 'y' }), 'float32', [batch, length, width])
  return writeModel(g.toModel())
}

/** The mask of a tokenizer, 1 for what is to be seen, as a summand: (1 - mask) times the lowest number. */
function extended(g: GraphBuilder, factor: number): string {
  const mask = g.node(
    'Cast',
    [g.node('Unsqueeze', [g.input('mask', 'int64', [batch, length]), g.constant('axes', ints(1))])],
    { to: 1 },
  )
  const hidden = g.node('Sub', [g.constant('one', scalar(1)), mask], {}, { name: 'hidden' })
  return g.node('Mul', [hidden, g.constant('factor', scalar(factor))], {}, { name: 'times' })
}

/** Where the mask is 1. */
const seen = (g: GraphBuilder): string => {
  const shown = g.node('Cast', [g.input('mask', 'int64', [batch, length])], { to: 9 })
  return g.node('Unsqueeze', [shown, g.constant('axes', ints(1))])
}

const masks: [name: string, model: Uint8Array, kept: Record<string, string>, clamped: number][] = [
  ['-1e9', attention('added', (g, s) => g.node('Add', [s, extended(g, -1e9)], {}, { name: 'add' })), { hidden: 'integers', times: 'integers', add: 'mask' }, 1],
  ['the lowest float32', attention('lowest', (g, s) => g.node('Add', [s, extended(g, lowest)], {}, { name: 'add' })), { hidden: 'integers', times: 'integers', add: 'mask' }, 1],
  ['taken away', attention('sub', (g, s) => g.node('Sub', [s, g.node('Neg', [extended(g, -1e9)], {}, { name: 'neg' })], {}, { name: 'sub' })), { hidden: 'integers', times: 'integers', neg: 'integers', sub: 'integers' }, 1],
  ['Where', attention('where', (g, s) => g.node('Where', [seen(g), s, g.constant('low', scalar(lowest))], {}, { name: 'where' })), { where: 'weights' }, 1],
  ['ConstantOfShape', attention('filled', (g, s) => {
    const shape = g.node('Shape', [s])
    const filled = g.node('ConstantOfShape', [shape], { value: floats(-1e9) }, { name: 'filled' })
    return g.node('Where', [seen(g), s, filled], {}, { name: 'where' })
  }), { filled: 'unsupported', where: 'mask' }, 1],
  // within float16: nothing is below its lowest number, and what a softmax alone reads is a mask
  ['-10000', attention('small', (g, s) => g.node('Add', [s, extended(g, -10000)], {}, { name: 'add' })), { hidden: 'integers', times: 'integers' }, 0],
] // prettier-ignore

/**
 * Of the first sequence all keys are masked, of the second the last two. Scores go from -30 to 30: float32 has steps of
 * 64 at -1e9, and makes them all alike; float16 has steps of 32 at
 * -65504, and nothing below -65520.
 */
const attentionInputs: Inputs = {
  x: new Tensor('float32', randomFloats([batch, length, width], 3, 2.4), [batch, length, width]),
  mask: new Tensor('int64', BigInt64Array.from([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0], BigInt), [batch, length]),
}

t.test('masks: a row that is masked whole stays as float32 has it', async (t) => {
  for (const [name, bytes, kept, clamped] of masks) {
    const converted = convert(bytes)
    t.same(reasons(converted), kept, name)
    t.equal(converted.report.clamped.length, clamped, `${name}: ${converted.report.clamped.join(', ')}`)
    // float32 itself adds -10000 to the scores of that row, where float16 has steps of 8
    const inputs =
      clamped === 1
        ? attentionInputs
        : { ...attentionInputs, mask: Tensor.from(new BigInt64Array(12).fill(1n).fill(0n, 0, 3), [batch, length]) }
    await agrees(t, name, bytes, converted, inputs)
  }
  const { report } = convert((masks[1] as (typeof masks)[0])[1], {}, 'bf16')
  t.same(report.clamped.length, 1, 'bfloat16 has no lowest float32')
  t.same(convert((masks[0] as (typeof masks)[0])[1], {}, 'bf16').report.clamped, [], 'but -1e9')
})

t.test('masks: infinite ones stay so, and large factors of other things are no masks', (t) => {
  const infinite = convert(
    attention('infinite', (g, s) =>
      g.node('Where', [seen(g), s, g.constant('low', scalar(-Infinity))], {}, { name: 'where' }),
    ),
  )
  t.same([infinite.report.clamped, reasons(infinite)], [[], { where: 'weights' }])
  const g = new GraphBuilder({ name: 'large', opset: 17 })
  const product = g.node(
    'MatMul',
    [g.input('x', 'float32', [1, 2]), g.constant('w', Tensor.from(Float32Array.of(1, 2, 70000, 4), [2, 2]))],
    {},
    { name: 'mm' },
  )
  g.output(g.node('Add', [product, 'x'], {}, { name: 'add', output: 'y' }), 'float32', [1, 2])
  const large = convert(writeModel(g.toModel()))
  t.same([large.report.clamped, reasons(large)], [[], { mm: 'weights' }])
  t.end()
})

/** Row and column of the largest of n: i = ArgMax(x), row = floor(i / columns), column = i - columns · row. */
function index(columns: number): Uint8Array {
  const g = new GraphBuilder({ name: 'index', opset: 17 })
  const found = g.node('ArgMax', [g.node('Relu', [g.input('x', 'float32', ['N', 'pixels'])])], { axis: 1, keepdims: 1 })
  const i = g.node('Cast', [found], { to: 1 }, { name: 'i' })
  const size = g.constant('columns', scalar(columns))
  const row = g.node('Floor', [g.node('Div', [i, size], {}, { name: 'div' })], {}, { name: 'floor' })
  const column = g.node('Sub', [i, g.node('Mul', [row, size], {}, { name: 'mul' })], {}, { name: 'sub' })
  g.output(g.node('Concat', [row, column], { axis: 1 }, { name: 'concat', output: 'y' }), 'float32', ['N', 2])
  return writeModel(g.toModel())
}

/** A rotary embedding as transformers export it: q · cos(positions · frequencies) + q · sin(…). */
function rotary(product: 'MatMul' | 'Mul'): Uint8Array {
  const g = new GraphBuilder({ name: 'rotary', opset: 17 })
  const ids = g.input('ids', 'int64', [1, 'length'])
  const positions = g.node(
    'Cast',
    [g.node('Unsqueeze', [ids, g.constant('axes', ints(product === 'Mul' ? 2 : 1))])],
    { to: 1 },
    { name: 'positions' },
  )
  const frequencies = Float32Array.from({ length: 4 }, (_, i) => 10000 ** (-i / 4))
  const inverse = g.constant('inverse', new Tensor('float32', frequencies, product === 'Mul' ? [4] : [1, 4, 1]))
  const angles =
    product === 'Mul'
      ? g.node('Mul', [positions, inverse], {}, { name: 'mul' })
      : g.node(
          'Transpose',
          [g.node('MatMul', [inverse, positions], {}, { name: 'mm' })],
          { perm: [0, 2, 1] },
          { name: 'turn' },
        )
  const q = g.node('Sigmoid', [g.input('q', 'float32', [1, 'length', 4])])
  const [cos, sin] = [g.node('Cos', [angles], {}, { name: 'cos' }), g.node('Sin', [angles], {}, { name: 'sin' })]
  const y = g.node('Add', [g.node('Mul', [q, cos]), g.node('Mul', [q, sin])], {}, { name: 'rotate', output: 'y' })
  g.output(y, 'float32', [1, 'length', 4])
  return writeModel(g.toModel())
}

t.test('integers that pass through floats stay exact', async (t) => {
  const pixels = new Float32Array(20000).fill(0.1).fill(1, 12701, 12702)
  const bytes = index(180)
  for (const precision of ['fp16', 'bf16'] as const) {
    const converted = convert(bytes, {}, precision)
    t.same(reasons(converted), {
      div: 'integers',
      floor: 'integers',
      mul: 'integers',
      sub: 'integers',
      concat: 'integers',
    })
    t.equal(converted.report.converted, 2, 'Relu and ArgMax')
  }
  t.match(await difference(bytes, convert(bytes), { x: new Tensor('float32', pixels, [1, 20000]) }), { equal: true })
  const all = 3000
  for (const product of ['Mul', 'MatMul'] as const) {
    const rope = rotary(product)
    const converted = convert(rope)
    const angles = product === 'Mul' ? { mul: 'integers' } : { mm: 'integers', turn: 'integers' }
    t.same(reasons(converted), { ...angles, cos: 'integers', sin: 'integers' })
    const ids = new Tensor(
      'int64',
      BigInt64Array.from({ length: all }, (_, i) => BigInt(i)),
      [1, all],
    )
    await agrees(t, product, rope, converted, { ids, q: randomTensor([1, all, 4], 5) })
  }
})

t.test('integers that 16 bits hold, and what is computed beside activations, are converted', (t) => {
  const kept = (build: (g: GraphBuilder) => string): Record<string, string> => {
    const g = new GraphBuilder({ name: 'integers', opset: 17 })
    g.output(g.node('Sigmoid', [build(g)], {}, { name: 'sigmoid', output: 'y' }), 'float32', ['N'])
    return reasons(convert(writeModel(g.toModel())))
  }
  const float = (g: GraphBuilder, value: string): string => g.node('Cast', [value], { to: 1 })
  const times = (g: GraphBuilder, value: string): string =>
    g.node('Mul', [value, g.constant('c', scalar(0.5))], {}, { name: 'times' })
  t.same(
    kept((g) => times(g, float(g, g.input('b', 'bool', ['N'])))),
    {},
    'truth values',
  )
  t.same(
    kept((g) => times(g, float(g, g.input('b', 'uint8', ['N'])))),
    {},
    'bytes',
  )
  const truth = (g: GraphBuilder): string => g.node('Cast', [g.node('Not', [g.input('b', 'bool', ['N'])])], { to: 7 })
  t.same(
    kept((g) => times(g, float(g, truth(g)))),
    {},
    'truth values that were whole numbers meanwhile',
  )
  t.same(
    kept((g) => times(g, float(g, g.constant('k', ints(7, 2048))))),
    {},
    'constants up to 2048',
  )
  t.same(
    kept((g) => times(g, float(g, g.constant('k', ints(7, 2049))))),
    { times: 'integers', sigmoid: 'integers' },
    'and beyond',
  )
  t.same(
    kept((g) =>
      times(
        g,
        g.node('Mul', [g.input('x', 'float32', ['N']), float(g, g.input('i', 'int64', ['N']))], {}, { name: 'mixed' }),
      ),
    ),
    { mixed: 'integers' },
  )
  const weights = (g: GraphBuilder): string => g.constant('w', randomTensor([4, 4], 1))
  t.same(
    kept((g) =>
      times(g, g.node('MatMul', [float(g, g.input('i', 'int32', ['N', 4])), weights(g)], {}, { name: 'mm' })),
    ),
    { mm: 'integers' },
    'a weighted sum',
  )
  t.end()
})

/** y = (x · 1000) · 0.001, beside a Relu: 70 · 1000 is beyond float16. */
function overflowing(): Uint8Array {
  const g = new GraphBuilder({ name: 'overflow', opset: 17 })
  const x = g.node('Relu', [g.input('x', 'float32', ['N'])], {}, { name: 'relu' })
  const scaled = g.node('Mul', [x, g.constant('k', scalar(1000))], {}, { name: 'up', output: 'scaled' })
  g.output(g.node('Mul', [scaled, g.constant('l', scalar(0.001))], {}, { name: 'down', output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

t.test('with the ranges of a calibration nothing overflows that the data makes overflow', async (t) => {
  const bytes = overflowing()
  const x = floats(1, 60, 70, 1000)
  t.match(await difference(bytes, convert(bytes), { x }), { nonFinite: 2 }, 'without them nobody knows')
  const { ranges } = await new Calibrator([x], { algorithm: 'minmax' }).calibrate(bytes)
  const converted = convert(bytes, { ranges, dataMax: 65504 })
  t.same(reasons(converted), { up: 'range', down: 'range' })
  t.match(converted.report.kept[0]?.detail, /"scaled" goes from 1000 to 1000000, beyond dataMax 65504/)
  await agrees(t, 'measured', bytes, converted, { x })
  t.same(reasons(convert(bytes, { ranges })), { relu: 'range', up: 'range', down: 'range' }, '512 unless given')
  const cache = Calibration.fromTensorRT(new Calibration(undefined, 0, {}, ranges).toTensorRT({ version: '10.6.0' }))
  t.same(
    reasons(convert(bytes, { ranges: cache.ranges, dataMax: 65504 })),
    { up: 'range', down: 'range' },
    "TensorRT's cache",
  )
  t.match(await failureOf(() => convert(bytes, { ranges: { z: { min: 0, max: 1e6 } } })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /None of the 1 ranges is of a value of this model: it has no "z"/,
  })
})

t.test('trt convert --data measures them, and says what they keep', async (t) => {
  const folder = temporaryFolder(t)
  const [model, half, data] = ['model.onnx', 'half.onnx', 'x.npy'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const { writeFile } = await import('node:fs/promises')
  await writeFile(model, overflowing())
  await writeTensor(data, floats(1, 60, 70, 1000))
  const run = await trt(['convert', model, '--fp16', '--data', data, '--data-max', '65504', '-o', half, '--json'])
  t.equal(run.code, 0, run.stderr)
  t.match(JSON.parse(run.stdout), {
    converted: 1,
    kept: [
      { node: 'up', reason: 'range' },
      { node: 'down', reason: 'range' },
    ],
  })
  const x = await readTensor(data)
  t.match((await compare(model, half, [{ x }])).outputs['y'], { nonFinite: 0 })
  const told = await trt(['convert', model, '--fp16', '-o', half])
  t.match(told, { code: 0, stdout: /not known +what overflows inside of the model on your data: --data measures it/ })
  for (const option of ['--data-max', '--max-batches'])
    t.match(await trt(['convert', model, '--fp16', option, '9', '-o', half]), {
      code: 2,
      stderr: new RegExp(`${option} (needs|is of) --data`),
    })
})

t.test('a quantized model says what float16 does not hold beside INT8', async (t) => {
  const g = new GraphBuilder({ name: 'quantized', opset: 17 })
  const weights = g.constant('w', randomTensor([16, 16], 1))
  const product = g.node('MatMul', [g.input('x', 'float32', ['N', 16]), weights], {}, { name: 'mm', output: 'product' })
  const large = g.node('Mul', [product, g.constant('k', scalar(5e4))], {}, { output: 'large' })
  g.output(g.node('Mul', [large, g.constant('l', scalar(2e-5))], {}, { output: 'y' }), 'float32', ['N', 16])
  const { model, report, calibration } = await quantize(g.toModel(), new Calibrator([randomTensor([4, 16], 2)]))
  t.same(report.beyondFloat16.map(({ name }) => name), ['large']) // prettier-ignore
  t.ok((report.beyondFloat16[0]?.max ?? 0) > 65504)
  const { report: half } = convertPrecision(model, 'fp16', { ranges: calibration.ranges, dataMax: 65504 })
  t.ok(half.kept.filter(({ reason }) => reason === 'range').length === 2)
})
