// Runs the steps of an ensemble for one request, in whatever thread: each as soon as its inputs are there. What a step
// is, and where tensors are, its caller knows.
import { performance } from 'node:perf_hooks'
import { Fault } from '../faults.js'
import type { EnsembleGraph } from './graph.js'
import { stepText } from './step-text.js'
import type { Plan, PlannedOutput, PlannedStep } from './plan.js'
import { Cut } from '../../base/cancellation.js'
import type { Turns } from '../../base/turns.js'
import type { RequestFacts } from '../models/servable.js'

/** A tensor between steps, wherever it is. */
export interface StepValue {
  /** As clients of the model that gave it see it. */
  readonly shape: readonly number[]
  /** Nobody takes it any more. */
  dispose(): void
}

export interface StepInput<V extends StepValue> {
  /** The model's name. */
  readonly name: string
  readonly value: V
  /** As the model takes it: with rows or without. */
  readonly shape: readonly number[]
}

export interface StepRequest<V extends StepValue> extends RequestFacts {
  readonly inputs: readonly StepInput<V>[]
  readonly outputs: readonly PlannedOutput[]
}

/** The model of a step, as the executor sees it. */
export interface StepRunner<V extends StepValue> {
  /** Of an input: its dims as the configuration has them, and whether rows of a batch are before them. */
  input(name: string): { readonly dims: readonly number[]; readonly hasRows: boolean } | undefined
  /**
   * Inputs are taken when this returns: what it needs of them longer it holds itself. Values that it gives belong to
   * the caller.
   */
  run(request: StepRequest<V>, cut: Cut): Promise<ReadonlyMap<string, V>>
}

export interface EnsembleRequest<V extends StepValue> extends RequestFacts {
  readonly plan: Plan
  /** The ensemble's inputs, by name: the run disposes them. */
  readonly inputs: ReadonlyMap<string, V>
  /** Rows of the request; 0 where the ensemble has no batches. */
  readonly rows: number
}

export interface Steps<V extends StepValue> {
  readonly graph: EnsembleGraph
  /** By the place of the step in the configuration. */
  readonly runners: readonly StepRunner<V>[]
  /** For each step, where there is a limit: how many requests are inside of it at once. */
  readonly gates: readonly Turns[]
}

/** An answer, which belongs to the caller, and the rows of the step that gave it; 0 where that has no batches. */
export interface Given<V extends StepValue> {
  readonly value: V
  readonly rows: number
}

/**
 * Gives the outputs that the plan wants. The first failure, or the cut, is its rejection, at once: steps under way are
 * cut, and whatever they still give is disposed.
 * @throws (as a rejection) what a step was rejected with; the reason of the cut; Fault UNAVAILABLE once the time is
 * over
 */
export function runSteps<V extends StepValue>(
  steps: Steps<V>,
  request: EnsembleRequest<V>,
  cut: Cut,
): Promise<ReadonlyMap<string, Given<V>>> {
  return new Promise((resolve, reject) => {
    const run = new Run(steps, request, resolve, reject)
    cut.onCut(() => run.fail(cut.reason))
    run.begin()
  })
}

/** A tensor that someone still takes. */
interface Stored<V extends StepValue> extends Given<V> {
  left: number
}

/** What a step gave, and how many rows it had. */
interface Ran<V extends StepValue> {
  readonly values: ReadonlyMap<string, V>
  readonly rows: number
}

class Run<V extends StepValue> {
  readonly #steps: Steps<V>
  readonly #request: EnsembleRequest<V>
  readonly #resolve: (answers: ReadonlyMap<string, Given<V>>) => void
  readonly #reject: (reason: unknown) => void
  readonly #stored = new Map<string, Stored<V>>()
  /** How many tensors each step still waits for. */
  readonly #missing: number[]
  readonly #running = new Set<Cut>()
  readonly #begun: number
  #unanswered: number
  #isOver = false

  constructor(
    steps: Steps<V>,
    request: EnsembleRequest<V>,
    resolve: (answers: ReadonlyMap<string, Given<V>>) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#steps = steps
    this.#request = request
    this.#resolve = resolve
    this.#reject = reject
    this.#missing = request.plan.steps.map(({ needs }) => needs.length)
    this.#unanswered = request.plan.wanted.length
    this.#begun = request.timeoutUs === undefined || request.timeoutUs === 0 ? 0 : performance.now()
  }

