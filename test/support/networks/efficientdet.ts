import type { ModelProto } from '../../../lib/onnx/index.js'
import { type ConvolutionOptions, type Feature, type ModelOptions, Network, sizeOf } from './network.js'

export interface EfficientDetOptions extends ModelOptions {
  /** COCO's 90 when not given. */
  readonly classes?: number
}

/**
 * Kernel, expansion, channels, blocks and the first one's stride of EfficientNet-B1; its squeeze keeps a quarter of a
 * block's input channels.
 */
const stages = [
  [3, 1, 16, 2, 1],
  [3, 6, 24, 3, 2],
  [5, 6, 40, 3, 2],
  [3, 6, 80, 4, 2],
  [5, 6, 112, 4, 1],
  [5, 6, 192, 5, 2],
  [3, 6, 320, 2, 1],
] as const

/** The stages that end at an 8th, 16th and 32nd of the input's size. */
const taken = [2, 4, 6] as const

/** Of D1: channels and cells of the BiFPN, layers of the heads. */
const width = 88
const cells = 4
const repeats = 3

/** Three sizes of three forms. */
const anchors = 9

const activation = 'silu'
const same = { padding: 'same', epsilon: 1e-3 } as const

/**
 * EfficientDet-D1 (6,625,898 parameters) as google/automl and effdet (`tf_efficientdet_d1`) have it, with seeded
 * weights.
 *
 * Input `images`: float32 [batch, 3, 640, 640], RGB by ImageNet's mean and deviation; sides must be multiples of 128.
 * Outputs, by level from an 8th of the size to a 128th: `class0` … `class4` [batch, 9 · 90, H, W], logits, and `box0` …
 * `box4` [batch, 9 · 4, H, W]. The classes' biases are raised so that a few anchors pass a threshold of 0.3.
 */
export function modelOf(options: EfficientDetOptions = {}): ModelProto {
  const { classes = 90 } = options
  const net = new Network('efficientdet_d1', options)
  let levels = coarser(net, backbone(net, net.input('images', sizeOf(options.size, 640))))
  for (let cell = 0; cell < cells; cell++) levels = bifpn(net, `bifpn${cell}`, levels)
  const scores = head(net, 'class', levels, anchors * classes, { gain: 4.5, offset: () => -6.5 })
  const boxes = head(net, 'box', levels, anchors * 4, {})
  for (const [i, { value, channels, width, height }] of scores.entries())
    net.output(`class${i}`, value, [channels, height, width])
  for (const [i, { value, channels, width, height }] of boxes.entries())
    net.output(`box${i}`, value, [channels, height, width])
  return net.toModel()
}

/** EfficientNet-B1 without its classifier. */
function backbone(net: Network, input: Feature): Feature[] {
  let x = net.convolution('stem', input, 32, { kernel: 3, stride: 2, activation, ...same })
  const features = stages.map(([kernel, expansion, channels, blocks, first], stage) => {
    for (let block = 0; block < blocks; block++)
      x = mobileBlock(net, `blocks.${stage}.${block}`, x, channels, {
        kernel,
        expansion,
        stride: block === 0 ? first : 1,
      })
    return x
  })
  return taken.map((stage) => features[stage]!)
}

/** MBConv: an inverted residual with squeeze and excitation. */
function mobileBlock(
  net: Network,
  name: string,
  input: Feature,
  channels: number,
  { kernel, expansion, stride }: { kernel: number; expansion: number; stride: number },
): Feature {
  const hidden = input.channels * expansion
  const wide = expansion === 1 ? input : net.convolution(`${name}.expand`, input, hidden, { activation, ...same })
  const deep = net.convolution(`${name}.depthwise`, wide, hidden, {
    kernel,
    stride,
    groups: hidden,
    activation,
    ...same,
  })
  const narrow = net.convolution(
    `${name}.project`,
    excited(net, name, deep, Math.floor(input.channels / 4)),
    channels,
    same,
  )
  return stride === 1 && input.channels === channels ? net.add(input, narrow) : narrow
}

