import type { Cut } from './cancellation.js'

/** What all of them give; where one fails, this rejects when all have ended. */
export async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises)
  const failure = settled.find((each) => each.status === 'rejected')
  if (failure !== undefined) throw failure.reason
  return settled.map((each) => (each as PromiseFulfilledResult<T>).value)
}

/** Work of which only so much is done at once, the rest in the order in which it came. */
export class Turns {
  readonly #most: number
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** What was cut while it waited is not begun. @throws what the work throws; the cut's reason */
  async take<T>(work: () => Promise<T>, cut?: Cut): Promise<T> {
    if (this.#running >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      cut?.throwIfHappened()
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
