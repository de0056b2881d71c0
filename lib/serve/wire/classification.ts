// The classification extension: the best classes of an output in place of its numbers.
import { invalid } from '../faults.js'
import { type Datatype, type ElementArray, elementsOf, isNumeric, type WireTensor } from '../../kserve/tensor.js'
import { bytesOfTexts } from '../../base/packed-texts.js'

/** How an output is classified. */
export interface Classes {
  /** How many of each row. */
  readonly most: number
  /** Names, by index. */
  readonly labels: readonly string[] | undefined
  /** Dimension 0 is rows of a batch, and each has classes of its own. */
  readonly batched: boolean
}

/** Elements of a row, as Triton limits them. */
const mostElements = 1_000_000

/** An output as BYTES `value:index[:label]`, the greatest first. @throws Fault INVALID_ARG with Triton's texts */
export function classified(
  { name, datatype, shape, bytes }: WireTensor,
  { most, labels, batched }: Classes,
): WireTensor {
  if (!isNumeric(datatype) || datatype === 'BOOL')
    throw invalid(`class result not available for output due to unsupported type '${datatype}'`)
  const [rows, dims] = batched && shape.length > 0 ? [shape[0] ?? 0, shape.slice(1)] : [1, shape]
  const elements = dims.reduce((product, dim) => product * dim, 1)
  if (elements > mostElements) throw invalid('classification output tensor too large')
  const values = elementsOf(datatype, bytes)
  const texts: string[] = []
  for (let row = 0; row < rows; row++) {
    const inRow = values.subarray(row * elements, (row + 1) * elements)
    for (const index of greatest(inRow, Math.min(most, elements)))
      texts.push(textOf(inRow[index]!, index, datatype, labels))
  }
  const found = Math.min(most, elements)
  return {
    name,
    datatype: 'BYTES',
    shape: batched && shape.length > 0 ? [rows, found] : [found],
    bytes: bytesOfTexts(texts),
  }
}

function textOf(
  value: number | bigint,
  index: number,
  datatype: Datatype,
  labels: readonly string[] | undefined,
): string {
  const number = datatype === 'FP32' || datatype === 'FP64' ? decimal(Number(value)) : String(value)
  const label = labels?.[index]
  return `${number}:${index}${label === undefined ? '' : `:${label}`}`
}

/** As C's `%f`. */
function decimal(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.000000'
  return Math.abs(value) < 1e21 ? value.toFixed(6) : `${BigInt(value)}.000000`
}

/** Indices of the greatest values, the greatest first; of equals the first. NaN is below all. */
function greatest(values: ElementArray, most: number): readonly number[] {
  const heap: number[] = [] // the least of those that are kept is on top
  for (let index = 0; index < values.length; index++) {
    if (heap.length < most) rise(heap, values, index)
    else if (most > 0 && isBefore(values, index, heap[0]!)) sink(heap, values, index)
  }
  return heap.sort((a, b) => (isBefore(values, a, b) ? -1 : 1))
}

function isBefore(values: ElementArray, a: number, b: number): boolean {
  const [one, other] = [values[a]!, values[b]!]
  if (one > other) return true
  if (one < other) return false
  const [isNumber, isOther] = [one === one, other === other]
  return isNumber === isOther ? a < b : isNumber
}

function rise(heap: number[], values: ElementArray, index: number): void {
  let at = heap.push(index) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isBefore(values, heap[parent]!, heap[at]!)) return
    ;[heap[parent], heap[at]] = [heap[at]!, heap[parent]!]
    at = parent
  }
}

/** In place of the top. */
function sink(heap: number[], values: ElementArray, index: number): void {
  heap[0] = index
  let at = 0
  for (;;) {
    const [left, right] = [2 * at + 1, 2 * at + 2]
    let worst = at
    if (left < heap.length && isBefore(values, heap[worst]!, heap[left]!)) worst = left
    if (right < heap.length && isBefore(values, heap[worst]!, heap[right]!)) worst = right
    if (worst === at) return
    ;[heap[worst], heap[at]] = [heap[at]!, heap[worst]!]
    at = worst
  }
}
