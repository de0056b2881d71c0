import type { TensorInfo } from '../../backend/backend.js'
import type { Tensor } from '../../tensor.js'
import type { Summary } from '../types.js'

/** What can be put under load: an {@link Engine}. */
export interface LoadTestable {
  /** The inputs of the model, by name. */
  readonly inputs: Readonly<Record<string, TensorInfo>>
  /** What runs the model. */
  readonly backend: 'tensorrt' | 'cpu'
  /** The library and the device that run it. */
  readonly description: string
  /** One request; see {@link Engine.infer}. */
  infer(inputs: Readonly<Record<string, Tensor>>, options?: LoadTestRequest): Promise<unknown>
  /** How many batches were run; see {@link Engine.counters}. */
  counters(): {
    /** Batches that ran to their end. */
    readonly executions: number
  }
}

/** The options of one request. */
export interface LoadTestRequest {
  /** Gives the request up. */
  readonly signal?: AbortSignal | undefined
  /** Its level; 1 is served first. */
  readonly priority?: number | undefined
  /** How long it may wait in the queue, in milliseconds. */
  readonly queueTimeoutMs?: number | undefined
}

/** How an engine is put under load. */
export interface LoadTestOptions {
  /**
   * Requests a second, each measured by itself, the lowest first; default: rates from a twentieth of what the engine
   * takes up to the first that is too much. What it takes is found by a short closed loop.
   */
  readonly rates?: readonly number[] | undefined
  /** How long requests arrive at each rate, in milliseconds; default 3000. */
  readonly durationMs?: number | undefined
  /** Before anything is counted, requests are made for so many milliseconds, alone and many at once; default 200. */
  readonly warmUpMs?: number | undefined
  /**
   * How long requests that are under way may take when the last one has arrived, in milliseconds; then they are given
   * up and counted as unfinished. Default: as long as `durationMs`.
   */
  readonly graceMs?: number | undefined
  /** So many requests may be under way at once; where more come the rate is given up. Default 10,000. */
  readonly maxInFlight?: number | undefined
  /**
   * Rows of a request, and how often each comes: `{ 1: 8, 4: 2 }` has four rows in two of ten requests. Default: one
   * row; a model whose dimension 0 is fixed has as many as that.
   */
  readonly rows?: Readonly<Record<number, number>> | undefined
  /** The same for the priority of a request; default: no request has one. It needs `batching.priorities`. */
  readonly priorities?: Readonly<Record<number, number>> | undefined
  /** {@link InferOptions.queueTimeoutMs} of each request; default: that of the engine. */
  readonly queueTimeoutMs?: number | undefined
  /**
   * Shapes of inputs that the model leaves open, by name; dimension 0 is that of `rows`. Default: the profile's best.
   */
  readonly shapes?: Readonly<Record<string, readonly number[]>> | undefined
  /** Another seed gives other arrivals; default 1. The same seed gives the same at each run. */
  readonly seed?: number | undefined
  /** Which percentiles are told; default 50, 95 and 99. */
  readonly percentiles?: readonly number[] | undefined
  /** Ends the test: it is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called about ten times a second. What it throws ends the test. */
  readonly onProgress?: ((progress: LoadTestProgress) => void) | undefined
}

/** What {@link LoadTestOptions.onProgress} is called with. */
export interface LoadTestProgress {
  /** What the test is doing; `capacity`: the closed loop that finds rates. */
  readonly phase: 'warm-up' | 'capacity' | 'load'
  /** The rate that is measured, in the phase `load`. */
  readonly rate?: number | undefined
  /** How long this phase has run, in milliseconds; in the phase `load` it begins again with each rate. */
  readonly elapsedMs: number
  /** How long it takes, in milliseconds, without the requests that are under way at its end. */
  readonly totalMs: number
}

