import t from 'tap'
import {
  attributeTypes,
  elementTypeNumber,
  float,
  GraphBuilder,
  inspectModel,
  nodesOf,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import type { AttributeProto, Attributes } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'
import { randomFloats } from '../support/values.js'
import { near, run } from './helpers.js'

t.test('onnxruntime computes what a built network says', async (t) => {
  const g = new GraphBuilder({ name: 'linear', opset: 17 })
  const x = g.input('x', 'float32', ['N', 3])
  const weight = g.constant('weight', new Tensor('float32', Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]))
  const bias = g.constant('bias', new Tensor('float32', Float32Array.of(0.5, -20), [2]))
  const sum = g.node('Gemm', [x, weight, bias], { alpha: 2, transB: 1 })
  g.output(g.node('LeakyRelu', [sum], { alpha: 0.25 }, { output: 'y' }), 'float32', ['N', 2])

  const rows = [
    [1, 2, 3],
    [-1, 0.5, 0.25],
  ] as const
  const wanted = rows.flatMap(([a, b, c]) =>
    [2 * (a + 2 * b + 3 * c) + 0.5, 2 * (4 * a + 5 * b + 6 * c) - 20].map((v) => (v < 0 ? v / 4 : v)),
  )
  const { y } = await run(writeModel(g.toModel()), { x: { data: Float32Array.from(rows.flat()), shape: [2, 3] } })
  t.same(y?.shape, [2, 2])
  near(t, y?.data as Float32Array, wanted, 1e-5, 'as the formula')
})

t.test('a convolution with strides and padding', async (t) => {
  const g = new GraphBuilder({ name: 'conv' })
  const x = g.input('x', 'float32', [1, 1, 5, 5])
  const w = g.constant('w', new Tensor('float32', new Float32Array(9).fill(1), [1, 1, 3, 3]))
  const y = g.node('Conv', [x, w, ''], { strides: [2, 2], pads: [1, 1, 1, 1] })
  g.output(y, 'float32', [1, 1, 3, 3])
  const data = randomFloats([5, 5], 3)
  const wanted = [0, 2, 4].flatMap((row) => [0, 2, 4].map((column) => sumAround(data, row, column)))
  const result = await run(writeModel(g.toModel()), { x: { data, shape: [1, 1, 5, 5] } })
  near(t, result[y]?.data as Float32Array, wanted, 1e-6, 'sums of 3×3 pixels, an optional input left out')
})

function sumAround(data: Float32Array, row: number, column: number): number {
  let sum = 0
  for (let i = row - 1; i <= row + 1; i++)
    for (let j = column - 1; j <= column + 1; j++)
      if (i >= 0 && i < 5 && j >= 0 && j < 5) sum += data[i * 5 + j] as number
  return sum
}

t.test('nodes with several outputs', async (t) => {
  const g = new GraphBuilder({ name: 'split', opset: 18 })
  const x = g.input('x', 'float32', [6])
  const parts = g.nodeWithOutputs('Split', [x], 3, { axis: 0, num_outputs: 3 })
  t.equal(new Set(parts).size, 3)
  for (const part of parts) g.output(part, 'float32', [2])
  const [, , , counts] = g.nodeWithOutputs('Unique', [x], ['values', '', '', 'counts'])
  g.output(counts as string, 'int64', ['different'])
  const result = await run(writeModel(g.toModel()), { x: { data: Float32Array.of(1, 2, 9, 1, 5, 1), shape: [6] } })
  t.same(
    parts.map((part) => Array.from(result[part]?.data ?? [])),
    [
      [1, 2],
      [9, 1],
      [5, 1],
    ],
  )
  t.same(Array.from(result['counts']?.data ?? []), [3n, 1n, 1n, 1n])
})

t.test('64 bits arrive: attributes, tensors and what onnxruntime makes of them', async (t) => {
  const large = 2n ** 62n + 1n
  const g = new GraphBuilder({ name: 'int64' })
  const x = g.input('x', 'int64', [2])
  const constant = g.node('Constant', [], { value_ints: [large, -(2n ** 63n)] })
  const shift = g.constant('one', new Tensor('int64', BigInt64Array.of(1n, 1n), [2]))
  g.output(g.node('Add', [g.node('Add', [x, constant]), shift], {}, { output: 'y' }), 'int64', [2])
  const bytes = writeModel(g.toModel())
  t.same(attribute(bytes, 'value_ints').ints, [large, -(2n ** 63n)])
  const { y } = await run(bytes, { x: { data: BigInt64Array.of(3n, 4n), shape: [2] } })
  t.same(Array.from(y?.data ?? []), [large + 4n, -(2n ** 63n) + 5n])
})

