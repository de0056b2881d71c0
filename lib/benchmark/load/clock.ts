import { setImmediate, setTimeout } from 'node:timers/promises'

/** How time is told and waited for: tests have one of their own. */
export interface Clock {
  now(): number
  /** Until then, in milliseconds of `now`; at least one turn of the event loop. @throws the reason of the signal */
  until(at: number, signal: AbortSignal | undefined): Promise<void>
}

/** Timers of Node are up to two milliseconds late: so long before its time the event loop goes round instead. */
const timerMs = 2

export const hostClock: Clock = {
  now: () => performance.now(),
  until: async (at, signal) => {
    const waitMs = Math.floor(at - performance.now()) - timerMs
    try {
      if (waitMs > 0) await setTimeout(waitMs, undefined, { signal })
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
    do {
      await setImmediate()
      signal?.throwIfAborted()
    } while (performance.now() < at)
  },
}
