import type { Writable } from 'node:stream'
import { onAbort } from '../base/cancellation.js'
import { isThere } from '../base/files.js'
import { expected, TensorRTError } from '../errors.js'
import type { Image, RawImage } from '../vision/index.js'
import { keepFrame, VideoFrame } from './frame.js'
import type { VideoInfo } from './info.js'
import { NutWriter } from './nut/writer.js'
import { demandEncoder, findPrograms } from './programs/find.js'
import { probeVideo } from './probe.js'
import { checkedInput, type Input } from './programs/inputs.js'
import { type Exit, type Program, startProgram } from './programs/start.js'
import { codecs } from './writing/codecs.js'
import { writingArguments } from './writing/arguments.js'
import { assertWritten, type Written, writingError } from './writing/failure.js'
import { Layout, type WritablePixels, writablePixels } from './writing/layout.js'
import { checkedWriting, evenSize, type WriteVideoOptions, type Writing } from './writing/options.js'
import { fileTarget, streamTarget, type Target } from './writing/target.js'
import { type FrameTime, Times } from './writing/times.js'
import { trimSounds } from './writing/trim.js'
import type { Size } from '../base/size.js'
import { checkedBoolean, checkedObject } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { isUrl } from '../base/kinds.js'

export type { VideoCodec, VideoContainer } from './writing/codecs.js'
export type { VideoLike, WriteVideoOptions } from './writing/options.js'
export type { FrameTime, TimeBase } from './writing/times.js'

/**
 * A picture and when it is shown: by `ticks` and `timeBase` exactly, by `pts` in seconds, or, with the option
 * `frameRate`, after the one before. What `openVideo` gives is one.
 */
export type WritableFrame = (Image | RawImage) & FrameTime

/** Options of {@link VideoWriter.close}. */
export interface CloseVideoOptions {
  /** Whether sounds end with the last frame. False unless given: they are as long as the source's. */
  readonly trimAudio?: boolean | undefined
}

interface Parts {
  readonly ffmpeg: string
  readonly target: Target
  readonly info: VideoInfo | undefined
  readonly sounds: Input | undefined
}

/** What all frames are like, from the first one on. */
interface Begun {
  readonly layout: Layout
  readonly times: Times
  readonly nut: NutWriter
  readonly program: Promise<Program>
}

/**
 * A video that is being written. `close()` makes it whole; without it, by `abort()`, or at the end of an `await using`,
 * nothing of it stays.
 */
export class VideoWriter implements AsyncDisposable {
  readonly #writing: Writing
  readonly #parts: Parts
  readonly #forget: () => void
  #begun: Begun | undefined
  /** The last write, and whatever became of it. */
  #tail: Promise<unknown> = Promise.resolve()
  #frames = 0
  #isWhole = false
  #waiting = 0
  #closing: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  #discarded: Promise<void> | undefined
  #taken: Promise<void> = Promise.resolve()
  /** Called when ffmpeg is gone while a frame is on its way. */
  #onExit = (): void => {}

  /** @internal {@link writeVideo} */
  constructor(writing: Writing, parts: Parts) {
    this.#writing = writing
    this.#parts = parts
    this.#forget = onAbort(writing.signal, () => void this.#fail(writing.signal?.reason))
  }

  /** How many frames ffmpeg has taken. */
  get frames(): number {
    return this.#frames
  }