/** The attribute of that name, after writing and reading. */
function attribute(bytes: Uint8Array, name: string): AttributeProto {
  for (const node of nodesOf(parseModel(bytes))) {
    const found = node.attribute.find((attribute) => attribute.name === name)
    if (found !== undefined) return found
  }
  throw new Error(`no attribute ${name}`)
}

function builtAttribute(operator: string, name: string, value: Attributes[string], domain = ''): AttributeProto {
  const g = new GraphBuilder({ name: 'attributes', domains: { custom: 1 } })
  g.output(g.node(operator, [], { [name]: value }, { domain }), 'float32', [])
  return attribute(writeModel(g.toModel()), name)
}

t.test('the kind of an attribute', async (t) => {
  const { FLOAT, FLOATS, INT, INTS, STRING, STRINGS, TENSOR, TENSORS } = attributeTypes
  const tensor = new Tensor('int8', Int8Array.of(1, -2), [2])
  const table: [
    operator: string,
    name: string,
    value: Attributes[string],
    type: number,
    field: keyof AttributeProto,
    stored: unknown,
  ][] = [
    ['LeakyRelu', 'alpha', 1, FLOAT, 'f', 1],
    ['LeakyRelu', 'alpha', -0.5, FLOAT, 'f', -0.5],
    ['Elu', 'alpha', Infinity, FLOAT, 'f', Infinity],
    ['Constant', 'value_floats', [1, 2], FLOATS, 'floats', [1, 2]],
    ['LSTM', 'activation_alpha', [], FLOATS, 'floats', []],
    ['Bernoulli', 'seed', 3, FLOAT, 'f', 3],
    ['Dropout', 'seed', 3, INT, 'i', 3n],
    ['Concat', 'axis', 0, INT, 'i', 0n],
    ['Concat', 'axis', -1, INT, 'i', -1n],
    ['Conv', 'strides', [2, 1], INTS, 'ints', [2n, 1n]],
    ['Conv', 'strides', [], INTS, 'ints', []],
    ['Cast', 'to', elementTypeNumber('float16'), INT, 'i', 10n],
    ['Constant', 'value_int', 2n ** 63n - 1n, INT, 'i', 2n ** 63n - 1n],
    ['Resize', 'mode', 'linear', STRING, 's', Buffer.from('linear')],
    ['LSTM', 'activations', ['Tanh', 'é'], STRINGS, 'strings', [Buffer.from('Tanh'), Buffer.from('é')]],
  ]
  for (const [operator, name, value, type, field, stored] of table) {
    const proto = builtAttribute(operator, name, value)
    t.match({ type: proto.type, value: plain(proto[field]) }, { type, value: plain(stored) }, `${operator} ${name}`)
  }
  t.match(builtAttribute('Any', 'alpha', 1, 'custom'), { type: INT, i: 1n }, 'another domain has no known floats')
  t.match(builtAttribute('Any', 'alpha', float(1), 'custom'), { type: FLOAT, f: 1 })
  t.match(builtAttribute('Any', 'levels', float([1, 2]), 'custom'), { type: FLOATS, floats: [1, 2] })
  t.match(builtAttribute('Constant', 'value', tensor), { type: TENSOR, t: { dims: [2n], dataType: 3 } })
  t.match(builtAttribute('Any', 'values', [tensor, tensor], 'custom'), { type: TENSORS, tensors: { length: 2 } })
})

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Array.from(value)
  return Array.isArray(value) ? value.map(plain) : value
}

t.test('attributes that ONNX cannot have are refused', async (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  t.throws(() => builtAttribute('Concat', 'axis', 0.5), invalid(/safe integer .*attribute axis of Concat .*0\.5/))
  t.throws(() => builtAttribute('Concat', 'axis', 2 ** 60), invalid(/bigint for larger/))
  t.throws(() => builtAttribute('Concat', 'axis', 2n ** 63n), invalid(/64 bits/))
  t.throws(() => builtAttribute('Elu', 'alpha', 1e39), invalid(/float32/))
  t.throws(() => builtAttribute('Conv', 'pads', [1, 'a'] as never), invalid(/one kind \(int\)/))
  t.throws(() => builtAttribute('Conv', 'pads', [1, 0.5]), invalid(/attribute pads of Conv, element 1/))
  for (const value of [true, null, undefined, {}, [[1]]])
    t.throws(() => builtAttribute('Conv', 'pads', value as never), invalid(/Expected a number, bigint/))
})

