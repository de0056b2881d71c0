import { TensorRTError } from '../errors.js'
import type { PixelFormat, RawImage } from '../vision/index.js'

/** What a frame is made of. */
export interface FrameParts extends Pick<
  VideoFrame,
  'pts' | 'ticks' | 'timeBase' | 'duration' | 'number' | 'key' | 'source'
> {
  readonly image: RawImage
  /** When its bytes were there: milliseconds, as `performance.now()` counts. */
  readonly arrived: number
  /** Called once, when it is closed. */
  readonly release: (() => void) | undefined
}

/**
 * Keeps the memory of a frame, also where it is closed meanwhile.
 * @returns lets go of it; twice without harm
 */
export let keepFrame: (frame: VideoFrame) => () => void

/**
 * A picture of a video, and when it is shown. Its bytes are where the decoder's pipe left them: `close()`, or `using`,
 * gives their memory to the next frame, else the collector does, later. Functions that take pictures take it as it is:
 * close it when they are done.
 */
export class VideoFrame implements RawImage, Disposable {
  /** How the bytes lie: `i420`, unless frames of another format were handed in. */
  readonly format: PixelFormat
  /** The width as it is shown, in pixels. */
  readonly width: number
  /** The height as it is shown, in pixels. */
  readonly height: number
  /** Bytes from one row to the next; undefined: no gap. */
  readonly stride: number | undefined
  /** What Y, U and V mean. */
  readonly matrix: RawImage['matrix']
  /** Which values Y, U and V have. */
  readonly range: RawImage['range']
  /** When it is shown, in seconds, as the source counts them: a file need not begin at 0. */
  readonly pts: number
  /** The same in ticks of {@link timeBase}, exactly. */
  readonly ticks: bigint
  /** A tick in seconds: a numerator and a denominator. */
  readonly timeBase: readonly [number, number]
  /** How long it is shown, in seconds, where all frames are shown as long; else undefined: until the next one. */
  readonly duration: number | undefined
  /** How many frames were decoded before it, from `start` on; with `every` there are gaps. */
  readonly number: number
  /** Whether it is a key frame; undefined where nobody knows. */
  readonly key: boolean | undefined
  /** The name of the source. */
  readonly source: string
  readonly #arrived: number
  readonly #release: (() => void) | undefined
  #data: Uint8Array | undefined
  /** How many still read its bytes, whoever closes it. */
  #readers = 0

  static {
    keepFrame = (frame) => {
      frame.#readers++
      let isDone = false
      return () => {
        if (isDone) return
        isDone = true
        frame.#readers--
        frame.#giveBack()
      }
    }
  }

  /** @internal {@link openVideo} */
  constructor({ image, pts, ticks, timeBase, duration, number, key, source, arrived, release }: FrameParts) {
    this.format = image.format
    this.width = image.width
    this.height = image.height
    this.stride = image.stride
    this.matrix = image.matrix
    this.range = image.range
    this.#data = image.data
    this.pts = pts
    this.ticks = ticks
    this.timeBase = timeBase
    this.duration = duration
    this.number = number
    this.key = key
    this.source = source
    this.#arrived = arrived
    this.#release = release
  }

  /**
   * The bytes of the picture.
   * @throws TensorRTError ERR_TRT_CLOSED
   */
  get data(): Uint8Array {
    if (this.#data === undefined) {
      const message = `Frame ${this.number} of ${this.source} is closed: take what is needed of it before`
      throw new TensorRTError('ERR_TRT_CLOSED', message)
    }
    return this.#data
  }

  /** Seconds since it was decoded; of a frame that was handed in, since it came. */
  get age(): number {
    return (performance.now() - this.#arrived) / 1000
  }

  /** Whether {@link close} was called. */
  get closed(): boolean {
    return this.#data === undefined
  }

  /** Gives the memory to another frame: `data`, and views of it, have nothing any more. Twice without harm. */
  close(): void {
    if (this.#data === undefined) return
    this.#data = undefined
    this.#giveBack()
  }

  #giveBack(): void {
    if (this.#data === undefined && this.#readers === 0) this.#release?.()
  }

  /** {@link close} */
  [Symbol.dispose](): void {
    this.close()
  }
}
