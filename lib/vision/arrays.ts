/** The checks of typed arrays that models' answers come in. */
import { expected } from '../errors.js'

export function numbersOf(value: unknown, name: string, length?: number): Float32Array {
  if (!(value instanceof Float32Array)) throw expected('a Float32Array', name, value)
  return length === undefined ? value : ofLength(value, name, length)
}

export function ofLength<T extends Float32Array | Int32Array>(values: T, name: string, length: number): T {
  if (values.length === length) return values
  throw expected(`${length} elements`, name, values.length)
}

export function finite(values: Float32Array, name: string): Float32Array {
  const wrong = values.findIndex((value) => !Number.isFinite(value))
  if (wrong >= 0) throw expected('a finite number', `${name}[${wrong}]`, values[wrong])
  return values
}
