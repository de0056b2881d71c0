import { onAbort, within } from '../base/cancellation.js'
import type { VideoFrame } from './frame.js'
import type { VideoInfo } from './probe.js'
import { beginReading, type Begun, type VideoDecoder } from './reading/begin.js'
import type { FrameStream, VideoStats } from './reading/decoded.js'
import { checkedReading, type OpenVideoOptions } from './reading/options.js'
import { openedSource, type VideoSourceInput } from './reading/sources.js'

/**
 * A video that is being read: iterate it for its frames, once. The loop closes it, however it ends; `close()` or `await
 * using` does where there is none. Damage, and a file that is cut short, is an error after the frames before it.
 */
export class VideoSource implements AsyncIterable<VideoFrame>, AsyncDisposable {
  /** The path, the URL without passwords, or what else it is. */
  readonly name: string
  /** What was known when it was opened; of frames that were handed in, what the first one tells. */
  readonly info: VideoInfo
  /** What decodes it. */
  readonly decoder: VideoDecoder
  /**
   * Whether it happens now: frames tell how old they are (`frame.age`), and how many were left out (`stats.dropped`).
   */
  readonly live: boolean
  readonly #frames: FrameStream
  readonly #signal: AbortSignal | undefined
  #forget: () => void = () => undefined // a signal that is aborted already closes it in the constructor
  #closing: Promise<void> | undefined

  /** @internal {@link openVideo} */
  constructor({ name, info, decoder, live, frames }: Begun, signal: AbortSignal | undefined) {
    this.name = name
    this.info = info
    this.decoder = decoder
    this.live = live
    this.#frames = frames
    this.#signal = signal
    this.#forget = onAbort(signal, () => void this.close())
  }

  /** What was read so far. */
  stats(): VideoStats {
    return this.#frames.stats()
  }

  /**
   * The frames, in the order in which they are shown. Who asks for several at once gets them in that order, too.
   * @throws TensorRTError (of `next()`) ERR_TRT_VIDEO_DATA (also: a live source did not come back), ERR_TRT_CRASH where
   * ffmpeg was killed; the signal's reason; what a source, or `onGap`, throws
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

  /**
   * Ends ffmpeg, and is settled when its process, its pipe and the thread that read it are gone. Frames that were given
   * stay. Twice without harm.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /** {@link close} */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #next(): Promise<VideoFrame | undefined> {
    try {
      const frame = await within({ signal: this.#signal }, async (cut) => {
        const next = await this.#frames.next()
        if (cut?.happened) next?.close() // nobody gets it
        return next
      })
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
 * Opens a video, whose frames come as YUV (`i420`, 8 bit), upright, each with its time as the source has it. ffmpeg
 * decodes, as a process of its own. What is live is open when its first frame is about to come: where somebody has to
 * connect, that takes until then, or until the signal is aborted.
 * @param source a path, a URL, a device (`/dev/video0`), the bytes of a file, such bytes in pieces (a stream), or
 * frames of another library, which are passed on without a copy
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where there is no ffmpeg; ERR_TRT_VIDEO_DATA where there is no video, or
 * one that cannot be read (also: of high dynamic range); ERR_TRT_INVALID_ARGUMENT; the signal's reason
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
    const video = new VideoSource(await beginReading(await openedSource(source), reading), reading.signal)
    if (cut?.happened) await video.close()
    return video
  })
}
