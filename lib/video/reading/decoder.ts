import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { FedFrame, FedStream, FrameFeed } from '../nut/fed.js'
import { frameFeed } from '../nut/feed.js'
import { failureOf } from '../programs/failure.js'
import { type Program, startProgram } from '../programs/start.js'
import { type Decoding, decodingArguments } from './arguments.js'

/** What a demuxer says of a file that was cut short, with which ffmpeg ends as with a whole one. */
const cutShort = /\[error\].*(prematurely|partial file|truncated|invalid data)/i

/** One run of ffmpeg, and the frames that it writes. */
export class Decoder {
  readonly #decoding: Decoding
  readonly #program: Program
  readonly #feed: FrameFeed
  readonly #pump: Pump | undefined
  #delivered = 0
  #ended: Promise<undefined> | undefined
  #closing: Promise<void> | undefined

  /** @throws TensorRTError ERR_TRT_VIDEO_PROGRAM */
  static async start(decoding: Decoding): Promise<Decoder> {
    const { ffmpeg, reading, onFull, stdin, more } = decoding
    const feed = frameFeed(reading.buffer, onFull === 'drop-oldest')
    try {
      const args = decodingArguments(decoding)
      const program = await startProgram(ffmpeg, args, {
        stdin: stdin === undefined ? 'ignore' : 'pipe',
        stdout: feed.stdout,
        more,
      })
      feed.start(program.stdout)
      return new Decoder(decoding, program, feed)
    } catch (error) {
      await feed.close()
      throw error
    }
  }

  private constructor(decoding: Decoding, program: Program, feed: FrameFeed) {
    this.#decoding = decoding
    this.#program = program
    this.#feed = feed
    this.#pump = decoding.stdin === undefined ? undefined : new Pump(decoding.stdin, program.stdin!)
    program.hold(false) // who forgets a video does not keep the process alive
  }

  /** Frames that next() gave. */
  get delivered(): number {
    return this.#delivered
  }

  /** Frames that nobody got, since newer ones came. */
  get dropped(): number {
    return this.#feed.dropped
  }

  /** What its frames are, as soon as the first one comes; undefined where none does. @throws what next() throws */
  async header(): Promise<FedStream | undefined> {
    const stream = await this.#feed.header()
    if (stream === undefined && this.#closing === undefined) await this.#end(undefined)
    return stream
  }

  /**
   * The next frame; undefined at the end, and once it is closed. @throws TensorRTError ERR_TRT_VIDEO_DATA,
   * ERR_TRT_CRASH; what the source throws
   */
  async next(): Promise<FedFrame | undefined> {
    if (this.#closing !== undefined) return undefined
    try {
      const frame = await this.#feed.next()
      if (frame === undefined) return await this.#end(undefined)
      this.#delivered++
      return frame
    } catch (error) {
      return await this.#end(error)
    }
  }

  /** Ends all that is under way, and is settled when nothing of it is left. Twice without harm; never rejected. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    // nobody wants its output; what is read from a network says goodbye
    const { input } = this.#decoding
    const gone = input.path === undefined && this.#pump === undefined ? this.#program.end() : this.#program.kill()
    await Promise.all([this.#feed.close(), this.#pump?.close(), gone])
  }

  /** After the last frame: whether that was the video's end. */
  #end(error: unknown): Promise<undefined> {
    return (this.#ended ??= this.#judge(error))
  }

  async #judge(error: unknown): Promise<undefined> {
    if (error !== undefined) void this.#program.end() // it may go on writing, which nobody reads
    if (this.#program.exit === undefined) this.#program.hold(true)
    const exit = await this.#program.exited
    if (this.#closing !== undefined) return undefined
    if (this.#pump?.failure !== undefined) throw this.#pump.failure.reason
    const { lines } = this.#program
    if (exit.code !== 0 || (this.#decoding.manner !== 'live' && lines.some((line) => cutShort.test(line)))) {
      const { name } = this.#decoding.input
      const what = this.#delivered === 0 ? `Cannot read ${name}` : `Cannot read ${name} beyond ${this.#counted()}`
      throw failureOf(what, exit, lines)
    }
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- what the feed threw
    if (error !== undefined) throw error
    return undefined
  }

  #counted(): string {
    return this.#delivered === 1 ? 'its first frame' : `its first ${this.#delivered} frames`
  }
}

/** Carries a source's bytes into a program's stdin, as fast as that takes them. */
class Pump {
  /** What the source threw. */
  failure: { readonly reason: unknown } | undefined
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #into: Writable
  readonly #stopped = new AbortController()

  constructor(pieces: AsyncIterator<Uint8Array>, into: Writable) {
    this.#pieces = pieces
    this.#into = into
    // a program that has what it needs closes its stdin
    into.once('error', () => this.#stopped.abort())
    into.once('close', () => this.#stopped.abort())
    void this.#run()
  }

  /** Lets go of the source, which may be in the middle of a piece: that is not waited for. */
  async close(): Promise<void> {
    this.#stopped.abort()
    this.#into.destroy()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    try {
      for (;;) {
        const next = await this.#pieces.next()
        if (next.done === true) break
        if (signal.aborted) return await this.#leave()
        if (!this.#into.write(next.value)) await once(this.#into, 'drain', { signal }).catch(() => undefined)
        if (signal.aborted) return await this.#leave()
      }
      this.#into.end()
    } catch (reason) {
      if (!signal.aborted) this.failure = { reason }
      this.#into.destroy()
    }
  }

  async #leave(): Promise<void> {
    await this.#pieces.return?.()
  }
}
