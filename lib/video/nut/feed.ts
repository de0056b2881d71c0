import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { whyPortable } from '../../backend/portable/why.js'
import { TensorRTError } from '../../errors.js'
import { Pieces } from './bytes.js'
import type { FedFrame, FrameFeed } from './fed.js'
import { NativeFeed } from './native-feed.js'
import { NutReader } from './reader.js'

/** By a thread of the addon, or in this thread where there is none. `most`: bytes of frames, read ahead or held. */
export function frameFeed(most: number): FrameFeed {
  return whyPortable() === undefined ? new NativeFeed(most) : new StreamFeed()
}

/** Reads when somebody asks: the pipe's few bytes are all that is read ahead. */
class StreamFeed implements FrameFeed {
  readonly stdout = 'pipe'
  #pieces: Pieces | undefined
  #reader: NutReader | undefined
  #stdout: Readable | undefined
  #stream: Awaited<ReturnType<NutReader['begin']>>
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #closed = false

  start(stdout: Readable | undefined): void {
    this.#stdout = stdout
    this.#pieces = new Pieces((stdout as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]())
  }

  next(): Promise<FedFrame | undefined> {
    if (this.#waiting++ === 0) this.#hold(true)
    const next = this.#last
      .then(() => this.#next())
      .finally(() => {
        if (--this.#waiting === 0) this.#hold(false)
      })
    this.#last = next.catch(() => undefined)
    return next
  }

  /** Whether the process stays alive for what the pipe brings. */
  #hold(firmly: boolean): void {
    const pipe = this.#stdout as Socket | undefined
    if (pipe?.destroyed !== false) return
    if (firmly) pipe.ref()
    else pipe.unref()
  }

  async #next(): Promise<FedFrame | undefined> {
    if (this.#closed || this.#pieces === undefined) return undefined
    try {
      if (this.#reader === undefined) {
        this.#reader = new NutReader(this.#pieces)
        this.#stream = await this.#reader.begin()
      }
      const frame = this.#stream === undefined ? undefined : await this.#reader.next()
      if (frame === undefined || this.#stream === undefined) return undefined
      const { width, height, num, den } = this.#stream
      return { width, height, num, den, ticks: frame.pts, data: frame.data, release: undefined }
    } catch (error) {
      if (this.#closed) return undefined
      // how the program ended says more than how its pipe did
      if (error instanceof TensorRTError) throw error
      throw new TensorRTError('ERR_TRT_VIDEO_DATA', `The frames of a video cannot be read: ${(error as Error).message}`, { cause: error })
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stdout?.destroy()
    await this.#last
  }
}
