// What an ensemble has done, as an engine counts it: its steps count for themselves.
import type { BatchSizeCounters, EngineCounters, FailureCounts } from '../../backend/backend.js'
import { TensorRTError } from '../../errors.js'
import { faultOf } from '../faults.js'

/** `invalid`: the request was at fault. */
export type FailureKind = keyof FailureCounts | 'invalid'

interface Size {
  executions: number
  computeNs: number
}

const noFailures: FailureCounts = { rejected: 0, queueTimeout: 0, cancelledWaiting: 0, cancelledRunning: 0, failed: 0 }

export class EnsembleCounts {
  readonly #sizes = new Map<number, Size>()
  readonly #failures: Record<keyof FailureCounts, number> = { ...noFailures }
  #requests = 0
  #rows = 0
  #computeNs = 0
  /** Requests that were at fault themselves. */
  invalid = 0
  /** Milliseconds since 1970. */
  lastInference = 0

  succeeded(rows: number, ns: number): void {
    this.#requests++
    this.#rows += rows
    this.#computeNs += ns
    const size = this.#sizes.get(rows)
    if (size === undefined) return void this.#sizes.set(rows, { executions: 1, computeNs: ns })
    size.executions++
    size.computeNs += ns
  }

  failed(kind: FailureKind): void {
    if (kind === 'invalid') this.invalid++
    else this.#failures[kind]++
  }

  /** A request is in no queue of the ensemble's own: all its time is that of its steps. */
  counters(): EngineCounters {
    return {
      requests: this.#requests,
      rows: this.#rows,
      executions: this.#requests,
      failures: { ...this.#failures },
      queueNs: 0,
      inputNs: 0,
      computeNs: this.#computeNs,
      outputNs: 0,
      batchSizes: [...this.#sizes].sort(([a], [b]) => a - b).map(ofSize),
      sampled: { executions: 0, copyInNs: 0, computeNs: 0, copyOutNs: 0 },
    }
  }
}

function ofSize([rows, { executions, computeNs }]: readonly [number, Size]): BatchSizeCounters {
  return { rows, executions, requests: executions, queueNs: 0, inputNs: 0, computeNs, outputNs: 0 }
}

/** By what a step's queue refused it with, however deep. */
export function failureKind(error: unknown, wasCut: boolean): FailureKind {
  if (wasCut) return 'cancelledRunning'
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof TensorRTError && at.code === 'ERR_TRT_QUEUE_FULL') return 'rejected'
    if (at instanceof TensorRTError && at.code === 'ERR_TRT_QUEUE_TIMEOUT') return 'queueTimeout'
    if (at.message.endsWith('Exceeds maximum queue size')) return 'rejected'
    if (at.message.endsWith('Request timeout expired')) return 'queueTimeout'
  }
  return faultOf(error).kind === 'INVALID_ARG' ? 'invalid' : 'failed'
}
