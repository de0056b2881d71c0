import { checkedNumber, checkedWhole } from '../../base/checks.js'
import { expected } from '../../errors.js'
import { VideoFrame } from '../frame.js'
import type { FrameStream, VideoStats } from './decoded.js'
import type { Reading } from './options.js'
import { type GivenFrame, isGivenFrame } from './sources.js'
import { baseOf, secondsOf } from './times.js'

/** The ticks of frames that have none. */
export const microseconds: readonly [number, number] = [1, 1_000_000]

/** The name of frames that have no file. */
export const givenName = 'frames'

/** Frames of another library, as they are: their bytes are not copied. */
export class GivenFrames implements FrameStream {
  readonly #frames: AsyncIterator<unknown>
  readonly #reading: Reading
  #first: GivenFrame | undefined
  #decoded = 0
  #delivered = 0
  #closed = false
  #ended = false

  constructor(first: GivenFrame | undefined, frames: AsyncIterator<unknown>, reading: Reading) {
    this.#first = first
    this.#ended = first === undefined
    this.#frames = frames
    this.#reading = reading
  }

  stats(): VideoStats {
    return { decoded: this.#decoded, delivered: this.#delivered, dropped: 0, reconnects: 0 }
  }

  async next(): Promise<VideoFrame | undefined> {
    for (;;) {
      const given = await this.#take()
      if (given === undefined) return undefined
      const frame = frameOf(given, this.#decoded)
      const { start = -Infinity, end = Infinity, every } = this.#reading
      if (frame.pts >= end) {
        frame.close()
        await this.close()
        return undefined
      }
      const wanted = frame.pts >= start && this.#decoded++ % every === 0
      if (wanted) {
        this.#delivered++
        return frame
      }
      frame.close()
    }
  }

  /** Does not wait for a frame that is under way there. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#first?.close?.()
    this.#first = undefined
    if (!this.#ended) void this.#frames.return?.()?.then(undefined, () => undefined)
  }

  async #take(): Promise<GivenFrame | undefined> {
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) return first
    if (this.#closed || this.#ended) return undefined
    const next = await this.#frames.next()
    if (next.done === true) {
      this.#ended = true
      return undefined
    }
    const { value } = next
    if (!isGivenFrame(value)) throw expected('{ image, pts }', 'a frame of source', value)
    if (!this.#closed) return value
    value.close?.()
    return undefined
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function frameOf(given: GivenFrame, number: number): VideoFrame {
  const { image, duration, key } = given
  const timeBase = given.timeBase ?? microseconds
  const part = (value: unknown): number => checkedWhole(value, 'timeBase of a frame', 1, 2 ** 31 - 1)
  const [num, den] = timeBase.map(part) as [number, number]
  if (given.ticks !== undefined && typeof given.ticks !== 'bigint')
    throw expected('a bigint', 'ticks of a frame', given.ticks)
  const seconds = given.ticks === undefined ? undefined : secondsOf(given.ticks, baseOf([num, den]))
  const pts = checkedNumber(given.pts ?? seconds, 'pts of a frame')
  return new VideoFrame({
    image,
    pts,
    ticks: given.ticks ?? BigInt(Math.round((pts * den) / num)),
    timeBase: [num, den],
    duration,
    number,
    key,
    source: givenName,
    arrived: performance.now(),
    release: given.close === undefined ? undefined : () => given.close?.(),
  })
}
