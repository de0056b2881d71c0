import { GraphBuilder } from '../../../lib/onnx/index.js'
import type { Attributes, ModelProto, Value } from '../../../lib/onnx/index.js'
import { Tensor } from '../../../lib/tensor.js'
import type { Size } from '../../../lib/vision/index.js'
import { Seeded } from './seeded.js'

/** What every architecture of this folder can be asked for. */
export interface ModelOptions {
  /** Width and height of the input in pixels, or both as one number; each architecture has its own default. */
  readonly size?: number | Size
  /** The first dimension of inputs and outputs; `'N'` makes it dynamic. 1 when not given. */
  readonly batch?: number | 'N'
  /** Weights of the same seed are the same. 1 when not given. */
  readonly seed?: number
  /**
   * `'folded'` (default): in the convolution before it, as exporters write it. `'nodes'`: as BatchNormalization, with
   * the parameters that were trained.
   */
  readonly batchNorm?: 'folded' | 'nodes'
}

export type Activation = 'relu' | 'relu6' | 'leaky' | 'silu' | 'none'

/** The output of a layer: [batch, channels, height, width]. */
export interface Feature extends Size {
  readonly value: Value
  readonly channels: number
  /** About what its numbers' mean square is: weights are scaled by it. */
  readonly moment: number
}

export interface ConvolutionOptions {
  /** 1 when not given. */
  readonly kernel?: number
  /** 1 when not given. */
  readonly stride?: number
  /** 1 when not given; as many as there are channels make it depthwise. */
  readonly groups?: number
  /** 1 when not given. */
  readonly dilation?: number
  /**
   * `'half'` (default) is PyTorch's (k − 1) / 2 on each side, `'same'` TensorFlow's, which has the odd pixel at the
   * end; or pixels on each side.
   */
  readonly padding?: 'half' | 'same' | number
  /** Whether a BatchNorm follows (default), whose bias takes the convolution's place. */
  readonly norm?: boolean
  /** Whether a convolution has a bias where a BatchNorm does not stand for it: when not given, if `norm` is false. */
  readonly bias?: boolean
  /** BatchNorm's epsilon; PyTorch's 1e-5 when not given. */
  readonly epsilon?: number
  readonly activation?: Activation
  /** What the seeded weights are multiplied by. */
  readonly gain?: number
  /** What is added to the seeded biases, by channel. */
  readonly offset?: (channel: number) => number
  /** The name of the convolution whose weights are used again, where levels share them. */
  readonly shared?: string
}

/**
 * The mean square that weights give to what an activation takes, and what it leaves of it: He's initialisation, told
 * for each.
 */
const moments: Readonly<Record<Activation, { readonly before: number; readonly after: number }>> = {
  none: { before: 1, after: 1 },
  relu: { before: 2, after: 1 },
  relu6: { before: 2, after: 1 },
  leaky: { before: 1.98, after: 1 },
  // SiLU is nearly linear around 0, and a layer's error in scale would grow in the next; further out it is nearly ReLU.
  silu: { before: 16, after: 7.4 },
}

const leakySlope = 0.1

/** Seeded weights of one BatchNorm. */
interface Norm {
  readonly weight: Float32Array
  readonly bias: Float32Array
  readonly mean: Float32Array
  readonly variance: Float32Array
}

/**
 * Layers with seeded weights, on a GraphBuilder. Each filter sums to zero before it is scaled (but depthwise ones):
 * else the mean of what the activations leave grows from layer to layer until the network answers every picture alike.
 */
export class Network {
  readonly graph: GraphBuilder
  readonly batch: number | 'N'
  readonly #seeded: Seeded
  readonly #folded: boolean
  readonly #weights = new Map<string, Float32Array>()
  #scalars = 0

  constructor(name: string, { batch = 1, seed = 1, batchNorm = 'folded' }: ModelOptions) {
    this.graph = new GraphBuilder({ name, opset: 17 })
    this.batch = batch
    this.#seeded = new Seeded(seed)
    this.#folded = batchNorm === 'folded'
  }

  /** Three channels, with the mean square of what is fed to them. */
  input(name: string, { width, height }: Size, moment = 1): Feature {
    return {
      value: this.graph.input(name, 'float32', [this.batch, 3, height, width]),
      channels: 3,
      width,
      height,
      moment,
    }
  }