  begin(): void {
    const { inputs, rows } = this.#request
    const ready = [...inputs].flatMap(([tensor, value]) => this.#put(tensor, value, rows))
    this.#startAll(ready)
  }

  /** Keeps a tensor as long as anyone takes it. @returns steps that have all their inputs now */
  #put(tensor: string, value: V, rows: number): readonly number[] {
    const { plan } = this.#request
    const takers = plan.takers.get(tensor) ?? []
    const isWanted = plan.wanted.includes(tensor)
    const left = takers.length + (isWanted ? 1 : 0)
    if (this.#isOver || left === 0) {
      value.dispose()
      return []
    }
    this.#stored.set(tensor, { value, rows, left })
    if (isWanted) this.#unanswered--
    return takers.filter((at) => this.#arrived(at))
  }

  /** One more of its tensors is there. @returns whether that was the last one */
  #arrived(at: number): boolean {
    const missing = (this.#missing[at] ?? 0) - 1
    this.#missing[at] = missing
    return missing === 0
  }

  #startAll(ready: readonly number[]): void {
    for (const at of ready) if (!this.#isOver) this.#start(this.#request.plan.steps[at] as PlannedStep)
    if (this.#unanswered === 0 && !this.#isOver) this.#succeed()
  }

  #start(planned: PlannedStep): void {
    const cut = new Cut()
    this.#running.add(cut)
    const gate = this.#steps.gates[planned.step.index]
    const running = gate === undefined ? this.#runStep(planned, cut) : gate.take(() => this.#runStep(planned, cut), cut)
    running.then(
      (ran) => this.#ended(planned, cut, ran),
      (error: unknown) => {
        this.#running.delete(cut) // it has ended: to cut it would be counted as well
        this.fail(error)
      },
    )
  }

  /** Begins it at once, and lets go of what it has taken. */
  async #runStep(planned: PlannedStep, cut: Cut): Promise<Ran<V>> {
    let outputs: Promise<ReadonlyMap<string, V>>
    let rows: number
    try {
      const runner = this.#steps.runners[planned.step.index] as StepRunner<V>
      const inputs = this.#inputsOf(planned, runner)
      const { id, priority, parameters } = this.#request
      rows = inputs.find(({ name }) => runner.input(name)?.hasRows)?.shape[0] ?? 0
      outputs = runner.run(
        { id, priority, parameters, timeoutUs: this.#timeLeft(), inputs, outputs: planned.outputs },
        cut,
      )
    } finally {
      for (const tensor of planned.needs) this.#release(tensor)
    }
    return { values: await outputs, rows }
  }

  #inputsOf({ step }: PlannedStep, runner: StepRunner<V>): readonly StepInput<V>[] {
    return [...step.inputs].map(([name, tensor]) => {
      const { value, rows } = this.#stored.get(tensor) as Stored<V>
      return { name, value, shape: shapeFor(value.shape, rows, runner.input(name)) }
    })
  }

  #timeLeft(): number | undefined {
    const { timeoutUs } = this.#request
    if (timeoutUs === undefined || timeoutUs === 0) return timeoutUs
    const left = Math.floor(timeoutUs - (performance.now() - this.#begun) * 1000)
    if (left > 0) return left
    throw new Fault('UNAVAILABLE', 'Request timeout expired')
  }

  #release(tensor: string): void {
    const stored = this.#stored.get(tensor)
    if (stored === undefined || --stored.left > 0) return
    this.#stored.delete(tensor)
    stored.value.dispose()
  }

  #ended(planned: PlannedStep, cut: Cut, { values, rows }: Ran<V>): void {
    this.#running.delete(cut)
    const taken = new Set<V>()
    const ready = planned.outputs.flatMap(({ name, tensor }) => {
      const value = values.get(name)
      if (value === undefined) return []
      taken.add(value)
      return this.#put(tensor, value, rows)
    })
    for (const value of values.values()) if (!taken.has(value)) value.dispose()
    const lacking = planned.outputs.find(({ name }) => !values.has(name))
    if (lacking !== undefined)
      this.fail(
        new Fault(
          'INTERNAL',
          `${stepText(planned.step)} gave no output '${lacking.name}', which is tensor '${lacking.tensor}'`,
        ),
      )
    else this.#startAll(ready)
  }

  #succeed(): void {
    this.#isOver = true
    const answers = new Map(this.#request.plan.wanted.map((tensor) => [tensor, this.#stored.get(tensor) as Stored<V>]))
    this.#stored.clear()
    this.#resolve(answers)
  }

  /** Ends what is under way. What was over already stays as it is. */
  fail(reason: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#reject(reason)
    for (const cut of this.#running) cut.happen(reason)
    this.#running.clear()
    for (const { value } of this.#stored.values()) value.dispose()
    this.#stored.clear()
  }
}

/**
 * The shape in which a model takes a tensor. Where one side has rows and the other has not, a row of its own is put
 * before the dims, or taken away, unless the shape fits as it is: Triton's rule.
 *
 * @param rows of who gave it; 0 where that has no batches
 */
export function shapeFor(
  shape: readonly number[],
  rows: number,
  to: { readonly dims: readonly number[]; readonly hasRows: boolean } | undefined,
): readonly number[] {
  if (to === undefined || to.hasRows === rows > 0) return shape
  const fits = shape.length === to.dims.length && to.dims.every((dim, i) => dim < 0 || dim === shape[i])
  if (to.hasRows) return fits ? [1, ...shape] : shape
  return !fits && rows === 1 ? shape.slice(1) : shape
}
