import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import type { ServeEngineOptions } from '../public-types.js'
import type { ModelFile, ModelFolder } from '../repository/folder.js'
import type { LoadedVersion } from './servable.js'

/** What a model is loaded with. */
export interface ModelSettings {
  /** Whether a configuration may leave out what its model tells. */
  readonly autoComplete: boolean
  readonly engine: ServeEngineOptions
  /** The most bytes of slots that a model keeps for requests to come; default 64 MiB. */
  readonly slotBytesKept?: number | undefined
  /** Told what is not as expected, and no failure; of the code of a model also where, as {@link Fault.at}. */
  readonly onWarning?: ((text: string, at?: string) => void) | undefined
  /** Milliseconds that requests, and then unload() of modules, have when a version is closed; default 30,000. */
  readonly exitTimeoutMs?: number | undefined
  /** A line that the module of an instance has written; unless there is one, `onWarning` is told. */
  readonly onOutput?: OnOutput | undefined
  /** The version answers no more requests, and why. */
  readonly onFailure?: ((reason: string) => void) | undefined
}

export type OnOutput = (line: string, stream: 'stdout' | 'stderr', instance: number) => void

export const defaultExitTimeoutMs = 30_000

/** What happened to a model: a line of the log each. */
export interface ModelEvent {
  readonly what: 'loading' | 'loaded' | 'failed' | 'broken' | 'unloading' | 'unloaded' | 'warning' | 'output'
  /** Its name; empty where it is about the repositories. */
  readonly model: string
  /** All versions unless given. */
  readonly version?: string | undefined
  /** Why it failed, or answers no more requests; what the warning is; the line that a module has written. */
  readonly text?: string | undefined
  /** Where the code of a model threw what the text is of: lines of its stack. */
  readonly at?: string | undefined
  /** Of `output`: which instance has written it, and where. */
  readonly instance?: number | undefined
  readonly stream?: 'stdout' | 'stderr' | undefined
  /** Of `loaded` and `failed`: how long it took, in milliseconds. */
  readonly durationMs?: number | undefined
}

/** Who loads models, and how. */
export interface ControlSettings {
  /** `none`: all models, once. `poll`: all, as their files change. `explicit`: those that are asked for. */
  readonly mode: 'none' | 'poll' | 'explicit'
  /** With `explicit`: the models to begin with; `['*']` are all. */
  readonly loadModels: readonly string[]
  /** Seconds from one look at the files to the next; 0: none but by poll(). */
  readonly pollSecs: number
  /** How often a load that failed is tried again. */
  readonly retries: number
  /** How many versions load at once. */
  readonly loadThreads: number
  readonly autoComplete: boolean
  /** Whether a model that should be ready and is not makes the server not ready. */
  readonly strictReadiness: boolean
  /** Whether start() fails when any model does. */
  readonly exitOnError: boolean
  /** Whether a load may bring files, which is code that it brings: a plan runs native code. */
  readonly allowFileOverride: boolean
}

/** What {@link Models} serves, and how. */
export interface ModelsSettings
  extends ControlSettings, Pick<ModelSettings, 'engine' | 'slotBytesKept' | 'exitTimeoutMs'> {
  /** The paths of repositories; with a model of the same name in two of them, neither is served. */
  readonly repositories: readonly string[]
  /** Models that are served from a file of their own; a name that a repository has, too, is not served. */
  readonly files?: readonly ModelFile[] | undefined
  readonly onEvent: (event: ModelEvent) => void
}

/** What a version of a model is opened with, whatever runs it. */
export interface LoadOptions {
  readonly folder: ModelFolder
  readonly version: string
  /** As it was given, with its backend and file. */
  readonly config: ModelConfig
  readonly settings: ModelSettings
  readonly signal: AbortSignal
}

/**
 * Opens a version, completes its configuration, and warms it up. @throws Fault, TensorRTError, or the reason of the
 * signal (as a rejection); nothing of it is left
 */
export type LoadVersion = (options: LoadOptions) => Promise<LoadedVersion>
