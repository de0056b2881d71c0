// A version of an ensemble: what answers requests by the models of its steps.
import { performance } from 'node:perf_hooks'
import type { EngineCounters } from '../../backend/backend.js'
import type { Cut } from '../../base/cancellation.js'
import { Turns } from '../../base/turns.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { tensorsOf } from '../config/tensors.js'
import { Fault, faultOf } from '../faults.js'
import { type EngineStep, isEngineStep, isOnDevice, type PlacedRequest, type PlacedTensor, reshaped } from '../models/engine-steps.js'
import { checkRequest, type CheckedRequest, hasRows, type RequestRules, type TensorRule } from '../models/request-checks.js'
import { rulesOf } from '../models/rules.js'
import type { EnsembleLinks, LoadedVersion, ServableRequest, ServableTensor, Slot, StepSource } from '../models/servable.js'
import { clientShape, modelShape } from '../models/shapes.js'
import { Visits } from '../models/visits.js'
import { readLabels } from '../repository/labels.js'
import type { ModelFolder } from '../repository/folder.js'
import { EnsembleCounts } from './counts.js'
import { checkEnds } from './ends.js'
import { findSteps } from './find.js'
import type { EnsembleGraph } from './graph.js'
import { type Plan, planOf } from './plan.js'
import { runSteps, shapeFor, type Given, type Steps } from './run.js'
import { runnersOf } from './steps.js'
import { PlacedValue, wireOf } from './values.js'

/** What stays of a version of an ensemble when another version takes the place of one of its steps. */
interface Parts {
  readonly version: string
  readonly config: ModelConfig
  readonly graph: EnsembleGraph
  /** Of the configuration's own files. */
  readonly labels: ReadonlyMap<string, readonly string[]>
  readonly counts: EnsembleCounts
  /** For each step; empty without a limit. */
  readonly gates: readonly Turns[]
}

export interface EnsembleOptions {
  readonly folder: ModelFolder
  readonly version: string
  /** It is completed. */
  readonly config: ModelConfig
  readonly graph: EnsembleGraph
}

/** Plans of requests for a part of the outputs that are kept. */
const mostPlans = 64

export class EnsembleModel implements LoadedVersion, EngineStep {
  readonly name: string
  readonly version: string
  readonly config: ModelConfig
  readonly inputs: ReadonlyMap<string, ServableTensor>
  readonly outputs: ReadonlyMap<string, ServableTensor>
  /** Of its engines, those of ensembles among its steps too. */
  readonly devices: readonly number[]
  readonly ensemble: EnsembleLinks
  readonly #parts: Parts
  readonly #models: readonly LoadedVersion[]
  readonly #steps: Steps<PlacedValue>
  readonly #rules: RequestRules
  readonly #visits: Visits
  readonly #plans = new Map<string, Plan>()
  /** Requests hold the versions of all steps, from the first that comes to the last that goes. */
  readonly #held: (() => void)[] = []

  /** @throws Fault (as a rejection) INVALID_ARG for steps that are not there, or do not fit */
  static async load({ folder, version, config, graph }: EnsembleOptions, source: StepSource): Promise<EnsembleModel> {
    const labels = await readLabels(folder, config)
    const gates = graph.mostInFlight === 0 ? [] : graph.steps.map(() => new Turns(graph.mostInFlight))
    return new EnsembleModel({ version, config, graph, labels, gates, counts: new EnsembleCounts() }, findSteps(graph, source))
  }

  private constructor(parts: Parts, models: readonly LoadedVersion[]) {
    const { config, graph, labels, version } = parts
    const configs = models.map((model) => model.config)
    checkEnds(graph, config, configs)
    this.name = graph.name
    this.version = version
    this.config = config
    this.#parts = parts
    this.#models = models
    const { inputs, outputs } = tensorsOf(config, withStepLabels(graph, models, labels))
    this.inputs = inputs
    this.outputs = outputs
    this.devices = [...new Set(models.flatMap((model) => (isEngineStep(model) ? model.devices : [])))]
    this.#rules = rulesOf(graph.name, config, inputs, outputs)
    this.#visits = new Visits(graph.name, version)
    this.#steps = { graph, runners: runnersOf(models), gates: parts.gates }
    this.ensemble = {
      graph,
      rebind: (source) => new EnsembleModel(parts, findSteps(graph, source)),
    }
  }

  get platform(): string {
    return this.config.platform
  }

  get lastInference(): number {
    return this.#parts.counts.lastInference
  }

  get inFlight(): number {
    return this.#visits.inFlight
  }

  counters(): EngineCounters {
    return this.#parts.counts.counters()
  }

