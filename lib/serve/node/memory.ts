// Memory for the inputs of requests that goes to the thread with them, and comes back with the answers.
import type { SlotMemory } from '../models/slots.js'
import type { Lent } from './messages.js'

/** Of a block that is away, or was. */
interface Journey {
  readonly key: number
  isBack: boolean
  /** In its new place; nothing where it does not come back. */
  block: Uint8Array<ArrayBuffer> | undefined
  onBack: (() => void) | undefined
}

/**
 * Blocks that are handed over by transfer: no byte is copied, and the two sides never have a block at the same time. A
 * block that is away has no bytes here, and is another object when it is back.
 */
export class LentMemory implements SlotMemory {
  readonly #own = new WeakSet<ArrayBufferLike>()
  readonly #journeys = new WeakMap<ArrayBufferLike, Journey>()
  readonly #away = new Map<number, Journey>()
  #next = 0

  allocate(bytes: number): Uint8Array<ArrayBuffer> {
    const block = new Uint8Array(bytes)
    this.#own.add(block.buffer)
    return block
  }

  isOwn(buffer: ArrayBufferLike): buffer is ArrayBuffer {
    return this.#own.has(buffer) && buffer.byteLength > 0
  }

  /** Before its buffer is transferred. */
  lend(buffer: ArrayBuffer): Lent {
    const journey: Journey = { key: this.#next++, isBack: false, block: undefined, onBack: undefined }
    this.#journeys.set(buffer, journey)
    this.#away.set(journey.key, journey)
    return { key: journey.key, buffer }
  }

  /** What was lent together is back; of `lent` what did not stay with an answer, or with a thread that has ended. */
  back(keys: readonly number[], lent: readonly Lent[]): void {
    for (const key of keys) {
      const journey = this.#away.get(key)
      if (journey === undefined) continue
      this.#away.delete(key)
      journey.isBack = true
      const buffer = lent.find((each) => each.key === key)?.buffer
      if (buffer !== undefined) {
        this.#own.add(buffer)
        journey.block = new Uint8Array(buffer)
      }
      journey.onBack?.()
    }
  }

  onReleased(block: Uint8Array, callback: (block?: Uint8Array<ArrayBuffer>) => void): boolean {
    const journey = this.#journeys.get(block.buffer)
    if (journey === undefined) return false
    this.#journeys.delete(block.buffer)
    const done = (): void => callback(journey.block)
    if (journey.isBack) done()
    else journey.onBack = done
    return true
  }
}
