import type { Histogram } from './histogram.js'

/** The first bin whose middle may be the range, and the largest number of INT8. */
const start = 128
const largest = 127

/** Relative difference below which two errors are computed again in full. */
const near = 1e-9

/**
 * The range, as the middle of a bin, with the least squared error when each bin's middle is rounded to INT8; of several
 * the smallest. Nothing where there are too few bins. This is the algorithm of NVIDIA's pytorch-quantization.
 * @see https://github.com/NVIDIA/TensorRT/blob/main/tools/pytorch-quantization/pytorch_quantization/calib/histogram.py
 */
export function mseThreshold({ width, counts }: Histogram): number | undefined {
  if (counts.length <= start) return undefined
  const sums = momentsOf(counts)
  const errors = new Float64Array(counts.length).fill(Infinity)
  let least = Infinity
  for (let bin = start; bin < counts.length; bin++) {
    errors[bin] = squaredError(sums, bin)
    least = Math.min(least, errors[bin]!)
  }
  return (firstLeast(counts, errors, least) + 0.5) * width
}

/** Over the bins before each: counts, and sums and squares of the bins' middles, in bins. */
interface Moments {
  readonly counts: Float64Array
  readonly sums: Float64Array
  readonly squares: Float64Array
}

function momentsOf(counts: ArrayLike<number>): Moments {
  const moments = {
    counts: new Float64Array(counts.length + 1),
    sums: new Float64Array(counts.length + 1),
    squares: new Float64Array(counts.length + 1),
  }
  for (let i = 0; i < counts.length; i++) {
    const middle = i + 0.5
    moments.counts[i + 1] = moments.counts[i]! + counts[i]!
    moments.sums[i + 1] = moments.sums[i]! + counts[i]! * middle
    moments.squares[i + 1] = moments.squares[i]! + counts[i]! * middle * middle
  }
  return moments
}

/**
 * Level by level: middles (2b + 1) / 2 that are rounded to it. None lies between two levels, where an even number would
 * meet an odd one.
 */
function squaredError({ counts, sums, squares }: Moments, bin: number): number {
  const bins = counts.length - 1
  const step = (bin + 0.5) / largest
  let error = 0
  let from = 0
  for (let level = 0; level <= largest && from < bins; level++) {
    const to = level === largest ? bins : Math.min(bins, Math.ceil(((2 * level + 1) * (2 * bin + 1)) / 508 - 0.5))
    const value = level * step
    const [n, x, xx] = [counts[to]! - counts[from]!, sums[to]! - sums[from]!, squares[to]! - squares[from]!]
    error += xx - 2 * value * x + value * value * n
    from = to
  }
  return error
}

function firstLeast(counts: ArrayLike<number>, errors: Float64Array, least: number): number {
  let best = start
  let value = Infinity
  for (let bin = start; bin < errors.length; bin++) {
    if (!(errors[bin]! - least <= near * Math.max(1, least))) continue
    const exact = errorByBins(counts, bin)
    if (exact < value) [best, value] = [bin, exact]
  }
  return best
}

function errorByBins(counts: ArrayLike<number>, bin: number): number {
  const step = (bin + 0.5) / largest
  let error = 0
  for (let i = 0; i < counts.length; i++) {
    const middle = i + 0.5
    const apart = middle - Math.min(largest, Math.round(middle / step)) * step
    error += counts[i]! * apart * apart
  }
  return error
}
