import type { DType, DTypeArrays } from '../tensor.js'

/** Elements whose first dimension varies fastest, in the order in which the last one does, in memory of their own. */
export function inRowMajorOrder<D extends DType>(data: DTypeArrays[D], shape: readonly number[]): DTypeArrays[D] {
  const given = data as Uint8Array
  const ordered = new (given.constructor as Uint8ArrayConstructor)(given.length)
  const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((product, side) => product * side, 1))
  const last = shape.length - 1
  const place = shape.map(() => 0)
  const [length = 0, step = 0] = [shape[last], strides[last]]
  for (let row = 0; row < given.length; row += length) {
    const from = place.reduce((sum, index, axis) => sum + index * strides[axis]!, 0)
    for (let i = 0; i < length; i++) ordered[row + i] = given[from + i * step]!
    for (let axis = last - 1; axis >= 0 && ++place[axis]! === shape[axis]!; axis--) place[axis] = 0
  }
  return ordered as DTypeArrays[D]
}
