import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { TensorRTError } from '../../errors.js'
import { Pieces } from './bytes.js'
import type { FedFrame, FedStream, FrameFeed } from './fed.js'
import { NutReader } from './reader.js'

/** Reads when somebody asks: the pipe's few bytes are all that is read ahead. */
export class StreamFeed implements FrameFeed {
  readonly stdout = 'pipe'
  readonly dropped = 0
  #pieces: Pieces | undefined
  #reader: NutReader | undefined
  #stdout: Readable | undefined
  #begun: Promise<FedStream | undefined> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #number = 0
  #closed = false

  start(stdout: Readable | undefined): void {
    this.#stdout = stdout
    this.#pieces = new Pieces((stdout as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]())
    this.#reader = new NutReader(this.#pieces)
  }

  header(): Promise<FedStream | undefined> {
    return this.held(() => this.#begin().catch(() => undefined))
  }

  next(): Promise<FedFrame | undefined> {
    return this.held(() => this.read())
  }

  /** The next frame, for which the process does not stay alive. */
  read(): Promise<FedFrame | undefined> {
    const next = this.#last.then(() => this.#next())
    this.#last = next.catch(() => undefined)
    return next
  }

  /** Work for which the process stays alive. */
  async held<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting++ === 0) this.#hold(true)
    try {
      return await work()
    } finally {
      if (--this.#waiting === 0) this.#hold(false)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stdout?.destroy()
    await this.#last
  }

  #hold(firmly: boolean): void {
    const pipe = this.#stdout as Socket | undefined
    if (pipe?.destroyed !== false) return
    if (firmly) pipe.ref()
    else pipe.unref()
  }

  #begin(): Promise<FedStream | undefined> {
    return (this.#begun ??= this.#reader?.begin() ?? Promise.resolve(undefined))
  }

  async #next(): Promise<FedFrame | undefined> {
    if (this.#closed) return undefined
    try {
      const stream = await this.#begin()
      const frame = stream === undefined ? undefined : await this.#reader?.next()
      if (frame === undefined || stream === undefined) return undefined
      const { pts: ticks, data } = frame
      return { ...stream, ticks, number: this.#number++, arrived: performance.now(), data, release: undefined }
    } catch (error) {
      if (this.#closed) return undefined
      // how the program ended says more than how its pipe did
      if (error instanceof TensorRTError) throw error
      const message = `The frames of a video cannot be read: ${(error as Error).message}`
      throw new TensorRTError('ERR_TRT_VIDEO_DATA', message, { cause: error })
    }
  }
}
