import { cellsOf } from '../../../lib/steps/anchors.js'
import type { ModelProto, Value } from '../../../lib/onnx/index.js'
import { type Feature, type ModelOptions, Network, sizeOf } from './network.js'
import { YoloLayers } from './yolo-layers.js'

export interface YoloV8SegOptions extends ModelOptions {
  /** COCO's 80 when not given. */
  readonly classes?: number
}

/** A side of a box is told by the probabilities of so many lengths, 0 to 15 cells. */
const bins = 16

/** How many prototypes masks are mixed of. */
const prototypeCount = 32

/**
 * YOLOv8n with masks (3,409,968 parameters, 3,404,320 with BatchNorm folded), as ultralytics exports `yolov8n-seg`,
 * with seeded weights.
 *
 * Input `images`: float32 [batch, 3, 640, 640], RGB from 0 to 1; sides must be multiples of 32. Outputs: `output0`
 * float32 [batch, 4 + 80 + 32, 8400]: centre, width and height in pixels, probabilities, mask coefficients; cells by
 * level, row and column. `output1` float32 [batch, 32, 160, 160]: prototypes, of a quarter of the input's sides.
 * Classes are lowered so that a few dozen boxes pass a threshold of 0.25.
 */
export function modelOf(options: YoloV8SegOptions = {}): ModelProto {
  const { classes = 80 } = options
  const size = sizeOf(options.size, 640)
  const net = new Network('yolov8n-seg', options)
  const layers = new YoloLayers(net, 0.25)
  // filters whose sum is zero see how much neighbours differ, not how bright they are
  const levels = neck(layers, backbone(layers, net.input('images', size, 0.003)))
  const cells = cellsOf(size)
  const count = cells.length / 3
  const boxes = boxesOf(net, branch(net, layers, 'cv2', levels, 64, 4 * bins, { gain: 12 }), cells)
  const scores = net.graph.node('Sigmoid', [
    branch(net, layers, 'cv3', levels, 80, classes, { gain: 10, offset: () => -8 }),
  ])
  const coefficients = branch(net, layers, 'cv4', levels, 32, prototypeCount, {})
  net.output('output0', net.graph.node('Concat', [boxes, scores, coefficients], { axis: 1 }), [
    4 + classes + prototypeCount,
    count,
  ])
  const prototypes = prototypesOf(net, layers, levels[0])
  net.output('output1', prototypes.value, [prototypeCount, prototypes.height, prototypes.width])
  return net.toModel()
}

type Levels = readonly [Feature, Feature, Feature]

/** An 8th, 16th and 32nd of the input's size. */
function backbone(layers: YoloLayers, input: Feature): Levels {
  const half = layers.convolution('model.0', input, 64, 3, 2)
  const quarter = layers.c2f('model.2', layers.convolution('model.1', half, 128, 3, 2), 128, 3)
  const fine = layers.c2f('model.4', layers.convolution('model.3', quarter, 256, 3, 2), 256, 6)
  const middle = layers.c2f('model.6', layers.convolution('model.5', fine, 512, 3, 2), 512, 6)
  const coarse = layers.c2f('model.8', layers.convolution('model.7', middle, 1024, 3, 2), 1024, 3)
  return [fine, middle, layers.pyramidPooling('model.9', coarse)]
}

/** Down to the finest level, and back up to the coarsest. */
function neck(layers: YoloLayers, [fine, middle, coarse]: Levels): Levels {
  const joined = layers.c2f('model.12', layers.doubledBeside(coarse, middle), 512, 3, false)
  const small = layers.c2f('model.15', layers.doubledBeside(joined, fine), 256, 3, false)
  const medium = layers.c2f(
    'model.18',
    layers.beside(layers.convolution('model.16', small, 256, 3, 2), joined),
    512,
    3,
    false,
  )
  const large = layers.c2f(
    'model.21',
    layers.beside(layers.convolution('model.19', medium, 512, 3, 2), coarse),
    1024,
    3,
    false,
  )
  return [small, medium, large]
}

/** Two convolutions and a last one, of each level its own: [batch, channels, cells of all levels]. */
function branch(
  net: Network,
  layers: YoloLayers,
  name: string,
  levels: Levels,
  hidden: number,
  channels: number,
  last: { readonly gain?: number; readonly offset?: () => number },
): Value {
  const parts = levels.map((level, i) => {
    const own = `model.22.${name}.${i}`
    const x = layers.layer(`${own}.1`, layers.layer(`${own}.0`, level, hidden, 3), hidden, 3)
    const { value, width, height } = net.convolution(`${own}.2`, x, channels, { norm: false, ...last })
    return net.reshape(value, [net.batch === 'N' ? -1 : net.batch, channels, width * height])
  })
  return net.graph.node('Concat', parts, { axis: 2 })
}

/**
 * How far the sides are from the cell's centre, as expected lengths, and from there centre and sides in pixels: [batch,
 * 4, cells].
 */
function boxesOf(net: Network, sides: Value, cells: Float32Array): Value {
  const { graph } = net
  const batch = net.batch === 'N' ? -1 : net.batch
  const count = cells.length / 3
  const byBin = graph.node('Transpose', [net.reshape(sides, [batch, 4, bins, count])], { perm: [0, 2, 1, 3] })
  const lengths = net.weights(
    'model.22.dfl.conv.weight',
    Float32Array.from({ length: bins }, (_, i) => i),
    [1, bins, 1, 1],
  )
  const expected = graph.node('Conv', [graph.node('Softmax', [byBin], { axis: 1 }), lengths], { kernel_shape: [1, 1] })
  const distances = net.reshape(expected, [batch, 4, count])
  const halves = net.constant('halves', BigInt64Array.of(2n, 2n))
  const [before, after] = graph.nodeWithOutputs('Split', [distances, halves], 2, { axis: 1 }) as [Value, Value]
  const centres = Float32Array.from(
    { length: 2 * count },
    (_, i) => cells[(i % count) * 3 + Math.floor(i / count)]! + 0.5,
  )
  const strides = Float32Array.from({ length: count }, (_, i) => cells[i * 3 + 2]!)
  const shift = graph.node('Mul', [graph.node('Sub', [after, before]), net.scalar(0.5)])
  const middle = graph.node('Add', [net.constant('centres', centres, [1, 2, count]), shift])
  const inCells = graph.node('Concat', [middle, graph.node('Add', [before, after])], { axis: 1 })
  return graph.node('Mul', [inCells, net.constant('strides', strides, [1, 1, count])])
}

/** The finest level at twice its size, as prototypes. */
function prototypesOf(net: Network, layers: YoloLayers, level: Feature): Feature {
  const doubled = net.doubled('model.22.proto.upsample', layers.layer('model.22.proto.cv1', level, 64, 3), 64)
  return layers.layer('model.22.proto.cv3', layers.layer('model.22.proto.cv2', doubled, 64, 3), prototypeCount, 1)
}