t.test('misuse of the builder is refused and changes nothing', async (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const scalar = new Tensor('float32', Float32Array.of(1), [])
  const g = new GraphBuilder({ name: 'misuse' })
  const x = g.input('x', 'float32', [1])
  const y = g.node('Relu', [x], {}, { name: 'relu', output: 'y' })
  t.throws(() => g.toModel(), invalid(/no output/))
  g.output(y, 'float32', [1])
  const before = writeModel(g.toModel())

  t.throws(() => g.input('x', 'float32', [1]), invalid(/a value named "x" already/))
  t.throws(() => g.constant('y', scalar), invalid(/a value named "y" already/))
  t.throws(() => g.node('Relu', [x], {}, { output: 'x' }), invalid(/a value named "x" already/))
  t.throws(() => g.node('Relu', [x], {}, { name: 'relu' }), invalid(/a node named "relu" already/))
  t.throws(() => g.nodeWithOutputs('Split', [x], ['a', 'a']), invalid(/a value named "a" already/))
  t.throws(() => g.nodeWithOutputs('Split', [x], 0), invalid(/an integer from 1 for outputs/))
  t.throws(() => g.node('Relu', ['z']), invalid(/input of Relu node Relu_1 but received string "z"/))
  t.throws(() => g.node('Relu', [undefined as never]), invalid(/received undefined/))
  t.throws(() => g.node('', [x]), invalid(/non-empty string for operator/))
  t.throws(
    () => g.node('Gelu', [x], {}, { domain: 'com.microsoft' }),
    invalid(/Domain "com.microsoft" of operator Gelu/),
  )
  t.throws(() => g.node('Elu', [x], { alpha: {} as never }, { output: 'fresh' }), invalid(/attribute alpha of Elu/))
  t.throws(() => g.output('z', 'float32', [1]), invalid(/output of the graph but received string "z"/))
  t.throws(() => g.output(y, 'float32', [1]), invalid(/an output of the graph already/))
  t.throws(() => g.input('a', 'float99' as never, [1]), invalid(/dtype of a/))
  t.throws(() => g.input('a', 'float32', 3 as never), invalid(/shape of a/))
  t.throws(() => g.input('', 'float32', [1]), invalid(/name of a value/))
  t.throws(() => g.constant('a', [1] as never), invalid(/a Tensor for constant a/))
  for (const size of [-1, 0.5, NaN, '', null])
    t.throws(() => g.input('a', 'float32', [size as never]), invalid(/shape of a/))
  t.same(writeModel(g.toModel()), before)

  t.throws(() => new GraphBuilder({ name: '' }), invalid(/name of the graph/))
  for (const opset of [0, 1.5, '17' as never]) t.throws(() => new GraphBuilder({ name: 'g', opset }), invalid(/opset/))
  t.throws(() => new GraphBuilder({ name: 'g', domains: { custom: 0 } }), invalid(/domain custom/))
  t.throws(() => new GraphBuilder({ name: 'g', irVersion: -1 }), invalid(/irVersion/))
})

t.test('names that nobody gave do not meet names that somebody gave', async (t) => {
  const g = new GraphBuilder({ name: 'names' })
  const x = g.input('Relu_0', 'float32', [1])
  const first = g.node('Relu', [x])
  g.node('Relu', [x], {}, { name: 'Relu_2' })
  const third = g.node('Relu', [first])
  t.equal(new Set([x, first, 'Relu_2', third]).size, 4)
  g.output(third, 'float32', [1])
  await run(writeModel(g.toModel()), { [x]: { data: Float32Array.of(1), shape: [1] } })
})

t.test('versions and producer', async (t) => {
  // From onnx.helper.VERSION_TABLE of Python's onnx 1.23.2.
  const table = [
    [9, 4],
    [10, 5],
    [11, 6],
    [13, 7],
    [17, 8],
    [20, 9],
    [22, 10],
    [23, 11],
    [24, 12],
    [27, 13],
    [28, 14],
  ] as const
  for (const [opset, ir] of table) {
    const g = new GraphBuilder({ name: 'g', opset })
    g.output(g.input('x', 'float32', []), 'float32', [])
    t.match(inspectModel(g.toModel()), { opset, irVersion: ir, producer: { name: 'node-tensorrt', version: '' } })
  }
  const g = new GraphBuilder({
    name: 'g',
    irVersion: 6,
    domains: { 'com.microsoft': 1 },
    producer: { name: 'me', version: '2' },
  })
  g.output(g.input('x', 'float32', []), 'float32', [])
  t.match(inspectModel(g.toModel()), {
    irVersion: 6,
    domains: { 'ai.onnx': 17, 'com.microsoft': 1 },
    producer: { name: 'me', version: '2' },
  })
})
