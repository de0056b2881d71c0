import { grouped } from './numbers.js'

export interface Tick {
  readonly value: number
  readonly label: string
}

/** From values to places on an axis, with the marks that the axis has. */
export interface Scale {
  at(value: number): number
  readonly ticks: readonly Tick[]
  readonly domain: readonly [low: number, high: number]
}

type Pair = readonly [number, number]

/** 1, 2 or 5 times a power of ten: the smallest such step that makes at most `count` of `span`. */
export function niceStep(span: number, count: number): number {
  const rough = span / count
  const exponent = Math.floor(Math.log10(rough))
  // a sum of floats that is a hair above a step is that step
  const factor = [1, 2, 5].find((step) => step * 10 ** exponent >= rough * (1 - 1e-9)) ?? 10
  // by division, 2e-4 is 2e-4
  return exponent < 0 ? factor / 10 ** -exponent : factor * 10 ** exponent
}

/** An even scale whose ends are marks themselves unless `exact`. */
export function linearScale([low, high]: Pair, [from, to]: Pair, { count = 6, exact = false } = {}): Scale {
  const [first, last] = high > low ? [low, high] : [low - Math.abs(low || 1) / 2, low + Math.abs(low || 1) / 2]
  const step = niceStep(last - first, count)
  const domain: Pair = exact
    ? [first, last]
    : [Math.floor(first / step + 1e-9) * step, Math.ceil(last / step - 1e-9) * step]
  const decimals = decimalsOf(step)
  const [begin, end] = [Math.ceil(domain[0] / step - 1e-9), Math.floor(domain[1] / step + 1e-9)]
  const values = Array.from({ length: end - begin + 1 }, (_, i) => (begin + i) * step)
  const ticks = values.map((value) => ({ value, label: grouped(value, decimals) }))
  return { domain, ticks, at: placeEvenly(domain, [from, to]) }
}

/**
 * A scale of equal ratios between values above zero, marked at 1, 2 and 5 times powers of ten, or at powers of ten
 * where that is too many.
 */
export function logScale([low, high]: Pair, range: Pair, { count = 8 } = {}): Scale {
  const [least, most] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))]
  const powers = Array.from({ length: most - least + 1 }, (_, i) => least + i)
  const all = powers.flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** power))
  const below = all.findLastIndex((value) => value <= low * (1 + 1e-9))
  const first = Math.max(0, below)
  const last = all.findIndex((value) => value >= high * (1 - 1e-9))
  const within = all.slice(first, Math.max(last, first + 1) + 1)
  const shown =
    within.length <= count
      ? within
      : within.filter((value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9)
  const domain: Pair = [within[0]!, within.at(-1)!]
  const ticks = shown.map((value) => ({ value, label: grouped(value, decimalsOf(value)) }))
  return { domain, ticks, at: placeByRatio(domain, range) }
}

/**
 * A scale that is marked at the very values that were measured: equal ratios where they span a factor of eight and
 * more, as batch sizes do.
 */
export function pointScale(values: readonly number[], [from, to]: Pair): Scale {
  const points = [...new Set(values)].sort((a, b) => a - b)
  const [low, high] = [points[0] ?? 0, points.at(-1) ?? 1]
  const ticks = points.map((value) => ({ value, label: String(value) }))
  if (low === high) return { domain: [low, high], ticks, at: () => (from + to) / 2 }
  const place = low > 0 && high >= 8 * low ? placeByRatio : placeEvenly
  return { domain: [low, high], ticks, at: place([low, high], [from, to]) }
}

/** Of a step of ticks, or of a tick. */
const decimalsOf = (value: number): number => Math.max(0, -Math.floor(Math.log10(value) + 1e-9))

const placeEvenly =
  ([low, high]: Pair, [from, to]: Pair) =>
  (value: number): number =>
    from + ((value - low) / (high - low)) * (to - from)

const placeByRatio =
  ([low, high]: Pair, [from, to]: Pair) =>
  (value: number): number =>
    from + (Math.log(value / low) / Math.log(high / low)) * (to - from)
