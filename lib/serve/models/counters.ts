// Sums and differences of what engines count.
import type { BatchSizeCounters, EngineCounters, FailureCounts } from '../../backend/backend.js'

type Numbers<T> = { readonly [K in keyof T]: T[K] extends number ? T[K] : never }

/** Numbers of two objects of one form, each with the other's by its name. */
function combined<T extends object>(a: T, b: T, combine: (a: number, b: number) => number): T {
  const entries = Object.entries(a as Numbers<T>).map(([name, value]) => {
    const other: unknown = (b as Record<string, unknown>)[name]
    return [name, typeof value === 'number' && typeof other === 'number' ? combine(value, other) : value] as const
  })
  return Object.fromEntries(entries) as T
}

function zeros<T extends object>(like: T): T {
  return combined(like, like, () => 0)
}

function combinedSizes(
  a: readonly BatchSizeCounters[],
  b: readonly BatchSizeCounters[],
  combine: (a: number, b: number) => number,
): readonly BatchSizeCounters[] {
  const sizes = new Map([...a, ...b].map((each) => [each.rows, zeros(each)]))
  const of = (list: readonly BatchSizeCounters[], rows: number, zero: BatchSizeCounters): BatchSizeCounters =>
    list.find((each) => each.rows === rows) ?? zero
  return [...sizes]
    .map(([rows, zero]) => ({ ...combined(of(a, rows, zero), of(b, rows, zero), combine), rows }))
    .filter(({ executions, requests }) => executions > 0 || requests > 0)
    .sort((one, other) => one.rows - other.rows)
}

function combinedCounters(
  a: EngineCounters,
  b: EngineCounters,
  combine: (a: number, b: number) => number,
): EngineCounters {
  return {
    ...combined(a, b, combine),
    failures: combined(a.failures, b.failures, combine),
    sampled: combined(a.sampled, b.sampled, combine),
    batchSizes: combinedSizes(a.batchSizes, b.batchSizes, combine),
  }
}

/** What several engines have done. */
export function sumOfCounters(all: readonly [EngineCounters, ...EngineCounters[]]): EngineCounters {
  return all.reduce((sum, each) => combinedCounters(sum, each, (a, b) => a + b))
}

/** What was done between two reads of one engine. */
export function countersSince(now: EngineCounters, before: EngineCounters): EngineCounters {
  return combinedCounters(now, before, (a, b) => a - b)
}

// Rows of requests that run each by itself: an engine that merges nothing counts a row for each of them, whatever its
// shape.

export class RowCounts {
  /** How many requests of so many rows were answered. */
  readonly #requests = new Map<number, number>()

  answered(rows: number): void {
    this.#requests.set(rows, (this.#requests.get(rows) ?? 0) + 1)
  }

  /**
   * The counters of an engine that merges nothing, with the rows of its requests. Where they were of several sizes, the
   * times of each size are a share of the whole, by its rows: the engine has them of all together. A request whose
   * client left in the moment of its end counts as one row.
   */
  applied(counters: EngineCounters): EngineCounters {
    const [all, ...others] = counters.batchSizes
    if (all === undefined || others.length > 0) return counters
    const sizes = this.#sizes(all)
    const rows = sizes.reduce((sum, size) => sum + size.rows * size.requests, 0)
    return { ...counters, rows, batchSizes: shared(all, sizes) }
  }

