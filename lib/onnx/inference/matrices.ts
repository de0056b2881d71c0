import { broadcast, type Dim, type Known } from './known.js'
import { type InferredNode, needed, type Rule } from './node.js'

const gemm: Rule = (node) => {
  const dtype = node.input(0).dtype ?? node.input(1).dtype
  const [a, b] = [node.input(0).shape, node.input(1).shape]
  const rows = a?.[node.int('transA', 0) !== 0 ? 1 : 0]
  const columns = b?.[node.int('transB', 0) !== 0 ? 0 : 1]
  return [{ dtype, shape: [rows, columns] }]
}

function matmul(second: number, dtype: (node: InferredNode) => Known['dtype']): Rule {
  return (node) => {
    const [a, b] = [node.input(0).shape, node.input(second).shape]
    return [{ dtype: dtype(node), shape: a && b && matrixShape(a, b) }]
  }
}

function matrixShape(a: readonly Dim[], b: readonly Dim[]): readonly Dim[] | undefined {
  if (a.length === 0 || b.length === 0) return undefined
  const batch = broadcast([a.slice(0, -2), b.slice(0, -2)])
  return batch && [...batch, ...(a.length > 1 ? [a.at(-2)] : []), ...(b.length > 1 ? [b.at(-1)] : [])]
}

const batchNormalization: Rule = (node) => {
  const { dtype, shape } = node.input(0)
  const statistics: Known = { dtype: node.input(3).dtype, shape: node.input(3).shape }
  return [{ dtype, shape }, ...Array.from({ length: 4 }, () => statistics)]
}

const layerNormalization: Rule = (node) => {
  const { dtype, shape } = node.input(0)
  const axis = node.int('axis', -1)
  const first = shape && (axis < 0 ? axis + shape.length : axis)
  const statistics: Known = {
    dtype: node.int('stash_type', 1) === 1 ? 'float32' : undefined,
    shape: first === undefined ? undefined : shape?.map((dim, i) => (i < first ? dim : 1)),
  }
  return [{ dtype, shape }, statistics, statistics]
}

const quantize: Rule = (node) => {
  const { shape } = node.input(0)
  if (node.has(2)) return [{ dtype: node.input(2).dtype, shape }]
  return [{ dtype: node.elementType('output_dtype') ?? 'uint8', shape }]
}

const dequantize: Rule = (node) => [
  { dtype: node.elementType('output_dtype') ?? node.input(1).dtype, shape: node.input(0).shape },
]

const dynamicQuantize: Rule = (node) => [
  { dtype: 'uint8', shape: node.input(0).shape },
  { dtype: 'float32', shape: [] },
  { dtype: 'uint8', shape: [] },
]

/** LSTM, GRU and RNN: all outputs, then the last, then (of LSTM) the last state of the cell. */
const recurrent: Rule = (node) => {
  const { dtype, shape: x } = node.input(0)
  const r = node.input(2).shape
  const byBatch = node.int('layout', 0) === 1
  const directions = node.text('direction', 'forward') === 'bidirectional' ? 2 : 1
  const hidden = r?.[2] ?? node.int('hidden_size')
  const [length, batch] = byBatch ? [x?.[1], x?.[0]] : [x?.[0], x?.[1]]
  const all = byBatch ? [batch, length, directions, hidden] : [length, directions, batch, hidden]
  const last = { dtype, shape: byBatch ? [batch, directions, hidden] : [directions, batch, hidden] }
  return [{ dtype, shape: all }, last, last]
}

const einsum: Rule = (node) => {
  const { dtype } = node.input(0)
  const [left, right] = node.text('equation', '').replaceAll(' ', '').split('->')
  const terms = needed(left).split(',')
  const dims = new Map<string, Dim>()
  if (right === undefined || [...terms, right].some((term) => !/^[a-zA-Z]*$/.test(term)))
    return [{ dtype, shape: undefined }]
  terms.forEach((term, i) => {
    const shape = node.input(i).shape
    for (const [axis, letter] of Array.from(term).entries()) {
      const [known, dim] = [dims.get(letter), shape?.[axis]]
      // A dimension of 1 is repeated.
      dims.set(letter, known === undefined || known === 1 ? dim : known)
    }
  })
  return [{ dtype, shape: Array.from(right, (letter) => dims.get(letter)) }]
}

/** Products of matrices, what normalizes and quantizes around them, and recurrent layers. */
export const matrices: Readonly<Record<string, Rule>> = {
  Gemm: gemm,
  MatMul: matmul(1, (node) => node.input(0).dtype ?? node.input(1).dtype),
  MatMulInteger: matmul(1, () => 'int32'),
  QLinearMatMul: matmul(3, (node) => node.input(7).dtype),
  Einsum: einsum,
  BatchNormalization: batchNormalization,
  LayerNormalization: layerNormalization,
  QuantizeLinear: quantize,
  DequantizeLinear: dequantize,
  DynamicQuantizeLinear: dynamicQuantize,
  LSTM: recurrent,
  GRU: recurrent,
  RNN: recurrent,
}
