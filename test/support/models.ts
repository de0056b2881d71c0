// Small ONNX models.
import { type DType, Tensor } from '../../lib/index.js'
import { type Dim, type ElementType, elementTypeNumber, GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { ints } from './values.js'

/** A model of one node: y = op(x). */
export function oneNode(op: string, shape: (number | string)[] = [1, 4], domain?: string): Uint8Array {
  const graph = new GraphBuilder({ name: op, ...(domain !== undefined && { domains: { [domain]: 1 } }) })
  const x = graph.input('x', 'float32', shape)
  graph.output(graph.node(op, [x], {}, { name: 'the-node', ...(domain !== undefined && { domain }) }), 'float32', shape)
  return writeModel(graph.toModel())
}

/** y = Relu(x) in float16 or bfloat16. */
export function typedModel(dtype: 'float16' | 'bfloat16'): Uint8Array {
  const graph = new GraphBuilder({ name: dtype })
  graph.output(graph.node('Relu', [graph.input('x', dtype, [1, 4])], {}, { name: 'the-node' }), dtype, [1, 4])
  return writeModel(graph.toModel())
}

/** y = Relu(x), with x quantized to int8 and back before it. */
export function quantizedModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'quantized' })
  const scale = graph.constant('scale', Tensor.from(new Float32Array([0.5]), []))
  const zero = graph.constant('zero', new Tensor('int8', new Int8Array([0]), []))
  const quantized = graph.node('QuantizeLinear', [graph.input('x', 'float32', [1, 4]), scale, zero], {}, { name: 'q' })
  const back = graph.node('DequantizeLinear', [quantized, scale, zero], {}, { name: 'dq' })
  graph.output(graph.node('Relu', [back], {}, { name: 'the-node' }), 'float32', [1, 4])
  return writeModel(graph.toModel())
}

/** y = Reshape(x, shape): the values of `shape` decide y's shape. */
export function reshapeModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'reshape' })
  const x = graph.input('x', 'float32', [4, 6])
  graph.output(graph.node('Reshape', [x, graph.input('shape', 'int64', [2])], {}, { name: 'the-node' }), 'float32', [
    'a',
    'b',
  ])
  return writeModel(graph.toModel())
}

/** y = x + w, a layer with weights that can be refitted. */
export function weightedModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'weighted' })
  const weights = graph.constant('w', Tensor.from(new Float32Array(16).fill(0.5), [4, 4]))
  graph.output(
    graph.node('MatMul', [graph.input('x', 'float32', [1, 4]), weights], {}, { name: 'the-node' }),
    'float32',
    [1, 4],
  )
  return writeModel(graph.toModel())
}

/** y = x (24 elements) as rows of `size`, one value in a tensor of `rank` dimensions. */
export function resizableModel(rank: number): Uint8Array {
  const graph = new GraphBuilder({ name: 'resizable' })
  const x = graph.input('x', 'float32', [24])
  const size = graph.node('Reshape', [
    graph.input('size', 'int64', Array<number>(rank).fill(1)),
    graph.constant('one', ints(1)),
  ])
  const shape = graph.node('Concat', [graph.constant('rest', ints(-1)), size], { axis: 0 })
  graph.output(graph.node('Reshape', [x, shape]), 'float32', ['a', 'b'])
  return writeModel(graph.toModel())
}

/** y = x + w, with a weight w of so many numbers, of which the first is `first`; `external`: in a file of that name. */
export function addModel(first = 1, length = 4, external?: string): Uint8Array {
  const graph = new GraphBuilder({ name: 'add' })
  const x = graph.input('x', 'float32', [1, length])
  const weight = Tensor.from(new Float32Array(length).fill(1).fill(first, 0, 1), [1, length])
  graph.output(graph.node('Add', [x, graph.constant('w', weight)]), 'float32', [1, length])
  const model = graph.toModel()
  const stored = model.graph?.initializer[0]
  if (external === undefined || stored === undefined) return writeModel(model)
  delete (stored as { rawData?: Uint8Array }).rawData
  stored.dataLocation = 1
  stored.externalData = [{ $typeName: 'onnx.StringStringEntryProto', key: 'location', value: external }]
  return writeModel(model)
}

/** y = x, of a data type and shape. */
export function identity(
  dtype: DType = 'float32',
  shape: readonly Dim[] = ['N'],
  input = 'x',
  output = 'y',
): Uint8Array {
  const g = new GraphBuilder({ name: 'identity', opset: 19 })
  g.output(g.node('Identity', [g.input(input, dtype, shape)], {}, { output }), dtype, shape)
  return writeModel(g.toModel())
}

/** sum = a + b and difference = a - b, of shape [N, 3]. */
export function twoInTwoOut(): Uint8Array {
  const g = new GraphBuilder({ name: 'two' })
  const inputs = [g.input('a', 'float32', ['N', 3]), g.input('b', 'float32', ['N', 3])]
  g.output(g.node('Add', inputs, {}, { output: 'sum' }), 'float32', ['N', 3])
  g.output(g.node('Sub', inputs, {}, { output: 'difference' }), 'float32', ['N', 3])
  return writeModel(g.toModel())
}

