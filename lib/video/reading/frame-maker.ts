import { VideoFrame } from '../frame.js'
import type { FedFrame } from '../nut/fed.js'
import type { VideoInfo } from '../probe.js'
import { isFullRange, isRgb, offsetSeconds } from './arguments.js'
import { baseOf, rescaled, secondsOf, ticksOf, type TimeBase } from './times.js'

/** Makes frames of what the pipe of a program brings. */
export class FrameMaker {
  /** That of the source. */
  readonly timeBase: TimeBase
  readonly #info: VideoInfo
  readonly #name: string
  readonly #key: true | undefined
  readonly #picture: Pick<VideoFrame, 'matrix' | 'range'>
  readonly #duration: number | undefined

  constructor(info: VideoInfo, name: string, decode: 'all' | 'reference' | 'key') {
    this.#info = info
    this.#name = name
    this.#key = decode === 'key' ? true : undefined
    this.#picture = { matrix: isRgb(info) ? 'bt601' : info.matrix, range: isFullRange(info) ? 'full' : 'limited' }
    this.timeBase = baseOf(info.timeBase)
    const { frameRate, averageFrameRate } = info
    this.#duration = frameRate !== undefined && frameRate === averageFrameRate ? 1 / frameRate : undefined
  }

  /** When the source shows it. */
  ticksOf(fed: FedFrame): bigint {
    return rescaled(fed.ticks - ticksOf(offsetSeconds, fed), fed, this.timeBase)
  }

  secondsOf(ticks: bigint): number {
    return secondsOf(ticks, this.timeBase)
  }

  frame({ width, height, data, arrived, release }: FedFrame, ticks: bigint, number: number): VideoFrame {
    return new VideoFrame({
      image: { format: 'i420', width, height, data, ...this.#picture },
      pts: this.secondsOf(ticks),
      ticks,
      timeBase: this.#info.timeBase,
      duration: this.#duration,
      number,
      key: this.#key,
      source: this.#name,
      arrived,
      release,
    })
  }
}
