// A module in the thread of an ensemble: what waits for it there leaves together, as often at once as the module
// allows.
import type { Cut } from '../../../base/cancellation.js'
import { Fault } from '../../faults.js'
import {
  type Checkable,
  checkRequest,
  clientShape,
  modelShape,
  type RequestRules,
  requestText,
} from '../../models/request-checks.js'
import type { WireTensor } from '../../../kserve/tensor.js'
import { checkTexts } from '../../node/asked.js'
import { Endings } from '../../node/endings.js'
import { faultOfFailed } from '../../node/failed.js'
import type { ModuleRequest, ModuleResult, ModuleRunner } from '../../node/module-runner.js'
import { BatchQueue, type Queued, type QueueLimits, waitLimit } from '../../node/queue.js'
import { moduleInput } from '../../node/wire.js'
import { failureKind } from '../core.js'
import type { FailureKind } from '../../models/counters.js'
import type { StepRequest } from '../run.js'
import { PlacedValue } from '../values.js'
import type { ModuleModelStart } from './messages.js'
import type { Outbox } from './outbox.js'
import type { Place, RequestMemory } from './request-memory.js'

type Values = ReadonlyMap<string, PlacedValue>

/** A request of the ensemble that has come to this step. */
interface Asked extends Queued {
  readonly request: ModuleRequest
  readonly memory: RequestMemory
  readonly places: ReadonlyMap<string, Place>
  readonly cut: Cut
  readonly resolve: (values: Values) => void
  readonly reject: (reason: unknown) => void
  /** Tells the module that nobody waits any more. */
  cancel?: (() => void) | undefined
  /** Of its wait in the queue. */
  timer?: NodeJS.Timeout | undefined
}

export class ModuleStep {
  readonly rules: RequestRules
  readonly #runner: ModuleRunner
  readonly #queue: BatchQueue<Asked>
  readonly #limits: QueueLimits
  readonly #model: number
  readonly #outbox: Outbox
  /** Batches that the module has under way. */
  #runs = 0
  #isPumping = false
  #timer: NodeJS.Timeout | undefined

  constructor(runner: ModuleRunner, { rules, merging, limits }: ModuleModelStart, model: number, outbox: Outbox) {
    this.#runner = runner
    this.rules = rules
    this.#queue = new BatchQueue(merging)
    this.#limits = limits
    this.#model = model
    this.#outbox = outbox
  }

