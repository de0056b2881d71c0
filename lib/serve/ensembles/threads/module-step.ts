// A module in the thread of an ensemble: what waits for it there leaves together, as often at once as the module
// allows.
import { isMap } from 'node:util/types'
import type { Cut } from '../../../base/cancellation.js'
import { Fault } from '../../faults.js'
import {
  type Checkable,
  checkRequest,
  clientShape,
  modelShape,
  type RequestRules,
} from '../../models/request-checks.js'
import type { WireTensor } from '../../../kserve/tensor.js'
import { checkTexts } from '../../node/asked.js'
import { Endings } from '../../node/endings.js'
import { faultOfFailed } from '../../node/failed.js'
import type { ModuleRequest, ModuleResult, ModuleRunner } from '../../node/module-runner.js'
import { moduleInput } from '../../node/wire.js'
import { failureKind } from '../core.js'
import type { StepRequest } from '../run.js'
import { PlacedValue } from '../values.js'
import type { ModuleModelStart } from './messages.js'
import type { Outbox } from './outbox.js'
import type { Place, RequestMemory } from './request-memory.js'
import { countedRun, ModuleQueue, type Waiting } from '../../node/queue.js'
import { aborted } from '../../node/thread.js'

type Values = ReadonlyMap<string, PlacedValue>

/** A request of the ensemble that has come to this step. */
interface Asked extends Waiting {
  readonly request: ModuleRequest
  readonly memory: RequestMemory
  readonly places: ReadonlyMap<string, Place>
  readonly resolve: (values: Values) => void
}

export class ModuleStep {
  readonly rules: RequestRules
  readonly #runner: ModuleRunner
  readonly #queue: ModuleQueue<Asked, ModuleRunner>
  readonly #model: number
  readonly #outbox: Outbox
  /** Batches that the module has under way. */
  #runs = 0

  constructor(runner: ModuleRunner, { rules, merging, limits }: ModuleModelStart, model: number, outbox: Outbox) {
    this.#runner = runner
    this.rules = rules
    this.#queue = new ModuleQueue(merging, limits, {
      free: () => (this.#runs < runner.concurrency ? runner : undefined),
      run: (_runner, batch) => void this.#execute(batch),
      failed: (kind) => outbox.failed(model, kind),
      left: () => {}, // it is rejected once the module is done
    })
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
    return new Promise((resolve, reject) => {
      const waiting = { request: asked, rows, arrived: process.hrtime.bigint(), places, memory, cut, resolve, reject }
      this.#queue.push(waiting, asked.id, request.timeoutUs)
    })
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

  /** Never rejected. */
  async #execute(batch: readonly Asked[]): Promise<void> {
    this.#runs++
    const begun = process.hrtime.bigint()
    const endings = new Endings(batch.length)
    for (const [i, asked] of batch.entries()) {
      clearTimeout(asked.timer)
      asked.cancel = () => endings.cancel(i, aborted('nobody waits for this request any more'))
    }
    const results = await this.#runner.execute(
      batch.map(({ request }) => request),
      endings,
    )
    this.#runs--
    this.#settle(batch, results, begun)
    this.#queue.pump()
  }

  #settle(batch: readonly Asked[], results: readonly ModuleResult[], begun: bigint): void {
    const ended = process.hrtime.bigint()
    const given = batch.map((asked, i) => this.#valuesOf(asked, results[i]))
    const answered = batch.filter(({ cut }, i) => isMap(given[i]) && !cut.happened)
    const times = { left: begun, begun, ended, back: ended }
    if (answered.length > 0) this.#outbox.ran(this.#model, countedRun(batch, answered, times))
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
