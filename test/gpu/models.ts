// ResNet-50 and a UNet, layer by layer as their papers have them, batch normalization folded into the convolutions; the
// weights are random, and the same each time.
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, type Value, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../support/random.js'

/** An input x [N, ...picture] and an output y; export.py writes the same architectures under the same file names. */
export interface Architecture {
  readonly name: string
  readonly file: string
  /** Channels, height, width. */
  readonly picture: readonly [number, number, number]
  readonly batches: { readonly min: number; readonly opt: number; readonly max: number }
  readonly model: () => Uint8Array
}

export const unet: Architecture = {
  name: 'UNet',
  file: 'unet.onnx',
  picture: [3, 512, 512],
  batches: { min: 1, opt: 4, max: 8 },
  model: () => unetModel([64, 128, 256, 512], 1024),
}

export const resnet50: Architecture = {
  name: 'ResNet-50',
  file: 'resnet50.onnx',
  picture: [3, 224, 224],
  batches: { min: 1, opt: 64, max: 256 },
  model: () => resnetModel(resnetStages),
}

interface Stage {
  readonly width: number
  readonly blocks: number
  readonly stride: number
}

const resnetStages: readonly Stage[] = [
  { width: 64, blocks: 3, stride: 1 },
  { width: 128, blocks: 4, stride: 2 },
  { width: 256, blocks: 6, stride: 2 },
  { width: 512, blocks: 3, stride: 2 },
]

/** Before a Relu, which halves the variance: what comes out is as large as what goes in. */
const reluGain = Math.SQRT2
/** What a residual block adds: little, so that sixteen of them in a row stay far from the end of FP16. */
const residualGain = 0.5

class Network {
  readonly graph: GraphBuilder
  readonly #random: Random
  #tensors = 0

  constructor(name: string, seed: number) {
    this.graph = new GraphBuilder({ name })
    this.#random = new Random(seed)
  }

  weights(shape: readonly number[], bound: number): Value {
    const tensor = Tensor.zeros('float32', shape)
    for (let i = 0; i < tensor.data.length; i++) tensor.data[i] = this.#random.around() * bound
    return this.graph.constant(`w${this.#tensors++}`, tensor)
  }

  conv(x: Value, [from, to]: readonly [number, number], size: number, { stride = 1, gain = reluGain } = {}): Value {
    const weights = this.weights([to, from, size, size], uniformBound(gain, from * size * size))
    const pad = (size - 1) / 2
    return this.graph.node('Conv', [x, weights, this.weights([to], 0.1)], {
      kernel_shape: [size, size],
      strides: [stride, stride],
      pads: [pad, pad, pad, pad],
    })
  }

  /** Twice the height and width, half the channels. */
  up(x: Value, from: number): Value {
    const weights = this.weights([from, from / 2, 2, 2], uniformBound(1, from))
    return this.graph.node('ConvTranspose', [x, weights, this.weights([from / 2], 0.1)], {
      kernel_shape: [2, 2],
      strides: [2, 2],
    })
  }

  relu(x: Value): Value {
    return this.graph.node('Relu', [x])
  }

  pool(x: Value, size: number, pad: number): Value {
    return this.graph.node('MaxPool', [x], { kernel_shape: [size, size], strides: [2, 2], pads: [pad, pad, pad, pad] })
  }

  linear(x: Value, [from, to]: readonly [number, number]): Value {
    const weights = this.weights([to, from], uniformBound(1, from))
    return this.graph.node('Gemm', [x, weights, this.weights([to], 0.1)], { transB: 1 }, { output: 'y' })
  }
}

/** The sum of `count` products with uniform numbers up to this has `gain`² times the variance of what is multiplied. */
const uniformBound = (gain: number, count: number): number => gain * Math.sqrt(3 / count)

function resnetModel(stages: readonly Stage[]): Uint8Array {
  const net = new Network('resnet50', 50)
  const input = net.graph.input('x', 'float32', ['N', ...resnet50.picture])
  let x = net.pool(net.relu(net.conv(input, [3, 64], 7, { stride: 2 })), 3, 1)
  let channels = 64
  for (const { width, blocks, stride } of stages) {
    for (let block = 0; block < blocks; block++) {
      x = bottleneck(net, x, [channels, width], block === 0 ? stride : 1)
      channels = width * 4
    }
  }
  const pooled = net.graph.node('Flatten', [net.graph.node('GlobalAveragePool', [x])])
  net.graph.output(net.linear(pooled, [channels, 1000]), 'float32', ['N', 1000])
  return writeModel(net.graph.toModel())
}

function bottleneck(net: Network, x: Value, [from, width]: readonly [number, number], stride: number): Value {
  const to = width * 4
  const narrow = net.relu(net.conv(x, [from, width], 1))
  const inner = net.relu(net.conv(narrow, [width, width], 3, { stride }))
  const added = net.conv(inner, [width, to], 1, { gain: residualGain })
  const shortcut = from === to ? x : net.conv(x, [from, to], 1, { stride, gain: 1 })
  return net.relu(net.graph.node('Add', [added, shortcut]))
}

function unetModel(widths: readonly number[], bottom: number): Uint8Array {
  const net = new Network('unet', 512)
  const [, height, width] = unet.picture
  let x: Value = net.graph.input('x', 'float32', ['N', ...unet.picture])
  let channels = 3
  const skips: Value[] = []
  for (const width of widths) {
    const skip = twoConvs(net, x, channels, width)
    skips.push(skip)
    x = net.pool(skip, 2, 0)
    channels = width
  }
  x = twoConvs(net, x, channels, bottom)
  for (const width of widths.toReversed()) {
    const both = net.graph.node('Concat', [skips.pop() ?? '', net.up(x, width * 2)], { axis: 1 })
    x = twoConvs(net, both, width * 2, width)
  }
  const y = net.graph.node('Identity', [net.conv(x, [widths[0] ?? 0, 2], 1, { gain: 1 })], {}, { output: 'y' })
  net.graph.output(y, 'float32', ['N', 2, height, width])
  return writeModel(net.graph.toModel())
}

function twoConvs(net: Network, x: Value, from: number, to: number): Value {
  return net.relu(net.conv(net.relu(net.conv(x, [from, to], 3)), [to, to], 3))
}