/** Each channel by a factor from 0 to 1 that comes from all channels' means. */
function excited(net: Network, name: string, input: Feature, squeezed: number): Feature {
  const few = net.convolution(`${name}.se.reduce`, net.globalAverage(input), squeezed, { norm: false, activation })
  const all = net.convolution(`${name}.se.expand`, few, input.channels, { norm: false })
  return net.scaled(input, { ...all, moment: 0.25, value: net.graph.node('Sigmoid', [all.value]) })
}

/** Two levels more: as many channels as the BiFPN has, then half the size twice. */
function coarser(net: Network, features: readonly Feature[]): Feature[] {
  const sixth = net.maxPool(resampled(net, 'p6', features.at(-1)!), 3, 2, 'same')
  return [...features, sixth, net.maxPool(sixth, 3, 2, 'same')]
}

/** With the BiFPN's channels: by a 1 × 1 convolution where it has others. */
function resampled(net: Network, name: string, input: Feature): Feature {
  return input.channels === width ? input : net.convolution(`${name}.resample`, input, width, { bias: true, ...same })
}

/** One cell: from the coarsest level to the finest, and back with what came in. */
function bifpn(net: Network, name: string, inputs: readonly Feature[]): Feature[] {
  const last = inputs.length - 1
  const down = [...inputs]
  for (let i = last - 1; i >= 0; i--) {
    const own = resampled(net, `${name}.down${i}`, inputs[i]!)
    const above = resampled(net, `${name}.down${i}.above`, down[i + 1]!)
    down[i] = fused(net, `${name}.down${i}`, [own, net.resize(above, own)])
  }
  const up = [down[0]!]
  for (let i = 1; i <= last; i++) {
    const own = resampled(net, `${name}.up${i}`, inputs[i]!)
    const below = net.maxPool(up[i - 1]!, 3, 2, 'same')
    up.push(fused(net, `${name}.up${i}`, i === last ? [own, below] : [own, down[i]!, below]))
  }
  return up
}

/**
 * The fast normalized fusion: Σ wᵢ · xᵢ / (Σ wᵢ + 0.0001) of weights that are not negative, then the activation and a
 * separable convolution.
 */
function fused(net: Network, name: string, inputs: readonly Feature[]): Feature {
  const { graph } = net
  const weights = graph.node('Relu', [net.weights(`${name}.edges`, new Float32Array(inputs.length).fill(1))])
  const sum = graph.node('Add', [graph.node('ReduceSum', [weights], { keepdims: 1 }), net.scalar(1e-4)])
  const shares = graph.nodeWithOutputs('Split', [graph.node('Div', [weights, sum])], inputs.length, { axis: 0 })
  const parts = inputs.map(({ value }, i) => graph.node('Mul', [value, shares[i]!]))
  const value = net.activated(
    parts.reduce((a, b) => graph.node('Add', [a, b])),
    activation,
  )
  const moment = inputs.reduce((all, input) => all + input.moment, 0) / inputs.length ** 2 / 2.8
  return separable(net, name, { ...inputs[0]!, value, moment }, width, { bias: true })
}

/** Depthwise 3 × 3, then 1 × 1. */
function separable(net: Network, name: string, input: Feature, channels: number, options: ConvolutionOptions): Feature {
  const { shared = name } = options
  const own = { kernel: 3, groups: input.channels, norm: false, bias: false, shared: `${shared}.depthwise`, ...same }
  const depthwise = net.convolution(`${name}.depthwise`, input, input.channels, own)
  return net.convolution(`${name}.pointwise`, depthwise, channels, {
    ...same,
    ...options,
    shared: `${shared}.pointwise`,
  })
}

/** The same convolutions on all levels, each level with BatchNorms of its own. */
function head(
  net: Network,
  name: string,
  levels: readonly Feature[],
  channels: number,
  last: ConvolutionOptions,
): Feature[] {
  return levels.map((level, i) => {
    let x = level
    for (let layer = 0; layer < repeats; layer++)
      x = separable(net, `${name}.${layer}.level${i}`, x, width, { bias: true, activation, shared: `${name}.${layer}` })
    return separable(net, `${name}.predict.level${i}`, x, channels, { norm: false, ...last, shared: `${name}.predict` })
  })
}
