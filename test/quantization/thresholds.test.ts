// Ranges from histograms: the same as NVIDIA's published algorithms find, to 1e-6.
import t from 'tap'
import { type Distribution, thresholdOf } from '../../lib/quantization/thresholds.js'
import { Random } from '../support/random.js'
import { entropyByNvidia, mseByNvidia, percentileByNvidia } from './reference.js'

/** Few bins, since the reference looks at each for each; one distribution has as many as usual. */
function histogramOf(values: readonly number[], bins = 500, width?: number): Distribution {
  const magnitudes = values.map(Math.abs)
  const max = magnitudes.reduce((a, b) => Math.max(a, b), 0)
  const each = width ?? max / (bins - 0.5)
  const counts = new Float64Array(Math.floor(max / each) + 1)
  for (const magnitude of magnitudes) counts[Math.floor(magnitude / each)]! += 1
  return { width: each, counts, min: Math.min(...values.slice(0, 9)), max }
}

const many = (count: number, next: () => number): number[] => Array.from({ length: count }, next)
const random = new Random(11)
const distributions: Record<string, Distribution> = {
  normal: histogramOf(
    many(50_000, () => random.normal()),
    2048,
  ),
  'rectified normal, half zeros': histogramOf(many(50_000, () => Math.max(0, random.normal()))),
  uniform: histogramOf(many(50_000, () => random.next() * 6)),
  'long tail': histogramOf(many(50_000, () => random.normal() ** 5)),
  'normal with outliers': histogramOf([...many(40_000, () => random.normal()), 60, 61, -75]),
  laplace: histogramOf(many(50_000, () => Math.log(1 - random.next()) * (random.next() < 0.5 ? 1 : -1))),
  'few values': histogramOf(many(5_000, () => random.below(12) / 2)),
  'one value': histogramOf(many(100, () => 3)),
  'saturated at six': histogramOf(many(30_000, () => Math.min(6, Math.abs(random.normal()) * 4))),
  'an odd number of bins': histogramOf(
    many(60_000, () => random.normal()),
    777,
  ),
  'fewer bins': histogramOf(
    many(20_000, () => random.normal()),
    130,
  ),
  'every second bin empty': histogramOf(
    many(30_000, () => Math.round(random.normal() * 100) / 100),
    500,
    1 / 200,
  ),
}

for (const [name, values] of Object.entries(distributions)) {
  t.test(name, async (t) => {
    const close = (found: number, wanted: number, what: string): void => {
      t.ok(Math.abs(found - wanted) <= 1e-6 * wanted, `${what}: ${found}, NVIDIA ${wanted}`)
    }
    close(thresholdOf(values, 'entropy'), entropyByNvidia(values), 'entropy')
    close(thresholdOf(values, 'mse'), mseByNvidia(values), 'mse')
    for (const percentile of [99, 99.9, 99.99, 99.999])
      close(thresholdOf(values, 'percentile', percentile), percentileByNvidia(values, percentile), `${percentile} %`)
    t.equal(thresholdOf(values, 'minmax'), Math.max(Math.abs(values.min), values.max))
  })
}

t.test('where there is next to nothing', async (t) => {
  const empty = { width: 1, counts: new Float64Array(0), min: 0, max: 0 }
  const zeros = { width: 1, counts: Float64Array.of(100), min: 0, max: 0 }
  const few = { width: 0.5, counts: Float64Array.of(4, 3, 1), min: -1.2, max: 0.7 }
  for (const algorithm of ['entropy', 'mse', 'percentile', 'minmax'] as const) {
    t.equal(thresholdOf(empty, algorithm), 0)
    t.equal(thresholdOf(zeros, algorithm), 0)
  }
  t.equal(thresholdOf(few, 'entropy'), 1.2, 'fewer bins than levels: the extreme')
  t.equal(thresholdOf(few, 'mse'), 1.2)
  t.equal(thresholdOf({ ...few, counts: Float64Array.of(9999, 1) }, 'percentile', 50), 0.5, 'never a range of nothing')
})
