// A version of an ensemble: what answers requests by the models of its steps.
import { performance } from 'node:perf_hooks'
import type { Cut } from '../../base/cancellation.js'
import { Turns } from '../../base/turns.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { TensorRTError } from '../../errors.js'
import {
  type EngineStep,
  isEngineStep,
  isOnDevice,
  type PlacedRequest,
  type PlacedTensor,
} from '../models/engine-steps.js'
import { type CheckedRequest, checkRequest } from '../models/request-checks.js'
import type { EnsembleLinks, LoadedVersion, ServableRequest, Slot, StepSource } from '../models/servable.js'
import { defaultExitTimeoutMs, type ModelSettings } from '../models/settings.js'
import { readLabels } from '../repository/labels.js'
import type { ModelFolder } from '../repository/folder.js'
import { EnsembleCore, failureKind, stepFault } from './core.js'
import { RunCounts, wholeRun } from '../models/counters.js'
import { checkEnds } from './ends.js'
import { findSteps } from './find.js'
import type { EnsembleGraph } from './graph.js'
import type { StepRunner } from './run.js'
import { runnersOf } from './steps.js'
import { EnsembleThreads } from './threads/ensemble-threads.js'
import { type ThreadPlan, threadPlanOf } from './threads/thread-plan.js'
import { PlacedValue, wireOf } from './values.js'
import { CountedModel } from '../models/loaded-model.js'
import type { Fault } from '../faults.js'

/** What stays of a version of an ensemble when another version takes the place of one of its steps. */
interface Parts {
  readonly version: string
  readonly config: ModelConfig
  readonly graph: EnsembleGraph
  /** Of the configuration's own files. */
  readonly labels: ReadonlyMap<string, readonly string[]>
  readonly counts: RunCounts
  /** For each step; empty without a limit. */
  readonly gates: readonly Turns[]
  readonly copies: Copies
  readonly settings: EnsembleSettings
  /** Those that are ready for requests, each with other steps. */
  readonly prepared: Set<EnsembleModel>
}

/** What was copied on the host between steps. */
interface Copies {
  tensors: number
  bytes: number
}

/** What threads are started with. */
export type EnsembleSettings = Omit<ModelSettings, 'autoComplete' | 'engine'>

export interface EnsembleOptions {
  readonly folder: ModelFolder
  readonly version: string
  /** It is completed. */
  readonly config: ModelConfig
  readonly graph: EnsembleGraph
  readonly settings?: EnsembleSettings | undefined
}

export class EnsembleModel extends CountedModel implements EngineStep {
  /** Of its engines, those of ensembles among its steps too. */
  readonly devices: readonly number[]
  readonly ensemble: EnsembleLinks
  readonly #parts: Parts
  /** Of each step. */
  readonly models: readonly LoadedVersion[]
  readonly #core: EnsembleCore
  readonly #runners: readonly StepRunner<PlacedValue>[]
  #threads: EnsembleThreads | undefined
  /** Requests hold the versions of all steps, from the first that comes to the last that goes. */
  readonly #held: (() => void)[] = []

  /** @throws Fault (as a rejection) INVALID_ARG for steps that are not there, or do not fit */
  static async load(
    { folder, version, config, graph, settings = {} }: EnsembleOptions,
    source: StepSource,
  ): Promise<EnsembleModel> {
    const labels = await readLabels(folder, config)
    const gates = graph.mostInFlight === 0 ? [] : graph.steps.map(() => new Turns(graph.mostInFlight))
    const parts = {
      version,
      config,
      graph,
      labels,
      gates,
      settings,
      counts: new RunCounts(),
      copies: { tensors: 0, bytes: 0 },
    }
    return new EnsembleModel({ ...parts, prepared: new Set() }, findSteps(graph, source))
  }

  private constructor(parts: Parts, models: readonly LoadedVersion[]) {
    const { config, graph, labels, version } = parts
    const configs = models.map((model) => model.config)
    checkEnds(graph, config, configs)
    super(graph.name, version, config, withStepLabels(graph, models, labels), parts.counts)
    this.#parts = parts
    this.models = models
    this.devices = [...new Set(models.flatMap((model) => (isEngineStep(model) ? model.devices : [])))]
    this.#core = new EnsembleCore(graph, this.rules, parts.gates)
    this.#runners = runnersOf(models)
    this.ensemble = {
      graph,
      rebind: (source) => this.#rebound(findSteps(graph, source)),
      isPrepared: () => parts.prepared.has(this),
      prepare: (signal) => this.#prepare(signal),
    }
  }

  /** The one with these steps that is there already, or another one. */
  #rebound(models: readonly LoadedVersion[]): EnsembleModel {
    const isOf = (known: EnsembleModel): boolean => known.models.every((model, i) => model === models[i])
    return [this, ...this.#parts.prepared].find(isOf) ?? new EnsembleModel(this.#parts, models)
  }

