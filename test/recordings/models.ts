// The models that recordings are made with: small, the same each time, of operators that the fakes know.
import { type Attributes, type Dim, type ElementType, GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { type DType, Tensor } from '../../lib/index.js'

export type Port = readonly [dtype: ElementType, shape: readonly Dim[]]

export interface OneNode {
  /** In their order: inputs of the model, and tensors that are stored in it. */
  readonly inputs: readonly (Port | Tensor)[]
  readonly attributes?: Attributes
  readonly output: Port
  readonly opset?: number
  readonly domain?: string
}

/** A model of one node, which is called `the-node`, as its output is; inputs are x0, x1 …, stored tensors w0, w1 …. */
export function oneNode(
  operator: string,
  { inputs, attributes = {}, output, opset = 17, domain }: OneNode,
): Uint8Array {
  const graph = new GraphBuilder({ name: operator, opset, ...(domain !== undefined && { domains: { [domain]: 1 } }) })
  const values = inputs.map((input, i) =>
    input instanceof Tensor ? graph.constant(`w${i}`, input) : graph.input(`x${i}`, input[0], input[1]),
  )
  const y = graph.node(operator, values, attributes, { name: 'the-node', ...(domain !== undefined && { domain }) })
  graph.output(y, output[0], output[1])
  return writeModel(graph.toModel())
}

export const float = (...shape: Dim[]): Port => ['float32', shape]

/**
 * Quarters around 0, each unlike its neighbours: sums and products of a few are exact in float32, and in half precision
 * too.
 */
export function weights(...shape: number[]): Tensor<'float32'> {
  const size = shape.reduce((product, dim) => product * dim, 1)
  return Tensor.from(
    Float32Array.from({ length: size }, (_, i) => (((i * 7) % 11) - 5) / 4),
    shape,
  )
}

export const ints = (...values: number[]): Tensor<'int64'> =>
  new Tensor('int64', BigInt64Array.from(values, BigInt), [values.length])

const scalar = (dtype: 'float32' | 'int8', value: number): Tensor => {
  const tensor = Tensor.zeros(dtype, [])
  tensor.data[0] = value
  return tensor
}

/** y = relu(x · kernel + bias) · scale, x [N, 3], y [N, 2]; weights of one seed. */
export function dense(seed = 1, rows: Dim = 'N'): Uint8Array {
  const graph = new GraphBuilder({ name: 'dense' })
  const weight = (name: string, ...shape: number[]): string => {
    const tensor = weights(...shape)
    // off zero, so that relu passes some of each column
    tensor.data.forEach((value, i) => (tensor.data[i] = (name === 'bias' ? value + 2 : value) * seed))
    return graph.constant(name, tensor)
  }
  const product = graph.node(
    'MatMul',
    [graph.input('x', 'float32', [rows, 3]), weight('kernel', 3, 2)],
    {},
    { name: 'product' },
  )
  const sum = graph.node('Add', [product, weight('bias', 2)], {}, { name: 'sum' })
  const relu = graph.node('Relu', [sum], {}, { name: 'relu' })
  graph.output(graph.node('Mul', [relu, weight('scale', 1, 2)], {}, { name: 'scaled', output: 'y' }), 'float32', [
    rows,
    2,
  ])
  return writeModel(graph.toModel())
}

/** y = relu(x), x of any shape and type. */
export const relu = (shape: readonly Dim[] = [1, 4], dtype: ElementType = 'float32'): Uint8Array =>
  oneNode('Relu', { inputs: [[dtype, shape]], output: [dtype, shape] })

/** y = Identity(x), for types that Relu does not have. */
export const identity = (dtype: ElementType, shape: readonly Dim[] = [4]): Uint8Array =>
  oneNode('Identity', { inputs: [[dtype, shape]], output: [dtype, shape], opset: 21 })

/** y = Reshape(x, shape): the values of `shape` decide y's. */
export function reshaping(): Uint8Array {
  const graph = new GraphBuilder({ name: 'reshaping' })
  const inputs = [graph.input('x', 'float32', [4, 6]), graph.input('shape', 'int64', [2])]
  graph.output(graph.node('Reshape', inputs, {}, { name: 'the-node', output: 'y' }), 'float32', ['a', 'b'])
  return writeModel(graph.toModel())
}

/** y = relu(x), with x quantized to int8 and back before it. */
export function quantized(): Uint8Array {
  const graph = new GraphBuilder({ name: 'quantized' })
  const [scale, zero] = [graph.constant('step', scalar('float32', 0.5)), graph.constant('zero', scalar('int8', 0))]
  const q = graph.node('QuantizeLinear', [graph.input('x', 'float32', [1, 4]), scale, zero], {}, { name: 'q' })
  const dq = graph.node('DequantizeLinear', [q, scale, zero], {}, { name: 'dq' })
  graph.output(graph.node('Relu', [dq], {}, { name: 'the-node', output: 'y' }), 'float32', [1, 4])
  return writeModel(graph.toModel())
}

/** y = x0 + x1, z = -x0. */
export function twoInputs(): Uint8Array {
  const graph = new GraphBuilder({ name: 'two' })
  const [a, b] = [graph.input('x0', 'float32', ['N', 4]), graph.input('x1', 'float32', ['N', 4])]
  graph.output(graph.node('Add', [a, b], {}, { output: 'y' }), 'float32', ['N', 4])
  graph.output(graph.node('Neg', [a], {}, { output: 'z' }), 'float32', ['N', 4])
  return writeModel(graph.toModel())
}

/** One node of each operator that the fakes import, by a name for it. */
export const operators: Readonly<Record<string, Uint8Array>> = Object.fromEntries([
  ...['Identity', 'Relu', 'Neg', 'Abs', 'Sqrt', 'Exp', 'Sigmoid', 'Tanh'].map((operator) => [
    operator,
    oneNode(operator, { inputs: [float('N', 4)], output: float('N', 4) }),
  ]),
  ...['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min'].map((operator) => [
    operator,
    oneNode(operator, { inputs: [float('N', 4), float('N', 4)], output: float('N', 4) }),
  ]),
  ['Add, of a stored tensor', oneNode('Add', { inputs: [float('N', 4), weights(1, 4)], output: float('N', 4) })],
  ['Add, of a stored vector', oneNode('Add', { inputs: [float('N', 4), weights(4)], output: float('N', 4) })],
  ['MatMul, of two inputs', oneNode('MatMul', { inputs: [float('N', 3), float(3, 2)], output: float('N', 2) })],
  ['MatMul, of a stored tensor', oneNode('MatMul', { inputs: [float('N', 3), weights(3, 2)], output: float('N', 2) })],
  ['Concat', oneNode('Concat', { inputs: [float(2, 4), float(2, 3)], attributes: { axis: 1 }, output: float(2, 7) })],
  ['Softmax', oneNode('Softmax', { inputs: [float('N', 4)], attributes: { axis: 1 }, output: float('N', 4) })],
  ['Shape', oneNode('Shape', { inputs: [float('N', 4)], output: ['int64', [2]] })],
  ['NonZero', oneNode('NonZero', { inputs: [float(8)], output: ['int64', [1, 'found']] })],
  ['Reshape, of a stored shape', oneNode('Reshape', { inputs: [float(4, 6), ints(3, 8)], output: float(3, 8) })],
  ['Reshape, of an input', reshaping()],
  ['Transpose', oneNode('Transpose', { inputs: [float(4, 6)], attributes: { perm: [1, 0] }, output: float(6, 4) })],
  [
    'ArgMax',
    oneNode('ArgMax', { inputs: [float('N', 4)], attributes: { axis: 1, keepdims: 1 }, output: ['int64', ['N', 1]] }),
  ],
  ...['ReduceMean', 'ReduceMax'].map((operator) => [
    operator,
    oneNode(operator, { inputs: [float('N', 4)], attributes: { axes: [1], keepdims: 1 }, output: float('N', 1) }),
  ]),
  [
    'ReduceSum',
    oneNode('ReduceSum', { inputs: [float('N', 4), ints(1)], attributes: { keepdims: 0 }, output: float('N') }),
  ],
  ['Cast', oneNode('Cast', { inputs: [float('N', 4)], attributes: { to: 10 }, output: ['float16', ['N', 4]] })],
  ['QuantizeLinear and DequantizeLinear', quantized()],
  ['several nodes', dense()],
])

/** y = x of each type that TensorRT has, and of some that it has not. */
export const types: readonly ElementType[] = [
  'float32',
  'float16',
  'bfloat16',
  'int8',
  'uint8',
  'int32',
  'int64',
  'bool',
  'float64',
  'int16',
]

/** Rows of numbers for `dense`, exact in float32. */
export const rows = (count: number, columns = 3): Tensor<'float32'> => weights(count, columns)

export type { DType }
