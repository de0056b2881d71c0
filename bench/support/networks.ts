// The networks of bench/gpu.ts, layer by layer as their papers have them, batch normalization folded into the
// convolutions. The weights are random, and the same each time.
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, type Value, writeModel } from '../../lib/onnx/index.js'
import { Seeded } from '../../test/support/networks/seeded.js'

/** Makes a model for images of `size` x `size`: input x [1, 3, size, size], output y. */
export type NetworkWriter = (size: number) => Uint8Array

/** Before a Relu, which halves the variance: what comes out is as large as what goes in. */
const reluGain = Math.SQRT2
/** What a residual block adds: little, so that many of them in a row stay far from the end of FP16. */
const residualGain = 0.5

interface ConvOptions {
  readonly stride?: number
  readonly gain?: number
  /** One group for each channel. */
  readonly isDepthwise?: boolean
  readonly output?: string
}

class Network {
  readonly graph: GraphBuilder
  readonly #weights: Seeded
  #tensors = 0

  constructor(name: string, seed: number) {
    this.graph = new GraphBuilder({ name })
    this.#weights = new Seeded(seed)
  }

  input(size: number): Value {
    return this.graph.input('x', 'float32', [1, 3, size, size])
  }

  toBytes(shape: readonly number[]): Uint8Array {
    this.graph.output('y', 'float32', shape)
    return writeModel(this.graph.toModel())
  }

