// A load of a model: all versions that its configuration chooses, or none.
import { runtimeOf } from '../config/backends.js'
import { isEnsemble } from '../config/ensemble.js'
import { checkFields } from '../config/fields.js'
import { EnsembleModel } from '../ensembles/ensemble-model.js'
import { type EnsembleGraph, ensembleGraph, modelsOf } from '../ensembles/graph.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { readConfigJson } from '../config/read.js'
import { Fault, faultOf, invalid, placeOf } from '../faults.js'
import { prepareConfig, readModelConfig } from '../repository/scan.js'
import { refuseOtherModule } from '../node/overrides.js'
import type { LoadVersion, ModelsSettings, OnOutput } from './settings.js'
import { chosenVersions, type ModelFolder, withoutPath } from '../repository/folder.js'
import type { Generation, ModelEntry } from './entry.js'
import type { LoadedVersion, StepSource } from './servable.js'
import type { Turns } from '../../base/turns.js'

/** What a load is of. */
export interface LoadSource {
  readonly folder: ModelFolder
  /** JSON in place of the folder's configuration. */
  readonly config: string | undefined
  /** The folder goes with the model. */
  readonly remove?: (() => Promise<void>) | undefined
}

export interface LoadContext {
  readonly settings: ModelsSettings
  readonly load: LoadVersion
  readonly turns: Turns
  readonly signal: AbortSignal
  /** A version of a model that was loaded answers no more requests: its `failure` says why. */
  readonly onBroken: (model: string, version: string, reason: string) => void
}

/** One load, and all that it leads to. */
export class LoadTask {
  /** Models that are loaded anew in it, whatever becomes of that. */
  readonly tried: Set<string>
  /** Those that were. */
  readonly loaded: string[] = []

  constructor(tried: readonly string[] = []) {
    this.tried = new Set(tried)
  }
}

/** What the load of an ensemble asks of whoever loads other models. */
export interface Steps {
  /**
   * Fulfilled when the models of its steps are loaded, as far as that is the ensemble's matter. @throws Fault (as a
   * rejection) naming the step
   */
  ensure(entry: ModelEntry, graph: EnsembleGraph): Promise<void>
  readonly source: StepSource
}

/** Why a model is not loaded: for the client, and for the log. */
export class LoadFault extends Fault {
  /** For the index. */
  readonly reason: string
  /** With paths of this machine, which clients do not see. */
  readonly withPaths: string

  constructor(name: string, reason: string, withPaths: string, cause?: unknown) {
    const whole = (text: string): string => `load failed for model '${name}': ${text}\n`
    super('INVALID_ARG', whole(reason), cause)
    this.reason = reason
    this.withPaths = whole(withPaths)
  }
}

/**
 * Loads and warms what is to take the place of a model, which `take` puts there at once, or refuses.
 * @throws LoadFault (as a rejection) with the reason, which the entry has, too; nothing of the load is left
 */
export async function loadGeneration(
  entry: ModelEntry,
  source: LoadSource,
  context: LoadContext,
  steps: Steps,
  take: (generation: Generation) => Promise<void>,
): Promise<void> {
  const { folder, config, remove } = source
  try {
    const versions = await loadVersions(entry, source, context, steps)
    const isOverridden = config !== undefined || remove !== undefined
    const dispose = async (): Promise<void> => remove?.()
    await orClosed(versions, () =>
      take({ versions, fingerprint: isOverridden ? undefined : folder.fingerprint, dispose }),
    )
  } catch (error) {
    await remove?.()
    const reason = reasonOf(error)
    const told = (text: string): string => withoutPath(folder, text)
    const byVersion = error instanceof VersionsFailed ? [...error.reasons] : []
    entry.failed(told(reason), new Map(byVersion.map(([version, text]) => [version, told(text)])))
    throw new LoadFault(entry.name, told(reason), reason, error)
  }
}

async function orClosed(versions: readonly LoadedVersion[], take: () => Promise<void>): Promise<void> {
  try {
    await take()
  } catch (error) {
    await Promise.all(versions.map((version) => version.close()))
    throw error
  }
}

