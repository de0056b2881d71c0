// Counters as Triton's statistics extension has them: docs/protocol/extension_statistics.md of its server.
import type { BatchSizeCounters, EngineCounters, FailureCounts } from '../../backend/backend.js'
import type { Servable } from '../models/servable.js'

/** How often, and for how long in all. */
export interface DurationStatistic {
  readonly count: number
  /** Nanoseconds. */
  readonly ns: number
}

export interface InferenceStatistics {
  /** Requests that gave a result; the time from their coming to the engine until their outputs were there. */
  readonly success: DurationStatistic
  /** Requests that gave none, and their time from the head until the answer; as in Triton without those that were refused before they came to the queue. */
  readonly fail: DurationStatistic
  readonly queue: DurationStatistic
  readonly compute_input: DurationStatistic
  readonly compute_infer: DurationStatistic
  readonly compute_output: DurationStatistic
  /** There is no response cache: 0, as are its misses. */
  readonly cache_hit: DurationStatistic
  readonly cache_miss: DurationStatistic
}

export interface BatchStatistics {
  readonly batch_size: number
  readonly compute_input: DurationStatistic
  readonly compute_infer: DurationStatistic
  readonly compute_output: DurationStatistic
}

/** Of one version of a model. */
export interface ModelStatistics {
  readonly name: string
  readonly version: string
  /** Milliseconds since 1970; 0 before the first request. */
  readonly last_inference: number
  /** Rows of all requests that gave a result. */
  readonly inference_count: number
  readonly execution_count: number
  readonly inference_stats: InferenceStatistics
  /** Of decoupled models, which are not served. */
  readonly response_stats: Readonly<Record<string, never>>
  /** By rows, ascending. */
  readonly batch_stats: readonly BatchStatistics[]
  readonly memory_usage: readonly never[]
}

/** What `/v2/models/NAME/stats` answers. */
export interface Statistics {
  readonly model_stats: readonly ModelStatistics[]
}

/** Nanoseconds of requests that failed, which engines do not count. */
export type FailedNs = (servable: Servable) => number

/** In the order of their names, and of each the lowest version first. */
export function statisticsOf(servables: readonly Servable[], failedNs: FailedNs): Statistics {
  return { model_stats: ordered(servables).map((servable) => modelStatistics(servable, failedNs(servable))) }
}

/** By name, then by version as a number. */
export function ordered(servables: readonly Servable[]): Servable[] {
  return servables.toSorted((a, b) => (a.name === b.name ? Number(a.version) - Number(b.version) : a.name < b.name ? -1 : 1))
}

/** Requests that gave no result, for whatever reason. */
export function failuresIn({ rejected, queueTimeout, cancelledWaiting, cancelledRunning, failed }: FailureCounts): number {
  return rejected + queueTimeout + cancelledWaiting + cancelledRunning + failed
}

/** Nanoseconds that requests took in the engine, a sum over those that gave a result. */
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
    inference_stats: inferenceStatistics(counters, failedNs),
    response_stats: {},
    batch_stats: counters.batchSizes.map(batchStatistics),
    memory_usage: [],
  }
}

function inferenceStatistics(counters: EngineCounters, failedNs: number): InferenceStatistics {
  const { requests, failures, queueNs, inputNs, computeNs, outputNs } = counters
  const of = (ns: number): DurationStatistic => ({ count: requests, ns })
  return {
    success: of(requestNs(counters)),
    fail: { count: failuresIn(failures), ns: failedNs },
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
