import { checkedArray, checkedNumber, checkedWhole } from '../../base/checks.js'
import { type Size, sizeOf } from '../../base/size.js'
import { expected } from '../../errors.js'

/** The longest side that anchors are laid out for: a model has one for every few pixels. */
const longest = 16384

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function inputSize(size: unknown): Size {
  return sizeOf(size, 'size', longest)
}

/** Pixels between cells, from 4 on: fewer would be more cells than a model has. */
export function checkedSteps(steps: unknown, name: string): number[] {
  const list = checkedArray(steps, name).map((step, index) => checkedWhole(step, `${name}[${index}]`, 4, longest))
  if (list.length > 0 && list.length <= 16) return list
  throw expected('1 to 16 numbers', name, steps)
}

/** A number greater than 0. */
export function checkedPositive(value: unknown, name: string): number {
  if (checkedNumber(value, name, 0, undefined, 'a number greater than 0') > 0) return value as number
  throw expected('a number greater than 0', name, value)
}

/** What is laid out, four times as many numbers as the largest EfficientDet has. */
const mostCells = 2 ** 21

/**
 * Room for `count` cells or anchors of so many numbers. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where no model
 * has so many
 */
export function roomFor(count: number, numbers: number): Float32Array {
  if (count > mostCells) throw expected(`what has at most ${mostCells} anchors`, 'size', count)
  return new Float32Array(count * numbers)
}

/** Writes what is given, one after the other. */
export function writer(into: Float32Array): (...numbers: readonly number[]) => void {
  let at = 0
  return (...numbers) => {
    for (const number of numbers) into[at++] = number
  }
}
