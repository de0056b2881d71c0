// Four architectures with random weights: what quantization is held to on models that it was not made with. ResNet-50
// and MobileNetV2 have all their layers in their true widths, and smaller pictures, 64 and 96 pixels wide instead of
// 224, so that they take seconds; the UNet is half as wide as it was published, and the encoder has four layers.
import { stages as invertedResiduals } from '../support/networks/mobilenet-v2.js'
import { Tensor } from '../../lib/index.js'
import { Random } from '../support/random.js'
import { drawn, type Inputs, type Layers, network } from './layers.js'

/** A model, and data for it. */
export interface Architecture {
  readonly name: string
  readonly model: () => Promise<Uint8Array>
  readonly batch: (random: Random) => Inputs
}

/** Patches of colour, 4 by 4, under noise: pictures that differ by more than what a pool averages out. */
function pictures(random: Random, count: number, size: number): Inputs {
  const patches = drawn([count, 3, 4, 4], random, (each) => each.normal()).data
  const x = drawn([count, 3, size, size], random, (each) => each.normal() * 0.5)
  const patch = (at: number): number => Math.floor((at * 4) / size)
  for (let i = 0; i < x.size; i++) {
    const plane = Math.floor(i / size ** 2)
    x.data[i]! += patches[plane * 16 + patch(Math.floor(i / size) % size) * 4 + patch(i % size)]!
  }
  return { x }
}

/** He and others, 2015, as torchvision's resnet50: 25.6 million weights. */
function resnet50(layers: Layers): void {
  const { g } = layers
  let x = layers.relu(
    convNorm(layers, g.input('x', 'float32', ['N', 3, 'H', 'W']), 'stem', 3, 64, { kernel: 7, stride: 2 }),
  )
  x = g.node('MaxPool', [x], { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] })
  let inputs = 64
  for (const [stage, blocks] of [3, 4, 6, 3].entries()) {
    const width = 64 * 2 ** stage
    for (let block = 0; block < blocks; block++) {
      x = bottleneck(layers, x, `layer${stage + 1}.${block}`, inputs, width, block === 0 && stage > 0 ? 2 : 1)
      inputs = 4 * width
    }
  }
  g.output(classifier(layers, x, inputs), 'float32', ['N', 1000])
}

function bottleneck(layers: Layers, x: string, name: string, inputs: number, width: number, stride: number): string {
  const a = layers.relu(convNorm(layers, x, `${name}.1`, inputs, width, { kernel: 1 }))
  const b = layers.relu(convNorm(layers, a, `${name}.2`, width, width, { stride }))
  const c = convNorm(layers, b, `${name}.3`, width, 4 * width, { kernel: 1 })
  const skip = inputs === 4 * width ? x : convNorm(layers, x, `${name}.down`, inputs, 4 * width, { kernel: 1, stride })
  return layers.relu(layers.g.node('Add', [c, skip]))
}

function mobilenetV2(layers: Layers): void {
  const { g } = layers
  let x = relu6(layers, convNorm(layers, g.input('x', 'float32', ['N', 3, 'H', 'W']), 'stem', 3, 32, { stride: 2 }))
  let inputs = 32
  for (const [stage, [expansion, width, blocks, first]] of invertedResiduals.entries()) {
    for (let block = 0; block < blocks; block++) {
      x = invertedResidual(
        layers,
        x,
        `stage${stage}.${block}`,
        [inputs, inputs * expansion, width],
        block === 0 ? first : 1,
      )
      inputs = width
    }
  }
  const last = relu6(layers, convNorm(layers, x, 'last', inputs, 1280, { kernel: 1 }))
  g.output(classifier(layers, last, 1280), 'float32', ['N', 1000])
}

type Widths = readonly [inputs: number, inner: number, outputs: number]

