import type { ModelProto } from '../../../lib/onnx/index.js'
import { type Feature, type ModelOptions, Network, sizeOf } from './network.js'

/** Channels inside a block, and of what it gives. */
const inner = 16
const outer = 64

/** How deep the blocks of the first four stages are; the last two keep their size and dilate. */
const depths = [7, 6, 5, 4] as const

/** The dilations of the blocks that keep their size. */
const dilations = [1, 2, 4, 8] as const

/**
 * U²-Net's small network (U2NETP, 1,131,181 parameters), as xuebinqin/U-2-Net has it, with seeded weights: what stands
 * in front, from 0 to 1.
 *
 * Input `input`: float32 [batch, 3, 320, 320], RGB by the picture's own maximum, then ImageNet's mean and deviation.
 * Output `d0`: float32 [batch, 1, 320, 320], of all six sides; and `d1` to `d6`, the sides.
 */
export function modelOf(options: ModelOptions = {}): ModelProto {
  const net = new Network('u2netp', options)
  const size = sizeOf(options.size, 320)
  const input = net.input('input', size)
  const sides = decoded(net, encoded(net, input)).map((feature, i) => {
    const side = net.convolution(`side${i + 1}`, feature, 1, { kernel: 3, norm: false, gain: 5 })
    return i === 0 ? side : net.resize(side, size, 'linear')
  }) as [Feature, ...Feature[]]
  const fused = net.convolution('outconv', net.concat(...sides), 1, { norm: false, gain: 12 })
  for (const [i, { value }] of [fused, ...sides].entries())
    net.output(`d${i}`, net.graph.node('Sigmoid', [value]), [1, size.height, size.width])
  return net.toModel()
}

/** Six stages, each at half the size of the one before. */
function encoded(net: Network, input: Feature): Feature[] {
  const features: Feature[] = []
  let x = input
  for (let stage = 1; stage <= 6; stage++) {
    if (stage > 1) x = halved(net, x)
    x = block(net, stage, `stage${stage}`, x)
    features.push(x)
  }
  return features
}

/** The five stages back, and the deepest: from the largest to the smallest. */
function decoded(net: Network, features: readonly Feature[]): Feature[] {
  const back = [features[5]!]
  for (let stage = 5; stage >= 1; stage--) {
    const beside = features[stage - 1]!
    back.unshift(block(net, stage, `stage${stage}d`, net.concat(net.resize(back[0]!, beside, 'linear'), beside)))
  }
  return back
}

function block(net: Network, stage: number, name: string, input: Feature): Feature {
  const depth = depths[stage - 1]
  return depth === undefined ? dilatedBlock(net, name, input) : residualU(net, name, input, depth)
}

/** RSU: a small U-Net around which its input goes. */
function residualU(net: Network, name: string, input: Feature, depth: number): Feature {
  const start = layer(net, `${name}.in`, input, outer)
  const down: Feature[] = []
  let x = start
  for (let i = 1; i < depth; i++) {
    if (i > 1) x = halved(net, x)
    x = layer(net, `${name}.${i}`, x, inner)
    down.push(x)
  }
  x = layer(net, `${name}.${depth}`, x, inner, 2)
  for (let i = depth - 1; i >= 1; i--) {
    const beside = down[i - 1]!
    const same = x.width === beside.width && x.height === beside.height
    x = layer(
      net,
      `${name}.${i}d`,
      net.concat(same ? x : net.resize(x, beside, 'linear'), beside),
      i === 1 ? outer : inner,
    )
  }
  return net.add(x, start)
}

/** RSU-4F: as deep, by dilation instead of smaller sizes. */
function dilatedBlock(net: Network, name: string, input: Feature): Feature {
  const start = layer(net, `${name}.in`, input, outer)
  const down: Feature[] = []
  let x = start
  for (const [i, dilation] of dilations.entries()) down.push((x = layer(net, `${name}.${i + 1}`, x, inner, dilation)))
  for (let i = dilations.length - 1; i >= 1; i--)
    x = layer(net, `${name}.${i}d`, net.concat(x, down[i - 1]!), i === 1 ? outer : inner, dilations[i - 1])
  return net.add(x, start)
}

/** 3 × 3 with a bias of its own beside the BatchNorm's, as the original has it. */
function layer(net: Network, name: string, input: Feature, channels: number, dilation = 1): Feature {
  return net.convolution(name, input, channels, { kernel: 3, dilation, bias: true, activation: 'relu' })
}

function halved(net: Network, input: Feature): Feature {
  return net.maxPool(input, 2, 2, 0, true)
}
