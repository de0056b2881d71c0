import type { ModelProto } from '../../../lib/onnx/index.js'
import { channelsOf, type Feature, type ModelOptions, Network, sizeOf } from './network.js'

export interface UNetOptions extends ModelOptions {
  /** 2 when not given. */
  readonly classes?: number
  /** Factor of the channels of all layers. Default: 1. */
  readonly width?: number
}

/** Channels and blocks of ResNet-34's four stages. */
const encoder = [
  [64, 3],
  [128, 4],
  [256, 6],
  [512, 3],
] as const

/** Channels of the five steps back to the input's size. */
const decoder = [256, 128, 64, 32, 16] as const

/**
 * UNet with a ResNet-34 as its encoder, as `segmentation_models_pytorch.Unet('resnet34', classes=2)` has it (24,436,514
 * parameters), with seeded weights.
 *
 * Input `images`: float32 [batch, 3, 512, 512], RGB by ImageNet's mean and deviation; sides must be multiples of 32.
 * Output `logits`: float32 [batch, classes, 512, 512].
 */
export function modelOf(options: UNetOptions = {}): ModelProto {
  const { classes = 2, width } = options
  const net = new Network('unet_resnet34', options)
  const size = sizeOf(options.size, 512)
  const [deepest, ...skips] = encoded(net, net.input('images', size), width).reverse() as [Feature, ...Feature[]]
  let x = deepest
  for (const [step, channels] of decoder.entries()) {
    const skip = skips[step]
    const larger = net.resize(x, { width: x.width * 2, height: x.height * 2 })
    x = skip === undefined ? larger : net.concat(larger, skip)
    for (const part of [1, 2])
      x = net.convolution(`decoder${step}.conv${part}`, x, channelsOf(channels, width), {
        kernel: 3,
        activation: 'relu',
      })
  }
  const logits = net.convolution('head', x, classes, { kernel: 3, norm: false, gain: 3 })
  net.output('logits', logits.value, [classes, size.height, size.width])
  return net.toModel()
}

/** The features at a half, a 4th, 8th, 16th and 32nd of the input's size. */
function encoded(net: Network, input: Feature, width: number | undefined): Feature[] {
  const stem = net.convolution('encoder.stem', input, channelsOf(64, width), {
    kernel: 7,
    stride: 2,
    activation: 'relu',
  })
  const features = [stem]
  let x = net.maxPool(stem, 3, 2)
  for (const [stage, [channels, blocks]] of encoder.entries()) {
    for (let block = 0; block < blocks; block++)
      x = basicBlock(
        net,
        `encoder.layer${stage + 1}.${block}`,
        x,
        channelsOf(channels, width),
        stage > 0 && block === 0 ? 2 : 1,
      )
    features.push(x)
  }
  return features
}

/** Two 3 × 3 convolutions, and a way around them. */
function basicBlock(net: Network, name: string, input: Feature, channels: number, stride: number): Feature {
  const first = net.convolution(`${name}.conv1`, input, channels, { kernel: 3, stride, activation: 'relu' })
  const second = net.convolution(`${name}.conv2`, first, channels, { kernel: 3 })
  const around =
    stride === 1 && input.channels === channels
      ? input
      : net.convolution(`${name}.downsample`, input, channels, { stride })
  return net.add(second, around, 'relu')
}