  /**
   * Writes a frame. Fulfilled when ffmpeg has taken it, until when its bytes are not to change: whoever awaits it goes
   * as fast as the encoder. A {@link VideoFrame} may be closed at once. Frames come in the order in which they are
   * shown, all in the first one's size and format.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, of this frame alone; what the writing failed
   * with: ERR_TRT_VIDEO_DATA, ERR_TRT_CRASH (ffmpeg was killed), ERR_TRT_FILE (the disk is full); ERR_TRT_CLOSED; the
   * signal's reason
   */
  async write(frame: WritableFrame): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#closing !== undefined) throw this.#closed()
    checkedObject(frame, 'frame', 'a picture')
    const pixels = this.#begun?.layout.checked(frame) ?? this.#first(frame)
    const begun = (this.#begun ??= this.#begin(frame, pixels))
    const ticks = begun.times.next(frame)
    const before = this.#tail
    const release = frame instanceof VideoFrame ? keepFrame(frame) : undefined
    const sent = this.#busily(async () => {
      await before
      await this.#send(begun, pixels, ticks).finally(release)
    })
    this.#tail = sent.catch(() => {})
    return sent
  }

  /**
   * Waits for the frames that were written, and for ffmpeg: fulfilled when the file is whole under its name. Twice
   * without harm. With `trimAudio` the sounds of a file end with its last frame: for a video that ends before its
   * source does. In a stream, which is not gone back in, they stay.
   * @throws TensorRTError as `write`; ERR_TRT_VIDEO_DATA, too, where no frame was written; ERR_TRT_CLOSED after
   * `abort()`
   */
  async close(options?: CloseVideoOptions): Promise<void> {
    const { trimAudio = false } = readOptions(options, ['trimAudio'], 'close')
    const trims = checkedBoolean(trimAudio, 'trimAudio')
    await (this.#closing ??= this.#busily(() => this.#close(trims)))
  }

  /**
   * Ends ffmpeg; nothing stays at the target, and a stream gets an error. After `close()` nothing happens. Twice
   * without harm.
   */
  async abort(): Promise<void> {
    if (this.#isWhole) return
    await this.#fail(new TensorRTError('ERR_TRT_CLOSED', `The writing of ${this.#parts.target.name} was aborted`))
  }

  /** {@link abort}, unless it was closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing === undefined) return this.abort()
    await this.#closing.catch(() => {}) // whoever closed it was told
  }

  #closed(): TensorRTError {
    return new TensorRTError('ERR_TRT_CLOSED', `The writer of ${this.#parts.target.name} is closed`)
  }

  #first(frame: WritableFrame): WritablePixels {
    const pixels = writablePixels(frame)
    const { width = pixels.width, height = pixels.height } = this.#writing
    if (pixels.width !== width || pixels.height !== height)
      throw expected(
        `${width} x ${height}, as the options say,`,
        'the size of the frame',
        `${pixels.width} x ${pixels.height}`,
      )
    evenSize(this.#writing, width, height)
    return pixels
  }

  #begin(frame: WritableFrame, pixels: WritablePixels): Begun {
    const { info, sounds, target } = this.#parts
    const layout = new Layout(pixels, padding(this.#writing, pixels))
    const times = new Times(frame, this.#writing.frameRate ?? info?.averageFrameRate ?? info?.frameRate)
    const { timeBase } = times
    const { matrix, range } = frame as Partial<RawImage>
    const picture = { layout, matrix, range, timeBase }
    const args = writingArguments(this.#writing, picture, { info, sounds, output: target.output })
    const nut = new NutWriter({ width: layout.rowWidth, height: layout.rows, format: layout.format, timeBase })
    const program = this.#start(args)
    program.catch(() => {}) // each write is told
    return { layout, times, nut, program }
  }

  async #start(args: readonly string[]): Promise<Program> {
    const { ffmpeg, target } = this.#parts
    try {
      const stdout = target.output === undefined ? 'pipe' : 'ignore'
      const program = await startProgram(ffmpeg, args, { stdin: 'pipe', stdout })
      program.hold(this.#waiting > 0)
      if (program.stdout !== undefined) this.#taken = target.take(program.stdout)
      this.#taken.catch((error: unknown) => void this.#fail(error))
      if (this.#failure !== undefined) void program.kill()
      void program.exited.then(() => this.#exited(program))
      return program
    } catch (error) {
      void this.#fail(error) // which waits for this promise
      throw error
    }
  }

  async #send({ layout, nut, program: starting }: Begun, pixels: WritablePixels, ticks: bigint): Promise<void> {
    const program = await starting.catch(() => undefined)
    if (program === undefined || this.#failure !== undefined) throw this.#failure?.error
    const bytes = layout.bytesOf(pixels)
    const { stdin } = program
    const isTaken = await new Promise<boolean>((resolve) => {
      this.#onExit = () => resolve(false)
      if (stdin === undefined || program.exit !== undefined) return resolve(false)
      stdin.cork() // both go in one call of the system
      stdin.write(nut.before(ticks, bytes.length))
      stdin.write(bytes, (error) => resolve(error == null))
      stdin.uncork()
    })
    if (!isTaken) throw await this.#whyGone(program)
    this.#frames++
  }

  async #close(trims: boolean): Promise<void> {
    await this.#tail
    try {
      if (this.#failure !== undefined) throw this.#failure.error
      const { target } = this.#parts
      if (this.#begun === undefined)
        throw new TensorRTError('ERR_TRT_VIDEO_DATA', `No frame was written to ${target.name}`)
      const program = await this.#begun.program
      program.stdin?.end()
      const [exit] = await Promise.all([program.exited, this.#taken])
      if (exit.code !== 0 || this.#failure !== undefined) throw await this.#whyGone(program)
      await assertWritten(this.#written(program, exit), target, this.#writing.container)
      if (trims) await this.#trim(this.#begun.times.shown)
      this.#forget()
      await target.finish()
      this.#isWhole = true
    } catch (error) {
      await this.#fail(error)
      throw error
    }
  }

  async #trim(shown: number): Promise<void> {
    const { ffmpeg, sounds, target } = this.#parts
    if (sounds !== undefined) await trimSounds({ ...target, frames: this.#frames }, shown, this.#writing, ffmpeg)
  }

  #written({ lines }: Program, exit: Exit): Written {
    return { name: this.#parts.target.name, frames: this.#frames, exit, lines }
  }

  #exited(program: Program): void {
    this.#onExit()
    if (program.exit?.code !== 0 || this.#closing === undefined) void this.#whyGone(program)
  }

  /** What all that is under way fails with, now that ffmpeg is gone, or about to be. */
  async #whyGone(program: Program): Promise<unknown> {
    const exit = await program.exited
    await this.#fail(this.#failure?.error ?? writingError(this.#written(program, exit)))
    return this.#failure?.error
  }

  /** The first failure is what everybody is told. Fulfilled when ffmpeg is gone, and what it had made. */
  #fail(error: unknown): Promise<void> {
    this.#failure ??= { error }
    return (this.#discarded ??= this.#discard(error))
  }

  async #discard(error: unknown): Promise<void> {
    this.#forget()
    const program = await this.#begun?.program.catch(() => undefined)
    await program?.kill()
    await this.#parts.target.discard(error)
  }

  /** A writer for which nobody waits does not keep this process alive. */
  async #busily(work: () => Promise<void>): Promise<void> {
    if (this.#waiting++ === 0) this.#hold()
    try {
      await work()
    } finally {
      if (--this.#waiting === 0) this.#hold()
    }
  }

  #hold(): void {
    void this.#begun?.program.then(
      (program) => program.hold(this.#waiting > 0),
      () => {},
    )
  }
}

