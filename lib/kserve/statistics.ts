// What a server counts of a model, as it answers and as a client reads it: types alone.

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
  /**
   * Requests that gave none, and their time from the head until the answer; as in Triton without those that were
   * refused before they came to the queue.
   */
  readonly fail: DurationStatistic
  /** From a request's coming to the engine until an instance (a lane) took it. */
  readonly queue: DurationStatistic
  /** Inputs on their way to the device. */
  readonly compute_input: DurationStatistic
  /** The computation. */
  readonly compute_infer: DurationStatistic
  /** Outputs on their way back. */
  readonly compute_output: DurationStatistic
  /** Answers that a cache had; 0 of this package's server, which has no response cache. */
  readonly cache_hit: DurationStatistic
  /** Answers that a cache had not; 0 of this package's server. */
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
  /** By rows, ascending. */
  readonly batch_stats: readonly BatchStatistics[]
}
