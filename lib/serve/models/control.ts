// What front-ends ask of whoever loads and replaces models.
import type { Snapshot } from './servable.js'

/** Triton's states of a version in the index of a repository. */
export type ModelState = 'READY' | 'LOADING' | 'UNLOADING' | 'UNAVAILABLE'

/** A version of a model as the index has it; a model that was never loaded has a name alone. */
export interface IndexEntry {
  /** Of the model. */
  readonly name: string
  /** The name of the version's folder. */
  readonly version?: string | undefined
  /** Whether it answers requests. */
  readonly state?: ModelState | undefined
  /** Why it is not ready; empty where there is nothing to say. */
  readonly reason?: string | undefined
}

/** Parameters of a load, as KServe's model repository extension has them. */
export interface LoadParameters {
  /** JSON of a config, in place of the file's. */
  readonly config?: string | undefined
  /** By path below the model's folder, such as `1/model.onnx`. */
  readonly files?: ReadonlyMap<string, Uint8Array> | undefined
}

export interface ModelControl {
  /** As it is now: whoever begins a request takes it once. */
  readonly snapshot: Snapshot
  readonly mode: 'none' | 'poll' | 'explicit'
  /** Every model that should be ready is, and nothing is being shut down. */
  isReady(): boolean
  index(onlyReady: boolean): readonly IndexEntry[]
  /** Looks at the repositories again, so that index() knows what has come and gone; to be awaited before it. */
  refresh?(): Promise<void>
  /** @throws Fault (as a rejection) with what the index has as its reason; the version that was at work goes on */
  load(name: string, parameters?: LoadParameters): Promise<void>
  /** Fulfilled when no new request is given to it; the engines close after the last one. @throws Fault (as a rejection) */
  unload(name: string, unloadDependents: boolean): Promise<void>
}