  /** A convolution, its BatchNorm and its activation. */
  convolution(name: string, input: Feature, channels: number, options: ConvolutionOptions = {}): Feature {
    const {
      kernel = 1,
      stride = 1,
      groups = 1,
      dilation = 1,
      norm = true,
      bias = !norm,
      activation = 'none',
      shared = name,
    } = options
    const factor = (options.gain ?? 1) ** 2
    const gain = (moments[activation].before * factor) / input.moment
    const weight = this.#weightOf(shared, channels, input.channels / groups, kernel, gain, groups === 1)
    const width = padded(input.width, kernel, stride, dilation, options.padding)
    const height = padded(input.height, kernel, stride, dilation, options.padding)
    const own = bias ? this.#biasOf(shared, channels, options.offset) : undefined
    const normal = norm ? this.#norm(channels) : undefined
    const epsilon = options.epsilon ?? 1e-5
    const inside = normal !== undefined && this.#folded ? folded(weight, own, normal, epsilon) : { weight, bias: own }
    const stored = inside.weight === weight ? shared : name
    const inputs = [
      input.value,
      this.#constant(`${stored}.weight`, inside.weight, [channels, input.channels / groups, kernel, kernel]),
    ]
    if (inside.bias !== undefined) inputs.push(this.#constant(`${stored}.bias`, inside.bias, [channels]))
    const attributes: Attributes = {
      kernel_shape: [kernel, kernel],
      strides: [stride, stride],
      dilations: [dilation, dilation],
      group: groups,
      pads: [height.before, width.before, height.after, width.after],
    }
    let value = this.graph.node('Conv', inputs, attributes, { name: `${name}/Conv` })
    if (normal !== undefined && !this.#folded) value = this.#normNode(name, value, normal, epsilon)
    return {
      value: this.activated(value, activation),
      channels,
      width: width.size,
      height: height.size,
      moment: moments[activation].after * factor,
    }
  }

  /** At twice the size, by a transposed convolution of 2 × 2 pixels: each pixel becomes four. */
  doubled(name: string, input: Feature, channels: number): Feature {
    const weight = this.#seeded.values(input.channels * channels * 4, Math.sqrt(1 / input.channels / input.moment))
    const inputs = [
      input.value,
      this.#constant(`${name}.weight`, weight, [input.channels, channels, 2, 2]),
      this.#constant(`${name}.bias`, this.#biasOf(name, channels), [channels]),
    ]
    const value = this.graph.node(
      'ConvTranspose',
      inputs,
      { kernel_shape: [2, 2], strides: [2, 2] },
      { name: `${name}/ConvTranspose` },
    )
    return { value, channels, width: input.width * 2, height: input.height * 2, moment: 1 }
  }

  activated(value: Value, activation: Activation): Value {
    if (activation === 'none') return value
    if (activation === 'relu') return this.graph.node('Relu', [value])
    if (activation === 'leaky') return this.graph.node('LeakyRelu', [value], { alpha: leakySlope })
    if (activation === 'relu6') return this.graph.node('Clip', [value, this.scalar(0), this.scalar(6)])
    return this.graph.node('Mul', [value, this.graph.node('Sigmoid', [value])])
  }

  /** Fully connected: [batch, channels] to [batch, units]. */
  linear(name: string, value: Value, channels: number, units: number, gain = 1): Value {
    const weight = this.#weightOf(name, units, channels, 1, gain ** 2, true)
    const inputs = [value, this.#constant(`${name}.weight`, weight, [units, channels])]
    return this.graph.node('Gemm', [...inputs, this.#constant(`${name}.bias`, this.#biasOf(name, units), [units])], {
      transB: 1,
    })
  }

  add(a: Feature, b: Feature, activation: Activation = 'none'): Feature {
    const moment = (a.moment + b.moment) * (activation === 'none' ? 1 : 0.5)
    return { ...a, moment, value: this.activated(this.graph.node('Add', [a.value, b.value]), activation) }
  }

  /** Each channel of `a` times the number that `b`, [batch, channels, 1, 1], has for it. */
  scaled(a: Feature, b: Feature): Feature {
    return { ...a, moment: a.moment * b.moment, value: this.graph.node('Mul', [a.value, b.value]) }
  }

  /** One after the other along the channels. */
  concat(...features: readonly [Feature, ...Feature[]]): Feature {
    const channels = features.reduce((sum, feature) => sum + feature.channels, 0)
    const moment = features.reduce((sum, feature) => sum + feature.moment * feature.channels, 0) / channels
    return {
      ...features[0],
      channels,
      moment,
      value: this.graph.node(
        'Concat',
        features.map(({ value }) => value),
        { axis: 1 },
      ),
    }
  }

  maxPool(
    input: Feature,
    kernel: number,
    stride: number,
    padding: ConvolutionOptions['padding'] = 'half',
    ceil = false,
  ): Feature {
    const width = padded(input.width, kernel, stride, 1, padding, ceil)
    const height = padded(input.height, kernel, stride, 1, padding, ceil)
    const pads = [height.before, width.before, height.after, width.after]
    const attributes = { kernel_shape: [kernel, kernel], strides: [stride, stride], pads, ceil_mode: ceil ? 1 : 0 }
    return {
      ...input,
      value: this.graph.node('MaxPool', [input.value], attributes),
      width: width.size,
      height: height.size,
    }
  }

  /** The mean of each channel: [batch, channels, 1, 1]. */
  globalAverage(input: Feature): Feature {
    return { ...input, value: this.graph.node('GlobalAveragePool', [input.value]), width: 1, height: 1 }
  }

  /**
   * To the size of another, by the nearest pixel or bilinear (half-pixel centres). With a dynamic batch the size must
   * be a whole multiple.
   */
  resize(input: Feature, { width, height }: Size, mode: 'nearest' | 'linear' = 'nearest'): Feature {
    const coordinates =
      mode === 'nearest' ? { coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' } : {}
    // sizes say what they mean; factors that are no whole numbers may come out a pixel short
    const target =
      this.batch === 'N'
        ? [this.constant('scales', Float32Array.of(1, 1, height / input.height, width / input.width))]
        : ['', this.constant('sizes', BigInt64Array.from([this.batch, input.channels, height, width], BigInt))]
    return {
      ...input,
      value: this.graph.node('Resize', [input.value, '', ...target], { mode, ...coordinates }),
      width,
      height,
    }
  }

  /** Channels last, as rows of `length` numbers: [batch, height · width · channels / length, length]. */
  rows(input: Feature, length: number): Value {
    const last = this.graph.node('Transpose', [input.value], { perm: [0, 2, 3, 1] })
    return this.reshape(last, [
      this.batch === 'N' ? -1 : this.batch,
      (input.height * input.width * input.channels) / length,
      length,
    ])
  }

  reshape(value: Value, shape: readonly number[]): Value {
    return this.graph.node('Reshape', [value, this.constant('shape', BigInt64Array.from(shape, BigInt))])
  }

  /** A number that is no weight. */
  scalar(value: number): Value {
    return this.constant('scalar', Float32Array.of(value), [])
  }

  /** Numbers that are no weights: their names begin with `constant/`. */
  constant(name: string, data: Float32Array | BigInt64Array, shape: readonly number[] = [data.length]): Value {
    const full = `constant/${name}/${this.#scalars++}`
    const tensor = data instanceof Float32Array ? new Tensor('float32', data, shape) : new Tensor('int64', data, shape)
    return this.graph.constant(full, tensor)
  }

  /** Weights of another kind than those of a convolution, such as BiFPN's for each edge. */
  weights(name: string, data: Float32Array, shape: readonly number[] = [data.length]): Value {
    return this.#constant(name, data, shape)
  }

  /** Makes a value an output under a name of its own. */
  output(name: string, value: Value, shape: readonly number[]): void {
    this.graph.output(this.graph.node('Identity', [value], {}, { output: name }), 'float32', [this.batch, ...shape])
  }

  toModel(): ModelProto {
    return this.graph.toModel()
  }

  #weightOf(
    name: string,
    outputs: number,
    inputs: number,
    kernel: number,
    gain: number,
    centred: boolean,
  ): Float32Array {
    const known = this.#weights.get(name)
    if (known !== undefined) return known
    const fan = inputs * kernel * kernel
    const weight = this.#seeded.values(outputs * fan, Math.sqrt(gain / fan))
    if (centred && fan > 1)
      for (let start = 0; start < weight.length; start += fan) centre(weight.subarray(start, start + fan))
    this.#weights.set(name, weight)
    return weight
  }

  #biasOf(name: string, channels: number, offset: (channel: number) => number = () => 0): Float32Array {
    const key = `${name}.bias`
    const bias =
      this.#weights.get(key) ?? this.#seeded.values(channels, 0.05).map((value, channel) => value + offset(channel))
    this.#weights.set(key, bias)
    return bias
  }

  #norm(channels: number): Norm {
    return {
      weight: this.#seeded.values(channels, 0.05, 1),
      bias: this.#seeded.values(channels, 0.1),
      mean: this.#seeded.values(channels, 0.1),
      variance: this.#seeded.values(channels, 0.05, 1),
    }
  }

  #normNode(name: string, value: Value, { weight, bias, mean, variance }: Norm, epsilon: number): Value {
    const shape = [weight.length]
    const inputs = [
      value,
      this.#constant(`${name}.norm.weight`, weight, shape),
      this.#constant(`${name}.norm.bias`, bias, shape),
      this.#constant(`${name}.norm.running_mean`, mean, shape),
      this.#constant(`${name}.norm.running_var`, variance, shape),
    ]
    return this.graph.node('BatchNormalization', inputs, { epsilon }, { name: `${name}/BatchNormalization` })
  }

