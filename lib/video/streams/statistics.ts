import { percentileOf } from '../../benchmark/statistics.js'
import type { VideoStats } from '../reading/decoded.js'

/**
 * Where a frame's time goes. `queue`: from the source until a place was free. `infer`: in the task. `wait`: from the
 * answer until somebody took it, those before it included. `total`: its age when it was given.
 */
export type StreamStage = 'queue' | 'infer' | 'wait' | 'total'

const stages = ['queue', 'infer', 'wait', 'total'] as const satisfies readonly StreamStage[]

/** What became of a source's frames; a row for `console.table`. */
export interface StreamSourceStats {
  /** The number of the source, from 0, in the order in which they were added. */
  readonly index: number
  /** The name of the source. */
  readonly name: string
  /** Frames that were decoded. */
  readonly decoded: number
  /** Frames that were given. */
  readonly delivered: number
  /**
   * Frames that nobody got: of live sources those that came too late; and those that were under way when the source was
   * removed or failed.
   */
  readonly dropped: number
  /** Frames that the task has answered. */
  readonly inferred: number
  /** Frames that were given in a second, over the last five. */
  readonly fps: number
  /** The median of the ages of frames when they were given, in milliseconds; undefined where none was. */
  readonly p50: number | undefined
  /** Their 95th percentile. */
  readonly p95: number | undefined
  /** Their 99th percentile. */
  readonly p99: number | undefined
  /** Whether it still gives frames. */
  readonly open: boolean
  /** The message of the error that ended it. */
  readonly error: string | undefined
}

/**
 * How long a source's frames were in a stage, in milliseconds, of about the last thousand; a row for `console.table`.
 */
export interface StreamLatency {
  /** The number of the source. */
  readonly index: number
  /** The name of the source. */
  readonly name: string
  /** Which stage it is. */
  readonly stage: StreamStage
  /** The median; undefined where no frame was in it. */
  readonly p50: number | undefined
  /** The 95th percentile. */
  readonly p95: number | undefined
  /** The 99th percentile. */
  readonly p99: number | undefined
}

/** What several sources have done until now. */
export interface StreamsStats {
  /** A row for each source that was not removed; of those that have ended the last hundred. */
  readonly sources: readonly StreamSourceStats[]
  /** A row for each stage of each of them. */
  readonly latency: readonly StreamLatency[]
  /** Frames that are in the task now. */
  readonly underWay: number
  /** Frames that were in the task on average, since the first one. */
  readonly meanUnderWay: number
}

/** The rows of one source. */
export interface SourceRows {
  readonly source: StreamSourceStats
  readonly latency: readonly StreamLatency[]
}

/** How many values are kept. */
const kept = 1000

/** Undefined where there are no values. */
type Percentiles = Pick<StreamLatency, 'p50' | 'p95' | 'p99'>

/** The last thousand values of a series, in memory that does not grow. */
class Ring {
  #values: Float64Array | undefined
  #count = 0

  add(value: number): void {
    this.#values ??= new Float64Array(kept)
    this.#values[this.#count++ % kept] = value
  }

  get percentiles(): Percentiles {
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

/** The window that `fps` looks at, in milliseconds. */
const rateWindow = 5000

/** Counts what becomes of the frames of a source. */
export class SourceCounts {
  inferred = 0
  #delivered = 0
  #dropped = 0
  readonly #given = new Ring()
  readonly #stages = { queue: new Ring(), infer: new Ring(), wait: new Ring(), total: new Ring() }

  /** @param milliseconds that a frame was in a stage */
  add(stage: StreamStage, milliseconds: number): void {
    this.#stages[stage].add(milliseconds)
  }

  deliver(now: number): void {
    this.#delivered++
    this.#given.add(now)
  }

  drop(): void {
    this.#dropped++
  }

  /** @param video what its source counts, where it was opened */
  rows(
    about: Pick<StreamSourceStats, 'index' | 'name' | 'open' | 'error'>,
    { decoded, dropped }: Pick<VideoStats, 'decoded' | 'dropped'> = { decoded: 0, dropped: 0 },
  ): SourceRows {
    const { index, name, open, error } = about
    const latency = stages.map((stage) => ({ index, name, stage, ...this.#stages[stage].percentiles }))
    const given = { decoded, delivered: this.#delivered, dropped: dropped + this.#dropped }
    const counts = { ...given, inferred: this.inferred, fps: this.#fps() }
    return { source: { index, name, ...counts, ...this.#stages.total.percentiles, open, error }, latency }
  }

  #fps(): number {
    const now = performance.now()
    const { count, smallest } = this.#given.from(now - rateWindow)
    return count < 2 ? 0 : ((count - 1) * 1000) / (now - smallest)
  }
}

/** How many are under way, and how many were on average. */
export class Meter {
  #count = 0
  #since = 0
  #begun: number | undefined
  #area = 0

  get count(): number {
    return this.#count
  }

  get mean(): number {
    if (this.#begun === undefined) return 0
    const now = performance.now()
    return now > this.#begun ? (this.#area + this.#count * (now - this.#since)) / (now - this.#begun) : this.#count
  }

  change(by: 1 | -1): void {
    const now = performance.now()
    this.#begun ??= now
    this.#area += this.#count * (now - this.#since)
    this.#since = now
    this.#count += by
  }
}
