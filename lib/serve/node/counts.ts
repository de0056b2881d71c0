// What a model in JavaScript has done, counted as engines count.
import type { BatchSizeCounters, EngineCounters, FailureCounts } from '../../backend/backend.js'

/** A batch that came to its end. */
export interface CountedRun {
  /** Rows of all its requests. */
  readonly rows: number
  /** Requests that have a result, and their rows. */
  readonly requests: number
  readonly answeredRows: number
  /** Nanoseconds from the call until the batch left, a sum over `requests`. */
  readonly queueNs: number
  /** Nanoseconds of the whole batch: to the thread, in execute, and back. */
  readonly inputNs: number
  readonly computeNs: number
  readonly outputNs: number
}

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

  failed(kind: keyof FailureCounts | 'invalid', count = 1): void {
    if (kind === 'invalid') this.invalid += count
    else this.#failures[kind] += count
  }

  ran(run: CountedRun): void {
    const { requests, queueNs, inputNs, computeNs, outputNs } = run
    const sums = this.#sums
    sums.requests += requests
    sums.rows += run.answeredRows
    sums.executions++
    sums.queueNs += queueNs
    sums.inputNs += inputNs * requests
    sums.computeNs += computeNs * requests
    sums.outputNs += outputNs * requests
    const size = this.#size(run.rows)
    size.executions++
    size.requests += requests
    size.queueNs += queueNs
    size.inputNs += inputNs
    size.computeNs += computeNs
    size.outputNs += outputNs
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
    this.invalid = 0
    this.#sizes.clear()
  }

  counters(): EngineCounters {
    const batchSizes = [...this.#sizes.values()].map((size) => ({ ...size })).sort((a, b) => a.rows - b.rows)
    return { ...this.#sums, failures: { ...this.#failures }, batchSizes }
  }
}
