import type { FrontEndParts, HeaderRule } from '../front/options.js'
import type { Servable } from '../models/servable.js'
import type { RestrictedCategory } from '../public-types.js'
import type { Budget } from '../front/budget.js'
import type { Heads } from './heads.js'
import type { JsonWorker } from './json-worker.js'

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

export interface HttpOptions extends FrontEndParts {
  readonly address: string
  /** 0: one that is free. */
  readonly port: number
  readonly limits?: Partial<HttpLimits> | undefined
  /** JSON of `/config`. */
  readonly configJson: (servable: Servable) => unknown
  readonly restricted?: ReadonlyMap<RestrictedCategory, HeaderRule> | undefined
}

/** What all requests share. */
export interface FrontEnd {
  readonly options: HttpOptions
  readonly limits: HttpLimits
  readonly budget: Budget
  readonly worker: JsonWorker
  readonly heads: Heads
  /** No new work is taken; connections end with their next answer. */
  readonly isStopping: boolean
  /** A request is under way until what it gives is called. */
  begin(): () => void
  /** As UnderWay has it. */
  readTogether(): Promise<void> | undefined
}
