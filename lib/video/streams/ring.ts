import { percentileOf } from '../../benchmark/statistics.js'

/** How many values are kept. */
const kept = 1000

/** Percentiles of a series; undefined where it has no values. */
export interface RingPercentiles {
  readonly p50: number | undefined
  readonly p95: number | undefined
  readonly p99: number | undefined
}

/** The last thousand values of a series, in memory that does not grow. */
export class Ring {
  #values: Float64Array | undefined
  #count = 0

  add(value: number): void {
    this.#values ??= new Float64Array(kept)
    this.#values[this.#count++ % kept] = value
  }

  get percentiles(): RingPercentiles {
    const sorted = this.#kept().toSorted()
    const at = (percent: number): number | undefined =>
      sorted.length === 0 ? undefined : percentileOf(sorted, percent)
    return { p50: at(50), p95: at(95), p99: at(99) }
  }

  /** How many of them are at least so much, and the smallest of those. */
  from(least: number): { readonly count: number; readonly smallest: number } {
    let [count, smallest] = [0, Infinity]
    for (const value of this.#kept()) {
      if (value < least) continue
      count++
      if (value < smallest) smallest = value
    }
    return { count, smallest }
  }

  #kept(): Float64Array {
    return this.#values?.subarray(0, Math.min(this.#count, kept)) ?? new Float64Array(0)
  }
}
