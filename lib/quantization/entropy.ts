import type { Histogram } from './histogram.js'

/** Positive levels of INT8, and the fewest bins that a range may have: below it there is nothing to tell apart. */
const levels = 128

/**
 * Relative difference below which two divergences are computed again in full: what the short way rounds differently
 * must not decide.
 */
const near = 1e-9

/**
 * The range, as the upper edge of a bin, whose 128 levels tell the distribution with the least Kullback-Leibler
 * divergence; of several the largest. Nothing where there are fewer than 128 bins. This is the algorithm of NVIDIA's
 * pytorch-quantization: bin 0 counts as bin 1 does (zeros need no level), what is beyond the range counts in its last
 * bin, and a level's values are spread over those of its bins that have any.
 * @see https://github.com/NVIDIA/TensorRT/blob/main/tools/pytorch-quantization/pytorch_quantization/calib/histogram.py
 */
export function entropyThreshold({ width, counts }: Histogram): number | undefined {
  if (counts.length < levels) return undefined
  const bins = Float64Array.from(counts)
  bins[0] = bins[1]!
  const sums = prefixSums(bins)
  if (sums.counts[bins.length] === 0) return undefined
  const divergences = new Float64Array(bins.length + 1).fill(Infinity)
  let least = Infinity
  for (let range = levels; range <= bins.length; range++) {
    divergences[range] = divergence(bins, sums, range)
    least = Math.min(least, divergences[range]!)
  }
  return lastLeast(bins, divergences, least) * width
}

/** Over the bins before each: counts, bins that have any, and count · log(count). */
interface Sums {
  readonly counts: Float64Array
  readonly filled: Int32Array
  readonly logs: Float64Array
}

function prefixSums(bins: Float64Array): Sums {
  const sums = {
    counts: new Float64Array(bins.length + 1),
    filled: new Int32Array(bins.length + 1),
    logs: new Float64Array(bins.length + 1),
  }
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

/** The last range whose divergence, bin by bin, is the least of those that are near it. */
function lastLeast(bins: Float64Array, divergences: Float64Array, least: number): number {
  let best = bins.length
  let value = Infinity
  // an infinite divergence is nobody's choice unless all are
  for (let range = levels; range < divergences.length; range++) {
    if (!(divergences[range]! - least <= near * Math.max(1, Math.abs(least)))) continue
    const exact = divergenceByBins(bins, range)
    if (exact <= value) [best, value] = [range, exact]
  }
  return best
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
