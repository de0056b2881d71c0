// The steps of an ensemble in a thread of its own: modules and engines that are there, tied to one request after the
// other.
import { performance } from 'node:perf_hooks'
import type { Cut } from '../../../base/cancellation.js'
import { Turns } from '../../../base/turns.js'
import type { EngineStep, PlacedRequest, PlacedTensor } from '../../models/engine-steps.js'
import { wholeRun } from '../../models/counters.js'
import { checkRequest, hasRows, type RequestRules } from '../../models/request-checks.js'
import type { SlotPool } from '../../models/slots.js'
import { EnsembleCore, failureKind, stepFault } from '../core.js'
import type { GraphStep } from '../graph.js'
import type { PlannedOutput } from '../plan.js'
import type { StepRunner } from '../run.js'
import { engineRunner, type StepInputs } from '../steps.js'
import type { PlacedValue } from '../values.js'
import type { AttachedEngines } from './attached-engines.js'
import type { CoreStart } from './messages.js'
import type { ModuleStep } from './module-step.js'
import type { Outbox } from './outbox.js'
import type { Place, RequestMemory } from './request-memory.js'

/** What a step is of, in this thread. */
export type WorkerModel =
  | { readonly kind: 'module'; readonly step: ModuleStep; readonly devices: readonly number[] }
  | { readonly kind: 'engine'; readonly engines: AttachedEngines; readonly devices: readonly number[] }
  | { readonly kind: 'ensemble'; readonly core: WorkerCore; readonly devices: readonly number[] }

export class WorkerCore {
  readonly rules: RequestRules
  readonly #core: EnsembleCore
  /** By the place of the step. */
  readonly #models: readonly WorkerModel[]
  readonly #inputs: readonly StepInputs[]
  readonly #devices: readonly (readonly number[])[]
  readonly #outbox: Outbox
  readonly #model: number

  /**
   * @param models of each step
   * @param model of this ensemble, where it is a step itself
   */
  constructor(
    { graph, rules, mostInFlight }: CoreStart,
    models: readonly WorkerModel[],
    model: number,
    outbox: Outbox,
  ) {
    this.rules = rules
    const gates = mostInFlight === 0 ? [] : graph.steps.map(() => new Turns(mostInFlight))
    this.#core = new EnsembleCore(graph, rules, gates)
    this.#models = models
    this.#inputs = models.map((each) => inputsOf(rulesOf(each)))
    this.#devices = models.map(({ devices }) => devices)
    this.#outbox = outbox
    this.#model = model
  }

  /** @throws (as a rejection) what a step was rejected with; the reason of the cut; Fault */
  async run(request: PlacedRequest, memory: RequestMemory, cut: Cut): Promise<readonly PlacedTensor[]> {
    const runners = this.#models.map((model, step) => this.#runner(model, step, memory))
    return this.#core.run(runners, checkRequest(this.rules, request), request, cut)
  }

  /** The same as a step of another one: it counts for itself. */
  async runAsStep(request: PlacedRequest, memory: RequestMemory, cut: Cut): Promise<readonly PlacedTensor[]> {
    const begun = performance.now()
    try {
      const { rows } = checkRequest(this.rules, request)
      const answer = await this.run(request, memory, cut)
      this.#outbox.ran(this.#model, wholeRun(rows, performance.now() - begun))
      return answer
    } catch (error) {
      this.#outbox.failed(this.#model, failureKind(error, cut.happened))
      throw cut.happened ? error : stepFault(this.rules.model, error)
    }
  }

  #runner(model: WorkerModel, step: number, memory: RequestMemory): StepRunner<PlacedValue> {
    const inputs = this.#inputs[step] as StepInputs
    if (model.kind === 'module')
      return {
        input: (name) => inputs.get(name),
        run: (request, cut) => {
          const places = new Map(request.outputs.map((output) => [output.name, this.#place(step, output)]))
          return memory.track(model.step.run(request, places, memory, cut))
        },
      }
    const engine: EngineStep = {
      devices: model.devices,
      inferPlaced: (request, cut) =>
        model.kind === 'engine'
          ? model.engines.infer(request, memory, cut)
          : model.core.runAsStep(request, memory, cut),
    }
    return engineRunner(inputs, engine, this.#devices)
  }

  #place(step: number, { name, tensor, takers, isWanted, isKept }: PlannedOutput): Place {
    const [taker, ...others] = takers
    const isAlone = taker !== undefined && others.length === 0 && !isWanted && !isKept
    return { output: `${this.rules.model}/${step}/${name}`, pool: isAlone ? this.#poolOf(taker, tensor) : undefined }
  }

  /** Memory of the engine that takes a tensor as one of its inputs, and as no other one. */
  #poolOf(taker: number, tensor: string): SlotPool | undefined {
    const model = this.#models[taker]
    const [input, ...others] = [...(this.#core.graph.steps[taker]?.inputs ?? [])].filter(([, from]) => from === tensor)
    if (input === undefined || others.length > 0) return undefined
    if (model?.kind === 'engine') return model.engines.pool
    return model?.kind === 'ensemble' ? model.core.#poolOfInput(input[0]) : undefined
  }

  /** The same of an input of this ensemble. */
  #poolOfInput(input: string): SlotPool | undefined {
    const takes = ({ inputs }: GraphStep): boolean => [...inputs.values()].includes(input)
    const [taker, ...others] = this.#core.graph.steps.filter(takes)
    return taker === undefined || others.length > 0 ? undefined : this.#poolOf(taker.index, input)
  }
}

function rulesOf(model: WorkerModel): RequestRules {
  if (model.kind === 'module') return model.step.rules
  return model.kind === 'engine' ? model.engines.rules : model.core.rules
}

function inputsOf(rules: RequestRules): StepInputs {
  return new Map([...rules.inputs].map(([name, rule]) => [name, { dims: rule.dims, hasRows: hasRows(rules, rule) }]))
}
