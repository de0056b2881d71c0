// The small models that test/gpu builds: written by references.js, with weights of fixed seeds.
import { float, GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../support/random.js'
import { floats, ints, randomTensor } from '../support/values.js'

/** y = relu(x), x of [N, 4]. */
export function relu(): Uint8Array {
  const graph = new GraphBuilder({ name: 'relu' })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', ['N', 4])], {}, { output: 'y' }), 'float32', ['N', 4])
  return writeModel(graph.toModel())
}

/** Convolutions of 3x3 with a Relu between each two, x of [N, 3, H, W]; `channels` are those after each. */
function convolutional(name: string, channels: readonly number[], seed: number): Uint8Array {
  const random = new Random(seed)
  const graph = new GraphBuilder({ name })
  let [x, from] = [graph.input('x', 'float32', ['N', 3, 'H', 'W']), 3]
  for (const [i, to] of channels.entries()) {
    const weights = graph.constant(`weight${i}`, randomTensor([to, from, 3, 3], random, Math.sqrt(6 / (from * 9))))
    const bias = graph.constant(`bias${i}`, randomTensor([to], random, 0.1))
    const last = i === channels.length - 1
    const attributes = { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }
    x = graph.node('Conv', [x, weights, bias], attributes, last ? { output: 'y' } : {})
    if (!last) x = graph.node('Relu', [x])
    from = to
  }
  graph.output(x, 'float32', ['N', from, 'H', 'W'])
  return writeModel(graph.toModel())
}

/** Two convolutions, y of [N, 4, H, W]. */
export const convolution = (): Uint8Array => convolutional('convolution', [8, 4], 21)

/** Four convolutions of 32 channels, which kernels of INT8 take. */
export const convolutions = (): Uint8Array => convolutional('convolutions', [32, 32, 32, 32], 8)

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

/** y = x [24] with the shape that the input `shape` [2] has. */
export function reshape(): Uint8Array {
  const graph = new GraphBuilder({ name: 'reshape' })
  const inputs = [graph.input('x', 'float32', [24]), graph.input('shape', 'int64', [2])]
  graph.output(graph.node('Reshape', inputs, {}, { output: 'y' }), 'float32', ['rows', 'columns'])
  return writeModel(graph.toModel())
}

/** y = relu(x), and the shape of x. */
export function shape(): Uint8Array {
  const graph = new GraphBuilder({ name: 'shape' })
  const x = graph.input('x', 'float32', ['M', 'N'])
  graph.output(graph.node('Relu', [x], {}, { output: 'y' }), 'float32', ['M', 'N'])
  graph.output(graph.node('Shape', [x], {}, { output: 'shape' }), 'int64', [2])
  return writeModel(graph.toModel())
}

/** y = -x, x of [N]. */
export function negation(): Uint8Array {
  const graph = new GraphBuilder({ name: 'negation' })
  graph.output(graph.node('Neg', [graph.input('x', 'float32', ['N'])], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(graph.toModel())
}

/** NVIDIA's plugin EfficientNMS_TRT on boxes [1, 32, 4] (two corners) and scores [1, 32, 2]; it keeps 40 at most. */
export function efficientNms(): Uint8Array {
  const graph = new GraphBuilder({ name: 'efficient-nms', domains: { TRT: 1 } })
  const inputs = [graph.input('boxes', 'float32', [1, 32, 4]), graph.input('scores', 'float32', [1, 32, 2])]
  const attributes = {
    plugin_version: '1',
    score_threshold: float(0.1),
    iou_threshold: float(0.5),
    max_output_boxes: 40,
    background_class: -1,
    score_activation: 0,
    box_coding: 0,
    class_agnostic: 0,
  }
  const names = ['count', 'kept', 'confidence', 'classes']
  graph.nodeWithOutputs('EfficientNMS_TRT', inputs, names, attributes, { domain: 'TRT' })
  graph.output('count', 'int32', [1, 1])
  graph.output('kept', 'float32', [1, 40, 4])
  graph.output('confidence', 'float32', [1, 40])
  graph.output('classes', 'int32', [1, 40])
  return writeModel(graph.toModel())
}
