import type { ModelProto, Value } from '../../../lib/onnx/index.js'
import { yoloAnchors, yoloStrides } from '../../../lib/steps/anchors.js'
import { type Feature, type ModelOptions, Network, sizeOf } from './network.js'
import { YoloLayers } from './yolo-layers.js'

export interface YoloV5Options extends ModelOptions {
  /** `'n'` (1,872,157 parameters) or `'s'` (7,235,389); `'n'` when not given. */
  readonly variant?: 'n' | 's'
  /** COCO's 80 when not given. */
  readonly classes?: number
}

/** By what the channels of the largest are multiplied; how often blocks are repeated is the same for both. */
const widths = { n: 0.25, s: 0.5 } as const

/**
 * Classic YOLOv5 (6.x, with anchors), as ultralytics/yolov5 exports it, with seeded weights.
 *
 * Input `images`: float32 [batch, 3, 640, 640], RGB from 0 to 1; sides must be multiples of 32. Output `output0`:
 * float32 [batch, 25200, 85]: centre, width and height in pixels, objectness, and each class; rows by level, anchor,
 * row and column. Objectness and classes are raised so that a few rows pass a threshold of 0.25.
 */
export function modelOf(options: YoloV5Options = {}): ModelProto {
  const { variant = 'n', classes = 80 } = options
  const net = new Network(`yolov5${variant}`, options)
  const layers = new YoloLayers(net, widths[variant])
  const levels = neck(layers, backbone(layers, net.input('images', sizeOf(options.size, 640), 0.25)))
  const rows = levels.map((level, i) => decoded(net, level, i, classes))
  const count = levels.reduce((sum, { width, height }) => sum + 3 * width * height, 0)
  net.output('output0', net.graph.node('Concat', rows, { axis: 1 }), [count, 5 + classes])
  return net.toModel()
}

/** An 8th, 16th and 32nd of the input's size. */
function backbone(layers: YoloLayers, input: Feature): [Feature, Feature, Feature] {
  let x = layers.convolution('model.0', input, 64, 6, 2, 2)
  x = layers.csp('model.2', layers.convolution('model.1', x, 128, 3, 2), 128, 3)
  const fine = layers.csp('model.4', layers.convolution('model.3', x, 256, 3, 2), 256, 6)
  const middle = layers.csp('model.6', layers.convolution('model.5', fine, 512, 3, 2), 512, 9)
  const coarse = layers.csp('model.8', layers.convolution('model.7', middle, 1024, 3, 2), 1024, 3)
  return [fine, middle, layers.pyramidPooling('model.9', coarse)]
}

/** Down to the finest level, and back up to the coarsest. */
function neck(layers: YoloLayers, [fine, middle, coarse]: [Feature, Feature, Feature]): [Feature, Feature, Feature] {
  const first = layers.convolution('model.10', coarse, 512, 1)
  const joined = layers.csp('model.13', layers.doubledBeside(first, middle), 512, 3, false)
  const second = layers.convolution('model.14', joined, 256, 1)
  const small = layers.csp('model.17', layers.doubledBeside(second, fine), 256, 3, false)
  const medium = layers.csp(
    'model.20',
    layers.beside(layers.convolution('model.18', small, 256, 3, 2), second),
    512,
    3,
    false,
  )
  const large = layers.csp(
    'model.23',
    layers.beside(layers.convolution('model.21', medium, 512, 3, 2), first),
    1024,
    3,
    false,
  )
  return [small, medium, large]
}

/** One level's rows: (2σ − ½ + cell) · stride, (2σ)² · anchor, and σ of the rest. */
function decoded(net: Network, level: Feature, index: number, classes: number): Value {
  const values = 5 + classes
  const { width, height } = level
  const offset = (channel: number) => (channel % values < 4 ? 0 : channel % values === 4 ? -0.7 : -0.5)
  const raw = net.convolution(`model.24.m${index}`, level, 3 * values, { norm: false, gain: 9, offset })
  const batch = net.batch === 'N' ? -1 : net.batch
  const split = net.reshape(raw.value, [batch, 3, values, height, width])
  const last = net.graph.node('Sigmoid', [net.graph.node('Transpose', [split], { perm: [0, 1, 3, 4, 2] })])
  const parts = net.constant('parts', BigInt64Array.of(2n, 2n, BigInt(values - 4)))
  const [xy, wh, scores] = net.graph.nodeWithOutputs('Split', [last, parts], 3, { axis: -1 }) as [Value, Value, Value]
  const stride = yoloStrides[index]!
  const corner = net.constant('cells', cells(width, height), [1, 1, height, width, 2])
  const centre = net.graph.node('Mul', [
    net.graph.node('Add', [net.graph.node('Mul', [xy, net.scalar(2)]), corner]),
    net.scalar(stride),
  ])
  const doubled = net.graph.node('Mul', [wh, net.scalar(2)])
  const anchors = net.constant('anchors', Float32Array.from(yoloAnchors.v5[index]!.flat()), [1, 3, 1, 1, 2])
  const size = net.graph.node('Mul', [net.graph.node('Mul', [doubled, doubled]), anchors])
  return net.reshape(net.graph.node('Concat', [centre, size, scores], { axis: -1 }), [
    batch,
    3 * width * height,
    values,
  ])
}

/** Column and row of each cell, less a half. */
function cells(width: number, height: number): Float32Array {
  return Float32Array.from({ length: width * height * 2 }, (_, i) =>
    i % 2 === 0 ? (Math.floor(i / 2) % width) - 0.5 : Math.floor(i / 2 / width) - 0.5,
  )
}
