// A request to an ensemble, in whatever thread its steps run: shapes from clients to steps and back, and the plan of
// what runs.
import type { Cut } from '../../base/cancellation.js'
import type { Turns } from '../../base/turns.js'
import { isError } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'
import { Fault, faultOf } from '../faults.js'
import type { FailureKind } from '../models/counters.js'
import { isOnDevice, type PlacedRequest, type PlacedTensor, reshaped } from '../models/engine-steps.js'
import {
  type CheckedRequest,
  clientShape,
  hasRows,
  modelShape,
  type RequestRules,
  type TensorRule,
} from '../models/request-checks.js'
import type { EnsembleGraph } from './graph.js'
import { type Plan, planOf } from './plan.js'
import { type Given, runSteps, shapeFor, type StepRunner } from './run.js'
import { PlacedValue, wireOf } from './values.js'

/** Plans of requests for a part of the outputs that are kept. */
const mostPlans = 64

export class EnsembleCore {
  readonly graph: EnsembleGraph
  readonly rules: RequestRules
  readonly #gates: readonly Turns[]
  readonly #plans = new Map<string, Plan>()

  /** @param gates for each step; empty without a limit */
  constructor(graph: EnsembleGraph, rules: RequestRules, gates: readonly Turns[]) {
    this.graph = graph
    this.rules = rules
    this.#gates = gates
  }

  /**
   * @throws (as a rejection) what a step was rejected with; the reason of the cut; Fault UNAVAILABLE once the time is
   * over
   */
  async run(
    runners: readonly StepRunner<PlacedValue>[],
    { rows, inputs }: CheckedRequest<PlacedTensor>,
    request: PlacedRequest,
    cut: Cut,
  ): Promise<readonly PlacedTensor[]> {
    const { graph, rules } = this
    const { id, priority, timeoutUs, parameters, outputs = [], keep } = request
    const plan = this.#planOf(
      [...rules.outputs.keys()].filter((name) => outputs.length === 0 || outputs.includes(name)),
      keep,
    )
    const batch = rules.maxBatch > 0 ? rows : 0
    const values = new Map(inputs.map(({ rule, tensor }) => [rule.name, new PlacedValue(this.#inside(rule, tensor))]))
    const steps = { graph, runners, gates: this.#gates }
    const given = await runSteps(steps, { id, priority, timeoutUs, parameters, plan, rows: batch, inputs: values }, cut)
    return this.#answer(given, keep)
  }

  /** With the shape that it has among the steps, and to be disposed by itself. */
  #inside(rule: TensorRule, tensor: PlacedTensor): PlacedTensor {
    const shape = modelShape(this.rules, rule, tensor.shape)
    return isOnDevice(tensor)
      ? { ...tensor, shape, tensor: reshaped(tensor.tensor, tensor.tensor.shape) }
      : { ...tensor, shape }
  }

  async #answer(
    given: ReadonlyMap<string, Given<PlacedValue>>,
    keep: ReadonlySet<string>,
  ): Promise<readonly PlacedTensor[]> {
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
    const { rules } = this
    const rule = rules.outputs.get(name) as TensorRule
    const own = shapeFor(shape, rows, { dims: rule.reshape ?? rule.dims, hasRows: hasRows(rules, rule) })
    return clientShape(rules, rule, own)
  }

  #planOf(wanted: readonly string[], keep: ReadonlySet<string>): Plan {
    const key = JSON.stringify([wanted, ...keep])
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const plan = planOf(this.graph, wanted, keep)
    if (this.#plans.size < mostPlans) this.#plans.set(key, plan)
    return plan
  }
}

/** As Triton has it, so that whoever reads it knows whom it is from. */
export function stepFault(ensemble: string, error: unknown): Fault {
  const { kind, message } = faultOf(error)
  return new Fault(kind, `in ensemble '${ensemble}', ${message}`, error)
}

/** By what a step's queue refused it with, however deep. */
export function failureKind(error: unknown, wasCut: boolean): FailureKind {
  if (wasCut) return 'cancelledRunning'
  for (let at = error; isError(at); at = at.cause) {
    if (at instanceof TensorRTError && at.code === 'ERR_TRT_QUEUE_FULL') return 'rejected'
    if (at instanceof TensorRTError && at.code === 'ERR_TRT_QUEUE_TIMEOUT') return 'queueTimeout'
    if (at.message.endsWith('Exceeds maximum queue size')) return 'rejected'
    if (at.message.endsWith('Request timeout expired')) return 'queueTimeout'
  }
  return faultOf(error).kind === 'INVALID_ARG' ? 'invalid' : 'failed'
}
