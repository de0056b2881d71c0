// What all versions of models have in common, whatever runs them: their configuration as requests see it, who has them,
// and how they end.
import type { EngineCounters } from '../../backend/backend.js'
import type { Cut } from '../../base/cancellation.js'
import { type CountedRun, type FailureKind, RunCounts } from './counters.js'
import { tensorsOf } from '../config/types.js'
import { Fault } from '../faults.js'
import type { ModelConfig, ModelInput, ModelOutput } from '../../kserve/messages/model_config_pb.js'
import type { WireTensor } from '../../kserve/tensor.js'
import type { RequestRules, TensorRule } from './request-checks.js'
import type { LoadedVersion, ServableRequest, ServableTensor, Slot } from './servable.js'

type ModelParts = [
  name: string,
  version: string,
  config: ModelConfig,
  /** Of outputs, by name. */
  labels: ReadonlyMap<string, readonly string[]>,
]

export abstract class LoadedModel implements LoadedVersion {
  readonly name: string
  readonly version: string
  readonly config: ModelConfig
  readonly inputs: ReadonlyMap<string, ServableTensor>
  readonly outputs: ReadonlyMap<string, ServableTensor>
  readonly rules: RequestRules
  protected readonly visits: Visits
  #closing: Promise<void> | undefined

  constructor(...[name, version, config, labels]: ModelParts) {
    this.name = name
    this.version = version
    this.config = config
    const { inputs, outputs } = tensorsOf(config, labels)
    this.inputs = inputs
    this.outputs = outputs
    this.rules = {
      model: name,
      maxBatch: config.maxBatchSize,
      inputs: new Map(config.input.map((input) => ruleOf(input, inputs))),
      outputs: new Map(config.output.map((output) => ruleOf(output, outputs))),
    }
    this.visits = new Visits(name, version)
  }

  abstract readonly lastInference: number
  abstract reserve(bytes: number): Slot
  abstract infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]>
  abstract counters(): EngineCounters
  protected abstract end(): Promise<void>

  get platform(): string {
    return this.config.platform
  }

  get inFlight(): number {
    return this.visits.inFlight
  }

  /** The threads that it runs in have died one after the other, and no more are started. */
  protected get broken(): Fault | undefined {
    return undefined
  }

  get failure(): string | undefined {
    return this.broken?.message
  }

  /** @throws Fault UNAVAILABLE */
  protected refuseBroken(): void {
    const { broken } = this
    if (broken !== undefined) throw broken
  }

  enter(): () => void {
    return this.visits.enter()
  }

  close(): Promise<void> {
    return (this.#closing ??= this.end())
  }

  /** Waits for requests under way, for so many milliseconds at most. @returns how many of them are left */
  protected async endVisits(limitMs: number): Promise<number> {
    const begun = performance.now()
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)))
    await Promise.race([this.visits.end(), over])
    clearTimeout(timer)
    return Math.max(0, Math.ceil(limitMs - (performance.now() - begun)))
  }
}

/** A model whose requests are counted here, since no engine does. */
export abstract class CountedModel extends LoadedModel {
  protected readonly counts: RunCounts

  constructor(...[name, version, config, labels, counts = new RunCounts()]: [...ModelParts, counts?: RunCounts]) {
    super(name, version, config, labels)
    this.counts = counts
  }

  get lastInference(): number {
    return this.counts.lastInference
  }

  get invalid(): number {
    return this.counts.invalid
  }

  counters(): EngineCounters {
    return this.counts.counters()
  }

  /** Requests of this model that ran, also in the thread of an ensemble. */
  addRun(run: CountedRun): void {
    this.counts.lastInference = Date.now()
    this.counts.ran(run)
  }

  /** The same of one that failed. */
  addFailure(kind: FailureKind): void {
    this.counts.failed(kind)
  }

  override enter(): () => void {
    this.refuseBroken()
    return super.enter()
  }
}

function ruleOf(
  { name, dims, reshape, isShapeTensor }: ModelInput | ModelOutput,
  tensors: ReadonlyMap<string, ServableTensor>,
): [string, TensorRule] {
  const datatype = tensors.get(name)?.datatype ?? 'BYTES'
  return [name, { name, datatype, dims: dims.map(Number), reshape: reshape?.shape.map(Number), isShapeTensor }]
}

// Who has a version of a model: requests that enter it, and its end, which waits for the last of them.

export class Visits {
  readonly #model: string
  readonly #version: string
  #count = 0
  #isEnding = false
  #onIdle: (() => void) | undefined

  constructor(model: string, version: string) {
    this.#model = model
    this.#version = version
  }

  get inFlight(): number {
    return this.#count
  }

  /**
   * A request that keeps the version alive until what it gives is called. @throws Fault UNAVAILABLE once the version is
   * being closed
   */
  enter(): () => void {
    if (this.#isEnding)
      throw new Fault('UNAVAILABLE', `'${this.#model}' version ${this.#version} is not at ready state`)
    return this.#hold()
  }

  /**
   * The same for what a request that entered does: it is answered, though another version took the place of this one
   * since then.
   */
  inside(): () => void {
    return this.#count > 0 ? this.#hold() : this.enter()
  }

  #hold(): () => void {
    this.#count++
    let left = false
    return () => {
      if (left) return
      left = true
      if (--this.#count === 0) this.#onIdle?.()
    }
  }

  /** Nobody enters from now on. Fulfilled when nobody is inside. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }
}
