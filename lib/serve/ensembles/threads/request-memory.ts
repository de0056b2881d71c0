// Memory of one request in the thread of an ensemble: what may be handed over with its answer, and what is an engine's.
import { releaseMemory } from '../../../backend/memory.js'
import { dtypeOf } from '../../../kserve/tensor.js'
import type { Slot } from '../../models/servable.js'
import type { SlotPool } from '../../models/slots.js'
import type { ModuleValue, TensorSpec } from '../../node/module-runner.js'
import { bytesOfTexts } from '../../../base/packed-texts.js'
import { byteSize, Tensor, bytesOfTensor, typedDataOf } from '../../../tensor.js'
import type { Outbox } from './outbox.js'

/** Memory of an engine for an output of a module. */
interface Placed {
  readonly slot: Slot
  /** The output that it was made for. */
  readonly output: string
  /** The module gave it as that output, and so has done with it. */
  isGiven: boolean
}

/** Where an output goes, by a name that no other output of the request has. */
export interface Place {
  readonly output: string
  /** Of the engine that takes it, where one does and nobody else. */
  readonly pool: SlotPool | undefined
}

export class RequestMemory {
  readonly #own: Set<ArrayBufferLike>
  readonly #placed = new Map<ArrayBufferLike, Placed>()
  /** What engines gave. */
  readonly #results: Uint8Array[] = []
  readonly #running = new Set<Promise<unknown>>()
  readonly #outbox: Outbox

  /** @param inputs memory that came with the request, and is nobody else's */
  constructor(inputs: readonly ArrayBufferLike[], outbox: Outbox) {
    this.#own = new Set(inputs)
    this.#outbox = outbox
  }

  /** Whether it may be handed over: nobody but this request has it. */
  isOwn(buffer: ArrayBufferLike): boolean {
    return this.#own.has(buffer)
  }

  /** What an engine gave for the request. */
  addResult(bytes: Uint8Array): void {
    this.#own.add(bytes.buffer)
    this.#results.push(bytes)
  }

  /** Whether an engine reads it where it is. */
  isEngines(buffer: ArrayBufferLike): boolean {
    return this.#placed.has(buffer)
  }

  /** A tensor for an output: of the engine's memory, or plain. */
  place({ output, pool }: Place, { datatype }: TensorSpec, shape: readonly number[]): Tensor | undefined {
    if (datatype === 'BYTES') return undefined
    const dtype = dtypeOf[datatype]
    if (pool === undefined) {
      const tensor = Tensor.zeros(dtype, shape)
      this.#own.add(typedDataOf(tensor).buffer)
      return tensor
    }
    const slot = pool.reserve(byteSize(dtype, shape))
    this.#placed.set(slot.bytes.buffer, { slot, output, isGiven: false })
    return Tensor.fromBytes(dtype, slot.bytes, shape)
  }

  /** The bytes of an output that a module gave. What is the module's own is copied, since it may write it again. */
  bytesOf(value: ModuleValue, place: Place): Uint8Array {
    const { spec, shape, tensor, texts = [] } = value
    if (tensor === undefined) return this.#ofTexts(texts)
    const { buffer, byteOffset, byteLength } = typedDataOf(tensor)
    const bytes = new Uint8Array(buffer, byteOffset, byteLength)
    const placed = this.#placed.get(buffer)
    if (placed?.output === place.output) placed.isGiven = true
    else if (!this.#own.has(buffer)) return this.#copied(bytes, this.place(place, spec, shape), place)
    return bytes
  }

  #ofTexts(texts: readonly Uint8Array[]): Uint8Array {
    const bytes = bytesOfTexts(texts)
    this.#own.add(bytes.buffer)
    return bytes
  }

  #copied(bytes: Uint8Array, target: Tensor | undefined, { output }: Place): Uint8Array {
    const copy = target === undefined ? new Uint8Array(bytes.length) : bytesOfTensor(target).subarray(0, bytes.length)
    copy.set(bytes)
    const placed = this.#placed.get(copy.buffer)
    if (placed?.output === output) placed.isGiven = true
    else this.#own.add(copy.buffer)
    this.#outbox.copied(bytes.length)
    return copy
  }

  /** A module is at work for the request until this settles, though nobody may wait for it any more. */
  track<T>(running: Promise<T>): Promise<T> {
    const ended = running.then(nothing, nothing).finally(() => this.#running.delete(ended))
    this.#running.add(ended)
    return running
  }

  /**
   * Fulfilled when no module is at work for the request any more. Memory of engines is used again then, once no lane
   * reads it; what a module has not given is left to the collector, since something of that module may still write it.
   * @param sent what the answer takes along, where there is one: then all steps have ended, and other results of
   * engines go back at once
   */
  async end(sent: ReadonlySet<ArrayBufferLike> | undefined): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
    if (sent !== undefined) for (const bytes of this.#results) if (!sent.has(bytes.buffer)) releaseMemory(bytes)
    for (const { slot, isGiven } of this.#placed.values()) if (isGiven) slot.release()
    this.#placed.clear()
  }
}

const nothing = (): void => {}
