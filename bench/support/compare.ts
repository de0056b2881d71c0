/** The statistics of `npm run bench -- NAME --against COMMIT`: a verdict on a row that both builds measured. */
import { median } from './measure.js'
import type { Row } from './report.js'

/** The figures of one round. */
export interface Pair {
  readonly here: number
  readonly commit: number
}

export type Verdict = 'worse' | 'unclear' | 'better' | 'same'

export interface Comparison {
  /** The median of here / commit. */
  readonly ratio: number
  /** The 95 % interval of the ratio: Student's t on the logarithms of the ratios of the rounds. */
  readonly low: number
  readonly high: number
  readonly verdict: Verdict
}

/** A row is worse if its whole interval is beyond this. */
const tolerated = 1.03
/** A row is unclear if its interval is wider. */
const widest = 0.1

/**
 * Compares the rounds of a row. If more is better, the limits apply to commit / here. A row whose figures have to be
 * equal is worse as soon as they differ.
 *
 * A remainder near zero (`scale`) has no useful ratio: 1 + (here - commit) / scale takes its place, without logarithms.
 */
export function compare(pairs: readonly Pair[], { better, scale }: Pick<Row, 'better' | 'scale'>): Comparison {
  const ratios = pairs.map((pair) => ratioOf(pair, scale))
  const [low, high] = interval(ratios, scale === undefined)
  const ratio = median(ratios)
  if (better === 'higher') return { ratio, low, high, verdict: verdictOf(1 / high, 1 / low) }
  if (better === 'lower') return { ratio, low, high, verdict: verdictOf(low, high) }
  const isSame = pairs.every(({ here, commit }) => here === commit)
  return { ratio, low, high, verdict: isSame ? 'same' : 'worse' }
}

/** NaN if a figure is missing. */
function ratioOf({ here, commit }: Pair, scale: number | undefined): number {
  if (here === commit) return 1
  if (scale !== undefined) return 1 + (here - commit) / scale
  if (here > 0 && commit > 0) return here / commit
  return here > commit ? Infinity : here < commit ? 0 : NaN
}

function verdictOf(low: number, high: number): Verdict {
  if (low > tolerated) return 'worse'
  if (!(high - low <= widest)) return 'unclear'
  return high < 1 / tolerated ? 'better' : 'same'
}

function interval(ratios: readonly number[], isLogarithmic: boolean): [low: number, high: number] {
  const [first = NaN] = ratios
  if (ratios.length < 2 || ratios.some(Number.isNaN)) return [0, Infinity]
  if (ratios.every((ratio) => ratio === first)) return [first, first]
  const values = isLogarithmic ? ratios.map(Math.log) : ratios
  if (!values.every(Number.isFinite)) return [0, Infinity]
  const count = values.length
  const mean = values.reduce((sum, value) => sum + value, 0) / count
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1)
  const half = studentT(count - 1) * Math.sqrt(variance / count)
  return isLogarithmic ? [Math.exp(mean - half), Math.exp(mean + half)] : [mean - half, mean + half]
}

/**
 * The 97.5 % quantile of Student's t, by its expansion about the normal one (Abramowitz and Stegun, 26.7.5). Within
 * 0.1 % from 5 degrees of freedom on, and too small below.
 */
export function studentT(degrees: number): number {
  const z = 1.959963985
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
  ]
  return terms.reduce((sum, term, i) => sum + term / degrees ** (i + 1), z)
}
