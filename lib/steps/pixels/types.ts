import { checkedNumber } from '../../base/checks.js'
import { expected } from '../../errors.js'

export type { Size } from '../../base/size.js'

/**
 * A rectangle `[x, y, width, height]`; x grows to the right and y downwards, pixel (0, 0) covers 0 to 1. May reach
 * outside its picture.
 */
export type Box = readonly [x: number, y: number, width: number, height: number]

/** x grows to the right and y downwards; the centre of pixel (0, 0) is at (0.5, 0.5). */
export type Point = readonly [x: number, y: number]

/** Red, green, blue, each 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number]

/** A number for all channels, or one for each. */
export function checkedPerChannel(value: unknown, name: string, low?: number, high?: number): Color {
  const values: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : [value, value, value]
  if (values.length !== 3) throw expected('a number or three numbers', name, value)
  const [red, green, blue] = values
  return [
    checkedNumber(red, name, low, high),
    checkedNumber(green, name, low, high),
    checkedNumber(blue, name, low, high),
  ]
}

export function checkedColor(value: unknown, name: string): Color {
  return checkedPerChannel(value, name, 0, 255)
}
