import type { Readable } from 'node:stream'
import { whyPortable } from '../../backend/portable/why.js'
import { TensorRTError } from '../../errors.js'
import { Pieces } from './bytes.js'
import { NativeFeed } from './native-feed.js'
import { NutReader } from './reader.js'

/** A frame of a program, as its pipe brings it. */
export interface FedFrame {
  readonly width: number
  readonly height: number
  /** In ticks of num / den seconds. */
  readonly ticks: bigint
  readonly num: bigint
  readonly den: bigint
  /** Planes of Y, U and V without gaps. */
  readonly data: Uint8Array
  /** Gives the memory back, which detaches `data`; nothing where the collector does that. */
  readonly release: (() => void) | undefined
}

/** Frames of a program that writes NUT to its stdout. */
export interface FrameFeed {
  /** What the program's stdout is. */
  readonly stdout: 'pipe' | number
  /** Whether the process stays alive while somebody waits for a frame, also without the program. */
  readonly holds: boolean
  /** Once the program is there; `stdout`, where it is a pipe of Node's. */
  start(stdout: Readable | undefined): void
  /** The next frame; undefined at the end, and once it is closed. @throws TensorRTError ERR_TRT_VIDEO_DATA where the bytes are no frames, or end too early */
  next(): Promise<FedFrame | undefined>
  /** Lets go of the pipe and of what was read ahead. Settled when no thread is left. Twice without harm. */
  close(): Promise<void>
}

/** By a thread of the addon, or in this thread where there is none. `most`: bytes of frames, read ahead or held. */
export function frameFeed(most: number): FrameFeed {
  return whyPortable() === undefined ? new NativeFeed(most) : new StreamFeed()
}

/** Reads when somebody asks: the pipe's few bytes are all that is read ahead. */
class StreamFeed implements FrameFeed {
  readonly stdout = 'pipe'
  readonly holds = false
  #pieces: Pieces | undefined
  #reader: NutReader | undefined
  #stdout: Readable | undefined
  #stream: Awaited<ReturnType<NutReader['begin']>>
  #last: Promise<unknown> = Promise.resolve()
  #closed = false

  start(stdout: Readable | undefined): void {
    this.#stdout = stdout
    this.#pieces = new Pieces((stdout as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]())
  }

  next(): Promise<FedFrame | undefined> {
    const next = this.#last.then(() => this.#next())
    this.#last = next.catch(() => undefined)
    return next
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
