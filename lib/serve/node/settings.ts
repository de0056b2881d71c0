// What models in JavaScript are loaded with, beside what all models are.
import type { ModelSettings } from '../models/settings.js'

export interface NodeSettings {
  /** Milliseconds that requests, and then unload(), have when a version is closed; default 30,000. */
  readonly exitTimeoutMs?: number | undefined
  /** A line that the module of an instance has written; unless given, {@link ModelSettings.onWarning} is told. */
  readonly onOutput?: OnOutput | undefined
  /** The version answers no more requests, and why. */
  readonly onFailure?: ((reason: string) => void) | undefined
}

export type OnOutput = (line: string, stream: 'stdout' | 'stderr', instance: number) => void

export type NodeModelSettings = ModelSettings & NodeSettings

export const defaultExitTimeoutMs = 30_000
