import type { ModelProto } from '../../../lib/onnx/index.js'
import { type Feature, type ModelOptions, Network, sizeOf } from './network.js'

/** Expansion, channels, blocks and the first one's stride, of torchvision's `mobilenet_v2`. */
export const stages = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const

/** How many classes ImageNet has. */
const classes = 1000

/**
 * MobileNetV2 as torchvision has it (3,504,872 parameters), with seeded weights.
 *
 * Input `images`: float32 [batch, 3, 224, 224], RGB by ImageNet's mean and deviation. Output `logits`: float32 [batch,
 * 1000].
 */
export function modelOf(options: ModelOptions = {}): ModelProto {
  const net = new Network('mobilenet_v2', options)
  let x = net.convolution('stem', net.input('images', sizeOf(options.size, 224)), 32, {
    kernel: 3,
    stride: 2,
    activation: 'relu6',
  })
  for (const [stage, [expansion, channels, blocks, first]] of stages.entries())
    for (let block = 0; block < blocks; block++)
      x = invertedResidual(net, `stage${stage}.${block}`, x, channels, { expansion, stride: block === 0 ? first : 1 })
  x = net.convolution('head', x, 1280, { activation: 'relu6' })
  const pooled = net.graph.node('Flatten', [net.globalAverage(x).value])
  // The mean over a picture varies far less than its pixels do.
  net.output('logits', net.linear('classifier', pooled, 1280, classes, 8), [classes])
  return net.toModel()
}

/**
 * Wider by a 1 × 1 convolution, depthwise, narrow again without an activation; with a way around where it keeps the
 * shape.
 */
function invertedResidual(
  net: Network,
  name: string,
  input: Feature,
  channels: number,
  { expansion, stride }: { expansion: number; stride: number },
): Feature {
  const hidden = input.channels * expansion
  const activation = 'relu6'
  const wide = expansion === 1 ? input : net.convolution(`${name}.expand`, input, hidden, { activation })
  const deep = net.convolution(`${name}.depthwise`, wide, hidden, { kernel: 3, stride, groups: hidden, activation })
  const narrow = net.convolution(`${name}.project`, deep, channels)
  return stride === 1 && input.channels === channels ? net.add(input, narrow) : narrow
}
