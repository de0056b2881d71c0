import type { DType, Tensor } from '../../tensor.js'
import { dimsText } from '../output/format.js'
import type { Row } from '../output/table.js'

/**
 * What a tensor's numbers are like; of those that are finite the least, the mean and the greatest, null where there is
 * none.
 */
export interface TensorSummary {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly min: number | null
  readonly mean: number | null
  readonly max: number | null
  readonly nan: number
  readonly infinite: number
}

export function summaryOf(tensor: Tensor): TensorSummary {
  const { dtype, shape } = tensor
  const numbers = tensor.dtype === 'float64' ? tensor.data : tensor.toFloat32().data
  let [min, max, sum, nan, infinite] = [Infinity, -Infinity, 0, 0, 0]
  for (const value of numbers) {
    if (Number.isNaN(value)) nan++
    else if (!Number.isFinite(value)) infinite++
    else {
      sum += value
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  const finite = numbers.length - nan - infinite
  const known = (value: number): number | null => (finite === 0 ? null : value)
  return { dtype, shape, min: known(min), mean: known(sum / finite), max: known(max), nan, infinite }
}

export const summaryHead = ['output', 'type', 'shape', 'min', 'mean', 'max', 'NaN', 'inf'] as const

export function summaryRow(name: string, { dtype, shape, min, mean, max, nan, infinite }: TensorSummary): Row {
  const text = (value: number | null): string => (value === null ? '-' : String(Number(value.toPrecision(4))))
  return [name, dtype, dimsText(shape), text(min), text(mean), text(max), nan, infinite]
}