function padding(writing: Writing, { width, height }: Size): Size | undefined {
  return writing.odd === 'pad' ? evenSize(writing, width, height) : undefined
}

/**
 * What the source says, and where its sounds are.
 * @throws TensorRTError those of probeVideo; ERR_TRT_INVALID_ARGUMENT of HDR, and of sounds that lie in no file
 */
async function likeness({ like, audio, ffmpeg, signal }: Writing): Promise<Pick<Parts, 'info' | 'sounds'>> {
  if (like === undefined) return { info: undefined, sounds: undefined }
  const isPlace = typeof like === 'string' || isUrl(like)
  const info = isPlace ? await probeVideo(like, { ffmpeg, signal }) : like.info
  if (info.hdr !== undefined)
    throw expected('a video without HDR, since frames of 8 bits have none,', 'like', `${info.hdr} video`)
  if (audio === false || info.audio.length === 0) return { info, sounds: undefined }
  if (isPlace) return { info, sounds: checkedInput(like, 'like') }
  if (like.source !== undefined) return { info, sounds: checkedInput(like.source, 'like.source') }
  if (like.name !== undefined && (await isThere(like.name)))
    return { info, sounds: checkedInput(like.name, 'like.name') }
  const message = `The sounds of ${like.name ?? 'like'} cannot be copied, since it is no file that is there: give its path or URL, or audio: false`
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}

/**
 * Writes a video: frames in, in the order in which they are shown, each with its time; sounds of the source as they
 * are. ffmpeg encodes, in a process of its own, which begins with the first frame.
 *
 * @param target The path of a file (`.mp4`, `.m4v`, `.mov`, `.mkv`, `.webm`), or a Writable. A file has a temporary
 * name beside its own until it is whole.
 * @example
 * ```ts
 * import { probeVideo, writeVideo } from 'node-tensorrt/video'
 *
 * const { width, height } = await probeVideo('in.mp4')
 * await using out = await writeVideo('out.mp4', { like: 'in.mp4', frameRate: 25, overwrite: true })
 * const data = new Uint8Array(width * height * 3)
 * for (let i = 0; i < 50; i++) await out.write({ width, height, channels: 3, data: data.fill(5 * i) })
 * await out.close()
 * ```
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM (no ffmpeg, or without the encoder), ERR_TRT_FILE (the folder is not
 * there, the file is), ERR_TRT_VIDEO_DATA (of `like`), ERR_TRT_INVALID_ARGUMENT; the signal's reason
 */
export async function writeVideo(target: string | URL | Writable, options?: WriteVideoOptions): Promise<VideoWriter> {
  const writing = checkedWriting(target, options)
  const { ffmpeg, signal, codec, width, height } = writing
  const { encoder } = codecs[codec]
  const programs = await findPrograms({ ffmpeg, signal })
  await demandEncoder(programs, encoder, signal)
  const { info, sounds } = await likeness(writing)
  if (width !== undefined && height !== undefined) evenSize(writing, width, height)
  const { target: place, overwrite } = writing
  const to = typeof place === 'string' ? await fileTarget(place, overwrite) : streamTarget(place)
  return new VideoWriter(writing, { ffmpeg: programs.ffmpeg, target: to, info, sounds })
}
