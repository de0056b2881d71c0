// The published algorithms of NVIDIA's pytorch-quantization (calib/histogram.py), step by step and slow: what ours is
// held against.
import type { Histogram } from '../../lib/quantization/thresholds.js'

/** _compute_amax_entropy with num_bits 8, stride 1, start_bin 128. */
export function entropyByNvidia({ width, counts }: Histogram): number {
  const bins = Array.from(counts)
  bins[0] = bins[1] as number
  const divergences: number[] = []
  const ranges: number[] = []
  for (let i = 128; i <= bins.length; i++) {
    // np.digitize(range(i), np.linspace(0, i, 129)) - 1
    const level = (bin: number): number => Math.floor(bin / (i / 128))
    const sums = new Array<number>(128).fill(0)
    const filled = new Array<number>(128).fill(0)
    for (let bin = 0; bin < i; bin++) {
      if (bins[bin] === 0) continue
      sums[level(bin)]! += bins[bin] as number
      filled[level(bin)]! += 1
    }
    const model = bins
      .slice(0, i)
      .map((count, bin) => (count === 0 ? 0 : (sums[level(bin)] as number) / (filled[level(bin)] as number)))
    const reference = bins.slice(0, i)
    reference[i - 1]! += bins.slice(i).reduce((a, b) => a + b, 0)
    divergences.push(entropy(reference, model))
    ranges.push(i)
  }
  let least = Infinity
  let last = divergences.length - 1
  for (const [k, divergence] of divergences.entries()) if (divergence <= least) [least, last] = [divergence, k]
  return (ranges[last] as number) * width
}

/** scipy.stats.entropy(pk, qk). */
function entropy(pk: readonly number[], qk: readonly number[]): number {
  const [p, q] = [pk.reduce((a, b) => a + b, 0), qk.reduce((a, b) => a + b, 0)]
  return pk.reduce(
    (sum, each, i) => sum + (each === 0 ? 0 : (each / p) * Math.log(each / p / ((qk[i] as number) / q))),
    0,
  )
}

/** _compute_amax_mse with num_bits 8, stride 1, start_bin 128; fake_tensor_quant rounds half to even. */
export function mseByNvidia({ width, counts }: Histogram): number {
  const centers = Array.from(counts, (_, i) => ((i + (i + 1)) * width) / 2)
  let best = 0
  let least = Infinity
  for (let i = 128; i < centers.length; i++) {
    const amax = centers[i] as number
    const scale = 127 / amax
    let error = 0
    for (const [k, center] of centers.entries()) {
      const quantized = Math.min(127, halfToEven(center * scale)) / scale
      error += (quantized - center) ** 2 * (counts[k] as number)
    }
    if (error < least) [best, least] = [amax, error]
  }
  return best
}

function halfToEven(x: number): number {
  const floor = Math.floor(x)
  if (x - floor !== 0.5) return Math.round(x)
  return floor % 2 === 0 ? floor : floor + 1
}

/** _compute_amax_percentile. */
export function percentileByNvidia({ width, counts }: Histogram, percentile: number): number {
  const all = Array.from(counts)
  const total = all.reduce((a, b) => a + b, 0)
  let sum = 0
  const cdf = all.map((count) => (sum += count / total))
  const index = cdf.findIndex((share) => share >= percentile / 100)
  return (index < 0 ? all.length : index) * width
}
