// Engines of a model in the thread of an ensemble, on the queue and lanes of their owner.
import type { Cut } from '../../../base/cancellation.js'
import { Engine } from '../../../engine.js'
import { isOnDevice, type PlacedRequest, type PlacedTensor } from '../../models/engine-steps.js'
import { type Busy, EngineTensors, requestFault } from '../../models/engine-tensors.js'
import { checkRequest } from '../../models/request-checks.js'
import { memoryOf, SlotPool } from '../../models/slots.js'
import type { EngineModelStart } from './messages.js'
import type { Outbox } from './outbox.js'
import type { RequestMemory } from './request-memory.js'

export class AttachedEngines {
  /** Memory of the first of them, for what modules write. */
  readonly pool: SlotPool
  readonly #tensors: EngineTensors
  readonly #outbox: Outbox
  readonly #model: number

  /** @throws TensorRTError (as a rejection); none of them is left open */
  static async attach(
    start: EngineModelStart,
    model: number,
    outbox: Outbox,
    signal: AbortSignal,
  ): Promise<AttachedEngines> {
    const engines: Busy[] = []
    try {
      for (const { token, device } of start.engines)
        engines.push({ engine: await Engine.attach(token, { queue: 'shared', signal }), device, rows: 0 })
      return new AttachedEngines(new EngineTensors(start.facts, engines), model, outbox)
    } catch (error) {
      await closeAll(engines)
      throw error
    }
  }

  private constructor(tensors: EngineTensors, model: number, outbox: Outbox) {
    this.#tensors = tensors
    this.#outbox = outbox
    this.#model = model
    this.pool = new SlotPool(memoryOf(tensors.leastBusy().engine))
  }

  get rules() {
    return this.#tensors.facts.rules
  }

  get devices(): readonly number[] {
    return this.#tensors.devices
  }

  /** @throws Fault (as a rejection), or the reason of the cut */
  async infer(request: PlacedRequest, memory: RequestMemory, cut: Cut): Promise<readonly PlacedTensor[]> {
    try {
      const checked = checkRequest(this.rules, request)
      for (const tensor of request.inputs)
        if (!isOnDevice(tensor) && !memory.isEngines(tensor.bytes.buffer)) this.#outbox.copied(tensor.bytes.length)
      const answer = await this.#tensors.runPlaced(checked, request, cut)
      for (const tensor of answer) if (!isOnDevice(tensor)) memory.addResult(tensor.bytes)
      this.#outbox.inferred(this.#model, checked.rows)
      return answer
    } catch (error) {
      throw cut.happened ? error : requestFault(error, request.id)
    }
  }

  async close(): Promise<void> {
    this.pool.close()
    await closeAll(this.#tensors.engines)
  }
}

async function closeAll(engines: readonly Busy[]): Promise<void> {
  await Promise.all(engines.map(({ engine }) => engine.close()))
}
