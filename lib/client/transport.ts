// What a protocol does for a client; all that is checked and counted is above it.
import type { Cut } from '../base/cancellation.js'
import type { Subject } from './errors.js'
import type { RawAnswer } from './outputs.js'
import type { IndexEntry, ModelConfig, ModelMetadata, ModelStatistics, ServerMetadata } from './public-types.js'
import type { InferRequest } from './request.js'
import type { Headers } from './settings.js'

/** One try of a call. */
export interface Call extends Subject {
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

/** Versions are empty where the server chooses. All reject with TensorRTErrors. */
export interface Transport {
  /** For messages. */
  readonly url: string
  infer(request: InferRequest, call: Call, isJson: boolean): Promise<RawAnswer>
  isLive(call: Call): Promise<boolean>
  isReady(call: Call): Promise<boolean>
  isModelReady(model: string, version: string, call: Call): Promise<boolean>
  serverMetadata(call: Call): Promise<ServerMetadata>
  modelMetadata(model: string, version: string, call: Call): Promise<ModelMetadata>
  modelConfig(model: string, version: string, call: Call): Promise<ModelConfig>
  statistics(model: string, version: string, call: Call): Promise<readonly ModelStatistics[]>
  repositoryIndex(ready: boolean, call: Call): Promise<readonly IndexEntry[]>
  load(model: string, request: LoadRequest, call: Call): Promise<void>
  unload(model: string, dependents: boolean, call: Call): Promise<void>
  /** Nothing is under way any more. */
  close(): Promise<void>
}
