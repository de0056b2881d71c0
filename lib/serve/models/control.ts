// What front-ends ask of whoever loads and replaces models.
import type { Snapshot } from './servable.js'
import type { IndexEntry, LoadParameters } from '../public-types.js'

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
  /**
   * Fulfilled when no new request is given to it; the engines close after the last one. @throws Fault (as a rejection)
   */
  unload(name: string, unloadDependents: boolean): Promise<void>
}
