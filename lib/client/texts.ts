// KServe's BYTES: texts and bytes, each with its length before it.
import { isUtf8 } from 'node:buffer'
import type { Classification, Shaped } from './public-types.js'

/** The elements with their shape; equal to a plain list of them. */
export function shaped<T>(elements: T[], shape: readonly number[]): Shaped<T> {
  return Object.defineProperty(elements, 'shape', { value: shape }) as unknown as Shaped<T>
}

/** Views of the bytes; undefined where the lengths do not fit. */
export function textsOfBytes(bytes: Uint8Array, count: number): Uint8Array[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: Uint8Array[] = []
  let at = 0
  while (at < bytes.length) {
    const end = at + 4 <= bytes.length ? at + 4 + view.getUint32(at, true) : Infinity
    if (end > bytes.length) return undefined
    found.push(bytes.subarray(at + 4, end))
    at = end
  }
  return found.length === count ? found : undefined
}

/** Undefined where the bytes are no UTF-8. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() : undefined
}

/** Of `value:index` or `value:index:label`; undefined where it is none. */
export function classificationOf(text: string): Classification | undefined {
  const [, value = '', index = '', label] = /^(-?[\d.]+(?:e[+-]?\d+)?|-?inf|-?nan):(\d+)(?::([^]*))?$/i.exec(text) ?? []
  if (value === '') return undefined
  return { value: numberOf(value.toLowerCase()), index: Number(index), ...(label !== undefined && { label }) }
}

function numberOf(text: string): number {
  if (text.endsWith('nan')) return NaN
  if (text.endsWith('inf')) return text.startsWith('-') ? -Infinity : Infinity
  return Number(text)
}
