import type { ModelProto, Value } from '../../../lib/onnx/index.js'
import { type ConvolutionOptions, type Feature, type ModelOptions, Network, sizeOf } from './network.js'

/**
 * Channels and stride of the separable convolutions of MobileNetV1 × 0.25, by stage; the stages end at an 8th, 16th and
 * 32nd of the input's size.
 */
const stages = [
  [
    [16, 1],
    [32, 2],
    [32, 1],
    [64, 2],
    [64, 1],
  ],
  [
    [128, 2],
    [128, 1],
    [128, 1],
    [128, 1],
    [128, 1],
    [128, 1],
  ],
  [
    [256, 2],
    [256, 1],
  ],
] as const

/** Channels of the pyramid. */
const width = 64

/** Two sizes of square priors at each place. */
const priors = 2

/** What a pixel's deviation from the mean is about, on the scale of 0 to 255 that the network takes. */
const deviation = 60

const activation = 'leaky'

/**
 * RetinaFace with MobileNetV1 × 0.25, as biubug6/Pytorch_Retinaface has it, exported for answering, with seeded
 * weights.
 *
 * Input `input`: float32 [batch, 3, 640, 640], BGR less (104, 117, 123). Outputs: `loc` [batch, N, 4], `conf` [batch,
 * N, 2], softmaxed, the face second, `landms` [batch, N, 10]; N is 16,800 at 640 × 640. The face's bias is raised so
 * that a few priors pass a threshold of 0.5.
 */
export function modelOf(options: ModelOptions = {}): ModelProto {
  const net = new Network('retinaface_mobilenet0.25', options)
  const input = net.input('input', sizeOf(options.size, 640), deviation ** 2)
  const levels = pyramid(net, backbone(net, input)).map((level, i) => context(net, `ssh${i + 1}`, level))
  const boxes = heads(net, 'bbox', levels, 4, { gain: 0.7 })
  const scores = heads(net, 'class', levels, 2, { gain: 8, offset: (channel) => (channel % 2 === 1 ? -1.5 : 1.5) })
  const landmarks = heads(net, 'landmark', levels, 10, { gain: 0.7 })
  const count = levels.reduce((sum, level) => sum + level.width * level.height * priors, 0)
  net.output('loc', boxes, [count, 4])
  net.output('conf', net.graph.node('Softmax', [scores], { axis: -1 }), [count, 2])
  net.output('landms', landmarks, [count, 10])
  return net.toModel()
}

function backbone(net: Network, input: Feature): Feature[] {
  let x = net.convolution('stem', input, 8, { kernel: 3, stride: 2, activation })
  return stages.map((layers, stage) => {
    for (const [i, [channels, stride]] of layers.entries()) {
      const name = `stage${stage + 1}.${i}`
      x = net.convolution(`${name}.depthwise`, x, x.channels, { kernel: 3, stride, groups: x.channels, activation })
      x = net.convolution(`${name}.pointwise`, x, channels, { activation })
    }
    return x
  })
}

/** All levels with as many channels; what the coarser ones found is added to the finer ones. */
function pyramid(net: Network, features: readonly Feature[]): Feature[] {
  const [fine, middle, coarse] = features.map((feature, i) =>
    net.convolution(`fpn.output${i + 1}`, feature, width, { activation }),
  ) as [Feature, Feature, Feature]
  const merged = (name: string, to: Feature, from: Feature) =>
    net.convolution(name, net.add(to, net.resize(from, to)), width, { kernel: 3, activation })
  const second = merged('fpn.merge2', middle, coarse)
  return [merged('fpn.merge1', fine, second), second, coarse]
}

/** SSH's context module: 3 × 3, 5 × 5 and 7 × 7, the larger ones of 3 × 3 in a row. */
function context(net: Network, name: string, input: Feature): Feature {
  const layer = (part: string, from: Feature, channels: number, options: ConvolutionOptions = {}) =>
    net.convolution(`${name}.${part}`, from, channels, { kernel: 3, ...options })
  const three = layer('conv3x3', input, width / 2)
  const shared = layer('conv5x5_1', input, width / 4, { activation })
  const five = layer('conv5x5_2', shared, width / 4)
  const seven = layer('conv7x7_3', layer('conv7x7_2', shared, width / 4, { activation }), width / 4)
  const all = net.concat(three, five, seven)
  return { ...all, value: net.activated(all.value, 'relu') }
}

/** One 1 × 1 convolution for each level, as rows of `values` for each prior. */
function heads(
  net: Network,
  name: string,
  levels: readonly Feature[],
  values: number,
  options: ConvolutionOptions,
): Value {
  const rows = levels.map((level, i) =>
    net.rows(net.convolution(`${name}${i}`, level, priors * values, { norm: false, ...options }), values),
  )
  return net.graph.node('Concat', rows, { axis: 1 })
}
