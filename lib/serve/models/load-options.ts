// What a version of a model is opened with, whatever runs it.
import type { VersionFiles } from './engines.js'
import type { LoadedVersion } from './servable.js'
import type { NodeModelSettings } from '../node/settings.js'

export interface LoadOptions extends VersionFiles {
  readonly settings: NodeModelSettings
  readonly signal: AbortSignal
}

/**
 * Opens a version, completes its configuration, and warms it up. @throws Fault, TensorRTError, or the reason of the
 * signal (as a rejection); nothing of it is left
 */
export type LoadVersion = (options: LoadOptions) => Promise<LoadedVersion>
