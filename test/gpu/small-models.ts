// The small models that test/gpu builds: written by references.js, with weights of fixed seeds.
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../support/random.js'
import { floats, ints, randomTensor } from '../support/values.js'

/** y = relu(x), x of [N, 4]. */
export function relu(): Uint8Array {
  const graph = new GraphBuilder({ name: 'relu' })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', ['N', 4])], {}, { output: 'y' }), 'float32', ['N', 4])
  return writeModel(graph.toModel())
}

/** Two convolutions with a Relu between them, x of [N, 3, H, W], y of [N, 4, H, W]. */
export function convolution(): Uint8Array {
  const random = new Random(21)
  const graph = new GraphBuilder({ name: 'convolution' })
  const conv = (x: string, name: string, from: number, to: number, options: { output?: string } = {}): string => {
    const weights = graph.constant(`${name}.weight`, randomTensor([to, from, 3, 3], random, Math.sqrt(2 / from)))
    const bias = graph.constant(`${name}.bias`, randomTensor([to], random, 0.1))
    return graph.node('Conv', [x, weights, bias], { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }, options)
  }
  const inner = graph.node('Relu', [conv(graph.input('x', 'float32', ['N', 3, 'H', 'W']), 'first', 3, 8)])
  graph.output(conv(inner, 'second', 8, 4, { output: 'y' }), 'float32', ['N', 4, 'H', 'W'])
  return writeModel(graph.toModel())
}

/** The indices of the elements of x that are not zero, and z = -x. */
export function nonZero(): Uint8Array {
  const graph = new GraphBuilder({ name: 'nonzero' })
  const x = graph.input('x', 'float32', ['N'])
  graph.output(graph.node('NonZero', [x], {}, { output: 'y' }), 'int64', [1, 'found'])
  graph.output(graph.node('Neg', [x], {}, { output: 'z' }), 'float32', ['N'])
  return writeModel(graph.toModel())
}

/** ONNX's NonMaxSuppression of boxes [1, N, 4] (two corners) and scores [1, 2, N]. */
export function suppression(): Uint8Array {
  const graph = new GraphBuilder({ name: 'suppression' })
  const inputs = [graph.input('boxes', 'float32', [1, 'N', 4]), graph.input('scores', 'float32', [1, 2, 'N'])]
  const limits = [
    graph.constant('most', ints(20)),
    graph.constant('overlap', floats(0.5)),
    graph.constant('least', floats(0.1)),
  ]
  graph.output(graph.node('NonMaxSuppression', [...inputs, ...limits], {}, { output: 'kept' }), 'int64', ['kept', 3])
  return writeModel(graph.toModel())
}
