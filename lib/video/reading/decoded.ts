import { VideoFrame } from '../frame.js'
import type { FedFrame, FrameFeed } from '../nut/fed.js'
import { frameFeed } from '../nut/feed.js'
import type { VideoInfo } from '../probe.js'
import { failureOf } from '../programs/failure.js'
import type { Input } from '../programs/inputs.js'
import { type Program, startProgram } from '../programs/start.js'
import { decodingArguments, isFullRange, isRgb, offsetSeconds } from './arguments.js'
import type { Reading } from './options.js'
import { Pump } from './pump.js'
import { rescaled, secondsOf, ticksOf } from './times.js'

/** What was read so far. */
export interface VideoStats {
  /** Frames that were decoded, up to the last that was given: with `every` more than were given. */
  readonly decoded: number
  /** Frames that were given. */
  readonly delivered: number
  /** Frames that were left out, since newer ones came before anybody took them: of live sources. */
  readonly dropped: number
}

/** Frames, one after the other. */
export interface FrameStream {
  readonly stats: VideoStats
  /** Undefined at the end, and once it is closed. */
  next(): Promise<VideoFrame | undefined>
  /** Ends all that is under way, and is settled when nothing of it is left. Twice without harm; never rejected. */
  close(): Promise<void>
}

/** What is decoded, and by what. */
export interface Decoding {
  readonly ffmpeg: string
  readonly input: Input
  readonly info: VideoInfo
  readonly reading: Reading
  readonly hardware: 'none' | 'cuda'
  /** What the program reads from its stdin. */
  readonly stdin: AsyncIterator<Uint8Array> | undefined
  /** Its descriptors from 3 on, which may be closed once it has started. */
  readonly more: readonly number[]
}

/** What a demuxer says of a file that was cut short, with which ffmpeg ends as with a whole one. */
const cutShort = /\[error\].*(prematurely|partial file|truncated|invalid data)/i

/** Frames that ffmpeg decodes. */
export class DecodedFrames implements FrameStream {
  readonly #decoding: Decoding
  readonly #program: Program
  readonly #feed: FrameFeed
  readonly #pump: Pump | undefined
  readonly #picture: Pick<VideoFrame, 'matrix' | 'range'>
  readonly #timeBase: { readonly num: bigint; readonly den: bigint }
  readonly #duration: number | undefined
  #delivered = 0
  #ended: Promise<undefined> | undefined
  #closing: Promise<void> | undefined

  /** @throws TensorRTError ERR_TRT_VIDEO_PROGRAM */
  static async start(decoding: Decoding): Promise<DecodedFrames> {
    const { ffmpeg, input, info, reading, hardware, stdin, more } = decoding
    const feed = frameFeed(reading.buffer)
    try {
      const args = decodingArguments(input, info, reading, hardware)
      const program = await startProgram(ffmpeg, args, { stdin: stdin === undefined ? 'ignore' : 'pipe', stdout: feed.stdout, more })
      feed.start(program.stdout)
      return new DecodedFrames(decoding, program, feed)
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
    const { info } = decoding
    const rgb = isRgb(info)
    this.#picture = { matrix: rgb ? 'bt601' : info.matrix, range: isFullRange(info) ? 'full' : 'limited' }
    this.#timeBase = { num: BigInt(info.timeBase[0]), den: BigInt(info.timeBase[1]) }
    const { frameRate, averageFrameRate } = info
    this.#duration = frameRate !== undefined && frameRate === averageFrameRate ? 1 / frameRate : undefined
    program.hold(false) // who forgets a video does not keep the process alive
  }

  get stats(): VideoStats {
    const { every } = this.#decoding.reading
    return { decoded: this.#delivered === 0 ? 0 : (this.#delivered - 1) * every + 1, delivered: this.#delivered, dropped: 0 }
  }

  async next(): Promise<VideoFrame | undefined> {
    if (this.#closing !== undefined) return undefined
    try {
      const frame = await this.#feed.next()
      return frame === undefined ? await this.#end(undefined) : this.#frameOf(frame)
    } catch (error) {
      return await this.#end(error)
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    // nobody wants its output; what is read from a network says goodbye
    const { input } = this.#decoding
    const gone = input.path === undefined && this.#pump === undefined ? this.#program.end() : this.#program.kill()
    await Promise.all([this.#feed.close(), this.#pump?.close(), gone])
  }

  #frameOf(fed: FedFrame): VideoFrame {
    const ticks = rescaled(fed.ticks - ticksOf(offsetSeconds, fed), fed, this.#timeBase)
    const { info, input, reading } = this.#decoding
    const { width, height, data, release } = fed
    return new VideoFrame({
      image: { format: 'i420', width, height, data, ...this.#picture },
      pts: secondsOf(ticks, this.#timeBase),
      ticks,
      timeBase: info.timeBase,
      duration: this.#duration,
      number: this.#delivered++ * reading.every,
      key: reading.decode === 'key' ? true : undefined,
      source: input.name,
      arrived: performance.now(),
      release,
    })
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
    if (exit.code !== 0 || lines.some((line) => cutShort.test(line))) {
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