  readonly #stored = new Set<string>()

  /** Stored once, however many layers use it. */
  #constant(name: string, data: Float32Array, shape: readonly number[]): Value {
    if (this.#stored.has(name)) return name
    this.#stored.add(name)
    return this.graph.constant(name, new Tensor('float32', data, shape))
  }
}

/** A number for both sides, or each its own. */
export function sizeOf(size: number | Size | undefined, usual: number): Size {
  const given = size ?? usual
  return typeof given === 'number' ? { width: given, height: given } : given
}

/** A count of channels times a factor; at least 1. */
export const channelsOf = (channels: number, width = 1): number => Math.max(1, Math.round(channels * width))

// Loops: for millions of weights a callback for each takes five times as long.
function centre(filter: Float32Array): void {
  let sum = 0
  for (let i = 0; i < filter.length; i++) sum += filter[i]!
  const mean = sum / filter.length
  for (let i = 0; i < filter.length; i++) filter[i]! -= mean
}

/** A convolution's weights and bias with its BatchNorm in them. */
function folded(
  weight: Float32Array,
  bias: Float32Array | undefined,
  norm: Norm,
  epsilon: number,
): { weight: Float32Array; bias: Float32Array } {
  const scales = norm.weight.map((value, i) => value / Math.sqrt(norm.variance[i]! + epsilon))
  const each = weight.length / scales.length
  const scaled = new Float32Array(weight.length)
  for (let channel = 0, i = 0; channel < scales.length; channel++)
    for (const end = i + each; i < end; i++) scaled[i] = weight[i]! * scales[channel]!
  return {
    weight: scaled,
    bias: scales.map((scale, i) => norm.bias[i]! + ((bias?.[i] ?? 0) - norm.mean[i]!) * scale),
  }
}

/** What comes out of `length` pixels, and the pixels that are put before and after them. */
function padded(
  length: number,
  kernel: number,
  stride: number,
  dilation: number,
  padding: ConvolutionOptions['padding'] = 'half',
  ceil = false,
): { size: number; before: number; after: number } {
  const reach = (kernel - 1) * dilation + 1
  if (padding === 'same') {
    const size = Math.ceil(length / stride)
    const sum = Math.max((size - 1) * stride + reach - length, 0)
    return { size, before: Math.floor(sum / 2), after: Math.ceil(sum / 2) }
  }
  const each = padding === 'half' ? (reach - 1) / 2 : padding
  const steps = (length + 2 * each - reach) / stride
  return { size: (ceil ? Math.ceil(steps) : Math.floor(steps)) + 1, before: each, after: each }
}
