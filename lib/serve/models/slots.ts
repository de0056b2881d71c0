// Memory for the inputs of requests, used again by size.
import { type Engine, onReleased } from '../../engine.js'
import type { Slot } from './servable.js'

/** What a pool asks of an engine, and of whoever knows which memory inferences use. */
export interface SlotMemory {
  /** @throws TensorRTError ERR_TRT_OUT_OF_MEMORY, ERR_TRT_CLOSED */
  allocate(bytes: number): Uint8Array<ArrayBuffer>
  /**
   * Whether an inference uses the memory; then the callback is called once, when none does any more, with the block
   * where it is another object since then.
   */
  onReleased(block: Uint8Array, callback: (block?: Uint8Array<ArrayBuffer>) => void): boolean
}

/** The memory of an engine. */
export function memoryOf(engine: Engine): SlotMemory {
  return {
    allocate: (bytes) => engine.allocateBytes(bytes),
    onReleased: (block, callback) => onReleased(engine, block, callback),
  }
}

const smallest = 4096

/**
 * Sizes of blocks: four of them from a power of two to the next, so that at most a fifth of a large block is left over.
 */
export function blockSize(bytes: number): number {
  if (bytes <= smallest) return smallest
  const step = 2 ** (Math.floor(Math.log2(bytes - 1)) - 2)
  return Math.ceil(bytes / step) * step
}

/**
 * Blocks of an engine's memory. One that a request is done with is kept for the next request of its size; the memory of
 * one that was given up while it ran comes back once its lane has ended.
 */
export class SlotPool {
  readonly #memory: SlotMemory
  readonly #mostKept: number
  readonly #kept = new Map<number, Uint8Array<ArrayBuffer>[]>()
  #bytesKept = 0
  #bytesInUse = 0
  #inUse = 0
  #closed = false

  /** @param mostKept the most bytes of blocks that wait for a request */
  constructor(memory: SlotMemory, mostKept = 64 * 2 ** 20) {
    this.#memory = memory
    this.#mostKept = mostKept
  }

  /** Slots that requests have, and those that lanes still read. */
  get inUse(): number {
    return this.#inUse
  }

  /** Bytes of their blocks. */
  get bytesInUse(): number {
    return this.#bytesInUse
  }

  /** Bytes of blocks that wait for a request. */
  get kept(): number {
    return this.#bytesKept
  }

  /** @throws TensorRTError ERR_TRT_OUT_OF_MEMORY, ERR_TRT_CLOSED */
  reserve(bytes: number): Slot {
    const size = blockSize(bytes)
    const block = this.#take(size) ?? this.#memory.allocate(size)
    this.#inUse++
    this.#bytesInUse += size
    let released = false
    const release = (): void => {
      if (released) return
      released = true
      const back = (kept = block): void => this.#back(kept, size)
      if (!this.#memory.onReleased(block, back)) back()
    }
    return { bytes: block.subarray(0, bytes), release }
  }

  #take(size: number): Uint8Array<ArrayBuffer> | undefined {
    const block = this.#kept.get(size)?.pop()
    if (block !== undefined) this.#bytesKept -= size
    return block
  }

  #back(block: Uint8Array<ArrayBuffer>, size: number): void {
    this.#inUse--
    this.#bytesInUse -= size
    if (this.#closed || this.#bytesKept + size > this.#mostKept) return
    if (block.length !== size) return // it was handed over, and did not come back
    const waiting = this.#kept.get(size)
    if (waiting === undefined) this.#kept.set(size, [block])
    else waiting.push(block)
    this.#bytesKept += size
  }

  /** Keeps nothing from now on; slots that requests have go when they are released. */
  close(): void {
    this.#closed = true
    this.#kept.clear()
    this.#bytesKept = 0
  }
}
