import { failing } from '../../base/stacks.js'
import type { NativeFrameEvent, NativeFrameReader } from '../../backend/native-video.js'
import { fromNative, loadAddon, nativeSync } from '../../backend/native.js'
import type { FedFrame, FrameFeed } from './fed.js'

interface Waiter {
  readonly resolve: (frame: FedFrame | undefined | Promise<never>) => void
}

/** A thread of the addon reads ahead, as far as the bytes go; what is not wanted any more is given back. */
export class NativeFeed implements FrameFeed {
  readonly #reader: NativeFrameReader
  readonly #frames: FedFrame[] = []
  readonly #waiters: Waiter[] = []
  readonly #ended: Promise<void>
  #end: () => void = () => undefined
  #stream: Pick<FedFrame, 'width' | 'height' | 'num' | 'den'> | undefined
  #state: 'made' | 'reading' | 'closing' | 'over' = 'made'
  #error: unknown

  constructor(most: number) {
    this.#ended = new Promise((resolve) => (this.#end = resolve))
    this.#reader = nativeSync(() => loadAddon().readFrames(most, (...event) => this.#tell(event)))
  }

  get stdout(): number {
    return this.#reader.descriptor
  }

  start(): void {
    nativeSync(() => this.#reader.start())
    this.#state = 'reading'
  }

  next(): Promise<FedFrame | undefined> {
    const frame = this.#frames.shift()
    if (frame !== undefined) return Promise.resolve(frame)
    if (this.#state !== 'reading') return this.#error === undefined ? Promise.resolve(undefined) : failing(this.#error)
    return new Promise((resolve) => {
      this.#waiters.push({ resolve })
      this.#reader.want()
    })
  }

  async close(): Promise<void> {
    if (this.#state === 'made') this.#over()
    if (this.#state === 'reading') this.#state = 'closing'
    this.#reader.close()
    this.#error = undefined
    for (const frame of this.#frames.splice(0)) frame.release?.()
    for (const { resolve } of this.#waiters.splice(0)) resolve(undefined)
    await this.#ended
  }

  #tell(event: NativeFrameEvent): void {
    if (event[0] === 'stream') {
      const [, width, height, num, den] = event
      this.#stream = { width, height, num: BigInt(num), den: BigInt(den) }
    } else if (event[0] === 'frame') {
      this.#give(event[1], event[2])
    } else {
      if (event[2] !== undefined && this.#state === 'reading') this.#error = fromNative(event[2])
      this.#over()
      for (const { resolve } of this.#waiters.splice(0)) resolve(this.#error === undefined ? undefined : failing(this.#error))
      return
    }
    if (this.#waiters.length > 0) this.#reader.want()
  }

  #give(buffer: ArrayBuffer, ticks: bigint): void {
    const release = (): void => loadAddon().closeFrame(buffer)
    if (this.#state !== 'reading') return release()
    const frame: FedFrame = { ...this.#stream!, ticks, data: new Uint8Array(buffer), release }
    const waiter = this.#waiters.shift()
    if (waiter === undefined) this.#frames.push(frame)
    else waiter.resolve(frame)
  }

  #over(): void {
    this.#state = 'over'
    this.#end()
  }
}