/** The requests of one priority at one rate. */
export interface LoadPriority {
  /** The level; 1 is served first. */
  readonly priority: number
  /** How many of them were sent. */
  readonly requests: number
  /** How many did not give a result. */
  readonly failed: number
  /** As {@link LoadPoint.latency}. */
  readonly latency?: Summary | undefined
}

/** What was measured at one rate. */
export interface LoadPoint {
  /** Requests a second, as it was asked for. */
  readonly rate: number
  /** Requests a second, as they were drawn: by chance more or fewer than `rate`. */
  readonly offered: number
  /** How many requests were sent. */
  readonly requests: number
  /** How many gave a result. */
  readonly completed: number
  /**
   * Results a second: of the time from the start to the end of the schedule, or to the last result if that is later.
   */
  readonly achieved: number
  /** Rows of those results a second. */
  readonly rowsPerSecond: number
  /** How many batches the engine ran meanwhile. */
  readonly executions: number
  /** Rows of the results by `executions`; 0 where there are none. */
  readonly meanBatch: number
  /**
   * From when a request was due by the schedule to its result, in milliseconds: a request that was sent late, since the
   * event loop was busy, has waited that long, too. Of requests that gave a result; absent where none did.
   */
  readonly latency?: Summary | undefined
  /** The same by priority, the first level first; empty where requests have none. */
  readonly priorities: readonly LoadPriority[]
  /** Requests that were rejected, by code, as in `{ ERR_TRT_QUEUE_FULL: 12 }`. */
  readonly failures: Readonly<Record<string, number>>
  /** Requests that were given up since they took longer than the schedule and `graceMs`. */
  readonly unfinished: number
  /** Requests of the schedule that were never sent, since the rate was given up before. */
  readonly unsent: number
  /** Requests that were sent more than a millisecond after they were due. */
  readonly late: {
    /** How many there were. */
    readonly requests: number
    /** How late the latest of all requests was, in milliseconds. */
    readonly maxMs: number
  }
  /**
   * The engine takes less than this rate: requests were refused (ERR_TRT_QUEUE_FULL), unfinished or never sent, more
   * than one in ten failed, or the last result came after the end of the schedule by more than 3 % of its duration and
   * four lone requests. Latencies then tell how long it was overloaded, and not how fast the engine is.
   */
  readonly overloaded: boolean
}

/** What an engine's requests wait for at several rates. Plain data, frozen. */
export interface LoadTest {
  /** What this is. */
  readonly kind: 'load-test'
  /** The library and the device that ran the model. */
  readonly runtime: string
  /** What ran the model. */
  readonly backend: 'tensorrt' | 'cpu'
  /** What it was measured with. */
  readonly settings: {
    /** {@link LoadTestOptions.durationMs} */
    readonly durationMs: number
    /** {@link LoadTestOptions.warmUpMs} */
    readonly warmUpMs: number
    /** {@link LoadTestOptions.graceMs} */
    readonly graceMs: number
    /** {@link LoadTestOptions.maxInFlight} */
    readonly maxInFlight: number
    /** {@link LoadTestOptions.seed} */
    readonly seed: number
    /** {@link LoadTestOptions.rows} */
    readonly rows: Readonly<Record<number, number>>
    /** {@link LoadTestOptions.priorities} */
    readonly priorities?: Readonly<Record<number, number>> | undefined
    /** {@link LoadTestOptions.queueTimeoutMs} */
    readonly queueTimeoutMs?: number | undefined
    /** The shapes of inputs, of a request with the fewest rows. */
    readonly shapes: Readonly<Record<string, readonly number[]>>
  }
  /** What a request that is alone takes, in milliseconds: the median of the warm-up. */
  readonly aloneMs: number
  /** Requests a second of the closed loop that rates were made from; absent where they were given. */
  readonly capacity?: number | undefined
  /** What was measured, the lowest rate first. The first rate that is too much is the last one. */
  readonly points: readonly LoadPoint[]
  /** Rates that were asked for and not measured, since a lower one is too much. */
  readonly skipped: readonly number[]
}
