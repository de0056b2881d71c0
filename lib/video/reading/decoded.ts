import type { VideoFrame } from '../frame.js'
import type { Decoder } from './decoder.js'
import type { FrameMaker } from './frame-maker.js'

/** What was read so far. */
export interface VideoStats {
  /**
   * Frames that were decoded, up to the last that was given or dropped: those two together, and with `every` those
   * between.
   */
  readonly decoded: number
  /** Frames that were given. */
  readonly delivered: number
  /** Frames that were left out, since newer ones came before anybody took them: with `onFull: 'drop-oldest'`. */
  readonly dropped: number
  /** How often a live source came back with frames. */
  readonly reconnects: number
}

/** Frames, one after the other. */
export interface FrameStream {
  stats(): VideoStats
  /** Undefined at the end, and once it is closed. */
  next(): Promise<VideoFrame | undefined>
  /** Ends all that is under way, and is settled when nothing of it is left. Twice without harm; never rejected. */
  close(): Promise<void>
}

/** Of so many that came through `every`. */
export function decodedOf(passed: number, every: number): number {
  return passed === 0 ? 0 : (passed - 1) * every + 1
}

/** Frames that ffmpeg decodes, from the first to the last of one run. */
export class DecodedFrames implements FrameStream {
  readonly #decoder: Decoder
  readonly #maker: FrameMaker
  readonly #every: number

  constructor(decoder: Decoder, maker: FrameMaker, every: number) {
    this.#decoder = decoder
    this.#maker = maker
    this.#every = every
  }

  stats(): VideoStats {
    const { delivered, dropped } = this.#decoder
    return { decoded: decodedOf(delivered + dropped, this.#every), delivered, dropped, reconnects: 0 }
  }

  async next(): Promise<VideoFrame | undefined> {
    const fed = await this.#decoder.next()
    return fed && this.#maker.frame(fed, this.#maker.ticksOf(fed), fed.number * this.#every)
  }

  close(): Promise<void> {
    return this.#decoder.close()
  }
}
