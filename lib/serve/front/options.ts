// What front-ends have in common.
import type { Budget } from './budget.js'
import type { FaultKind } from '../faults.js'
import type { ModelControl, Servable } from '../models/servable.js'
import type { RestrictedCategory, Statistics } from '../public-types.js'

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
export interface HeaderRule {
  /** In small letters. */
  readonly header: string
  readonly value: string
}

/** What a front-end tells of a request for an inference once it is over. */
export interface InferRecord {
  /** As the client has it; the version is the one that answered, where the request came so far. */
  readonly model: string
  readonly version: string | undefined
  /** The status that was sent: of HTTP, where 499 is a client that had left, or of gRPC. */
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

/** What a server knows that its front-ends tell and ask. */
export interface FrontEndParts {
  readonly models: ModelControl
  /** Of the server, in its metadata. */
  readonly name: string
  readonly version: string
  /** What `/stats` says. */
  readonly statistics: (servables: readonly Servable[]) => Statistics
  readonly log?: ServeLog | undefined
  readonly counters?: FrontEndCounters | undefined
  /** Where metrics are, if there are any. */
  readonly metricsPort?: (() => number | undefined) | undefined
  /** Of all front-ends together. */
  readonly budget?: Budget | undefined
}

/** Where a server tells what it does: lines with fields. */
export interface ServeLog {
  info(fields: LogFields, text: string): void
  warn(fields: LogFields, text: string): void
  error(fields: LogFields, text: string): void
  /** Kept from `--log-verbose=LEVEL` on. */
  verbose(level: 1, fields: LogFields, text: string): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>