function invertedResidual(
  layers: Layers,
  x: string,
  name: string,
  [inputs, inner, outputs]: Widths,
  stride: number,
): string {
  const wide = inner === inputs ? x : relu6(layers, convNorm(layers, x, `${name}.expand`, inputs, inner, { kernel: 1 }))
  const deep = relu6(layers, convNorm(layers, wide, `${name}.depthwise`, inner, inner, { stride, group: inner }))
  const linear = convNorm(layers, deep, `${name}.project`, inner, outputs, { kernel: 1 })
  return stride === 1 && inputs === outputs ? layers.g.node('Add', [x, linear]) : linear
}

function relu6({ g }: Layers, x: string): string {
  const bound = (value: number): string => g.node('Constant', [], { value_float: value })
  return g.node('Clip', [x, bound(0), bound(6)])
}

/**
 * Ronneberger and others, 2015, with normalization, half as wide: four levels down and up again, with skip connections.
 */
function unet(layers: Layers): void {
  const { g } = layers
  let x = twice(layers, g.input('x', 'float32', ['N', 3, 'H', 'W']), 'first', 3, 32)
  const skips: string[] = []
  for (let width = 64; width <= 512; width *= 2) {
    skips.push(x)
    x = twice(
      layers,
      g.node('MaxPool', [x], { kernel_shape: [2, 2], strides: [2, 2] }),
      `down${width}`,
      width / 2,
      width,
    )
  }
  for (let width = 256; width >= 32; width /= 2) {
    const w = layers.weight(
      `up${width}.weight`,
      [2 * width, width, 2, 2],
      (random) => random.normal() / Math.sqrt(2 * width),
    )
    const up = g.node('ConvTranspose', [x, w], { kernel_shape: [2, 2], strides: [2, 2] }, { name: `up${width}` })
    x = twice(layers, g.node('Concat', [skips.pop() as string, up], { axis: 1 }), `up${width}`, 2 * width, width)
  }
  g.output(layers.conv(x, 'masks', 32, 8, { kernel: 1, bias: true }), 'float32', ['N', 8, 'H', 'W'])
}

function twice(layers: Layers, x: string, name: string, inputs: number, outputs: number): string {
  const once = layers.relu(convNorm(layers, x, `${name}.a`, inputs, outputs))
  return layers.relu(convNorm(layers, once, `${name}.b`, outputs, outputs))
}

function convNorm(
  layers: Layers,
  x: string,
  name: string,
  inputs: number,
  outputs: number,
  options: Parameters<Layers['conv']>[4] = {},
): string {
  // prettier-ignore
  return layers.batchNorm(layers.conv(x, `${name}.conv`, inputs, outputs, options), `${name}.norm`, outputs)
}

function classifier(layers: Layers, x: string, features: number): string {
  const flat = layers.g.node('Flatten', [layers.g.node('GlobalAveragePool', [x])])
  const w = layers.weight('fc.weight', [1000, features], (random) => random.around() / Math.sqrt(features))
  const b = layers.weight('fc.bias', [1000], (random) => random.around() / Math.sqrt(features))
  return layers.g.node('Gemm', [flat, w, b], { transB: 1 }, { name: 'fc' })
}

const words = 1000
const [features, heads, length] = [256, 8, 64]

/**
 * Devlin and others, 2018, smaller (4 layers, 256 features, 8 heads), as exporters write it: words by their numbers, a
 * mask, normalization behind each part, GELU by Erf.
 */
