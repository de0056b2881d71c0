/**
 * Runs that take less than the way to another thread and back, and short ones of a {@link Chain}: they run on the
 * thread that asks, as onnxruntime-node runs all. Their promises are settled in a later turn of the event loop, which
 * goes on between them.
 */
import { setImmediate } from 'node:timers'
import type { Backend, Results } from '../backend/backend.js'
import { inferChannel } from '../backend/completions.js'
import type { AnyTensor } from '../device-tensor.js'
import { Chain } from './chain.js'
import { runFailure } from './errors.js'

/** What a run may take on average, on a lane, in nanoseconds. */
const mostNs = 40_000
/** What all of one turn of the event loop may take, in milliseconds. */
const mostOfTurnMs = 0.5
/** What is late: a run here that takes so many milliseconds. */
const lateMs = 0.16
/** So many runs on a lane tell what a run takes, at first, and at most. */
const [firstProbe, lastProbe] = [8, 2 ** 16]
/** What a late run counts for, and from what on runs go to a lane again: two among ten are too many. */
const [late, tooLate] = [10, 12]

/** What runs are asked of. */
type BriefBackend = Pick<Backend, 'run'> & Required<Pick<Backend, 'runSync'>> & { calls: NonNullable<Backend['calls']> }

export class BriefRuns {
  readonly #backend: BriefBackend
  /** Runs on lanes. */
  #underWay = 0
  #isBrief = false
  /** Runs on lanes of one form, since `#before` was read. */
  #probed = 0
  #probe = firstProbe
  #before = { requests: 0, computeNs: 0 }
  #lateness = 0
  /** What this turn has taken, and who waits for its end. */
  #spentMs = 0
  #waiting: (() => void)[] = []
  readonly #chain: Chain
  readonly #now: () => number

  private constructor(backend: BriefBackend, now: () => number) {
    this.#backend = backend
    this.#now = now
    this.#chain = new Chain(now)
  }

  /** Only where the CPU runs the model on lanes of ours. `now`: milliseconds of a clock. */
  static on(backend: Backend, now = (): number => performance.now()): BriefRuns | undefined {
    const can = backend.kind === 'cpu' && backend.runSync !== undefined && backend.calls !== undefined
    return can ? new BriefRuns(backend as BriefBackend, now) : undefined
  }

  /** As {@link Backend.run}, with errors of a run; `isSame`: whether the inputs have the shapes of those before. */
  run<R>(inputs: readonly AnyTensor[], isSame: boolean, finish: (results: Results) => R): Promise<R> {
    if (!isSame) this.#forget()
    // a lane that is idle is free at once
    const isAlone = this.#underWay === 0
    // who listens to inferences is told of those on lanes alone
    const mayBeHere = isAlone && this.#spentMs < mostOfTurnMs && !inferChannel.hasSubscribers
    if (mayBeHere && this.#isBrief) return this.#runHere(inputs, finish)
    const isOfChain = this.#chain.asked(inputs, isAlone && this.#waiting.length === 0)
    return mayBeHere && isOfChain ? this.#runHere(inputs, finish) : this.#runOnLane(inputs, isSame, finish)
  }

  #runHere<R>(inputs: readonly AnyTensor[], finish: (results: Results) => R): Promise<R> {
    const begun = this.#now()
    try {
      const value = finish(this.#backend.runSync(inputs, undefined))
      return new Promise((resolve) => {
        if (this.#waiting.push(() => resolve(value)) === 1) setImmediate(this.#settle)
      })
    } finally {
      this.#note(this.#now() - begun)
    }
  }

  readonly #settle = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    this.#spentMs = 0
    for (const tell of waiting) tell()
    this.#chain.told()
  }

  #note(ms: number): void {
    this.#spentMs += ms
    if (!this.#isBrief) return this.#chain.took(ms, true)
    if (ms < lateMs) {
      if (this.#lateness > 0) this.#lateness--
      return
    }
    this.#lateness += late
    if (this.#lateness >= tooLate) this.#doubt()
  }

  #runOnLane<R>(inputs: readonly AnyTensor[], isSame: boolean, finish: (results: Results) => R): Promise<R> {
    const isProbe = isSame && !this.#isBrief
    if (isProbe && this.#probed === 0) this.#before = this.#backend.calls.counters()
    this.#underWay++
    let isOver = false
    const begun = this.#now()
    const running = this.#backend.run(inputs, undefined, (results) => {
      isOver = true
      this.#underWay--
      if (isProbe && ++this.#probed >= this.#probe) this.#judge()
      this.#chain.took(this.#now() - begun, false)
      this.#chain.told()
      return finish(results)
    })
    return running.catch((error: unknown) => {
      if (!isOver) this.#underWay--
      throw runFailure(error)
    })
  }

  #judge(): void {
    const { requests, computeNs } = this.#backend.calls.counters()
    const mean = (computeNs - this.#before.computeNs) / (requests - this.#before.requests)
    if (mean <= mostNs) this.#isBrief = true
    else this.#doubt()
  }

  /** It takes longer than it did: it is asked again later, and later each time. */
  #doubt(): void {
    this.#forget()
    this.#probe = Math.min(2 * this.#probe, lastProbe)
  }

  #forget(): void {
    this.#isBrief = false
    this.#probed = 0
    this.#lateness = 0
  }
}
