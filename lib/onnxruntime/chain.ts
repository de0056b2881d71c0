/**
 * Runs that come one from another, as in a loop over tokens: each is asked for as soon as the one before is told. On
 * lanes two threads wait for each other twice in each, and neither does anything meanwhile.
 */
import type { AnyTensor } from '../device-tensor.js'

/** What a run of a chain may take on the thread that asks, in milliseconds. */
const mostMs = 4
/** What may lie between the end of one and the next, in milliseconds: a request of somebody else comes later. */
const mostGapMs = 1
/** So many runs in a row begin a chain, at first, and at most. */
const [firstLength, lastLength] = [4, 2 ** 12]
/** What a run counts for that takes twice as long, and from what on it is too much: two among ten; one may be V8's. */
const [late, tooLate] = [10, 12]

export class Chain {
  #length = 0
  #needed = firstLength
  #lateness = 0
  /** Of the last runs, wherever they were. */
  #meanMs = Infinity
  #toldAt = -Infinity
  #shapes: readonly (readonly number[])[] = []
  readonly #now: () => number

  /** `now`: milliseconds of a clock. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** A run is asked for: whether it is one of a chain that may be on the thread that asks. */
  asked(inputs: readonly AnyTensor[], isAlone: boolean): boolean {
    const shapes = inputs.map(({ shape }) => shape)
    const follows = isAlone && this.#now() - this.#toldAt <= mostGapMs && areNext(shapes, this.#shapes)
    this.#shapes = shapes
    this.#length = follows ? this.#length + 1 : 0
    return this.#length >= this.#needed && this.#meanMs <= mostMs
  }

  /** One took so long; on a lane with the way there and back. */
  took(ms: number, isHere: boolean): void {
    this.#meanMs = this.#meanMs === Infinity ? ms : (3 * this.#meanMs + ms) / 4
    if (!isHere) return
    if (ms <= 2 * mostMs) {
      if (this.#lateness > 0) this.#lateness--
      return
    }
    this.#lateness += late
    if (this.#lateness < tooLate) return
    this.#lateness = this.#length = 0
    this.#needed = Math.min(2 * this.#needed, lastLength)
  }

  /** Whoever asked for it has its result. */
  told(): void {
    this.#toldAt = this.#now()
  }
}

/** Whether inputs are those of a next step: as large as before, or by one in a dimension. A prompt is no such step. */
function areNext(shapes: readonly (readonly number[])[], before: readonly (readonly number[])[]): boolean {
  return (
    shapes.length === before.length &&
    shapes.every((shape, i) => {
      const last = before[i]
      return shape === last || (shape.length === last?.length && shape.every((dim, k) => dim <= (last[k] ?? 0) + 1))
    })
  )
}