  constant(shape: readonly number[], deviation: number): Value {
    const count = shape.reduce((product, dim) => product * dim, 1)
    const tensor = new Tensor('float32', this.#weights.values(count, deviation), shape)
    return this.graph.constant(`w${this.#tensors++}`, tensor)
  }

  conv(x: Value, [from, to]: readonly [number, number], size: number, options: ConvOptions = {}): Value {
    const { stride = 1, gain = reluGain, isDepthwise = false, output } = options
    const inner = isDepthwise ? 1 : from
    const weights = this.constant([to, inner, size, size], gain / Math.sqrt(inner * size * size))
    const pad = (size - 1) / 2
    const attributes = {
      kernel_shape: [size, size],
      strides: [stride, stride],
      pads: [pad, pad, pad, pad],
      group: isDepthwise ? from : 1,
    }
    return this.graph.node('Conv', [x, weights, this.constant([to], 0.05)], attributes, { output })
  }

  /** Twice the height and width, half the channels. */
  up(x: Value, from: number): Value {
    const weights = this.constant([from, from / 2, 2, 2], 1 / Math.sqrt(from))
    return this.graph.node('ConvTranspose', [x, weights, this.constant([from / 2], 0.05)], {
      kernel_shape: [2, 2],
      strides: [2, 2],
    })
  }

  relu(x: Value): Value {
    return this.graph.node('Relu', [x])
  }

  relu6(x: Value): Value {
    const bounds = [0, 6].map((bound) =>
      this.graph.constant(`bound${this.#tensors++}`, new Tensor('float32', Float32Array.of(bound), [])),
    )
    return this.graph.node('Clip', [x, ...bounds])
  }

  add(x: Value, y: Value): Value {
    return this.graph.node('Add', [x, y])
  }

  pool(x: Value, size: number, pad: number): Value {
    return this.graph.node('MaxPool', [x], { kernel_shape: [size, size], strides: [2, 2], pads: [pad, pad, pad, pad] })
  }

  resize(x: Value, factor: number, output?: string): Value {
    const scales = new Tensor('float32', Float32Array.of(1, 1, factor, factor), [4])
    const inputs = [x, '', this.graph.constant(`scales${this.#tensors++}`, scales)]
    return this.graph.node('Resize', inputs, { mode: 'linear' }, { output })
  }

  /** The mean of each channel, then a layer that is fully connected. */
  classify(x: Value, [from, to]: readonly [number, number]): Value {
    const pooled = this.graph.node('Flatten', [this.graph.node('GlobalAveragePool', [x])])
    const weights = this.constant([to, from], 1 / Math.sqrt(from))
    return this.graph.node('Gemm', [pooled, weights, this.constant([to], 0.05)], { transB: 1 }, { output: 'y' })
  }
}

/** Ronneberger et al. 2015, padded: 64 to 1024 channels, two classes. */
export const unet: NetworkWriter = (size) => {
  const net = new Network('unet', 512)
  const widths = [64, 128, 256, 512]
  const twoConvs = (x: Value, from: number, to: number): Value =>
    net.relu(net.conv(net.relu(net.conv(x, [from, to], 3)), [to, to], 3))
  const skips: Value[] = []
  let x = net.input(size)
  let channels = 3
  for (const width of widths) {
    const skip = twoConvs(x, channels, width)
    skips.push(skip)
    x = net.pool(skip, 2, 0)
    channels = width
  }
  x = twoConvs(x, channels, channels * 2)
  for (const width of widths.toReversed()) {
    const joined = net.graph.node('Concat', [skips.pop() ?? '', net.up(x, width * 2)], { axis: 1 })
    x = twoConvs(joined, width * 2, width)
  }
  net.conv(x, [64, 2], 1, { gain: 1, output: 'y' })
  return net.toBytes([1, 2, size, size])
}

/** He et al. 2015, with the stride in the 3x3 convolution as torchvision has it. */
export const resnet50: NetworkWriter = (size) => {
  const net = new Network('resnet50', 50)
  let x = net.pool(net.relu(net.conv(net.input(size), [3, 64], 7, { stride: 2 })), 3, 1)
  let channels = 64
  for (const [index, blocks] of [3, 4, 6, 3].entries()) {
    const width = 64 * 2 ** index
    for (let block = 0; block < blocks; block++) {
      const stride = block === 0 && index > 0 ? 2 : 1
      const narrow = net.relu(net.conv(x, [channels, width], 1))
      const inner = net.relu(net.conv(narrow, [width, width], 3, { stride }))
      const added = net.conv(inner, [width, width * 4], 1, { gain: residualGain })
      const shortcut = block > 0 ? x : net.conv(x, [channels, width * 4], 1, { stride, gain: 1 })
      x = net.relu(net.add(added, shortcut))
      channels = width * 4
    }
  }
  net.classify(x, [channels, 1000])
  return net.toBytes([1, 1000])
}

/** Expansion, channels, blocks and stride of each stage of MobileNetV2 (Sandler et al. 2018). */
const mobileStages = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const

/** The stages of MobileNetV2. Returns the output of each, with its channels. */
function mobileFeatures(net: Network, size: number): { readonly x: Value; readonly channels: number }[] {
  const outputs: { x: Value; channels: number }[] = []
  let x = net.relu6(net.conv(net.input(size), [3, 32], 3, { stride: 2 }))
  let channels = 32
  for (const [expansion, to, blocks, firstStride] of mobileStages) {
    for (let block = 0; block < blocks; block++) {
      const stride = block === 0 ? firstStride : 1
      const wide = channels * expansion
      const expanded = expansion === 1 ? x : net.relu6(net.conv(x, [channels, wide], 1))
      const inner = net.relu6(net.conv(expanded, [wide, wide], 3, { stride, isDepthwise: true }))
      const isResidual = stride === 1 && channels === to
      const narrow = net.conv(inner, [wide, to], 1, { gain: isResidual ? residualGain : 1 })
      x = isResidual ? net.add(x, narrow) : narrow
      channels = to
    }
    outputs.push({ x, channels })
  }
  return outputs
}

export const mobileNetV2: NetworkWriter = (size) => {
  const net = new Network('mobilenetv2', 2)
  const { x, channels } = mobileFeatures(net, size).at(-1)!
  net.classify(net.relu6(net.conv(x, [channels, 1280], 1)), [1280, 1000])
  return net.toBytes([1, 1000])
}

/** MobileNetV2 and a feature pyramid over its strides of 32, 16, 8 and 4; one mask, as large as the image. */
export const segmentation: NetworkWriter = (size) => {
  const net = new Network('segmentation', 21)
  const features = mobileFeatures(net, size)
  const lateral = (index: number): Value => net.conv(features[index]!.x, [features[index]!.channels, 128], 1)
  let x = lateral(6)
  for (const index of [4, 2, 1]) x = net.relu(net.conv(net.add(net.resize(x, 2), lateral(index)), [128, 128], 3))
  net.resize(net.conv(x, [128, 1], 1, { gain: 1 }), 4, 'y')
  return net.toBytes([1, 1, size, size])
}

/** A Relu in place of a network: the fakes of TensorRT have no convolutions of this size. */
export const standIn: NetworkWriter = (size) => {
  const net = new Network('stand-in', 1)
  net.graph.node('Relu', [net.input(size)], {}, { output: 'y' })
  return net.toBytes([1, 3, size, size])
}

/** The same with QuantizeLinear and DequantizeLinear before it. */
export const standInInt8: NetworkWriter = (size) => {
  const net = new Network('stand-in-int8', 1)
  const scale = net.graph.constant('scale', new Tensor('float32', Float32Array.of(1 / 32), []))
  const zero = net.graph.constant('zero', new Tensor('int8', Int8Array.of(0), []))
  const quantized = net.graph.node('QuantizeLinear', [net.input(size), scale, zero])
  const x = net.graph.node('DequantizeLinear', [quantized, scale, zero])
  net.graph.node('Relu', [x], {}, { output: 'y' })
  return net.toBytes([1, 3, size, size])
}
