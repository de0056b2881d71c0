import { GraphBuilder, type Value } from '../../../lib/onnx/index.js'
import { Tensor } from '../../../lib/index.js'
import { Seeded } from '../../support/networks/seeded.js'
import { int, ints, scalar } from '../../support/values.js'

/** How large a transformer is. */
export interface Size {
  /** Numbers of a token; a multiple of `heads`. */
  readonly hidden: number
  readonly heads: number
  readonly layers: number
}

/** What attention looks at: keys and values, each [batch, heads, tokens, hidden / heads]. */
export interface Memory {
  readonly keys: Value
  readonly values: Value
}

/** A graph with the parts of a transformer, whose weights are numbers of a fixed seed. */
export class Layers {
  readonly graph: GraphBuilder
  readonly size: Size
  readonly #seeded: Seeded
  #constants = 0

  constructor(name: string, seed: number, size: Size) {
    this.graph = new GraphBuilder({ name })
    this.#seeded = new Seeded(seed)
    this.size = size
  }

  constant(tensor: Tensor): Value {
    return this.graph.constant(`constant_${this.#constants++}`, tensor)
  }

  weight(shape: readonly number[], deviation: number): Value {
    const count = shape.reduce((product, side) => product * side, 1)
    return this.constant(new Tensor('float32', this.#seeded.values(count, deviation), shape))
  }

  node(operator: string, inputs: readonly Value[], attributes = {}): Value {
    return this.graph.node(operator, inputs, attributes)
  }

  linear(x: Value, from: number, to: number): Value {
    const product = this.node('MatMul', [x, this.weight([from, to], 1 / Math.sqrt(from))])
    return this.node('Add', [product, this.weight([to], 0.1)])
  }

  norm(x: Value): Value {
    const { hidden } = this.size
    const ones = this.constant(new Tensor('float32', new Float32Array(hidden).fill(1), [hidden]))
    return this.node('LayerNormalization', [x, ones, this.weight([hidden], 0.1)], { axis: -1 })
  }

  /** Makes a value an output of the graph, by this name. */
  output(name: string, value: Value, shape: readonly (number | string)[]): void {
    this.graph.output(this.graph.node('Identity', [value], {}, { output: name }), 'float32', shape)
  }

  /** A row of a table for each number of `ids`. */
  rows(ids: Value, count: number): Value {
    return this.node('Gather', [this.weight([count, this.size.hidden], 1), ids], { axis: 0 })
  }

  /** Tokens of words, and where each stands. @param past how many were before them: a scalar of int64 */
  embed(ids: Value, words: number, past: Value = this.constant(int(0))): Value {
    const places = this.range(past, this.node('Add', [past, this.sizeOf(ids, 1)]))
    return this.add(this.rows(ids, words), this.rows(places, 128))
  }

  /** The size of a dimension, as a scalar of int64. */
  sizeOf(x: Value, axis: number): Value {
    return this.node('Gather', [this.node('Shape', [x]), this.constant(int(axis))], { axis: 0 })
  }

  /** The whole numbers from one scalar to below another. */
  range(from: Value, to: Value): Value {
    return this.node('Range', [from, to, this.constant(int(1))])
  }

  /** [batch, tokens, hidden] as [batch, heads, tokens, hidden / heads]. */
  split(x: Value): Value {
    const { hidden, heads } = this.size
    const parts = this.node('Reshape', [x, this.constant(ints(0, 0, heads, hidden / heads))])
    return this.node('Transpose', [parts], { perm: [0, 2, 1, 3] })
  }

  memory(x: Value): Memory {
    const { hidden } = this.size
    return { keys: this.split(this.linear(x, hidden, hidden)), values: this.split(this.linear(x, hidden, hidden)) }
  }

  /** @param bias what is added to the scores, which are [batch, heads, tokens, tokens of the memory] */
  attention(x: Value, { keys, values }: Memory, bias?: Value): Value {
    const { hidden, heads } = this.size
    const queries = this.split(this.linear(x, hidden, hidden))
    const product = this.node('MatMul', [queries, this.node('Transpose', [keys], { perm: [0, 1, 3, 2] })])
    const scores = this.node('Mul', [product, this.constant(scalar(1 / Math.sqrt(hidden / heads)))])
    const shares = this.node('Softmax', [bias === undefined ? scores : this.node('Add', [scores, bias])], { axis: -1 })
    const parts = this.node('Transpose', [this.node('MatMul', [shares, values])], { perm: [0, 2, 1, 3] })
    return this.linear(this.node('Reshape', [parts, this.constant(ints(0, 0, hidden))]), hidden, hidden)
  }

  feedForward(x: Value): Value {
    const { hidden } = this.size
    const inner = this.linear(x, hidden, 4 * hidden)
    const curved = this.node('Mul', [inner, this.node('Sigmoid', [inner])])
    return this.linear(curved, 4 * hidden, hidden)
  }

  add(x: Value, y: Value): Value {
    return this.node('Add', [x, y])
  }

  /** All layers of an encoder. */
  encode(x: Value, bias?: Value): Value {
    let value = x
    for (let i = 0; i < this.size.layers; i++) {
      const normed = this.norm(value)
      value = this.add(value, this.attention(normed, this.memory(normed), bias))
      value = this.add(value, this.feedForward(this.norm(value)))
    }
    return this.norm(value)
  }

  /** What an attention mask (int64 [batch, tokens], 1 for a token that counts) adds to scores. */
  maskBias(mask: Value): Value {
    const missing = this.node('Sub', [this.constant(scalar(1)), this.node('Cast', [mask], { to: 1 })])
    const bias = this.node('Mul', [missing, this.constant(scalar(-1e4))])
    return this.node('Unsqueeze', [bias, this.constant(ints(1, 2))])
  }

  /** What keeps the tokens from `past` to below `total` from those after them, added to scores. */
  causalBias(past: Value, total: Value): Value {
    const columns = this.range(this.constant(int(0)), total)
    const rows = this.node('Unsqueeze', [this.range(past, total), this.constant(ints(1))])
    const later = this.node('Cast', [this.node('Greater', [columns, rows])], { to: 1 })
    return this.node('Mul', [later, this.constant(scalar(-1e4))])
  }

  /** The mean over the tokens that count. */
  meanOfTokens(x: Value, mask: Value): Value {
    const counted = this.node('Unsqueeze', [this.node('Cast', [mask], { to: 1 }), this.constant(ints(2))])
    const axes = this.constant(ints(1))
    const sum = this.node('ReduceSum', [this.node('Mul', [x, counted]), axes], { keepdims: 0 })
    return this.node('Div', [sum, this.node('ReduceSum', [counted, axes], { keepdims: 0 })])
  }

  /** A picture, float32 [batch, 3, side, side], as tokens: one for each square of `patch` pixels. */
  patches(pixels: Value, patch: number): Value {
    const { hidden } = this.size
    const weight = this.weight([hidden, 3, patch, patch], 1 / (patch * Math.sqrt(3)))
    const squares = this.node('Conv', [pixels, weight], { strides: [patch, patch] })
    const flat = this.node('Reshape', [squares, this.constant(ints(0, hidden, -1))])
    return this.node('Transpose', [flat], { perm: [0, 2, 1] })
  }
}
