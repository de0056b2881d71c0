import { entropyThreshold } from './entropy.js'
import type { Histogram } from './histogram.js'
import { mseThreshold } from './mse.js'

/** What a threshold is found in: the histogram, and the exact extremes of the finite values. */
export interface Distribution extends Histogram {
  readonly min: number
  readonly max: number
}

export const algorithms = ['entropy', 'percentile', 'minmax', 'mse'] as const

/** To be raised where any of them finds another range in the same histogram: caches of calibrations are bound to it. */
export const searchVersion = 1

/**
 * How the range of a tensor is found, beyond which INT8 saturates. `entropy`: what changes the distribution least
 * (Kullback-Leibler); `percentile`: what that share of the values is below; `minmax`: the largest magnitude; `mse`: the
 * least squared error.
 * @useDeclaredType
 */
export type Algorithm = (typeof algorithms)[number]

/**
 * The largest magnitude that INT8 is to hold, by the algorithm; 0 where all values are zero.
 * @param percentile From 0 to 100; of algorithm `percentile` only.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/work-quantized-types.html
 */
export function thresholdOf(values: Distribution, algorithm: Algorithm, percentile = 99.99): number {
  const largest = Math.max(Math.abs(values.min), Math.abs(values.max))
  if (largest === 0 || values.counts.length === 0) return largest
  switch (algorithm) {
    case 'minmax':
      return largest
    case 'percentile':
      return percentileThreshold(values, percentile)
    case 'entropy':
      return entropyThreshold(values) ?? largest
    case 'mse':
      return mseThreshold(values) ?? largest
  }
}

/**
 * The lower edge of the first bin by which that share of the values is counted; at least one bin's width, since a range
 * of nothing holds nothing.
 */
function percentileThreshold({ width, counts }: Histogram, percentile: number): number {
  let total = 0
  for (let i = 0; i < counts.length; i++) total += counts[i]!
  let share = 0
  let bin = 0
  while (bin < counts.length) {
    share += counts[bin]! / total
    if (share >= percentile / 100) break
    bin++
  }
  return Math.max(bin, 1) * width
}
