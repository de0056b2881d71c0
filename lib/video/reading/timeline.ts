import { rescaled, type TimeBase } from './times.js'

const micro: TimeBase = { num: 1n, den: 1_000_000n }

/** How much further than this machine's clock the times of a source may go, from one frame to the next. */
const mostAheadMs = 10_000

/** What a frame's time became. */
export interface Placed {
  readonly ticks: bigint
  /** Whether the source's own times went back, or far ahead. */
  readonly isJump: boolean
}

/**
 * The times of a live source, which rise over all that happens to it: where its own do not, this machine's clock goes
 * on.
 */
export class Timeline {
  readonly #base: TimeBase
  #last: { readonly own: bigint; readonly ticks: bigint; readonly arrived: number } | undefined
  #offset = 0n

  constructor(base: TimeBase) {
    this.#base = base
  }

  /** The last frame's; undefined before the first. */
  get last(): bigint | undefined {
    return this.#last?.ticks
  }

  /**
   * Of the next frame, which has the time `own`; `isFirst`: of a connection, whose times have nothing to do with those
   * of the one before.
   */
  place(own: bigint, arrived: number, isFirst: boolean): Placed {
    const isJump = this.#last !== undefined && !isFirst && this.#jumps(own, arrived)
    if (this.#last !== undefined && (isFirst || isJump)) this.#offset = this.#last.ticks + this.#elapsed(arrived) - own
    const ticks = own + this.#offset
    this.#last = { own, ticks, arrived }
    return { ticks, isJump }
  }

  #jumps(own: bigint, arrived: number): boolean {
    const further = own - this.#last!.own
    return further <= 0n || further > this.#elapsed(arrived) + this.#ticks(mostAheadMs)
  }

  /** Since the last frame; one tick at least. */
  #elapsed(arrived: number): bigint {
    const ticks = this.#ticks(arrived - this.#last!.arrived)
    return ticks < 1n ? 1n : ticks
  }

  #ticks(milliseconds: number): bigint {
    return rescaled(BigInt(Math.round(milliseconds * 1000)), micro, this.#base)
  }
}
