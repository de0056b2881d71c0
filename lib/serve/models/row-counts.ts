// Rows of requests that run each by itself: an engine that merges nothing counts a row for each of them, whatever its
// shape.
import type { BatchSizeCounters, EngineCounters } from '../../backend/backend.js'

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

type Size = Pick<BatchSizeCounters, 'rows' | 'executions' | 'requests'>

function shared(all: BatchSizeCounters, sizes: readonly Size[]): readonly BatchSizeCounters[] {
  const total = sizes.reduce((sum, { rows, executions }) => sum + rows * executions, 0)
  return sizes.map((size) => {
    const of = (ns: number): number => Math.round((ns * size.rows * size.executions) / total)
    return {
      ...size,
      queueNs: of(all.queueNs),
      inputNs: of(all.inputNs),
      computeNs: of(all.computeNs),
      outputNs: of(all.outputNs),
    }
  })
}