async function loadVersions(
  entry: ModelEntry,
  source: LoadSource,
  context: LoadContext,
  steps: Steps,
): Promise<readonly LoadedVersion[]> {
  const { settings } = context
  const { folder } = source
  const config = await configOf(source, settings.autoComplete)
  for (const text of checkFields(config)) settings.onEvent({ what: 'warning', model: entry.name, text })
  const versions = chosenVersions(config, folder.versions)
  if (versions.length === 0)
    throw invalid(`at least one version must be available under the version policy of model '${entry.name}'`)
  entry.needs = []
  entry.override = source.config
  entry.loading(versions)
  if (isEnsemble(config)) return loadEnsemble(entry, folder, versions, config, context, steps)
  const loads = await Promise.allSettled(versions.map((version) => loadVersion(folder, version, config, context)))
  const loaded = loads.filter((load) => load.status === 'fulfilled').map(({ value }) => value)
  if (loaded.length === versions.length) return loaded
  await Promise.all(loaded.map((version) => version.close()))
  throw new VersionsFailed(reasonsOf(versions, loads), loads.find((load) => load.status === 'rejected')?.reason)
}

/** All versions of an ensemble have one configuration: what is wrong with one is wrong with all. */
async function loadEnsemble(
  entry: ModelEntry,
  folder: ModelFolder,
  versions: readonly string[],
  config: ModelConfig,
  context: LoadContext,
  steps: Steps,
): Promise<readonly LoadedVersion[]> {
  const graph = ensembleGraph(config)
  entry.needs = modelsOf(graph)
  await steps.ensure(entry, graph)
  const { slotBytesKept, exitTimeoutMs } = context.settings
  const load = (version: string): Promise<EnsembleModel> => {
    const settings = { slotBytesKept, exitTimeoutMs, ...tellingOf(folder, version, context) }
    return EnsembleModel.load({ folder, version, config, graph, settings }, steps.source)
  }
  return Promise.all(versions.map(load))
}

/** @throws Fault, TensorRTError (as a rejection) */
async function configOf({ folder, config }: LoadSource, autoComplete: boolean): Promise<ModelConfig> {
  if (config === undefined) return readModelConfig(folder, { autoComplete })
  const given = readConfigJson(config)
  const prepared = await prepareConfig(folder, given)
  if (runtimeOf(prepared) === 'node')
    refuseOtherModule(given, prepared, await readModelConfig(folder, { autoComplete }))
  return prepared
}

/** Tries it as often as the settings say. */
async function loadVersion(
  folder: ModelFolder,
  version: string,
  config: ModelConfig,
  context: LoadContext,
): Promise<LoadedVersion> {
  const { settings, signal, turns } = context
  const { autoComplete, engine, slotBytesKept, exitTimeoutMs } = settings
  const telling = tellingOf(folder, version, context)
  const options = {
    folder,
    version,
    config,
    signal,
    settings: { autoComplete, engine, slotBytesKept, exitTimeoutMs, ...telling },
  }
  return turns.take(async () => {
    for (let left = settings.retries; ; left--) {
      signal.throwIfAborted()
      try {
        return await context.load(options)
      } catch (error) {
        if (left <= 0 || signal.aborted) throw error
        telling.onWarning(`failed to load, tried again: ${faultOf(error).message}`, placeOf(error))
      }
    }
  })
}

interface Telling {
  readonly onWarning: (text: string, at?: string) => void
  readonly onOutput: OnOutput
  /** The version answers no more requests. */
  readonly onFailure: (reason: string) => void
}

function tellingOf(
  { name: model }: ModelFolder,
  version: string,
  { settings: { onEvent }, onBroken }: LoadContext,
): Telling {
  return {
    onWarning: (text, at) => onEvent({ what: 'warning', model, version, text, at }),
    onOutput: (text, stream, instance) => onEvent({ what: 'output', model, version, text, stream, instance }),
    onFailure: (reason) => onBroken(model, version, reason),
  }
}

/** Why versions failed, by version. */
class VersionsFailed extends Error {
  readonly reasons: ReadonlyMap<string, string>

  /** @param cause what the first of them was rejected with */
  constructor(reasons: ReadonlyMap<string, string>, cause: unknown) {
    super([...reasons].map(([version, reason]) => `version ${version} is at UNAVAILABLE state: ${reason};`).join(''), {
      cause,
    })
    this.reasons = reasons
  }
}

function reasonsOf(
  versions: readonly string[],
  loads: readonly PromiseSettledResult<unknown>[],
): ReadonlyMap<string, string> {
  return new Map(
    versions.flatMap((version, i) => {
      const load = loads[i]
      return load?.status === 'rejected' ? [[version, faultOf(load.reason).message] as const] : []
    }),
  )
}

function reasonOf(error: unknown): string {
  return error instanceof VersionsFailed ? error.message : faultOf(error).message
}

/** For the message of a server that does not start. */
export function failureAtStart(fault: Fault): string {
  const { kind, message } = fault
  if (kind === 'NOT_FOUND') return `${message}: no model repository has a folder of this name`
  return (fault instanceof LoadFault ? fault.withPaths : message).trimEnd()
}