  /** With modules among its steps it has threads of its own, as far as engines can be shared. */
  async #prepare(signal: AbortSignal): Promise<void> {
    const { prepared, settings, copies } = this.#parts
    const plan = threadPlanOf(this)
    if (plan !== undefined && this.#threads === undefined && this.#canShare(plan))
      this.#threads = await EnsembleThreads.start(
        plan,
        {
          ...settings,
          model: this.name,
          onWarning: (text, at) => settings.onWarning?.(text, at),
          onCopies: (tensors, bytes) => {
            copies.tensors += tensors
            copies.bytes += bytes
          },
        },
        signal,
      )
    prepared.add(this)
  }

  #canShare(plan: ThreadPlan): boolean {
    try {
      plan.start(0)
      return true
    } catch (error) {
      if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_UNSUPPORTED') throw error
      this.#parts.settings.onWarning?.(
        `the steps of ensemble '${this.name}' run in the threads of their models, and what goes from one to the next is copied: ${error.message}`,
      )
      return false
    }
  }

  get graph(): EnsembleGraph {
    return this.#parts.graph
  }

  /** Tensors that were copied on the host between steps, where it has threads. */
  get copies(): Readonly<Copies> {
    return this.#parts.copies
  }

  /** Requests that wait for a thread. */
  get pending(): number {
    return this.#threads?.pending ?? 0
  }

  protected override get broken(): Fault | undefined {
    return this.#threads?.failure
  }

  /**
   * Memory of the engine that takes inputs of the ensemble, where there is one: an engine reads no memory of another's.
   */
  reserve(bytes: number): Slot {
    if (this.#threads !== undefined) return this.#threads.reserve(bytes)
    const { graph } = this.#parts
    const takers = graph.steps.filter(({ inputs }) =>
      [...inputs.values()].some((tensor) => graph.inputs.includes(tensor)),
    )
    const [model, ...others] = takers.map(({ index }) => this.models[index] as LoadedVersion).filter(isEngineStep)
    return model !== undefined && others.length === 0
      ? model.reserve(bytes)
      : { bytes: new Uint8Array(bytes), release: () => {} }
  }

  async infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]> {
    return (await this.inferPlaced({ ...request, keep: none }, cut)) as readonly WireTensor[] // none stays on a device
  }

  async inferPlaced(request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]> {
    this.refuseBroken()
    const leave = this.#hold(this.visits.inside())
    try {
      const checked = checkRequest(this.rules, request)
      this.counts.lastInference = Date.now()
      return await this.#counted(checked, request, cut)
    } finally {
      leave()
    }
  }

  async #counted(
    checked: CheckedRequest<PlacedTensor>,
    request: PlacedRequest,
    cut: Cut,
  ): Promise<readonly PlacedTensor[]> {
    const begun = performance.now()
    try {
      const answer = await this.#run(checked, request, cut)
      cut.throwIfHappened()
      this.counts.ran(wholeRun(checked.rows, performance.now() - begun))
      return answer
    } catch (error) {
      this.counts.failed(failureKind(error, cut.happened))
      throw cut.happened ? error : stepFault(this.name, error)
    }
  }

  async #run(
    checked: CheckedRequest<PlacedTensor>,
    request: PlacedRequest,
    cut: Cut,
  ): Promise<readonly PlacedTensor[]> {
    if (this.#threads === undefined) return this.#core.run(this.#runners, checked, request, cut)
    const { id, priority, timeoutUs, parameters, outputs = [] } = request
    const inputs = await onHost(request.inputs)
    cut.throwIfHappened()
    return this.#threads.infer({ id, priority, timeoutUs, parameters, outputs, inputs }, cut)
  }

  override enter(): () => void {
    this.refuseBroken()
    return this.#hold(this.visits.enter())
  }

  /** @throws Fault UNAVAILABLE where a step is being closed */
  #hold(leave: () => void): () => void {
    const left = (): void => {
      leave()
      if (this.visits.inFlight === 0) for (const leaveStep of this.#held.splice(0)) leaveStep()
    }
    if (this.#held.length > 0) return left
    try {
      for (const model of this.models) this.#held.push(model.enter())
    } catch (error) {
      left()
      throw error
    }
    return left
  }

  /** Requests under way, and after them a thread that is still at work, have the same limit together. */
  protected async end(): Promise<void> {
    const { settings, prepared } = this.#parts
    if (this.#threads === undefined) await this.visits.end()
    else await this.#threads.end(await this.endVisits(settings.exitTimeoutMs ?? defaultExitTimeoutMs))
    prepared.delete(this)
  }
}

const none: ReadonlySet<string> = new Set()

/** Where the ensemble has no labels of an output, those of the step that gives it. */
function withStepLabels(
  { outputs, steps }: EnsembleGraph,
  models: readonly LoadedVersion[],
  own: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly string[]> {
  const given = steps.flatMap((step) =>
    [...step.outputs].map(([output, tensor]) => [tensor, models[step.index]?.outputs.get(output)?.labels] as const),
  )
  const labels = new Map(own)
  for (const [tensor, found] of given)
    if (found !== undefined && outputs.includes(tensor) && !labels.has(tensor)) labels.set(tensor, found)
  return labels
}

async function onHost(inputs: readonly PlacedTensor[]): Promise<readonly WireTensor[]> {
  return Promise.all(
    inputs.map(async (tensor) =>
      isOnDevice(tensor) ? wireOf(new PlacedValue(tensor), tensor.name, tensor.shape) : tensor,
    ),
  )
}