  /** Memory of the engine that takes inputs of the ensemble, where there is one: an engine reads no memory of another's. */
  reserve(bytes: number): Slot {
    const { graph } = this.#parts
    const takers = graph.steps.filter(({ inputs }) => [...inputs.values()].some((tensor) => graph.inputs.includes(tensor)))
    const [model, ...others] = takers.map(({ index }) => this.#models[index] as LoadedVersion).filter(isEngineStep)
    return model !== undefined && others.length === 0 ? model.reserve(bytes) : { bytes: new Uint8Array(bytes), release: () => {} }
  }

  async infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]> {
    return (await this.inferPlaced({ ...request, keep: none }, cut)) as readonly WireTensor[] // none stays on a device
  }

  async inferPlaced(request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]> {
    const leave = this.#hold(this.#visits.inside())
    try {
      const checked = checkRequest(this.#rules, request)
      this.#parts.counts.lastInference = Date.now()
      return await this.#counted(checked, request, cut)
    } finally {
      leave()
    }
  }

  async #counted(checked: CheckedRequest<PlacedTensor>, request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]> {
    const { counts } = this.#parts
    const begun = performance.now()
    try {
      const answer = await this.#run(checked, request, cut)
      cut.throwIfHappened()
      counts.succeeded(checked.rows, Math.round((performance.now() - begun) * 1e6))
      return answer
    } catch (error) {
      counts.failed(error, cut.happened)
      throw cut.happened ? error : stepFault(this.name, error)
    }
  }

  async #run({ rows, inputs }: CheckedRequest<PlacedTensor>, request: PlacedRequest, cut: Cut): Promise<readonly PlacedTensor[]> {
    const { id, priority, timeoutUs, parameters, outputs = [], keep } = request
    const plan = this.#planOf(
      [...this.outputs.keys()].filter((name) => outputs.length === 0 || outputs.includes(name)),
      keep,
    )
    const batch = this.#rules.maxBatch > 0 ? rows : 0
    const values = new Map(inputs.map(({ rule, tensor }) => [rule.name, new PlacedValue(this.#inside(rule, tensor))]))
    const given = await runSteps(this.#steps, { id, priority, timeoutUs, parameters, plan, rows: batch, inputs: values }, cut)
    return this.#answer(given, keep)
  }

  /** With the shape that it has among the steps, and to be disposed by itself. */
  #inside(rule: TensorRule, tensor: PlacedTensor): PlacedTensor {
    const shape = modelShape(this.#rules, rule, tensor.shape)
    return isOnDevice(tensor) ? { ...tensor, shape, tensor: reshaped(tensor.tensor, tensor.tensor.shape) } : { ...tensor, shape }
  }

  async #answer(given: ReadonlyMap<string, Given<PlacedValue>>, keep: ReadonlySet<string>): Promise<readonly PlacedTensor[]> {
    const answers = [...given].map(async ([name, { value, rows }]): Promise<PlacedTensor> => {
      const shape = this.#clientShape(name, value.shape, rows)
      const { placed } = value
      if (keep.has(name) && isOnDevice(placed)) return { ...placed, name, shape }
      const wire = wireOf(value, name, shape)
      value.dispose()
      return wire
    })
    return Promise.all(answers)
  }

  #clientShape(name: string, shape: readonly number[], rows: number): readonly number[] {
    const rule = this.#rules.outputs.get(name) as TensorRule
    const own = shapeFor(shape, rows, { dims: rule.reshape ?? rule.dims, hasRows: hasRows(this.#rules, rule) })
    return clientShape(this.#rules, rule, own)
  }

  #planOf(wanted: readonly string[], keep: ReadonlySet<string>): Plan {
    const key = JSON.stringify([wanted, ...keep])
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const plan = planOf(this.#parts.graph, wanted, keep)
    if (this.#plans.size < mostPlans) this.#plans.set(key, plan)
    return plan
  }

  enter(): () => void {
    return this.#hold(this.#visits.enter())
  }

  /** @throws Fault UNAVAILABLE where a step is being closed */
  #hold(leave: () => void): () => void {
    const left = (): void => {
      leave()
      if (this.#visits.inFlight === 0) for (const leaveStep of this.#held.splice(0)) leaveStep()
    }
    if (this.#held.length > 0) return left
    try {
      for (const model of this.#models) this.#held.push(model.enter())
    } catch (error) {
      left()
      throw error
    }
    return left
  }

  close(): Promise<void> {
    return this.#visits.end()
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
  for (const [tensor, found] of given) if (found !== undefined && outputs.includes(tensor) && !labels.has(tensor)) labels.set(tensor, found)
  return labels
}

/** As Triton has it, so that whoever reads it knows whom it is from. */
function stepFault(ensemble: string, error: unknown): Fault {
  const { kind, message } = faultOf(error)
  return new Fault(kind, `in ensemble '${ensemble}', ${message}`, error)
}
