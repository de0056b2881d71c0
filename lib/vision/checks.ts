import { expected } from '../errors.js'
import type { Box, Color, Size } from './types.js'

export function checkedObject(value: unknown, name: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected('an object', name, value)
}

export function checkedPositiveInteger(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) throw expected('a positive integer', name, value)
  return value
}

/** A finite number from `low` to `high`, both allowed. */
export function checkedNumber(value: unknown, name: string, low = -Infinity, high = Infinity): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= low && value <= high) return value
  const range = low === -Infinity && high === Infinity ? '' : high === Infinity ? ` of at least ${low}` : ` from ${low} to ${high}`
  throw expected(`a finite number${range}`, name, value)
}

export function checkedChoice<T extends string>(value: T, name: string, choices: readonly T[]): T {
  if (!choices.includes(value)) throw expected(`one of ${choices.map((choice) => `'${choice}'`).join(', ')}`, name, value)
  return value
}

export function checkedArray(value: unknown, name: string): void {
  if (!Array.isArray(value)) throw expected('an array', name, value)
}

/** A number for all channels, or one for each. */
export function checkedPerChannel(value: number | readonly number[], name: string, low?: number, high?: number): Color {
  const values: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : [value, value, value]
  if (values.length !== 3) throw expected('a number or three numbers', name, value)
  const [red, green, blue] = values
  return [checkedNumber(red, name, low, high), checkedNumber(green, name, low, high), checkedNumber(blue, name, low, high)]
}

export function checkedColor(value: number | readonly number[], name: string): Color {
  return checkedPerChannel(value, name, 0, 255)
}

export function checkedSize(value: unknown, name: string): Size {
  checkedObject(value, name)
  const { width, height } = value as Size
  return { width: checkedPositiveInteger(width, `${name}.width`), height: checkedPositiveInteger(height, `${name}.height`) }
}

/** A box of four finite numbers whose width and height are not negative. */
export function checkedBox(value: unknown, name: string): Box {
  const numbers: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : []
  const isBox =
    numbers.length === 4 && numbers.every((number) => Number.isFinite(number)) && Number(numbers[2]) >= 0 && Number(numbers[3]) >= 0
  if (!isBox) throw expected('a box [x, y, width, height] of finite numbers, the last two not negative', name, value)
  return value as Box
}
