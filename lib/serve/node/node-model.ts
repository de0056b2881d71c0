// A version of a model in JavaScript: requests wait in one queue, and the instance with the least to do takes what
// fits.
import { Cut } from '../../base/cancellation.js'
import { Fault, faultOf } from '../faults.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { defaultExitTimeoutMs, type LoadOptions, type ModelSettings } from '../models/settings.js'
import { checkRequest } from '../models/request-checks.js'
import type { ServableRequest, Slot } from '../models/servable.js'
import { SlotPool } from '../models/slots.js'
import { warmUp } from '../models/warmup.js'
import { readLabels } from '../repository/labels.js'
import { type Asked, clientOutputs, messageOf, parcelOf } from './asked.js'
import { faultOfFailed } from './failed.js'
import { type Instance, Instances } from './instances.js'
import { LentMemory } from './memory.js'
import type { Answer } from './messages.js'
import type { ModuleWorker } from './module-worker.js'
import { type PreparedModule, prepareModule } from './prepared.js'
import { allOf } from '../../base/turns.js'
import { CountedModel } from '../models/loaded-model.js'
import { countedRun, ended, ModuleQueue } from './queue.js'

export class NodeModel extends CountedModel {
  readonly slots: SlotPool
  /** What its module is started with in a thread of an ensemble. */
  readonly prepared: PreparedModule
  readonly #memory = new LentMemory()
  readonly #queue: ModuleQueue<Asked, NonNullable<ReturnType<Instances['free']>>>
  readonly #settings: ModelSettings
  #instances: Instances | undefined

  /**
   * Starts the threads of a version, loads its module in each, and warms it up: what it gives is ready.
   * @throws Fault, TensorRTError (as a rejection), or the reason of the signal; no thread is left
   */
  static async load(options: LoadOptions): Promise<NodeModel> {
    const { folder, signal } = options
    const prepared = await prepareModule(options)
    const model = new NodeModel(options, prepared, await readLabels(folder, prepared.config))
    try {
      await model.#start(prepared, signal)
      await model.#warmUp(folder.path)
      signal.throwIfAborted()
      model.refuseBroken()
      return model
    } catch (error) {
      await model.#instances?.end(0)
      throw error
    }
  }

