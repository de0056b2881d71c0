import { failRestacked } from '../../base/stacks.js'
import type { NativeFrameEvent, NativeFrameReader } from '../../backend/native-video.js'
import { fromNative, loadAddon, nativeSync } from '../../backend/native.js'
import type { FedFrame, FedStream, FrameFeed } from './fed.js'

/** What the clock of the addon's threads shows when `performance` begins to count, in milliseconds. */
const clockOrigin = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/**
 * A thread of the addon reads ahead, as far as the bytes go, or keeps the newest frame; what is not wanted any more is
 * given back.
 */
export class NativeFeed implements FrameFeed {
  readonly #reader: NativeFrameReader
  readonly #frames: FedFrame[] = []
  readonly #waiters: ((frame: FedFrame | undefined | Promise<never>) => void)[] = []
  readonly #ended: Promise<void>
  #end: () => void = () => undefined
  readonly #newest: boolean
  readonly #begun: Promise<FedStream | undefined>
  #begin: (stream: FedStream | undefined) => void = () => undefined
  #stream: FedStream | undefined
  #left = 0
  #state: 'made' | 'reading' | 'closing' | 'over' = 'made'
  #error: unknown

  constructor(most: number, newest = false) {
    this.#newest = newest
    this.#ended = new Promise((resolve) => (this.#end = resolve))
    this.#begun = new Promise((resolve) => (this.#begin = resolve))
    this.#reader = nativeSync(() => loadAddon().readFrames(most, newest, (...event) => this.#tell(event)))
  }

  get stdout(): number {
    return this.#reader.descriptor
  }

  get dropped(): number {
    return this.#reader.dropped() + this.#left
  }

  start(): void {
    nativeSync(() => this.#reader.start())
    this.#state = 'reading'
  }

  header(): Promise<FedStream | undefined> {
    if (this.#state === 'reading' && this.#stream === undefined) this.#reader.want(true)
    return this.#begun
  }

  next(): Promise<FedFrame | undefined> {
    const frame = this.#frames.shift()
    if (frame !== undefined) return Promise.resolve(frame)
    if (this.#state !== 'reading')
      return this.#error === undefined ? Promise.resolve(undefined) : failRestacked(this.#error)
    return new Promise((resolve) => {
      this.#waiters.push(resolve)
      this.#reader.want()
    })
  }

  async close(): Promise<void> {
    if (this.#state === 'made') this.#over()
    if (this.#state === 'reading') this.#state = 'closing'
    this.#reader.close()
    this.#error = undefined
    for (const frame of this.#frames.splice(0)) this.#leave(frame)
    for (const settle of this.#waiters.splice(0)) settle(undefined)
    await this.#ended
  }

  #tell(event: NativeFrameEvent): void {
    if (event[0] === 'stream') {
      const [, width, height, num, den] = event
      this.#stream = { width, height, num: BigInt(num), den: BigInt(den) }
      this.#begin(this.#stream)
    } else if (event[0] === 'frame') {
      this.#give(event)
    } else {
      if (event[2] !== undefined && this.#state === 'reading') this.#error = fromNative(event[2])
      this.#over()
      for (const settle of this.#waiters.splice(0))
        settle(this.#error === undefined ? undefined : failRestacked(this.#error))
      return
    }
    // what comes lets go of the process, which is to stay until all that is waited for is there
    if (this.#state === 'closing') this.#reader.want(true)
    else if (this.#waiters.length > 0) this.#reader.want()
  }

  #give([, buffer, ticks, number, since]: Extract<NativeFrameEvent, readonly ['frame', ...unknown[]]>): void {
    const release = (): void => loadAddon().closeFrame(buffer)
    const memory = { arrived: since - clockOrigin, data: new Uint8Array(buffer), release }
    const frame: FedFrame = { ...this.#stream!, ticks, number, ...memory }
    if (this.#state !== 'reading') return this.#leave(frame)
    const settle = this.#waiters.shift()
    if (settle === undefined) this.#frames.push(frame)
    else settle(frame)
  }

  /** None of the newest is lost uncounted. */
  #leave(frame: FedFrame): void {
    if (this.#newest) this.#left++
    frame.release?.()
  }

  #over(): void {
    this.#state = 'over'
    this.#begin(undefined)
    this.#end()
  }
}
