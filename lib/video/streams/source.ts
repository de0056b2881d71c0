import { TensorRTError } from '../../errors.js'
import { openVideo, VideoSource } from '../open.js'
import { checkedInput } from '../programs/inputs.js'
import type { VideoSourceInput } from '../reading/sources.js'

/** A source of {@link streams}: a video that is open, one that is being opened, or what {@link openVideo} opens. */
export type StreamInput = VideoSource | PromiseLike<VideoSource> | VideoSourceInput

/** One of several sources. */
export interface StreamSource {
  /** Its number, from 0, in the order in which they were added. */
  readonly index: number
  /** The name of its video; until that is open what is known of it. */
  readonly name: string
  /** What was given. */
  readonly input: StreamInput
  /** Its video, once that is open. */
  readonly video: VideoSource | undefined
}

/** A source that is opened when the first frame is wanted, and closed whatever has become of it by then. */
export class OpeningSource {
  /** What others see of it. */
  readonly handle: StreamSource
  readonly #input: StreamInput
  readonly #opening = new AbortController()
  #video: VideoSource | undefined
  #closed = false

  constructor(input: StreamInput, index: number) {
    this.#input = input
    if (input instanceof VideoSource) this.#video = input
    // who awaits it comes later
    if (isPromise(input)) input.then(undefined, () => undefined)
    const video = (): VideoSource | undefined => this.#video
    this.handle = Object.freeze({
      index,
      input,
      get name() {
        return video()?.name ?? nameOf(input, index)
      },
      get video() {
        return video()
      },
    })
  }

  /** Whether it is this one that somebody means. */
  is(source: unknown): boolean {
    return source === this.handle || source === this.#input || (source !== undefined && source === this.#video)
  }

  /** @throws TensorRTError as {@link openVideo}; what a promise was rejected with */
  async open(): Promise<VideoSource> {
    const video = this.#video ?? (await this.#opened())
    this.#video = video
    if (this.#closed) await video.close()
    return video
  }

  async #opened(): Promise<VideoSource> {
    if (!isPromise(this.#input)) return openVideo(this.#input as VideoSourceInput, { signal: this.#opening.signal })
    const video = await this.#input
    if (video instanceof VideoSource) return video
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Expected a promise of a VideoSource for source ${this.handle.index}`,
    )
  }

  /**
   * Is settled when nothing of the video is left. One that somebody else is still opening is closed as soon as it is
   * there.
   */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#video !== undefined) return this.#video.close()
    this.#opening.abort()
    if (isPromise(this.#input)) void this.open().catch(() => undefined)
  }
}

function isPromise(input: StreamInput): input is PromiseLike<VideoSource> {
  return typeof (input as Partial<PromiseLike<VideoSource>>).then === 'function'
}

/** What opening finds wrong is told then. */
function nameOf(input: StreamInput, index: number): string {
  try {
    return checkedInput(input).name
  } catch {
    return `source ${index}`
  }
}