  private constructor(
    { folder, version, settings }: LoadOptions,
    prepared: PreparedModule,
    labels: ReadonlyMap<string, readonly string[]>,
  ) {
    super(folder.name, version, prepared.config, labels)
    this.prepared = prepared
    this.#queue = new ModuleQueue(prepared.merging, prepared.limits, {
      free: () => this.#instances?.free(),
      run: (instance, batch) => void this.#run(instance, instance.worker, batch),
      failed: (kind) => this.counts.failed(kind),
      left: (asked) => ended(asked).reject(whileRunning(asked.cut.reason)),
    })
    this.#settings = settings
    this.slots = new SlotPool(this.#memory, settings.slotBytesKept)
  }

  async #start({ count, maxMemoryMb, start }: PreparedModule, signal: AbortSignal): Promise<void> {
    const { onWarning = () => {}, onOutput = (line: string) => onWarning(line) } = this.#settings
    const options = {
      model: this.name,
      count,
      maxMemoryMb,
      modules: (instance: number) => [start(instance)],
      onOutput,
      onWarning,
      onReady: () => this.#queue.pump(),
      onFailure: (reason: Fault) => this.#onFailure(reason),
    }
    this.#instances = await Instances.start(options, signal)
  }

  override get platform(): string {
    return 'node'
  }

  get pending(): number {
    return this.#queue.length
  }

  /** Instances that are at work, also for requests that nobody waits for any more. */
  get busy(): number {
    return this.#instances?.all.filter(({ runs }) => runs > 0).length ?? 0
  }

  /** Batches that its instances have under way. */
  get runs(): number {
    return (this.#instances?.all ?? []).reduce((sum, { runs }) => sum + runs, 0)
  }

  protected override get broken(): Fault | undefined {
    return this.#instances?.failure
  }

  /** What lies in the slot is not copied on its way to the module; the memory is the model's from infer() on. */
  reserve(bytes: number): Slot {
    try {
      return this.slots.reserve(bytes)
    } catch (error) {
      throw faultOf(error)
    }
  }

  async infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]> {
    this.refuseBroken()
    const leave = this.visits.inside()
    try {
      const checked = checkRequest(this.rules, request)
      const message = messageOf(this.rules, checked, request)
      this.counts.lastInference = Date.now()
      const { rows } = checked
      return await new Promise((resolve, reject) => {
        const asked = { message, cut, resolve, reject, rows, arrived: process.hrtime.bigint() }
        this.#queue.push(asked, request.id, request.timeoutUs)
      })
    } catch (error) {
      throw cut.happened ? error : faultOf(error)
    } finally {
      leave()
    }
  }

  /** Never rejected. */
  async #run(instance: Instance, worker: ModuleWorker, batch: readonly Asked[]): Promise<void> {
    instance.runs++
    const left = process.hrtime.bigint()
    for (const asked of batch) clearTimeout(asked.timer)
    let keys: readonly number[] = []
    try {
      const { requests, lent, transfer } = parcelOf(batch, this.#memory)
      keys = lent.map(({ key }) => key)
      const { run, answer } = worker.begin({ module: 0, requests, lent }, transfer)
      for (const [i, asked] of batch.entries()) asked.cancel = () => worker.cancel(run, i)
      const got = await answer
      this.#memory.back(keys, got.lent)
      this.#settle(batch, got, left)
    } catch (error) {
      this.#memory.back(keys, [])
      for (const asked of batch.filter(({ isOver }) => !isOver)) this.#fail(asked, faultOf(error))
    }
    instance.runs--
    if (this.failure !== undefined && instance.runs === 0) this.#instances?.retire(instance)
    this.#queue.pump()
  }

  #settle(batch: readonly Asked[], { results, begun, ended: done }: Answer, left: bigint): void {
    const back = process.hrtime.bigint()
    const answered = batch.filter((asked, i) => {
      const result = results[i]
      if (asked.isOver) return false
      if (result === undefined || 'failure' in result)
        return this.#fail(asked, faultOfFailed(result ?? { failure: 'no result came back' }))
      ended(asked).resolve(clientOutputs(this.rules, result.outputs))
      return true
    })
    if (answered.length > 0) this.addRun(countedRun(batch, answered, { left, begun, ended: done, back }))
  }

  #fail(asked: Asked, fault: Fault): false {
    this.counts.failed(fault.kind === 'INVALID_ARG' ? 'invalid' : 'failed')
    ended(asked).reject(fault)
    return false
  }

  #onFailure(reason: Fault): void {
    this.#settings.onFailure?.(reason.message)
    this.#dropWaiting(reason)
  }

  #dropWaiting(reason: Fault): void {
    for (const asked of this.#queue.clear()) this.#fail(asked, reason)
  }

  /** Of its model_warmup alone: what a module makes of zeros says nothing of it. */
  async #warmUp(folder: string): Promise<void> {
    if (!this.config.modelWarmup.some(({ batchSize }) => batchSize > 0)) return
    await warmUp({
      config: this.config,
      folder,
      rules: this.rules,
      bestShape: () => undefined,
      bestValues: () => undefined,
      run: (inputs) => this.#runOnEach(inputs),
      onWarning: (text) => this.#settings.onWarning?.(text),
    })
    this.counts.reset()
  }

  async #runOnEach(inputs: readonly WireTensor[]): Promise<void> {
    const checked = checkRequest(this.rules, { inputs })
    const message = messageOf(this.rules, checked, { inputs })
    const runs = (this.#instances?.all ?? []).map(async (instance) => {
      const { worker } = instance
      if (worker === undefined)
        throw (
          this.#instances?.failure ??
          new Fault('INTERNAL', `instance ${instance.number} of model '${this.name}' has ended`)
        )
      const { rows } = checked
      return new Promise((resolve, reject) => {
        const asked = { message, cut: new Cut(), resolve, reject, rows, arrived: process.hrtime.bigint() }
        void this.#run(instance, worker, [asked])
      })
    })
    await allOf(runs)
  }

  /** Requests under way, and after them a thread that is still at work, have the same limit together. */
  protected async end(): Promise<void> {
    const left = await this.endVisits(this.#settings.exitTimeoutMs ?? defaultExitTimeoutMs)
    this.#dropWaiting(
      new Fault('UNAVAILABLE', `'${this.name}' version ${this.version} was unloaded before it answered`),
    )
    await this.#instances?.end(left)
    this.slots.close()
  }
}

/** What is over time while a module has it is no matter of the server's load: 504, DEADLINE_EXCEEDED. */
export function whileRunning(reason: unknown): unknown {
  const isTimeout = reason instanceof Fault && reason.kind === 'UNAVAILABLE'
  return isTimeout ? new Fault('TIMEOUT', reason.message, reason) : reason
}
