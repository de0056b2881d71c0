import { checkedNumber } from '../../base/checks.js'
import { expected } from '../../errors.js'
import type { Color } from './types.js'

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
