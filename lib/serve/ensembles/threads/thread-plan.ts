// Whether an ensemble runs in threads of its own, and what these are started with: it does where a step, however deep,
// is a module.
import type { EngineFacts } from '../../models/engine-tensors.js'
import type { SharedEngine } from '../../models/engine-steps.js'
import type { RequestRules } from '../../models/request-checks.js'
import type { LoadedVersion } from '../../models/servable.js'
import type { CountedRun, FailureKind } from '../../models/counters.js'
import type { ModuleStart } from '../../node/module-start.js'
import type { PreparedModule } from '../../node/prepared.js'
import type { QueueLimits } from '../../node/queue.js'
import type { EnsembleGraph } from '../graph.js'
import type { CoreStart, EnsembleStart, ModelStart } from './messages.js'

/** A version whose runs in threads of ensembles are counted with its others. */
interface CountedVersion extends LoadedVersion {
  readonly rules: RequestRules
  addRun(run: CountedRun): void
  addFailure(kind: FailureKind): void
}

/** A version of a model in JavaScript, as threads of ensembles need it. */
export interface ModuleVersion extends CountedVersion {
  readonly prepared: PreparedModule
}

/** The same of a model of engines. */
export interface EngineVersion extends LoadedVersion {
  readonly facts: EngineFacts
  readonly devices: readonly number[]
  share(): readonly SharedEngine[]
  ranElsewhere(rows: number): void
}

/** The same of an ensemble. */
export interface EnsembleVersion extends CountedVersion {
  readonly graph: EnsembleGraph
  readonly devices: readonly number[]
  /** The model of each step. */
  readonly models: readonly LoadedVersion[]
}

export function isModule(model: LoadedVersion): model is ModuleVersion {
  return 'prepared' in model
}

export function isEngine(model: LoadedVersion): model is EngineVersion {
  return 'facts' in model
}

export function isEnsemble(model: LoadedVersion): model is EnsembleVersion {
  return 'graph' in model
}

export interface ThreadPlan {
  /** All that any step is of, once each; ensembles after the models of their steps. */
  readonly models: readonly LoadedVersion[]
  /** How many threads. */
  readonly count: number
  readonly maxMemoryMb: number | undefined
  /** How many requests a thread has at once. */
  readonly perThread: number
  /** How many requests may wait for a thread, and how long. */
  readonly limits: QueueLimits
  readonly modules: (instance: number) => readonly ModuleStart[]
  /** @throws TensorRTError ERR_TRT_CLOSED, ERR_TRT_UNSUPPORTED where engines cannot be shared */
  readonly start: (instance: number) => EnsembleStart
}

/** Nothing where no step is a module, or one is of a kind that no thread can run. */
export function threadPlanOf(ensemble: EnsembleVersion): ThreadPlan | undefined {
  const models = modelsOf(ensemble)
  const modules = models.filter(isModule)
  if (modules.length === 0 || !models.every((model) => isModule(model) || isEngine(model) || isEnsemble(model)))
    return undefined
  const limits = [ensemble, ...models.filter(isEnsemble)]
    .map(({ graph }) => graph.mostInFlight)
    .filter((most) => most > 0)
  const count = Math.min(Math.max(...modules.map(({ prepared }) => prepared.count)), ...limits)
  const megabytes = modules.map(({ prepared }) => prepared.maxMemoryMb).filter((limit) => limit !== undefined)
  const startOf = (instance: number) => ({
    models: models.map((model) => modelStart(model, models, instance, count)),
    root: coreStart(ensemble, models, instance, count),
  })
  return {
    models,
    count,
    maxMemoryMb: megabytes.length === 0 ? undefined : Math.max(...megabytes),
    perThread: perThread(models),
    limits: {
      maxQueue: Math.min(...modules.map(({ prepared }) => prepared.limits.maxQueue ?? Infinity)),
      queueTimeoutMs: queueTimeoutOf(ensemble),
      isDelayed: false,
      takesTimeout: false, // a thread is told what is left of it
    },
    modules: (instance) => modules.map(({ prepared }) => prepared.start(instance)),
    start: startOf,
  }
}

function modelsOf({ models }: EnsembleVersion, found = new Set<LoadedVersion>()): readonly LoadedVersion[] {
  for (const model of models) {
    if (isEnsemble(model)) modelsOf(model, found)
    found.add(model)
  }
  return [...found]
}

/**
 * What waits for a thread waits for the steps that the ensemble's inputs go to: the shortest limit of theirs that
 * rejects.
 */
function queueTimeoutOf({ graph, models }: EnsembleVersion): number | undefined {
  const first = graph.steps.filter(({ inputs }) =>
    [...inputs.values()].every((tensor) => graph.inputs.includes(tensor)),
  )
  const limits = first
    .map(({ index }) => models[index] as LoadedVersion)
    .map((model) => {
      if (isEnsemble(model)) return queueTimeoutOf(model)
      return isModule(model) && !model.prepared.limits.isDelayed ? model.prepared.limits.queueTimeoutMs : undefined
    })
  const known = limits.filter((limit) => limit !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

const fewest = 4
const most = 32

/**
 * As many as keep all steps busy: a batch in each of them. What is beyond waits in the server, where nothing ends it.
 */
function perThread(models: readonly LoadedVersion[]): number {
  const batches = models.filter((model) => !isEnsemble(model)).map(({ config }) => Math.max(2, config.maxBatchSize))
  return Math.min(most, Math.max(fewest, batches.reduce((sum, rows) => sum + rows, 0))) // prettier-ignore
}

function modelStart(
  model: LoadedVersion,
  models: readonly LoadedVersion[],
  instance: number,
  threads: number,
): ModelStart {
  if (isEngine(model)) return { kind: 'engine', facts: model.facts, engines: model.share() }
  if (isEnsemble(model))
    return { kind: 'ensemble', core: coreStart(model, models, instance, threads), devices: model.devices }
  const { rules, prepared } = model as ModuleVersion
  const { merging, limits } = prepared
  return { kind: 'module', module: models.filter(isModule).indexOf(model as ModuleVersion), rules, merging, limits }
}

/** Each thread has its part of the requests that may be inside of a step. */
function coreStart(
  ensemble: EnsembleVersion,
  models: readonly LoadedVersion[],
  instance: number,
  threads: number,
): CoreStart {
  const { graph, rules } = ensemble
  const rest = instance < graph.mostInFlight % threads ? 1 : 0
  return {
    graph,
    rules,
    models: ensemble.models.map((model) => models.indexOf(model)),
    mostInFlight: Math.floor(graph.mostInFlight / threads) + rest,
  }
}
