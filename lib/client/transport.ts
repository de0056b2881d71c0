// What a protocol does for a client; all that is checked and counted is above it.
import type { Cut } from '../base/cancellation.js'
import type { Subject } from './errors.js'
import type { RawAnswer } from './outputs.js'
import type { IndexEntry, ModelConfig, ModelMetadata, ModelStatistics, ServerMetadata } from './public-types.js'
import type { InferRequest } from './request.js'
import type { Headers } from './settings.js'

/** One try of a call. */
export interface Call extends Subject {
  /** Of the model; empty: the server chooses. */
  readonly version?: string | undefined
  /** Beside those of the client. */
  readonly headers: Headers
  /** Nobody waits for it any more; undefined where that cannot be. */
  readonly cut: Cut | undefined
  /** When it is too late, as Date.now() has it. */
  readonly deadline: number | undefined
  /** What the caller gave it. */
  readonly timeoutMs: number | undefined
}

export interface LoadRequest {
  /** JSON. */
  readonly config: string | undefined
  readonly files: readonly (readonly [path: string, bytes: Uint8Array])[]
}

/** What a server, or a model of it, is asked by a call that has nothing beside what it is about. */
export interface Answers {
  readonly isLive: boolean
  readonly isReady: boolean
  readonly isModelReady: boolean
  readonly serverMetadata: ServerMetadata
  readonly modelMetadata: ModelMetadata
  readonly modelConfig: ModelConfig
  /** Of all models where the call is about none. */
  readonly statistics: readonly ModelStatistics[]
}

export type Asking = { readonly [Name in keyof Answers]: (call: Call) => Promise<Answers[Name]> }

/** All reject with TensorRTErrors. */
export interface Transport extends Asking {
  /** For messages. */
  readonly url: string
  infer(request: InferRequest, call: Call, isJson: boolean): Promise<RawAnswer>
  repositoryIndex(ready: boolean, call: Call): Promise<readonly IndexEntry[]>
  load(model: string, request: LoadRequest, call: Call): Promise<void>
  unload(model: string, dependents: boolean, call: Call): Promise<void>
  /** Nothing is under way any more. */
  close(): Promise<void>
}
