// Counters as Triton's statistics extension has them: docs/protocol/extension_statistics.md of its server.
import type { BatchSizeCounters, EngineCounters, FailureCounts } from '../../backend/backend.js'
import type { Servable } from '../models/servable.js'
import type {
  BatchStatistics,
  DurationStatistic,
  InferenceStatistics,
  ModelStatistics,
  Statistics,
} from '../public-types.js'

/** Nanoseconds of requests that failed, which engines do not count. */
export type FailedNs = (servable: Servable) => number

/** In the order of their names, and of each the lowest version first. */
export function statisticsOf(servables: readonly Servable[], failedNs: FailedNs): Statistics {
  return { model_stats: ordered(servables).map((servable) => modelStatistics(servable, failedNs(servable))) }
}

/** By name, then by version as a number. */
export function ordered(servables: readonly Servable[]): Servable[] {
  return servables.toSorted((a, b) =>
    a.name === b.name ? Number(a.version) - Number(b.version) : a.name < b.name ? -1 : 1,
  )
}

/** Requests that gave no result, for whatever reason. */
export function failuresIn(failures: FailureCounts): number {
  return Object.values<number>({ ...failures }).reduce((sum, count) => sum + count, 0)
}

export function requestNs({ queueNs, inputNs, computeNs, outputNs }: EngineCounters): number {
  return queueNs + inputNs + computeNs + outputNs
}

function modelStatistics(servable: Servable, failedNs: number): ModelStatistics {
  const counters = servable.counters()
  return {
    name: servable.name,
    version: servable.version,
    last_inference: servable.lastInference,
    inference_count: counters.rows,
    execution_count: counters.executions,
    inference_stats: inferenceStatistics(counters, servable.invalid ?? 0, failedNs),
    response_stats: {},
    batch_stats: counters.batchSizes.map(batchStatistics),
    memory_usage: [],
  }
}

function inferenceStatistics(counters: EngineCounters, invalid: number, failedNs: number): InferenceStatistics {
  const { requests, failures, queueNs, inputNs, computeNs, outputNs } = counters
  const of = (ns: number): DurationStatistic => ({ count: requests, ns })
  return {
    success: of(requestNs(counters)),
    fail: { count: failuresIn(failures) + invalid, ns: failedNs },
    queue: of(queueNs),
    compute_input: of(inputNs),
    compute_infer: of(computeNs),
    compute_output: of(outputNs),
    cache_hit: { count: 0, ns: 0 },
    cache_miss: { count: 0, ns: 0 },
  }
}

function batchStatistics({ rows, executions, inputNs, computeNs, outputNs }: BatchSizeCounters): BatchStatistics {
  const of = (ns: number): DurationStatistic => ({ count: executions, ns })
  return { batch_size: rows, compute_input: of(inputNs), compute_infer: of(computeNs), compute_output: of(outputNs) }
}
