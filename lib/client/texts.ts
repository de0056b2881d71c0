// Elements of KServe's BYTES as users have them: strings, classifications, lists with a shape.
import { isUtf8 } from 'node:buffer'
import type { Classification, Shaped } from './public-types.js'

/** The elements with their shape; equal to a plain list of them. */
export function shaped<T>(elements: T[], shape: readonly number[]): Shaped<T> {
  return Object.defineProperty(elements, 'shape', { value: shape }) as unknown as Shaped<T>
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
