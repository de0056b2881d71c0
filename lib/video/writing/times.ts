import { checkedArray, checkedNumber, isWhole } from '../../base/checks.js'
import { expected, TensorRTError } from '../../errors.js'
import { baseOf, rescaled } from '../reading/times.js'

/** The seconds of a tick, as a fraction. */
export type TimeBase = readonly [numerator: number, denominator: number]

/** When a frame is shown: exactly, in seconds, or after the one before. */
export interface FrameTime {
  /** Seconds, at least 0. */
  readonly pts?: number | undefined
  /** In ticks of `timeBase`; goes before `pts`. */
  readonly ticks?: bigint | undefined
  /** What a tick is. */
  readonly timeBase?: TimeBase | undefined
}

/**
 * For frames that have seconds only: 24, 25, 30, 50 and 60 frames a second and their 1001sts, milliseconds and MPEG's
 * clock are whole in it.
 */
const fine: TimeBase = [1, 90_000]

/** The ticks of frames, in the time base of the first one; each is above the one before. */
export class Times {
  readonly timeBase: TimeBase
  readonly #frameRate: number | undefined
  #first: bigint | undefined
  #step = 0n
  #last: bigint | undefined
  #frames = 0

  /** @param first what the first frame says */
  constructor(first: FrameTime, frameRate: number | undefined) {
    this.timeBase = first.ticks === undefined ? fine : checkedTimeBase(first.timeBase)
    this.#frameRate = frameRate
  }

  /** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
  next(frame: FrameTime): bigint {
    const ticks = this.#ticksOf(frame)
    if (this.#last !== undefined && ticks <= this.#last) {
      const message = `Expected a frame after the one before (${this.#seconds(this.#last)} s) but received one of ${this.#seconds(ticks)} s: frames are written in the order in which they are shown`
      throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
    }
    this.#first ??= ticks
    this.#step = ticks - (this.#last ?? ticks)
    this.#last = ticks
    this.#frames++
    return ticks
  }

  /** How long all frames are shown, in seconds: the last one as long as the one before. */
  get shown(): number {
    if (this.#first === undefined || this.#last === undefined) return 0
    return this.#seconds(this.#last - this.#first + this.#step) + (this.#step === 0n ? 1 / (this.#frameRate ?? 25) : 0)
  }

  #seconds(ticks: bigint): number {
    return (Number(ticks) * this.timeBase[0]) / this.timeBase[1]
  }

  #ticksOf({ ticks, timeBase, pts }: FrameTime): bigint {
    const [numerator, denominator] = this.timeBase
    if (ticks !== undefined) {
      if (typeof ticks !== 'bigint' || ticks < 0n || ticks > 2n ** 52n)
        throw expected('a bigint of at least 0', 'frame.ticks', ticks)
      const [num, den] = checkedTimeBase(timeBase)
      if (num === numerator && den === denominator) return ticks
      return rescaled(ticks, baseOf([num, den]), baseOf(this.timeBase))
    }
    const seconds = pts ?? this.#byRate()
    const latest = (2 ** 52 * numerator) / denominator
    return BigInt(Math.round((checkedNumber(seconds, 'frame.pts', 0, latest) * denominator) / numerator))
  }

  #byRate(): number {
    if (this.#frameRate !== undefined) return this.#frames / this.#frameRate
    throw expected('seconds, or the option frameRate,', 'frame.pts', undefined)
  }
}

function checkedTimeBase(value: unknown): TimeBase {
  const [numerator, denominator] = checkedArray(value, 'frame.timeBase', 'a numerator and a denominator')
  const most = 2 ** 31 - 1
  if (isWhole(numerator, 1, most) && isWhole(denominator, 1, most)) return [numerator, denominator]
  throw expected(`a numerator and a denominator from 1 to ${most}`, 'frame.timeBase', value)
}
