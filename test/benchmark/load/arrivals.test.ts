// The schedule of an open loop: a Poisson process by a seed.
import { createHash } from 'node:crypto'
import t from 'tap'
import { type Arrival, arrivals } from '../../../lib/benchmark/load/arrivals.js'

const one = new Map([[1, 1]])
const plain = { rows: one, priorities: undefined, seed: 1 }
const mixed = {
  rows: new Map([
    [1, 8],
    [4, 2],
  ]),
  priorities: new Map([
    [1, 1],
    [2, 9],
  ]),
  seed: 7,
}
/**
 * What anybody can compare: times to the microsecond, since Math.log may differ in its last bit between versions of V8.
 */
const digest = (all: readonly Arrival[]): string =>
  createHash('sha256')
    .update(all.map(({ atMs, rows, priority }) => `${Math.round(atMs * 1000)} ${rows} ${priority}`).join('\n'))
    .digest('hex')
    .slice(0, 16)

t.test('the same seed gives the same requests, another seed others', async (t) => {
  t.equal(digest([...arrivals(mixed, 1000, 2000)]), 'd58f45d8a77a3392')
  t.equal(digest([...arrivals(mixed, 1000, 2000)]), digest([...arrivals(mixed, 1000, 2000)]))
  t.not(digest([...arrivals({ ...mixed, seed: 8 }, 1000, 2000)]), digest([...arrivals(mixed, 1000, 2000)]))
})

t.test(
  'a Poisson process: gaps are exponential, counts have the variance of their mean, and neighbours know nothing of each other',
  async (t) => {
    const rate = 1000
    const all = [...arrivals(plain, rate, 100_000)]
    const times = all.map(({ atMs }) => atMs)
    const gaps = times.map((at, i) => at - (times[i - 1] ?? 0))
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length
    // 100,000 gaps: a standard error of 0.3 %, and of 0.9 % for the deviation
    t.ok(Math.abs(mean - 1) < 0.013, `mean gap ${mean} ms`)
    t.ok(Math.abs(Math.sqrt(variance) - 1) < 0.03, `deviation ${Math.sqrt(variance)} ms`)
    // Kolmogorov and Smirnov: 1.95 / sqrt(n) at one in a thousand
    const sorted = gaps.toSorted((a, b) => a - b)
    const farthest = Math.max(...sorted.map((gap, i) => Math.abs(1 - Math.exp(-gap) - (i + 0.5) / sorted.length)))
    t.ok(farthest < 1.95 / Math.sqrt(gaps.length), `distance ${farthest}`)
    const correlation =
      gaps.slice(1).reduce((sum, gap, i) => sum + (gap - mean) * (gaps[i]! - mean), 0) / (gaps.length - 1) / variance
    t.ok(Math.abs(correlation) < 4 / Math.sqrt(gaps.length), `correlation ${correlation}`)
    const counts = new Array<number>(1000).fill(0)
    for (const at of times) counts[Math.floor(at / 100)]!++
    const dispersion = counts.reduce((sum, count) => sum + (count - 100) ** 2, 0) / 1000 / 100
    t.ok(Math.abs(dispersion - 1) < 4 * Math.sqrt(2 / 1000), `dispersion ${dispersion}`)
  },
)

t.test('rows and priorities come as their weights say, the same at each rate', async (t) => {
  const all = [...arrivals(mixed, 1000, 20_000)]
  const share = (of: (arrival: Arrival) => boolean): number => all.filter(of).length / all.length
  t.ok(Math.abs(share(({ rows }) => rows === 4) - 0.2) < 0.015, `${share(({ rows }) => rows === 4)} have four rows`)
  t.ok(Math.abs(share(({ priority }) => priority === 1) - 0.1) < 0.012)
  t.ok(
    Math.abs(share(({ rows, priority }) => rows === 4 && priority === 1) - 0.02) < 0.006,
    'independent of each other',
  )
  const slower = [...arrivals(mixed, 100, 20_000)]
  t.same(
    slower.map(({ rows, priority }) => [rows, priority]),
    all.slice(0, slower.length).map(({ rows, priority }) => [rows, priority]),
  )
  t.ok(
    slower.every(({ atMs }, i) => Math.abs(atMs - 10 * all[i]!.atMs) < 1e-6),
    'ten times as far apart',
  )
})
