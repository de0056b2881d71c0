/** How often the magnitude of a value was in each bin: bin i is `[i · width, (i + 1) · width)`. */
export interface Histogram {
  /** The width of a bin. */
  readonly width: number
  /** How many elements each bin has. */
  readonly counts: ArrayLike<number>
}

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

/** Relative difference below which two results are computed again in full: what the short way rounds has no say. */
const near = 1e-9

/** Those from `start` to before `end` whose result, computed the short way, is the least, or near to it. */
function nearLeast(start: number, end: number, short: (at: number) => number): number[] {
  const results = new Float64Array(end).fill(Infinity)
  for (let at = start; at < end; at++) results[at] = short(at)
  const least = results.reduce((a, b) => Math.min(a, b), Infinity)
  const found: number[] = []
  for (let at = start; at < end; at++) if (results[at]! - least <= near * Math.max(1, Math.abs(least))) found.push(at)
  return found
}

/** Positive levels of INT8, and the fewest bins that a range may have: below it there is nothing to tell apart. */
const levels = 128

/**
 * The range, as the upper edge of a bin, whose 128 levels tell the distribution with the least Kullback-Leibler
 * divergence; of several the largest. Nothing where there are fewer than 128 bins. This is the algorithm of NVIDIA's
 * pytorch-quantization: bin 0 counts as bin 1 does (zeros need no level), what is beyond the range counts in its last
 * bin, and a level's values are spread over those of its bins that have any.
 * @see https://github.com/NVIDIA/TensorRT/blob/main/tools/pytorch-quantization/pytorch_quantization/calib/histogram.py
 */
function entropyThreshold({ width, counts }: Histogram): number | undefined {
  if (counts.length < levels) return undefined
  const bins = Float64Array.from(counts)
  bins[0] = bins[1]!
  const sums = prefixSums(bins)
  if (sums.counts[bins.length] === 0) return undefined
  const ranges = nearLeast(levels, bins.length + 1, (range) => divergence(bins, sums, range))
  // an infinite divergence is nobody's choice unless all are
  let [best, value] = [bins.length, Infinity]
  for (const range of ranges) {
    const exact = divergenceByBins(bins, range)
    if (exact <= value) [best, value] = [range, exact]
  }
  return best * width
}

/** Over the bins before each: counts, bins that have any, and count · log(count). */
interface Sums {
  readonly counts: Float64Array
  readonly filled: Float64Array
  readonly logs: Float64Array
}

function prefixSums(bins: Float64Array): Sums {
  const zeros = (): Float64Array => new Float64Array(bins.length + 1)
  const sums = { counts: zeros(), filled: zeros(), logs: zeros() }
  for (let i = 0; i < bins.length; i++) {
    const count = bins[i]!
    sums.counts[i + 1] = sums.counts[i]! + count
    sums.filled[i + 1] = sums.filled[i]! + (count > 0 ? 1 : 0)
    sums.logs[i + 1] = sums.logs[i]! + xlogx(count)
  }
  return sums
}

function xlogx(x: number): number {
  return x > 0 ? x * Math.log(x) : 0
}

/** The divergence for a range of so many bins, by sums over levels instead of bins. */
function divergence(bins: Float64Array, { counts, filled, logs }: Sums, range: number): number {
  const total = counts[bins.length]!
  const within = counts[range]!
  const last = bins[range - 1]!
  const beyond = total - within
  if (within === 0 || (last === 0 && beyond > 0)) return Infinity
  let cross = 0
  let lastMean = 0
  let from = 0
  for (let level = 0; level < levels; level++) {
    const to = Math.ceil(((level + 1) * range) / levels)
    const inLevel = counts[to]! - counts[from]!
    if (inLevel > 0) {
      const mean = inLevel / (filled[to]! - filled[from]!)
      cross += inLevel * Math.log(mean)
      lastMean = mean
    }
    from = to
  }
  if (beyond > 0) cross += beyond * Math.log(lastMean)
  const entropy = logs[range - 1]! + xlogx(last + beyond)
  return (entropy - cross) / total - Math.log(total) + Math.log(within)
}

/** The same as it is defined: both distributions normalized, bin by bin. */
function divergenceByBins(bins: Float64Array, range: number): number {
  const model = spread(bins, range)
  const reference = bins.slice(0, range)
  reference[range - 1]! += sum(bins.subarray(range))
  const [p, q] = [sum(reference), sum(model)]
  let result = 0
  for (let i = 0; i < range; i++) {
    const share = reference[i]! / p
    if (share > 0) result += share * Math.log(share / (model[i]! / q))
  }
  return result
}

/** The values of each level, spread evenly over those of its bins that have any. */
function spread(bins: Float64Array, range: number): Float64Array {
  const model = new Float64Array(range)
  for (let level = 0, from = 0; level < levels; level++) {
    const to = Math.ceil(((level + 1) * range) / levels)
    const filled = bins.subarray(from, to).filter((count) => count > 0)
    const mean = sum(filled) / filled.length
    for (let i = from; i < to; i++) if (bins[i]! > 0) model[i] = mean
    from = to
  }
  return model
}

function sum(values: Float64Array): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += values[i]!
  return total
}

/** The first bin whose middle may be the range, and the largest number of INT8. */
const [start, most] = [128, 127]

/**
 * The range, as the middle of a bin, with the least squared error when each bin's middle is rounded to INT8; of several
 * the smallest. Nothing where there are too few bins. This is the algorithm of NVIDIA's pytorch-quantization.
 * @see https://github.com/NVIDIA/TensorRT/blob/main/tools/pytorch-quantization/pytorch_quantization/calib/histogram.py
 */
function mseThreshold({ width, counts }: Histogram): number | undefined {
  if (counts.length <= start) return undefined
  const sums = momentsOf(counts)
  let [best, value] = [start, Infinity]
  for (const bin of nearLeast(start, counts.length, (each) => squaredError(sums, each))) {
    const exact = errorByBins(counts, bin)
    if (exact < value) [best, value] = [bin, exact]
  }
  return (best + 0.5) * width
}

/** Over the bins before each: counts, and sums and squares of the bins' middles, in bins. */
interface Moments {
  readonly counts: Float64Array
  readonly sums: Float64Array
  readonly squares: Float64Array
}

function momentsOf(counts: ArrayLike<number>): Moments {
  const zeros = (): Float64Array => new Float64Array(counts.length + 1)
  const moments = { counts: zeros(), sums: zeros(), squares: zeros() }
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
  const step = (bin + 0.5) / most
  let error = 0
  let from = 0
  for (let level = 0; level <= most && from < bins; level++) {
    const to = level === most ? bins : Math.min(bins, Math.ceil(((2 * level + 1) * (2 * bin + 1)) / 508 - 0.5))
    const value = level * step
    const [n, x, xx] = [counts[to]! - counts[from]!, sums[to]! - sums[from]!, squares[to]! - squares[from]!]
    error += xx - 2 * value * x + value * value * n
    from = to
  }
  return error
}

function errorByBins(counts: ArrayLike<number>, bin: number): number {
  const step = (bin + 0.5) / most
  let error = 0
  for (let i = 0; i < counts.length; i++) {
    const middle = i + 0.5
    const apart = middle - Math.min(most, Math.round(middle / step)) * step
    error += counts[i]! * apart * apart
  }
  return error
}
