import { checkedNumber, checkedObject, checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import type { Color, Size } from './types.js'

/** A number for all channels, or one for each. */
export function checkedPerChannel(value: unknown, name: string, low?: number, high?: number): Color {
  const values: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : [value, value, value]
  if (values.length !== 3) throw expected('a number or three numbers', name, value)
  const [red, green, blue] = values
  return [checkedNumber(red, name, low, high), checkedNumber(green, name, low, high), checkedNumber(blue, name, low, high)]
}

export function checkedColor(value: unknown, name: string): Color {
  return checkedPerChannel(value, name, 0, 255)
}

/** The most pixels along a side, of a picture, of an input and of a box that is cut out: what is made for each of them is made on the event loop. */
export const longest = 2 ** 20

export function checkedSize(value: unknown, name: string): Size {
  const { width, height } = checkedObject(value, name) as Size
  return { width: checkedWhole(width, `${name}.width`, 1, longest), height: checkedWhole(height, `${name}.height`, 1, longest) }
}

/** A size, or the side of a square. */
export function sizeOf(size: unknown, name = 'size'): Size {
  return checkedSize(typeof size === 'object' ? size : { width: size, height: size }, name)
}
