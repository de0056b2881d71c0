import { setImmediate as turn } from 'node:timers/promises'
import type { NodeProto } from '../onnx/index.js'
import { elementCount, Tensor } from '../tensor.js'
import type { Graph } from './graph.js'
import type { placedIn } from './placement.js'
import type { WeightSite } from './weighted.js'

/** What Q/DQ was put in with. */
export interface Inserted {
  /** The range of each quantized value, by its name. */
  readonly ranges: ReadonlyMap<string, number>
  /** Bytes of weights before and after. */
  readonly weightBytes: { readonly before: number; readonly after: number }
}

/** How weights are stored: as INT8 (a quarter of the bytes), or in float32 with a Q/DQ pair, as they were trained. */
export type WeightForm = 'int8' | 'float32'

/** As many weights as are quantized in about a millisecond. */
const stretch = 2 ** 18

/**
 * Puts Q/DQ into the graph, others having their turn between large weights: one pair for each value, whoever of the
 * quantized reads it; the others go on reading the value itself.
 */
export async function insert(
  { graph, amax, decisions, others }: ReturnType<typeof placedIn>,
  form: WeightForm,
  signal: AbortSignal | undefined,
): Promise<Inserted> {
  const pairs = new Pairs(graph, form)
  const ranges = new Map<string, number>()
  const quantize = (node: NodeProto, input: number): void => {
    const value = node.input[input] as string
    const range = amax.get(value) as number
    ranges.set(value, range)
    graph.editor.replaceInput(node, input, pairs.activation(value, range))
  }
  for (const { node, activations, weight } of decisions) {
    if (weight !== undefined)
      graph.editor.replaceInput(node, weight.input, pairs.weight(node.input[weight.input] as string, weight))
    for (const input of activations) quantize(node, input)
    await pairs.pause(signal)
  }
  for (const { node, input } of others) quantize(node, input)
  return { ranges, weightBytes: pairs.weightBytes }
}

/** The pairs that are there, so that none is made twice. */
export class Pairs {
  readonly weightBytes = { before: 0, after: 0 }
  readonly #graph: Graph
  readonly #form: WeightForm
  readonly #made = new Map<string, string>()
  #zero: string | undefined
  #done = 0

  constructor(graph: Graph, form: WeightForm) {
    this.#graph = graph
    this.#form = form
  }

  activation(value: string, amax: number): string {
    return this.#once(value, () => {
      const { editor } = this.#graph
      const scale = editor.addConstant(`${value}_scale`, new Tensor('float32', Float32Array.of(amax / 127), []))
      this.#zero ??= editor.addConstant('int8_zero', Tensor.zeros('int8', []))
      return this.#pair(value, [scale, this.#zero], {})
    })
  }

  /** Lets others have their turn where much was done since the last time. */
  async pause(signal: AbortSignal | undefined): Promise<void> {
    if (this.#done < stretch) return
    this.#done = 0
    await turn()
    signal?.throwIfAborted()
  }

  weight(value: string, { axis }: WeightSite): string {
    return this.#once(`${axis ?? ''} ${value}`, () => {
      const { editor } = this.#graph
      const weights = (editor.constant(value) as Tensor).toFloat32()
      const { values, scales, zeroPoints } = quantizedWeights(weights, axis)
      const constants = [editor.addConstant(`${value}_scale`, scales), editor.addConstant(`${value}_zero`, zeroPoints)]
      const attributes = axis === undefined ? {} : { axis }
      this.#done += weights.size
      this.weightBytes.before += weights.byteLength
      this.weightBytes.after += this.#form === 'int8' ? values.byteLength : weights.byteLength
      if (this.#form === 'float32') return this.#pair(value, constants, attributes)
      const stored = editor.addConstant(`${value}_int8`, values)
      return this.#dequantized(value, [stored, ...constants], attributes)
    })
  }

  #dequantized(value: string, inputs: readonly string[], attributes: { readonly axis?: number }): string {
    const { editor } = this.#graph
    return editor.addNode('DequantizeLinear', inputs, attributes, { output: editor.unused(`${value}_dequantized`) })
  }

  #pair(value: string, constants: readonly string[], attributes: { readonly axis?: number }): string {
    const { editor } = this.#graph
    const quantized = editor.addNode('QuantizeLinear', [value, ...constants], attributes, {
      output: editor.unused(`${value}_quantized`),
    })
    return this.#dequantized(value, [quantized, ...constants], attributes)
  }

  #once(key: string, make: () => string): string {
    const made = this.#made.get(key) ?? make()
    this.#made.set(key, made)
    return made
  }
}

/** Weights in INT8: `weights ≈ values · scale`, for each channel or as a whole. */
interface QuantizedWeights {
  readonly values: Tensor<'int8'>
  readonly scales: Tensor<'float32'>
  readonly zeroPoints: Tensor<'int8'>
}

const largest = 127

/** The smallest normal float32: what is divided by less would lose its digits. */
const least = 2 ** -126

/**
 * Weights in INT8, symmetric, -127 to 127, rounded half to even as ONNX rounds: each channel's largest magnitude is 127
 * steps.
 * @param axis The dimension that has the channels; nothing: one scale for all.
 */
function quantizedWeights(weights: Tensor<'float32'>, axis: number | undefined): QuantizedWeights {
  const channels = axis === undefined ? 1 : (weights.shape[axis] as number)
  const inner = axis === undefined ? Math.max(weights.size, 1) : elementCount(weights.shape.slice(axis + 1))
  const scales = scalesOf(weights.data, channels, inner)
  const shape = axis === undefined ? [] : [channels]
  return {
    values: new Tensor('int8', stepsOf(weights.data, scales, inner), weights.shape),
    scales: new Tensor('float32', scales, shape),
    zeroPoints: Tensor.zeros('int8', shape),
  }
}

/** What a step stands for in each channel; `inner` elements of one follow each other. */
function scalesOf(data: Float32Array, channels: number, inner: number): Float32Array {
  const scales = new Float32Array(channels)
  for (let begin = 0, channel = 0; begin < data.length; begin += inner, channel = (channel + 1) % channels) {
    let most = scales[channel]!
    for (let i = begin; i < begin + inner; i++) most = Math.max(most, Math.abs(data[i]!))
    scales[channel] = most
  }
  return scales.map((most) => (most === 0 ? 1 : Math.max(most / largest, least)))
}

/**
 * Added to a number and taken away again it leaves the nearest whole one, of two as near the even one: doubles have no
 * digits for more.
 */
const rounding = 1.5 * 2 ** 52

function stepsOf(data: Float32Array, scales: Float32Array, inner: number): Int8Array {
  const values = new Int8Array(data.length)
  for (let begin = 0, channel = 0; begin < data.length; begin += inner, channel = (channel + 1) % scales.length) {
    const scale = scales[channel]!
    for (let i = begin; i < begin + inner; i++)
      values[i] = Math.max(-largest, Math.min(largest, data[i]! / scale + rounding - rounding))
  }
  return values
}
