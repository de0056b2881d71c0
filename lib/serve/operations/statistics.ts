// Counters as Triton's statistics extension has them: docs/protocol/extension_statistics.md of its server.
import type { BatchSizeCounters, EngineCounters, FailureCounts } from '../../backend/backend.js'
import type { Servable } from '../models/servable.js'

/** How often, and for how long in all. */
export interface DurationStatistic {
  /** How often. */
  readonly count: number
  /** Nanoseconds. */
  readonly ns: number
}

/** What became of the requests to a version of a model, and where their time went. */
export interface InferenceStatistics {
  /** Requests that gave a result; the time from their coming to the engine until their outputs were there. */
  readonly success: DurationStatistic
  /** Requests that gave none, and their time from the head until the answer; as in Triton without those that were refused before they came to the queue. */
  readonly fail: DurationStatistic
  /** From a request's coming to the engine until a lane took it. */
  readonly queue: DurationStatistic
  /** Inputs on their way to the device. */
  readonly compute_input: DurationStatistic
  /** The computation. */
  readonly compute_infer: DurationStatistic
  /** Outputs on their way back. */
  readonly compute_output: DurationStatistic
  /** There is no response cache: 0. */
  readonly cache_hit: DurationStatistic
  /** There is no response cache: 0. */
  readonly cache_miss: DurationStatistic
}

/** Batches of one size. */
export interface BatchStatistics {
  /** Rows. */
  readonly batch_size: number
  /** Inputs on their way to the device. */
  readonly compute_input: DurationStatistic
  /** The computation. */
  readonly compute_infer: DurationStatistic
  /** Outputs on their way back. */
  readonly compute_output: DurationStatistic
}

/** Of one version of a model. */
export interface ModelStatistics {
  /** Of the model. */
  readonly name: string
  /** The name of the version's folder. */
  readonly version: string
  /** Milliseconds since 1970; 0 before the first request. */
  readonly last_inference: number
  /** Rows of all requests that gave a result. */
  readonly inference_count: number
  /** Batches that were computed. */
  readonly execution_count: number
  /** Of its requests. */
  readonly inference_stats: InferenceStatistics
  /** Of decoupled models, which are not served. */
  readonly response_stats: Readonly<Record<string, never>>
  /** By rows, ascending. */
  readonly batch_stats: readonly BatchStatistics[]
  /** Not measured: empty, as Triton's where a backend does not tell it. */
  readonly memory_usage: readonly never[]
}

/** What `/v2/models/NAME/stats` answers. */
export interface Statistics {
  /** By name, then by version. */
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