function encoder(layers: Layers): void {
  const { g } = layers
  const ids = g.input('input_ids', 'int64', ['N', length])
  const given = g.input('attention_mask', 'int64', ['N', length])
  const far = g.node('Mul', [
    g.node('Sub', [scalar(layers, 'one', 1), g.node('Cast', [given], { to: 1 })]),
    scalar(layers, 'least', -10000),
  ])
  const mask = g.node('Unsqueeze', [far, g.constant('axes', Tensor.from(BigInt64Array.of(1n, 2n), [2]))])
  const embedded = g.node('Gather', [layers.weight('words', [words, features], (random) => random.normal()), ids])
  const placed = g.node('Add', [embedded, layers.weight('places', [length, features], (random) => random.normal())])
  let x = layers.layerNorm(placed, 'embeddings.norm', features)
  for (let layer = 0; layer < 4; layer++) {
    const attended = g.node('Add', [attention(layers, x, `layer${layer}.attention`, mask), x])
    x = layers.layerNorm(attended, `layer${layer}.attention.norm`, features)
    const inner = gelu(layers, layers.linear(x, `layer${layer}.up`, features, 4 * features), `layer${layer}.gelu`)
    const down = layers.linear(inner, `layer${layer}.down`, 4 * features, features)
    x = layers.layerNorm(g.node('Add', [down, x]), `layer${layer}.norm`, features)
  }
  g.output(x, 'float32', ['N', length, features])
}

function attention(layers: Layers, x: string, name: string, mask: string): string {
  const { g } = layers
  const split = g.constant(
    `${name}.split`,
    Tensor.from(BigInt64Array.of(0n, 0n, BigInt(heads), BigInt(features / heads)), [4]),
  )
  const join = g.constant(`${name}.join`, Tensor.from(BigInt64Array.of(0n, 0n, BigInt(features)), [3]))
  const part = (own: string, perm: number[]): string =>
    g.node('Transpose', [g.node('Reshape', [layers.linear(x, `${name}.${own}`, features, features), split])], { perm })
  const scores = g.node(
    'MatMul',
    [part('query', [0, 2, 1, 3]), part('key', [0, 2, 3, 1])],
    {},
    { name: `${name}.scores` },
  )
  const scaled = g.node('Div', [scores, scalar(layers, `${name}.root`, Math.sqrt(features / heads))])
  const weights = g.node('Softmax', [g.node('Add', [scaled, mask])], { axis: -1 })
  const mixed = g.node('MatMul', [weights, part('value', [0, 2, 1, 3])], {}, { name: `${name}.mixed` })
  const joined = g.node('Reshape', [g.node('Transpose', [mixed], { perm: [0, 2, 1, 3] }), join])
  return layers.linear(joined, `${name}.output`, features, features)
}

function gelu(layers: Layers, x: string, name: string): string {
  const { g } = layers
  const erf = g.node('Erf', [g.node('Div', [x, scalar(layers, `${name}.root`, Math.SQRT2)])])
  const gate = g.node('Add', [erf, scalar(layers, `${name}.one`, 1)])
  return g.node('Mul', [g.node('Mul', [x, gate]), scalar(layers, `${name}.half`, 0.5)])
}

function scalar({ g }: Layers, name: string, value: number): string {
  return g.constant(name, new Tensor('float32', Float32Array.of(value), []))
}

/** Sentences of different lengths. */
function sentences(random: Random, count: number): Inputs {
  const ids = new BigInt64Array(count * length).map(() => BigInt(random.below(words)))
  const mask = new BigInt64Array(count * length)
  for (let i = 0; i < count; i++) mask.fill(1n, i * length, i * length + length / 2 + random.below(length / 2))
  return { input_ids: Tensor.from(ids, [count, length]), attention_mask: Tensor.from(mask, [count, length]) }
}

function architecture(
  name: string,
  seed: number,
  build: (layers: Layers) => void,
  batch: Architecture['batch'],
): Architecture {
  return { name, batch, model: () => network(name, seed, build, batch(new Random(seed + 1))) }
}

export const architectures: readonly Architecture[] = [
  architecture('ResNet-50', 1, resnet50, (random) => pictures(random, 8, 64)),
  architecture('MobileNetV2', 2, mobilenetV2, (random) => pictures(random, 8, 96)),
  architecture('UNet', 3, unet, (random) => pictures(random, 2, 64)),
  architecture('transformer encoder', 4, encoder, (random) => sentences(random, 4)),
]
