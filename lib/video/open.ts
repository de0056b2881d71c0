import { onAbort, within } from '../base/cancellation.js'
import { expected, TensorRTError } from '../errors.js'
import type { VideoFrame } from './frame.js'
import { probeVideo, type VideoInfo } from './probe.js'
import { withBytes } from './programs/bytes.js'
import { findPrograms } from './programs/find.js'
import { pipeInput } from './programs/inputs.js'
import { DecodedFrames, type Decoding, type FrameStream, type VideoStats } from './reading/decoded.js'
import { GivenFrames, givenName, microseconds } from './reading/given.js'
import { decoderFor, type VideoDecoder } from './reading/hardware.js'
import { checkedReading, type OpenVideoOptions, type Reading } from './reading/options.js'
import { headOf, withHead } from './reading/pieces.js'
import { type GivenFrame, type Opened, openedSource, type VideoSourceInput } from './reading/sources.js'

/**
 * A video that is being read: iterate it for its frames, once. The loop closes it, however it ends; `close()` or `await using` does where there is none.
 * Damage, and a file that is cut short, is an error after the frames before it.
 */
export class VideoSource implements AsyncIterable<VideoFrame>, AsyncDisposable {
  /** The path, the URL without passwords, or what else it is. */
  readonly name: string
  /** What was known when it was opened; of frames that were handed in, what the first one tells. */
  readonly info: VideoInfo
  /** What decodes it. */
  readonly decoder: VideoDecoder
  readonly #frames: FrameStream
  readonly #signal: AbortSignal | undefined
  #forget: () => void = () => undefined // a signal that is aborted already closes it in the constructor
  #closing: Promise<void> | undefined

  /** @internal {@link openVideo} */
  constructor(name: string, info: VideoInfo, decoder: VideoDecoder, frames: FrameStream, signal: AbortSignal | undefined) {
    this.name = name
    this.info = info
    this.decoder = decoder
    this.#frames = frames
    this.#signal = signal
    this.#forget = onAbort(signal, () => void this.close())
  }

  /** What was read so far. */
  get stats(): VideoStats {
    return this.#frames.stats
  }

  /**
   * The frames, in the order in which they are shown. Who asks for several at once gets them in that order, too.
   * @throws TensorRTError (of `next()`) ERR_TRT_VIDEO_DATA, ERR_TRT_CRASH where ffmpeg was killed; the signal's reason; what a source throws
   */
  [Symbol.asyncIterator](): AsyncIterator<VideoFrame, undefined> {
    return {
      next: async () => {
        const value = await this.#next()
        return value === undefined ? { value: undefined, done: true } : { value, done: false }
      },
      return: async () => {
        await this.close()
        return { value: undefined, done: true }
      },
    }
  }

