// FP16 and BF16 by types in the graph: what is converted, what stays and why, where the casts stand; the numbers are
// held against onnxruntime's in float32.
import { create } from '@bufbuild/protobuf'
import t, { type Test } from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Tensor } from '../../lib/tensor.js'
import {
  attributeTypes,
  convertPrecision,
  type ElementType,
  elementTypeName,
  GraphBuilder,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type PrecisionOptions,
  type PrecisionReport,
  readModel,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { AttributeProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { Calibrator, quantize } from '../../lib/quantization/index.js'
import { failureOf } from '../support/errors.js'
import { cosine, randomFloats, randomTensor } from '../support/values.js'
import { run } from './helpers.js'

interface Converted {
  readonly bytes: Uint8Array
  readonly model: ModelProto
  readonly report: PrecisionReport
}

function convert(model: Uint8Array, options?: PrecisionOptions, precision: 'fp16' | 'bf16' = 'fp16'): Converted {
  const given = parseModel(model)
  const before = writeModel(given)
  const { model: made, report } = convertPrecision(given, precision, options)
  if (!Buffer.from(writeModel(given)).equals(before)) throw new Error('the model that was given was edited')
  const bytes = writeModel(made)
  return { bytes, model: parseModel(bytes), report }
}

const nodes = ({ model }: Converted): NodeProto[] => model.graph?.node ?? []
const casts = (converted: Converted): string[] =>
  nodes(converted)
    .filter(({ opType }) => opType === 'Cast')
    .map(({ input, output, attribute }) => `${input[0]} → ${output[0]}: ${elementTypeName(Number(attribute[0]?.i))}`)
const weightTypes = ({ model }: Converted): Record<string, ElementType> =>
  Object.fromEntries((model.graph?.initializer ?? []).map(({ name, dataType }) => [name, elementTypeName(dataType)]))
const reasons = ({ report }: Converted): Record<string, string> =>
  Object.fromEntries(report.kept.map(({ node, reason }) => [node, reason]))

/** How alike two results are: 1 is the same direction. */
async function agrees(t: Test, before: Uint8Array, after: Uint8Array, shape: number[], seed: number): Promise<void> {
  const feeds = { x: { data: randomFloats(shape, seed), shape } }
  const [wanted, found] = [await run(before, feeds), await run(after, feeds)]
  for (const [name, { data }] of Object.entries(wanted)) {
    const alike = cosine(found[name]?.data as Float32Array, data as Float32Array)
    t.ok(alike >= 0.999, `${name}: cosine ${alike}`)
    t.notSame(found[name]?.data, data, 'and it was computed in another way')
  }
}

/** Conv → Conv → skip connection → pool → Gemm, as in a ResNet. */
function residual(seed: number, channels = 8): Uint8Array {
  const g = new GraphBuilder({ name: 'residual' })
  const x = g.input('x', 'float32', ['N', 3, 16, 16])
  const conv = (input: string, name: string, from: number, size: number): string => {
    const weights = [g.constant(`${name}.w`, randomTensor([channels, from, size, size], seed, 0.5)), g.constant(`${name}.b`, randomTensor([channels], seed + 1))]
    const pads = size === 3 ? [1, 1, 1, 1] : [0, 0, 0, 0]
    return g.node('Conv', [input, ...weights], { pads }, { name })
  } // prettier-ignore
  const a = g.node('Relu', [conv(x, 'conv1', 3, 3)])
  const b = g.node('Relu', [g.node('Add', [conv(a, 'conv2', channels, 3), conv(x, 'skip', 3, 1)])])
  const flat = g.node('Flatten', [g.node('GlobalAveragePool', [b])])
  const y = g.node(
    'Gemm',
    [
      flat,
      g.constant('fc.w', randomTensor([10, channels], seed + 2)),
      g.constant('fc.b', randomTensor([10], seed + 3)),
    ],
    { transB: 1 },
    { output: 'y' },
  )
  g.output(y, 'float32', ['N', 10])
  return writeModel(g.toModel())
}

/**
 * A transformer's encoder layer: attention with a mask of sizes, LayerNormalization written out with its epsilon, GELU.
 */
function encoder(seed: number, width = 16, length = 6): Uint8Array {
  const g = new GraphBuilder({ name: 'encoder' })
  const x = g.input('x', 'float32', ['N', length, width])
  const scalar = (name: string, value: number): string =>
    g.constant(name, new Tensor('float32', Float32Array.of(value), []))
  const dense = (input: string, name: string, from: number, to: number): string =>
    g.node('MatMul', [input, g.constant(name, randomTensor([from, to], seed++, 0.5))])
  const [q = '', k = '', v = ''] = ['q', 'k', 'v'].map((name) => dense(x, name, width, width))
  const depth = g.node(
    'Sqrt',
    [
      g.node(
        'Cast',
        [g.node('Gather', [g.node('Shape', [q]), g.constant('last', Tensor.from(BigInt64Array.of(2n), []))])],
        { to: 1 },
        { name: 'depth' },
      ),
    ],
    {},
    { name: 'sqrt' },
  )
  const scores = g.node('Softmax', [
    g.node('Div', [g.node('MatMul', [q, g.node('Transpose', [k], { perm: [0, 2, 1] })]), depth]),
  ])
  const mixed = g.node('Add', [x, g.node('MatMul', [scores, v])])
  const centred = g.node('Sub', [mixed, g.node('ReduceMean', [mixed], { axes: [-1] })])
  const variance = g.node('ReduceMean', [g.node('Mul', [centred, centred])], { axes: [-1] })
  const normal = g.node('Div', [
    centred,
    g.node('Sqrt', [g.node('Add', [variance, scalar('epsilon', 1e-12)], {}, { name: 'plus' })]),
  ])
  const hidden = dense(normal, 'up', width, 4 * width)
  const gelu = g.node('Mul', [
    hidden,
    g.node('Add', [g.node('Erf', [g.node('Div', [hidden, scalar('root', Math.SQRT2)])]), scalar('one', 1)]),
  ])
  const y = g.node('Add', [normal, dense(gelu, 'down', 4 * width, width)], {}, { output: 'y' })
  g.output(y, 'float32', ['N', length, width])
  return writeModel(g.toModel())
}

t.test('a residual block', async (t) => {
  for (const seed of [1, 2, 3]) {
    const model = residual(seed)
    const converted = convert(model)
    const { report } = converted
    await agrees(t, model, converted.bytes, [2, 3, 16, 16], seed + 10)
    t.same(casts(converted), ['x → x_float16: float16', 'y_float16 → y: float32'], 'casts at the borders alone')
    t.same(report.kept, [])
    t.equal(report.casts, 2)
    t.ok(Object.values(weightTypes(converted)).every((dtype) => dtype === 'float16'))
    const numbers = 8 * 3 * 9 + 8 + 8 * 8 * 9 + 8 + 8 * 3 + 8 + 10 * 8 + 10
    t.same(report.weights, {
      bytesBefore: 4 * numbers,
      bytesAfter: 2 * numbers,
      bytesConverted: 4 * numbers,
      flushed: 0,
    })
    t.equal(report.opset, undefined)
  }
})

t.test('an encoder layer', async (t) => {
  for (const seed of [10, 20]) {
    const model = encoder(seed)
    const converted = convert(model)
    await agrees(t, model, converted.bytes, [2, 6, 16], seed)
    t.same(reasons(converted), { sqrt: 'shapes', plus: 'small' }, 'a size stays exact, and 1e-12 more than 0')
    t.ok(converted.report.weights.bytesConverted / converted.report.weights.bytesBefore > 0.99)
    for (const { opType, input } of nodes(converted)) {
      const before = nodes(converted).find(({ output }) => output[0] === input[0])
      t.notOk(opType === 'Cast' && before?.opType === 'Cast' && before.name !== 'depth', 'never two casts in a row')
    }
  }
})

t.test('the face detector', async (t) => {
  const model = writeModel(await readModel(await faceDetectorModel()))
  const { bytes, report } = convert(model)
  t.equal(report.weights.bytesConverted, report.weights.bytesBefore)
  t.equal(report.weights.bytesAfter, report.weights.bytesBefore / 2)
  const input = { input: { data: randomFloats([1, 3, 416, 416], 5), shape: [1, 3, 416, 416] } }
  const [wanted, found] = [Object.values(await run(model, input))[0], Object.values(await run(bytes, input))[0]]
  const alike = cosine(found?.data as Float32Array, wanted?.data as Float32Array)
  t.ok(alike >= 0.999, `cosine ${alike}`)
})

/** y = Relu(a); z = Exp(y), with a = x + w: two outputs, of which one is read too. */
function chain(weights = Tensor.from(Float32Array.of(1, 2, 3, 4)), opset = 17): Uint8Array {
  const g = new GraphBuilder({ name: 'chain', opset })
  const a = g.node('Add', [g.input('x', 'float32', [4]), g.constant('w', weights)], {}, { name: 'add', output: 'a' })
  const y = g.node('Relu', [a], {}, { name: 'relu', output: 'y' })
  const z = g.node('Exp', [y], {}, { name: 'exp', output: 'z' })
  for (const output of [y, z]) g.output(output, 'float32', [4])
  return writeModel(g.toModel())
}

t.test('nodes that stay: by name, by operator, by their numbers', async (t) => {
  const big = Tensor.from(Float32Array.of(1, 2, -70000, 4))
  const cases: [string, Uint8Array, PrecisionOptions, Record<string, string>][] = [
    ['a name', chain(), { keep: { names: ['relu'] } }, { relu: 'name' }],
    ['an expression', chain(), { keep: { names: [/^(add|exp)$/g] } }, { add: 'name', exp: 'name' }],
    ['an operator', chain(), { keep: { operators: ['Exp'] } }, { exp: 'operator' }],
    ['a weight beyond float16', chain(big), {}, { add: 'weights' }],
    ['a weight beyond a limit', chain(), { initMax: 3.5 }, { add: 'weights' }],
    ['weights that would all be 0', chain(Tensor.from(Float32Array.of(1e-9, 0, 0, 2e-8))), {}, { add: 'small' }],
    ['a range', chain(), { ranges: { y: { min: 0, max: 513 } } }, { relu: 'range', exp: 'range' }],
    ['a range below', chain(), { ranges: { x: { min: -10, max: 512 }, a: { min: -3, max: 2 } } }, {}],
    [
      'a range, by its limit',
      chain(),
      { ranges: { a: { min: -3, max: 2 } }, dataMax: 2.5 },
      { add: 'range', relu: 'range' },
    ],
  ]
  const feeds = { x: { data: Float32Array.of(-3, 1, 0.5, -2), shape: [4] } }
  for (const [name, model, options, wanted] of cases) {
    const converted = convert(model, options)
    t.same(reasons(converted), wanted, name)
    t.equal(converted.report.converted, 3 - Object.keys(wanted).length)
    const [before, after] = [await run(model, feeds), await run(converted.bytes, feeds)]
    for (const output of ['y', 'z'])
      t.ok(cosine(after[output]?.data as Float32Array, before[output]?.data as Float32Array) > 0.999, name)
  }
  const half = convert(residual(1), { maxReductionDepth: 27 })
  t.same(reasons(half), { conv2: 'depth' }, '8 · 3 · 3 products are more than 3 · 3 · 3')
  t.match(half.report.kept[0]?.detail, /adds up 72, more than maxReductionDepth 27/)
})

t.test('casts: one for each value and direction', (t) => {
  t.same(casts(convert(chain())), ['x → x_float16: float16', 'y_float16 → y: float32', 'z_float16 → z: float32'])
  t.same(casts(convert(chain(), { keep: { names: ['relu'] } })), [
    'x → x_float16: float16',
    'a_float16 → a: float32',
    'y → y_float16: float16',
    'z_float16 → z: float32',
  ])
  t.same(casts(convert(chain(), { keep: { names: ['add', 'relu', 'exp'] } })), [], 'nothing to convert, nothing cast')
  t.end()
})

t.test('inputs and outputs take the new type where that is wanted', async (t) => {
  const types = ({ model }: Converted): unknown =>
    [...(model.graph?.input ?? []), ...(model.graph?.output ?? [])].map(({ name, type }) => [
      name,
      type?.value.case === 'tensorType' && elementTypeName(type.value.value.elemType),
    ])
  const all = convert(chain(), { keepIO: false })
  t.same(casts(all), [])
  t.same(types(all), [
    ['x', 'float16'],
    ['y', 'float16'],
    ['z', 'float16'],
  ])
  const some = convert(chain(), { keepIO: false, keep: { names: ['exp'] } })
  t.same(casts(some), ['y → y_float32: float32'])
  t.same(types(some), [
    ['x', 'float16'],
    ['y', 'float16'],
    ['z', 'float32'],
  ])
  t.same(types(convert(chain(), { keepIO: false, keep: { names: ['add'] } })), [
    ['x', 'float32'],
    ['y', 'float16'],
    ['z', 'float16'],
  ])
})

t.test('weights that both sides read are there twice, and graphs inside of nodes stay as they are', async (t) => {
  const g = new GraphBuilder({ name: 'shared' })
  const w = g.constant('w', Tensor.from(Float32Array.of(1, 2, 3, 4)))
  const a = g.node('Add', [g.input('x', 'float32', [4]), w], {}, { name: 'add' })
  g.output(g.node('Mul', [a, w], {}, { name: 'mul', output: 'y' }), 'float32', [4])
  const bytes = writeModel(g.toModel())
  const converted = convert(bytes, { keep: { names: ['mul'] } })
  t.same(weightTypes(converted), { w: 'float32', w_float16: 'float16' })
  t.same(converted.report.weights, { bytesBefore: 16, bytesAfter: 24, bytesConverted: 16, flushed: 0 })

  const outer = new GraphBuilder({ name: 'if' })
  const x = outer.node('Relu', [outer.input('x', 'float32', [4])], {}, { output: 'relu' })
  outer.constant('w', Tensor.from(Float32Array.of(1, 2, 3, 4)))
  const branch = (name: string, operator: string): GraphProto => {
    const inner = new GraphBuilder({ name })
    const [p, q] = ['relu', 'w'].map((each) => inner.input(each, 'float32', [4])) as [string, string]
    inner.output(inner.node(operator, [p, q], {}, { output: `${name}.y` }), 'float32', [4])
    const graph = inner.toModel().graph as GraphProto
    graph.input = []
    return graph
  }
  const y = outer.node('If', [outer.input('c', 'bool', [])], {}, { name: 'if', output: 'chosen' })
  outer.output(outer.node('Add', [outer.node('Exp', [y]), 'w'], {}, { output: 'y' }), 'float32', [4])
  outer.output(x, 'float32', [4])
  const model = outer.toModel()
  const node = model.graph?.node.find(({ opType }) => opType === 'If')
  for (const [name, operator] of [
    ['then_branch', 'Add'],
    ['else_branch', 'Mul'],
  ] as const)
    // prettier-ignore
    node?.attribute.push(create(AttributeProtoSchema, { name, type: attributeTypes.GRAPH, g: branch(name, operator) }))
  const before = writeModel(model)
  // the type of what If gives is in its branches; where it is not known, what reads it stays too
  const after = convert(before)
  t.equal(reasons(after)['if'], 'unsupported')
  const feeds = { x: { data: Float32Array.of(-1, 2, 0.5, 3), shape: [4] } }
  for (const c of [0, 1]) {
    const results = await Promise.all([before, after.bytes].map((each) => runIf(each, feeds.x.data, c)))
    t.ok(cosine(results[1] as Float32Array, results[0] as Float32Array) > 0.9999, `branch ${c}`)
  }
})

async function runIf(model: Uint8Array, x: Float32Array, c: number): Promise<ArrayLike<number>> {
  const ort = await import('onnxruntime-node')
  const session = await ort.InferenceSession.create(model, { logSeverityLevel: 3 })
  const feeds = { x: new ort.Tensor('float32', x, [4]), c: new ort.Tensor('bool', Uint8Array.of(c), []) }
  const { y } = await session.run(feeds)
  await session.release()
  return y?.data as Float32Array
}

t.test("a model's own casts are not doubled", async (t) => {
  const g = new GraphBuilder({ name: 'casts' })
  const whole = g.input('x', 'uint8', [4])
  const a = g.node('Relu', [g.node('Cast', [whole], { to: 1 }, { output: 'float' })])
  const half = g.node('Cast', [a], { to: 10 }, { output: 'half' })
  const back = g.node('Cast', [g.node('Neg', [half])], { to: 1 }, { output: 'back' })
  g.output(g.node('Exp', [back], {}, { output: 'y' }), 'float32', [4])
  const converted = convert(writeModel(g.toModel()))
  t.same(casts(converted), ['x → float_float16: float16', 'y_float16 → y: float32'])
  t.equal(converted.report.casts, 2)
  t.end()
})

t.test('scales of a Resize, and a model that only moves elements', (t) => {
  const g = new GraphBuilder({ name: 'resize' })
  const scales = g.constant('scales', Tensor.from(Float32Array.of(1, 1, 2, 2)))
  const x = g.node('Relu', [g.input('x', 'float32', [1, 1, 2, 2])])
  g.output(g.node('Resize', [x, '', scales], {}, { output: 'y' }), 'float32', [1, 1, 4, 4])
  t.same(weightTypes(convert(writeModel(g.toModel()))), { scales: 'float32' })

  const moving = new GraphBuilder({ name: 'moving' })
  moving.output(
    moving.node('Transpose', [moving.input('x', 'float32', [2, 3])], {}, { name: 'transpose', output: 'y' }),
    'float32',
    [3, 2],
  )
  const converted = convert(writeModel(moving.toModel()))
  t.same(reasons(converted), { transpose: 'between' })
  t.equal(converted.report.casts, 0)
  t.end()
})

t.test('operators of other domains, and types that are not known', (t) => {
  const g = new GraphBuilder({ name: 'foreign', domains: { 'com.example': 1 } })
  const strange = g.node('Strange', [g.input('x', 'float32', [4])], {}, { name: 'strange', domain: 'com.example' })
  const after = g.node('Relu', [strange], {}, { name: 'relu' })
  g.output(g.node('Add', [after, 'x'], {}, { name: 'add', output: 'y' }), 'float32', [4])
  const converted = convert(writeModel(g.toModel()))
  t.same(reasons(converted), { strange: 'unsupported', relu: 'type', add: 'type' })
  t.match(converted.report.kept[1]?.detail, /the type of "strange" is not known/)
  t.end()
})

/** x → Q → DQ → Conv ← DQ ← int8. */
function quantized(opset: number, scale = 0.05): Uint8Array {
  const g = new GraphBuilder({ name: 'quantized', opset })
  const scalar = (name: string, value: number): string =>
    g.constant(name, new Tensor('float32', Float32Array.of(value), []))
  const zero = g.constant('zero', new Tensor('int8', Int8Array.of(0), []))
  const [s, ws] = [scalar('s', scale), scalar('ws', 0.01)]
  const x = g.input('x', 'float32', [1, 2, 4, 4])
  const a = g.node(
    'DequantizeLinear',
    [g.node('QuantizeLinear', [x, s, zero], {}, { name: 'q' }), s, zero],
    {},
    { name: 'dq' },
  )
  const codes = g.constant(
    'w',
    new Tensor(
      'int8',
      Int8Array.from({ length: 36 }, (_, i) => (i * 37) % 100),
      [2, 2, 3, 3],
    ),
  )
  const w = g.node('DequantizeLinear', [codes, ws, zero], {}, { name: 'wdq' })
  g.output(g.node('Conv', [a, w], {}, { name: 'conv', output: 'y' }), 'float32', [1, 2, 2, 2])
  return writeModel(g.toModel())
}

t.test('quantized models', async (t) => {
  for (const opset of [19, 17]) {
    const model = quantized(opset)
    const converted = convert(model)
    t.same(reasons(converted), {}, `opset ${opset}`)
    t.same(
      converted.report.opset,
      opset === 17 ? { from: 17, to: 19 } : undefined,
      'quantizing nodes take float16 from 19 on',
    )
    await agrees(t, model, converted.bytes, [1, 2, 4, 4], 9)
  }
  const tiny = convert(quantized(19, 2e-5))
  t.same(
    reasons(tiny),
    { q: 'small', dq: 'small', wdq: 'dequantized', conv: 'dequantized' },
    'a scale that would lose digits',
  )
})

/** The nodes between which a Cast stands, by operator. */
function castBetween(converted: Converted): string[] {
  const [all, of] = [nodes(converted), new Map<string, NodeProto>()]
  for (const node of all) for (const value of node.output) of.set(value, node)
  return all.flatMap((node) => {
    const cast = node.input.map((value) => of.get(value)).find((each) => each?.opType === 'Cast')
    const source = cast && of.get(cast.input[0] as string)
    return source === undefined ? [] : [`${source.opType} → ${node.opType}`]
  })
}

t.test('FP16 beside INT8: no Cast stands where TensorRT makes one kernel', async (t) => {
  const g = new GraphBuilder({ name: 'beside', opset: 19 })
  const x = g.input('x', 'float32', [1, 16, 8, 8])
  const conv = (input: string, name: string, smallest: number): string => {
    const weights = randomTensor([16, 16, 3, 3], name.length, 0.3)
    weights.data.subarray(0, 144).forEach((value, i, row) => (row[i] = value * smallest))
    return g.node('Conv', [input, g.constant(`${name}.w`, weights)], { pads: [1, 1, 1, 1] }, { name })
  }
  const a = g.node('Relu', [conv(x, 'tiny', 0.01)], {}, { name: 'relu' })
  const b = g.node('Relu', [conv(a, 'usual', 1)])
  g.output(g.node('Softmax', [b], { axis: 1 }, { output: 'y' }), 'float32', [1, 16, 8, 8])
  const { model } = await quantize(g.toModel(), new Calibrator([randomTensor([1, 16, 8, 8], 5)]))
  const converted = convert(writeModel(model))
  t.same(
    castBetween(converted).filter((pair) => /DequantizeLinear →|→ QuantizeLinear|→ Relu/.test(pair)),
    [],
    castBetween(converted).join(', '),
  )
  const { kept } = converted.report
  t.match(
    kept.find(({ node }) => node === 'tiny'),
    { reason: 'dequantized', detail: /stays in float32, and a Cast between them would cost/ },
  )
  t.match(
    kept.find(({ node }) => node === 'relu'),
    { reason: 'dequantized' },
  )
  t.equal(
    kept.find(({ node }) => node === 'usual'),
    undefined,
    'whose scales float16 has',
  )
  const keep = convert(writeModel(model), { keep: { operators: ['Conv'] } })
  t.same(
    castBetween(keep).filter((pair) => pair.startsWith('DequantizeLinear')),
    [],
    'what stays by its name takes its DequantizeLinear along',
  )
})

t.test('bf16 raises the opset, or says why it cannot', (t) => {
  const converted = convert(residual(1), {}, 'bf16')
  t.same(converted.report.opset, { from: 17, to: 22 })
  t.ok(Object.values(weightTypes(converted)).every((dtype) => dtype === 'bfloat16'))
  t.same(casts(converted), ['x → x_bfloat16: bfloat16', 'y_bfloat16 → y: float32'])
  t.same(
    reasons(convert(chain(Tensor.from(Float32Array.of(1, 2, 7e4, 1e-12))), {}, 'bf16')),
    {},
    'it has the range of float32',
  )
  t.throws(() => convert(chain(undefined, 6), {}, 'bf16'), {
    code: 'ERR_TRT_PRECISION',
    message:
      /add \(Add\) takes it from opset 13 on, the model has 6, and cannot be raised: models are raised from opset 7 on/,
  })
  t.end()
})

t.test('arguments', async (t) => {
  const model = (): ModelProto => parseModel(chain())
  const wrong: [() => unknown, RegExp][] = [
    [() => convertPrecision(model(), 'fp8' as never), /'fp16' or 'bf16' for precision/],
    [() => convertPrecision(model(), 'fp16', { kepIO: true } as never), /did you mean keepIO/],
    [() => convertPrecision(model(), 'fp16', { keep: { names: [3] as never } }), /keep\.names\[0\]/],
    [() => convertPrecision(model(), 'fp16', { dataMax: -1 }), /dataMax/],
    [() => convertPrecision(model(), 'fp16', { ranges: { x: { min: 0, max: NaN } } }), /max in the range of 'x'/],
    [() => convertPrecision(model(), 'fp16', { maxReductionDepth: 0 }), /maxReductionDepth/],
  ]
  for (const [call, message] of wrong) t.match(await failureOf(call), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
})

t.test('a Constant node whose tensor is in an attribute of another name is refused by name', async (t) => {
  const g = new GraphBuilder({ name: 'strange' })
  const w = g.node('Constant', [], { values: Tensor.zeros('float32', [3]) }, { name: 'w' })
  g.output(g.node('Add', [g.input('x', 'float32', [3]), w], {}, { output: 'y' }), 'float32', [3])
  const failure = await failureOf(() => convertPrecision(g.toModel(), 'fp16'))
  t.match(failure, { code: 'ERR_TRT_ONNX_PARSE', message: /Constant node "w" has no value that can be read/ })
})

t.test('weights are rounded to the nearest, and what became 0 is counted', async (t) => {
  const numbers = Float32Array.of(1 / 3, 65504, -2.5e-8, 1e-30, 0, 5.5)
  const g = new GraphBuilder({ name: 'numbers' })
  const shape = [numbers.length]
  const halves = g.node('Cast', [g.input('x', 'float32', shape)], { to: 10 })
  g.output(g.node('Cast', [halves], { to: 1 }, { output: 'y' }), 'float32', shape)
  const { y } = await run(writeModel(g.toModel()), { x: { data: numbers, shape } })
  const add = new GraphBuilder({ name: 'add' })
  add.output(
    add.node('Add', [add.input('x', 'float32', shape), add.constant('w', Tensor.from(numbers))], {}, { output: 'z' }),
    'float32',
    shape,
  )
  const { model, report } = convert(writeModel(add.toModel()))
  const stored = model.graph?.initializer[0]?.rawData ?? new Uint8Array()
  const found = new Tensor('float16', new Uint16Array(stored.slice().buffer), shape)
  t.same(found.toFloat32().data, Float32Array.from(y?.data as Float32Array))
  t.equal(report.weights.flushed, 2)
})