  /** Ascending; what nobody got an answer of is of one row. */
  #sizes({ executions, requests }: BatchSizeCounters): readonly Size[] {
    const known = [...this.#requests.values()].reduce((sum, count) => sum + count, 0)
    const ones = this.#requests.get(1) ?? 0
    const sizes = [...this.#requests]
      .filter(([rows]) => rows !== 1)
      .map(([rows, count]) => ({ rows, executions: count, requests: count }))
    const rest = {
      rows: 1,
      executions: ones + Math.max(0, executions - known),
      requests: ones + Math.max(0, requests - known),
    }
    return (rest.executions > 0 ? [rest, ...sizes] : sizes).sort((a, b) => a.rows - b.rows)
  }
}

const timed = ['queueNs', 'inputNs', 'computeNs', 'outputNs'] as const
/** Nanoseconds: until a batch left, a sum over its requests; of the whole batch to what runs it, in it, and back. */
type Times = Readonly<Record<(typeof timed)[number], number>>

type Size = Pick<BatchSizeCounters, 'rows' | 'executions' | 'requests'>

function shared(all: BatchSizeCounters, sizes: readonly Size[]): readonly BatchSizeCounters[] {
  const total = sizes.reduce((sum, { rows, executions }) => sum + rows * executions, 0)
  return sizes.map((size) => {
    const of = (ns: number): number => Math.round((ns * size.rows * size.executions) / total)
    return { ...size, ...(Object.fromEntries(timed.map((name) => [name, of(all[name])])) as Times) }
  })
}

// What a model in JavaScript has done, counted as engines count.

/** A batch that came to its end. */
export interface CountedRun extends Times {
  /** Rows of all its requests. */
  readonly rows: number
  /** Requests that have a result, and their rows. */
  readonly requests: number
  readonly answeredRows: number
}

/** `invalid`: the request was at fault. */
/**
 * A request of an ensemble: it is in no queue of its own, and all its time is that of its steps, which count for
 * themselves.
 */
export function wholeRun(rows: number, ms: number): CountedRun {
  const computeNs = Math.round(ms * 1e6)
  return { rows, requests: 1, answeredRows: rows, queueNs: 0, inputNs: 0, computeNs, outputNs: 0 }
}

export type FailureKind = keyof FailureCounts | 'invalid'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const none: EngineCounters = {
  requests: 0,
  rows: 0,
  executions: 0,
  failures: { rejected: 0, queueTimeout: 0, cancelledWaiting: 0, cancelledRunning: 0, failed: 0 },
  queueNs: 0,
  inputNs: 0,
  computeNs: 0,
  outputNs: 0,
  batchSizes: [],
  sampled: { executions: 0, copyInNs: 0, computeNs: 0, copyOutNs: 0 },
}

export class RunCounts {
  #sums: Mutable<EngineCounters> = { ...none }
  #failures: Mutable<FailureCounts> = { ...none.failures }
  readonly #sizes = new Map<number, Mutable<BatchSizeCounters>>()
  /** Requests that were at fault themselves. */
  invalid = 0
  /** Milliseconds since 1970; 0 before the first request. */
  lastInference = 0

  failed(kind: FailureKind, count = 1): void {
    if (kind === 'invalid') this.invalid += count
    else this.#failures[kind] += count
  }

  ran(run: CountedRun): void {
    const [sums, size] = [this.#sums, this.#size(run.rows)]
    sums.requests += run.requests
    sums.rows += run.answeredRows
    sums.executions++
    size.executions++
    size.requests += run.requests
    for (const name of timed) {
      // of each request the batch's own time, but its own in the queue
      sums[name] += run[name] * (name === 'queueNs' ? 1 : run.requests)
      size[name] += run[name]
    }
  }

  #size(rows: number): Mutable<BatchSizeCounters> {
    const known = this.#sizes.get(rows)
    if (known !== undefined) return known
    const size = { rows, executions: 0, requests: 0, queueNs: 0, inputNs: 0, computeNs: 0, outputNs: 0 }
    this.#sizes.set(rows, size)
    return size
  }

  /** From nothing again, after a warm-up. */
  reset(): void {
    this.#sums = { ...none }
    this.#failures = { ...none.failures }
    this.invalid = this.lastInference = 0
    this.#sizes.clear()
  }

  counters(): EngineCounters {
    const batchSizes = [...this.#sizes.values()].map((size) => ({ ...size })).sort((a, b) => a.rows - b.rows)
    return { ...this.#sums, failures: { ...this.#failures }, batchSizes }
  }
}
