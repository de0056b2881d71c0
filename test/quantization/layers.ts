// Networks with random weights, layer by layer. What a BatchNormalization knows of its input it has learned, from a
// batch that went through the layers before it, for each layer as a whole (Mishkin and Matas, 2015), and then a little
// for each channel by chance. Learned by channel, as in training, it would make such networks chaotic: noise of 1 % on
// a picture changes what a ResNet-50 answers by 32 % then, and no arithmetic with 8 bits keeps that.
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../support/random.js'

export type Inputs = Readonly<Record<string, Tensor>>

/** Of each channel of what a BatchNormalization takes. */
interface Statistics {
  readonly mean: Tensor
  readonly variance: Tensor
}

type Draw = (random: Random) => number

export function drawn(shape: readonly number[], random: Random, draw: Draw): Tensor<'float32'> {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1))
  for (let i = 0; i < data.length; i++) data[i] = draw(random)
  return new Tensor('float32', data, shape)
}

/** What a network is made of: the same, however often it is. */
class Parts {
  readonly statistics = new Map<string, Statistics>()
  readonly #tensors = new Map<string, Tensor<'float32'>>()
  readonly #random: Random

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  tensor(name: string, shape: readonly number[], draw: Draw): Tensor<'float32'> {
    const tensor = this.#tensors.get(name) ?? drawn(shape, this.#random, draw)
    this.#tensors.set(name, tensor)
    return tensor
  }
}

export interface Convolution {
  readonly kernel?: number
  readonly stride?: number
  readonly group?: number
  readonly bias?: boolean
}

/** A network on its way. */
export class Layers {
  readonly g: GraphBuilder
  readonly #parts: Parts

  constructor(name: string, parts: Parts) {
    this.g = new GraphBuilder({ name, opset: 17 })
    this.#parts = parts
  }

  weight(name: string, shape: readonly number[], draw: Draw): string {
    return this.g.constant(name, this.#parts.tensor(name, shape, draw))
  }

  /** He's initialization by what a convolution puts out, as torchvision does it. */
  conv(
    x: string,
    name: string,
    inputs: number,
    outputs: number,
    { kernel = 3, stride = 1, group = 1, bias = false }: Convolution = {},
  ): string {
    const deviation = Math.sqrt(2 / (outputs * kernel * kernel))
    const w = this.weight(
      `${name}.weight`,
      [outputs, inputs / group, kernel, kernel],
      (random) => random.normal() * deviation,
    )
    const b = bias ? [this.weight(`${name}.bias`, [outputs], (random) => random.around() * 0.1)] : []
    const pad = kernel >> 1
    const attributes = { kernel_shape: [kernel, kernel], strides: [stride, stride], pads: [pad, pad, pad, pad], group }
    return this.g.node('Conv', [x, w, ...b], attributes, { name })
  }

  linear(x: string, name: string, inputs: number, outputs: number): string {
    const w = this.weight(`${name}.weight`, [inputs, outputs], (random) => random.normal() / Math.sqrt(inputs))
    const b = this.weight(`${name}.bias`, [outputs], (random) => random.around() * 0.1)
    return this.g.node('Add', [this.g.node('MatMul', [x, w], {}, { name }), b], {}, { name: `${name}.add` })
  }

  batchNorm(x: string, name: string, channels: number): string {
    const scale = this.weight(`${name}.scale`, [channels], nearOne)
    const shift = this.weight(`${name}.shift`, [channels], nearZero)
    return this.g.node('BatchNormalization', [x, scale, shift, ...this.#statistics(x, name, channels)], {}, { name })
  }

  layerNorm(x: string, name: string, features: number): string {
    const scale = this.weight(`${name}.scale`, [features], nearOne)
    const shift = this.weight(`${name}.shift`, [features], nearZero)
    return this.g.node('LayerNormalization', [x, scale, shift], { axis: -1 }, { name })
  }

  relu(x: string): string {
    return this.g.node('Relu', [x])
  }

  /** Mean and variance of each channel: known by now, or else computed where they are needed, and put out. */
  #statistics(x: string, name: string, channels: number): [string, string] {
    const { g } = this
    const known = this.#parts.statistics.get(name)
    if (known !== undefined) return [g.constant(`${name}.mean`, known.mean), g.constant(`${name}.var`, known.variance)]
    const power = g.node('ReduceMean', [g.node('Mul', [x, x])], { keepdims: 0 })
    const off = this.weight(`${name}.off`, [channels], nearZero)
    const mean = g.node('Mul', [g.node('Sqrt', [power]), off], {}, { output: `${name}.mean` })
    const variance = g.node(
      'Mul',
      [power, this.weight(`${name}.spread`, [channels], nearOne)],
      {},
      { output: `${name}.var` },
    )
    for (const value of [mean, variance]) g.output(value, 'float32', ['C'])
    return [mean, variance]
  }
}

const nearOne: Draw = (random) => 1 + random.around() * 0.15
const nearZero: Draw = (random) => random.normal() * 0.1

/**
 * The bytes of a network.
 * @param build Adds its layers, and its output.
 * @param learnFrom The batch that its BatchNormalizations learn from.
 */
export async function network(
  name: string,
  seed: number,
  build: (layers: Layers) => void,
  learnFrom: Inputs,
): Promise<Uint8Array> {
  const parts = new Parts(seed)
  const made = (): Uint8Array => {
    const layers = new Layers(name, parts)
    build(layers)
    return writeModel(layers.g.toModel())
  }
  await using learning = await Engine.load(made(), { backend: 'cpu' })
  const found = await learning.infer(learnFrom)
  for (const [output, mean] of Object.entries(found)) {
    const variance = found[output.replace(/\.mean$/, '.var')]
    if (output.endsWith('.mean') && variance !== undefined)
      parts.statistics.set(output.slice(0, -'.mean'.length), { mean, variance })
  }
  return made()
}