  /** Ends ffmpeg, and is settled when its process, its pipe and the thread that read it are gone. Frames that were given stay. Twice without harm. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /** {@link close} */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #next(): Promise<VideoFrame | undefined> {
    try {
      const frame = await within({ signal: this.#signal }, () => this.#frames.next())
      if (frame === undefined) await this.close()
      return frame
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async #close(): Promise<void> {
    this.#forget()
    await this.#frames.close()
  }
}

/**
 * Opens a video, whose frames come as YUV (`i420`, 8 bit), upright, each with its time as the source has it. ffmpeg decodes, as a process of its own.
 * @param source a path, a URL, the bytes of a file, such bytes in pieces (a stream), or frames of another library, which are passed on without a copy
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where there is no ffmpeg; ERR_TRT_VIDEO_DATA where there is no video, or one that cannot be read (also: of high dynamic range);
 * ERR_TRT_INVALID_ARGUMENT; the signal's reason
 * @example
 * ```ts
 * import { openVideo } from 'node-tensorrt/video'
 *
 * await using video = await openVideo('in.mp4', { start: 10, end: 20 })
 * for await (const frame of video) {
 *   console.log(frame.pts, frame.number)
 *   frame.close()
 * }
 * ```
 */
export async function openVideo(source: VideoSourceInput, options?: OpenVideoOptions): Promise<VideoSource> {
  const reading = checkedReading(options)
  return within({ signal: reading.signal }, async (cut) => {
    const video = await opened(await openedSource(source), reading)
    if (cut?.happened) await video.close()
    return video
  })
}

async function opened(source: Opened, reading: Reading): Promise<VideoSource> {
  if (source.kind === 'frames') return ofFrames(source, reading)
  if (source.kind === 'input') {
    const { input } = source
    return decoded({ input, probed: input.path ?? input.url, stdin: undefined, more: [] }, reading)
  }
  if (source.kind === 'bytes') return ofBytes(source.bytes, reading)
  const { head, pieces } = await headOf(source.first, source.pieces)
  const first = Buffer.concat(head)
  if (pieces === undefined) return ofBytes(first, reading)
  return decoded({ input: pipeInput('the video of a stream'), probed: first, stdin: withHead(first, pieces), more: [] }, reading)
}

function ofBytes(bytes: Uint8Array, reading: Reading): Promise<VideoSource> {
  return withBytes(bytes, ({ input, stdin, more }) =>
    decoded({ input, probed: bytes, stdin: stdin && withHead(stdin, undefined), more }, reading),
  )
}

/** What ffmpeg reads, and what it is probed by. */
interface Given extends Pick<Decoding, 'input' | 'stdin' | 'more'> {
  readonly probed: string | Uint8Array
}

async function decoded({ probed, ...given }: Given, reading: Reading): Promise<VideoSource> {
  const { signal, ffmpeg } = reading
  try {
    const programs = await findPrograms({ ffmpeg, signal })
    const info = await probeVideo(probed, { signal, ffmpeg })
    refuseHdr(given.input.name, info)
    const decoder = await decoderFor(reading.hardware, programs.ffmpeg, signal)
    signal?.throwIfAborted()
    const frames = await DecodedFrames.start({ ...given, ffmpeg: programs.ffmpeg, info, reading, hardware: decoder.hardware })
    return new VideoSource(given.input.name, info, decoder, frames, signal)
  } catch (error) {
    await given.stdin?.return?.()
    throw error
  }
}

function refuseHdr(name: string, { hdr }: VideoInfo): void {
  if (hdr === undefined) return
  const message = `${name} is of high dynamic range (${hdr}), which 8 bits cannot show as it is: convert it with ffmpeg's filters zscale and tonemap first`
  throw new TensorRTError('ERR_TRT_VIDEO_DATA', message, { details: { hdr } })
}

/** What only ffmpeg does. */
const ofDecoders = ['decode', 'scale', 'hardware'] as const
const unasked = { decode: 'all', scale: undefined, hardware: 'none' } as const

function ofFrames({ first, frames }: Extract<Opened, { kind: 'frames' }>, reading: Reading): VideoSource {
  const asked = ofDecoders.find((name) => reading[name] !== unasked[name])
  if (asked !== undefined) throw expected('nothing, since frames that were handed in are not decoded,', asked, reading[asked])
  const stream = new GivenFrames(first, frames, reading)
  return new VideoSource(givenName, infoOf(first), { hardware: 'none', reason: undefined }, stream, reading.signal)
}

/** What the first frame tells. */
function infoOf(first: GivenFrame | undefined): VideoInfo {
  const { format = 'i420', width = 0, height = 0, matrix, range } = first?.image ?? {}
  return {
    ...{ width, height, rotation: 0, codec: 'rawvideo', pixelFormat: format, bitDepth: 8, container: givenName, audio: [] },
    ...{ frameRate: undefined, averageFrameRate: undefined, duration: undefined, start: first?.pts, frames: undefined },
    ...{ hdr: undefined, pixelAspect: undefined, colors: { space: undefined, primaries: undefined, transfer: undefined } },
    ...{ timeBase: first?.timeBase ?? microseconds, matrix, range },
  }
}
