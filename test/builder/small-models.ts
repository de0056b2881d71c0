import { Tensor, type Shapes } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'

export interface SmallModel {
  readonly name: string
  readonly model: Uint8Array
  readonly shapes: Shapes
}

/** Weights that differ from each other. */
function weights(...shape: number[]): Tensor {
  const size = shape.reduce((product, dim) => product * dim, 1)
  return Tensor.from(
    Float32Array.from({ length: size }, (_, i) => Math.sin(i)),
    shape,
  )
}

function convolutions(): Uint8Array {
  const graph = new GraphBuilder({ name: 'convolutions' })
  const pads = { pads: [1, 1, 1, 1] }
  let y = graph.input('x', 'float32', [1, 3, 32, 32])
  y = graph.node('Relu', [graph.node('Conv', [y, graph.constant('w0', weights(8, 3, 3, 3))], pads)])
  y = graph.node('Relu', [graph.node('Conv', [y, graph.constant('w1', weights(16, 8, 3, 3))], pads)])
  graph.output(graph.node('GlobalAveragePool', [y]), 'float32', [1, 16, 1, 1])
  return writeModel(graph.toModel())
}

function perceptron(): Uint8Array {
  const graph = new GraphBuilder({ name: 'perceptron' })
  const x = graph.input('x', 'float32', ['N', 64])
  const hidden = graph.node('Relu', [graph.node('MatMul', [x, graph.constant('w0', weights(64, 32))])])
  graph.output(
    graph.node('Softmax', [graph.node('MatMul', [hidden, graph.constant('w1', weights(32, 10))])]),
    'float32',
    ['N', 10],
  )
  return writeModel(graph.toModel())
}

function elementwise(): Uint8Array {
  const graph = new GraphBuilder({ name: 'elementwise' })
  const [a, b] = [graph.input('a', 'float32', ['N', 16]), graph.input('b', 'float32', ['N', 16])]
  graph.output(graph.node('Mul', [graph.node('Add', [a, b]), graph.node('Sigmoid', [a])]), 'float32', ['N', 16])
  return writeModel(graph.toModel())
}

function transposed(): Uint8Array {
  const graph = new GraphBuilder({ name: 'transposed' })
  const x = graph.input('x', 'float32', [4, 6])
  graph.output(graph.node('Transpose', [x], { perm: [1, 0] }), 'float32', [6, 4])
  return writeModel(graph.toModel())
}

function attention(): Uint8Array {
  const graph = new GraphBuilder({ name: 'attention' })
  const x = graph.input('x', 'float32', [1, 16, 32])
  const [q, k, v] = ['q', 'k', 'v'].map((name) => graph.node('MatMul', [x, graph.constant(name, weights(32, 32))]))
  if (q === undefined || k === undefined || v === undefined) throw new Error('three are made above')
  const scores = graph.node('Softmax', [graph.node('MatMul', [q, graph.node('Transpose', [k], { perm: [0, 2, 1] })])])
  graph.output(graph.node('MatMul', [scores, v]), 'float32', [1, 16, 32])
  return writeModel(graph.toModel())
}

/** Five that build in less than a tenth of a second each. */
export function smallModels(): readonly SmallModel[] {
  const batches = (...rest: number[]): Shapes[string] => ({ min: [1, ...rest], opt: [4, ...rest], max: [16, ...rest] })
  return [
    { name: 'convolutions', model: convolutions(), shapes: {} },
    { name: 'perceptron', model: perceptron(), shapes: { x: batches(64) } },
    { name: 'elementwise', model: elementwise(), shapes: { a: batches(16), b: batches(16) } },
    { name: 'transposed', model: transposed(), shapes: {} },
    { name: 'attention', model: attention(), shapes: {} },
  ]
}
