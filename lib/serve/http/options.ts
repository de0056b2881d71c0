import type { ModelControl } from '../models/control.js'
import type { Servable } from '../models/servable.js'
import type { FaultKind } from '../faults.js'
import type { ServeLog } from './log.js'
import type { RestrictedCategory } from '../public-types.js'

export interface HttpLimits {
  /** Bytes of a body, after decompression. */
  readonly maxInputBytes: number
  /** Bytes of all requests and answers that are under way. */
  readonly maxInFlightBytes: number
  /** Milliseconds for the head of a request. */
  readonly headTimeoutMs: number
  /** Milliseconds for its body, after the head. */
  readonly bodyTimeoutMs: number
  /** Arrays within each other in JSON. */
  readonly jsonDepth: number
  /** Bytes of JSON from which on a worker reads and writes it. */
  readonly jsonWorkerBytes: number
}

export const defaultLimits: HttpLimits = {
  maxInputBytes: 64 * 2 ** 20,
  maxInFlightBytes: 2 ** 30,
  headTimeoutMs: 60_000,
  bodyTimeoutMs: 300_000,
  jsonDepth: 100,
  jsonWorkerBytes: 512 * 2 ** 10,
}

/** All of them. */
export const restrictedCategories: readonly RestrictedCategory[] = [
  'health',
  'metadata',
  'inference',
  'shared-memory',
  'model-config',
  'model-repository',
  'statistics',
  'trace',
  'logging',
]

/** A request has to have this header with this value. */
export interface Restriction {
  readonly header: string
  readonly value: string
}

/** What the front-end tells of a request for an inference once it is over. */
export interface InferRecord {
  /** As the client has it; the version is the one that answered, where the request came so far. */
  readonly model: string
  readonly version: string | undefined
  /** The status that was sent; 499 where the client had left. */
  readonly status: number
  /** What failed, if something did. */
  readonly fault: FaultKind | undefined
  /** It was given to the model, whose own counters have it. */
  readonly reachedModel: boolean
  /** The model gave a result, though it may have been no answer: NaN is not JSON, and a client may have left. */
  readonly hasResult: boolean
  /** Nanoseconds from its head until its answer was made. */
  readonly durationNs: number
  /** Bytes of its body, after decompression, and of its answer. */
  readonly bytesIn: number
  readonly bytesOut: number
}

/** What counts requests: called once for each, and does not throw. */
export interface FrontEndCounters {
  onInfer(record: InferRecord): void
}

export interface HttpOptions {
  readonly models: ModelControl
  readonly address: string
  /** 0: one that is free. */
  readonly port: number
  readonly limits?: Partial<HttpLimits> | undefined
  /** What `GET /v2` says. */
  readonly name: string
  readonly version: string
  /** JSON of `/config`. */
  readonly configJson: (servable: Servable) => unknown
  /** JSON of `/stats`. */
  readonly statistics: (servables: readonly Servable[]) => unknown
  readonly restricted?: ReadonlyMap<RestrictedCategory, Restriction> | undefined
  readonly log?: ServeLog | undefined
  readonly counters?: FrontEndCounters | undefined
}