  /**
   * Rejected at once only while it waits: a module that is at work has the request's memory until it is done.
   * @param places where its outputs go, by their names
   * @throws Fault (as a rejection), or the reason of the cut
   */
  async run(
    request: StepRequest<PlacedValue>,
    places: ReadonlyMap<string, Place>,
    memory: RequestMemory,
    cut: Cut,
  ): Promise<Values> {
    const bytes = await Promise.all(request.inputs.map(async ({ value }) => value.onHost()))
    cut.throwIfHappened()
    const inputs = request.inputs.map(({ name, value, shape }, i) => ({
      name,
      datatype: value.placed.datatype,
      shape,
      bytes: bytes[i] as Uint8Array,
    }))
    const { asked, rows } = this.#checked(request, inputs, places, memory)
    return new Promise((resolve, reject) =>
      this.#ask(
        { request: asked, rows, arrived: process.hrtime.bigint(), places, memory, cut, resolve, reject },
        request.timeoutUs,
      ),
    )
  }

  #checked(
    { id = '', parameters = {}, outputs }: StepRequest<PlacedValue>,
    inputs: readonly WireTensor[],
    places: ReadonlyMap<string, Place>,
    memory: RequestMemory,
  ): { readonly asked: ModuleRequest; readonly rows: number } {
    const { rules } = this
    const wanted = outputs.map(({ name }) => name)
    const checked = checkRequest<WireTensor & Checkable>(rules, { id, inputs, outputs: wanted })
    const tensors = checked.inputs.map(({ rule, tensor }) => {
      if (tensor.datatype === 'BYTES') checkTexts(rules, { id }, tensor)
      return { ...tensor, name: rule.name, shape: modelShape(rules, rule, tensor.shape) }
    })
    const asked: ModuleRequest = {
      id,
      rows: checked.rows,
      wanted,
      parameters,
      inputs: Object.fromEntries(tensors.map((tensor) => [tensor.name, moduleInput(tensor)])),
      shapes: Object.fromEntries(tensors.map(({ name, shape }) => [name, shape])),
      place: (spec, shape) => memory.place(places.get(spec.name) ?? { output: '', pool: undefined }, spec, shape),
    }
    return { asked, rows: checked.rows }
  }

  #ask(asked: Asked, timeoutUs: number | undefined): void {
    const { maxQueue = Infinity } = this.#limits
    if (this.#queue.length >= maxQueue) this.#pump()
    if (this.#queue.length >= maxQueue)
      return this.#refuse(asked, 'rejected', `${requestText(asked.request.id)}Exceeds maximum queue size`)
    this.#queue.push(asked)
    asked.cut.onCut(() => this.#onCut(asked))
    const timeout = waitLimit(this.#limits, timeoutUs)
    if (timeout !== undefined) asked.timer = setTimeout(() => this.#onQueueTimeout(asked), timeout)
    this.#pumpLater()
  }

  #onQueueTimeout(asked: Asked): void {
    if (this.#limits.isDelayed) this.#queue.delay(asked)
    else if (this.#queue.remove(asked)) this.#refuse(asked, 'queueTimeout', 'Request timeout expired')
  }

  #refuse(asked: Asked, kind: FailureKind, text: string): void {
    this.#outbox.failed(this.#model, kind)
    asked.reject(new Fault('UNAVAILABLE', text))
  }

  #onCut(asked: Asked): void {
    const isWaiting = this.#queue.remove(asked)
    clearTimeout(asked.timer)
    this.#outbox.failed(this.#model, isWaiting ? 'cancelledWaiting' : 'cancelledRunning')
    if (isWaiting) asked.reject(asked.cut.reason)
    else asked.cancel?.()
  }

  get #isFree(): boolean {
    return this.#runs < this.#runner.concurrency
  }

  /** After what else comes in this turn of the event loop, so that it may leave together. */
  #pumpLater(): void {
    if (this.#isPumping || !this.#isFree) return
    this.#isPumping = true
    queueMicrotask(() => {
      this.#isPumping = false
      this.#pump()
    })
  }

  #pump(): void {
    clearTimeout(this.#timer)
    while (this.#isFree) {
      const next = this.#queue.next(process.hrtime.bigint())
      if (next === undefined) return
      if ('waitMs' in next) {
        this.#timer = setTimeout(() => this.#pump(), Math.ceil(next.waitMs))
        return
      }
      void this.#execute(next.batch)
    }
  }

  /** Never rejected. */
  async #execute(batch: readonly Asked[]): Promise<void> {
    this.#runs++
    const begun = process.hrtime.bigint()
    const endings = new Endings(batch.length)
    for (const [i, asked] of batch.entries()) {
      clearTimeout(asked.timer)
      asked.cancel = () => endings.cancel(i, nobodyWaits())
    }
    const results = await this.#runner.execute(
      batch.map(({ request }) => request),
      endings,
    )
    this.#runs--
    this.#settle(batch, results, begun)
    this.#pump()
  }

  #settle(batch: readonly Asked[], results: readonly ModuleResult[], begun: bigint): void {
    const ended = process.hrtime.bigint()
    const given = batch.map((asked, i) => this.#valuesOf(asked, results[i]))
    const answered = batch.filter(({ cut }, i) => given[i] instanceof Map && !cut.happened)
    if (answered.length > 0)
      this.#outbox.ran(this.#model, {
        rows: rowsOf(batch),
        requests: answered.length,
        answeredRows: rowsOf(answered),
        queueNs: answered.reduce((sum, { arrived }) => sum + Number(begun - arrived), 0),
        inputNs: 0,
        computeNs: Number(ended - begun),
        outputNs: 0,
      })
    for (const [i, asked] of batch.entries()) this.#end(asked, given[i] as Values | Fault)
  }

  #end({ cut, resolve, reject }: Asked, given: Values | Fault): void {
    if (!(given instanceof Fault)) return resolve(given)
    if (!cut.happened) this.#outbox.failed(this.#model, failureKind(given, false))
    reject(given)
  }

  #valuesOf({ memory, places }: Asked, result: ModuleResult | undefined): Values | Fault {
    if (result === undefined || 'failure' in result) return faultOfFailed(result ?? { failure: 'no result came back' })
    const { rules } = this
    const values = result.values.map((value) => {
      const { name, datatype } = value.spec
      const rule = rules.outputs.get(name)
      const shape = rule === undefined ? value.shape : clientShape(rules, rule, value.shape)
      const bytes = memory.bytesOf(value, places.get(name) ?? { output: name, pool: undefined })
      return [name, new PlacedValue({ name, datatype, shape, bytes })] as const
    })
    return new Map(values)
  }
}

function nobodyWaits(): DOMException {
  return new DOMException('nobody waits for this request any more', 'AbortError')
}

function rowsOf(batch: readonly Asked[]): number {
  return batch.reduce((sum, { rows }) => sum + rows, 0)
}