/** y[M] = x[N] expanded to the shape in `s`: fails while running when the two do not go together. */
export function expand(): Uint8Array {
  const g = new GraphBuilder({ name: 'expand' })
  const y = g.node('Expand', [g.input('x', 'float32', ['N']), g.input('s', 'int64', [1])], {}, { output: 'y' })
  g.output(y, 'float32', ['M'])
  return writeModel(g.toModel())
}

/** Multiplies x by itself (the matrix) `times` times: as slow as wanted. */
export function slow(size = 512, times = 40): Uint8Array {
  const g = new GraphBuilder({ name: 'slow' })
  const x = g.input('x', 'float32', [size, size])
  let y = x
  for (let i = 0; i < times; i++) y = g.node('MatMul', [y, x], {}, i === times - 1 ? { output: 'y' } : {})
  g.output(y, 'float32', [size, size])
  return writeModel(g.toModel())
}

/** y = x of each given type and shape, as `NAME` and `NAME!`. */
export function identities(
  ports: readonly { name: string; dtype: ElementType; shape: readonly Dim[] }[],
  opset = 21,
): Uint8Array {
  const g = new GraphBuilder({ name: 'identities', opset })
  for (const { name, dtype, shape } of ports)
    g.output(g.node('Identity', [g.input(name, dtype, shape)], {}, { output: `${name}!` }), dtype, shape)
  return writeModel(g.toModel())
}

/** y = x in another type. */
export function casts(from: ElementType, to: ElementType, opset = 21): Uint8Array {
  const g = new GraphBuilder({ name: `${from} to ${to}`, opset })
  const y = g.node('Cast', [g.input('x', from, ['N'])], { to: elementTypeNumber(to) }, { output: 'y' })
  g.output(y, to, ['N'])
  return writeModel(g.toModel())
}

/** y = table[x], row by row: an index that is too large fails while it runs. */
export function lookUp(): Uint8Array {
  const g = new GraphBuilder({ name: 'look up' })
  const table = g.constant('table', new Tensor('float32', Float32Array.of(10, 11, 12, 13), [4]))
  g.output(g.node('Gather', [table, g.input('x', 'int64', ['N'])], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

/** y: where x is not zero, of as many columns as there are such places; z = -x. */
export function nonZero(): Uint8Array {
  const g = new GraphBuilder({ name: 'non-zero' })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('NonZero', [x], {}, { output: 'y' }), 'int64', [1, 'found'])
  g.output(g.node('Neg', [x], {}, { output: 'z' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

/** y = x and once more x, of a size that it declares under a name: with x's it is a lie. */
export function doubled(name: string): Uint8Array {
  const g = new GraphBuilder({ name: 'doubled' })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('Concat', [x, x], { axis: 0 }, { output: 'y' }), 'float32', [name])
  return writeModel(g.toModel())
}

/** The input x is an output itself, beside y = -x. */
export function passedThrough(dtype: ElementType = 'float32', shape: readonly Dim[] = ['N', 3]): Uint8Array {
  const g = new GraphBuilder({ name: 'passed through' })
  const x = g.input('x', dtype, shape)
  g.output(x, dtype, shape)
  if (dtype === 'float32') g.output(g.node('Neg', [x], {}, { output: 'y' }), dtype, shape)
  return writeModel(g.toModel())
}

/** An output of texts beside one of numbers. */
export function strings(): Uint8Array {
  const g = new GraphBuilder({ name: 'strings' })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('Neg', [x], {}, { output: 'y' }), 'float32', ['N'])
  g.output(g.node('Cast', [x], { to: elementTypeNumber('string') }, { output: 's' }), 'string', ['N'])
  return writeModel(g.toModel())
}

/** An output that no Tensor can hold beside one that can be had without it. */
export function foreignOutput(): Uint8Array {
  const g = new GraphBuilder({ name: 'foreign', opset: 19 })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('Neg', [x], {}, { output: 'y' }), 'float32', ['N'])
  g.output(g.node('Cast', [x], { to: elementTypeNumber('float8e5m2') }, { output: 's' }), 'float8e5m2', ['N'])
  return writeModel(g.toModel())
}

/** A Tensor can hold all inputs but one. */
export function foreignInput(): Uint8Array {
  const g = new GraphBuilder({ name: 'foreign input', opset: 19 })
  g.output(g.node('Identity', [g.input('s', 'float8e5m2', ['N'])], {}, { output: 't' }), 'float8e5m2', ['N'])
  g.output(g.node('Neg', [g.input('x', 'float32', ['N'])], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

/** y = relu(x); the graph's name is what the fakes obey, see test/fake/nvinfer/deaths.h. */
export function reluModel(shape: (number | string)[] = [1, 4], name = 'x', wishes = ''): Uint8Array {
  const graph = new GraphBuilder({ name: `relu${wishes}` })
  graph.output(graph.node('Relu', [graph.input(name, 'float32', shape)]), 'float32', shape)
  return writeModel(graph.toModel())
}
