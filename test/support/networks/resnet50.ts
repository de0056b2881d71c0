import type { ModelProto } from '../../../lib/onnx/index.js'
import { channelsOf, type Feature, type ModelOptions, Network, sizeOf } from './network.js'

export interface ResNet50Options extends ModelOptions {
  /** Factor of the channels of all layers. Default: 1. */
  readonly width?: number
}

/** Channels inside of a block, blocks and the first one's stride, of torchvision's `resnet50`. */
const stages = [
  [64, 3, 1],
  [128, 4, 2],
  [256, 6, 2],
  [512, 3, 2],
] as const

/** How much wider a block is outside than inside. */
const expansion = 4

/** How many classes ImageNet has. */
const classes = 1000

/**
 * ResNet-50 as torchvision has it (25,557,032 parameters), with seeded weights.
 *
 * Input `images`: float32 [batch, 3, 224, 224], RGB by ImageNet's mean and deviation. Output `logits`: float32 [batch,
 * 1000].
 */
export function modelOf(options: ResNet50Options = {}): ModelProto {
  const { width } = options
  const net = new Network('resnet50', options)
  const stem = net.convolution('conv1', net.input('images', sizeOf(options.size, 224)), channelsOf(64, width), {
    kernel: 7,
    stride: 2,
    activation: 'relu',
  })
  let x = net.maxPool(stem, 3, 2)
  for (const [stage, [channels, blocks, first]] of stages.entries())
    for (let block = 0; block < blocks; block++)
      x = bottleneck(net, `layer${stage + 1}.${block}`, x, channelsOf(channels, width), block === 0 ? first : 1)
  const pooled = net.graph.node('Flatten', [net.globalAverage(x).value])
  // The mean over a picture varies far less than its pixels do.
  net.output('logits', net.linear('fc', pooled, x.channels, classes, 8), [classes])
  return net.toModel()
}

/**
 * Narrow, 3 × 3, wide again; the way around is a convolution where the shape changes. The stride is the second one's,
 * as in torchvision ("v1.5").
 */
function bottleneck(net: Network, name: string, input: Feature, channels: number, stride: number): Feature {
  const activation = 'relu'
  const narrow = net.convolution(`${name}.conv1`, input, channels, { activation })
  const inner = net.convolution(`${name}.conv2`, narrow, channels, { kernel: 3, stride, activation })
  const wide = net.convolution(`${name}.conv3`, inner, channels * expansion)
  const same = stride === 1 && input.channels === wide.channels
  const around = same ? input : net.convolution(`${name}.downsample`, input, wide.channels, { stride })
  return net.add(wide, around, activation)
}
