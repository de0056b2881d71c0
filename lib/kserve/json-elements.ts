// Elements of a tensor as JSON: each with all that it has, or a refusal.
import { isUtf8 } from 'node:buffer'
import { isFloat32Array, isFloat64Array } from 'node:util/types'
import { elementsOf, isNumeric, type WireTensor } from './tensor.js'

/** What is thrown for what JSON cannot hold. */
export interface JsonRefusals {
  number(value: number): Error
  text(text: Uint8Array, index: number): Error
}

/**
 * The elements with commas between them; nothing for a type whose numbers JSON has not.
 * @param texts of a tensor of BYTES
 */
export function jsonOfElements(
  { datatype, bytes }: WireTensor,
  texts: (bytes: Uint8Array) => readonly Uint8Array[],
  refusals: JsonRefusals,
): string {
  if (datatype === 'BYTES') return texts(bytes).map((text, index) => quoted(text, index, refusals)).join(',') // prettier-ignore
  if (datatype === 'BOOL') return Array.from(bytes, (byte) => (byte === 0 ? 'false' : 'true')).join(',')
  if (!isNumeric(datatype)) return ''
  const elements = elementsOf(datatype, bytes)
  return isFloat32Array(elements) || isFloat64Array(elements) ? floatsText(elements, refusals) : elements.join(',')
}

function quoted(text: Uint8Array, index: number, refusals: JsonRefusals): string {
  if (!isUtf8(text)) throw refusals.text(text, index)
  return JSON.stringify(Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString())
}

/** Zero keeps its sign, which join() would drop. */
function floatsText(values: Float32Array | Float64Array, refusals: JsonRefusals): string {
  let hasMinusZero = false
  for (const value of values) {
    if (value - value !== 0) throw refusals.number(value)
    if (value === 0 && Object.is(value, -0)) hasMinusZero = true
  }
  return hasMinusZero
    ? Array.from(values, (value) => (Object.is(value, -0) ? '-0.0' : String(value))).join(',')
    : values.join(',')
}
