// Timers that stand still: what a test has to see while a timeout runs takes as long as a busy machine needs, and the
// timeout ends when the test says so.

/** Those that were held. */
export interface HeldTimers extends Disposable {
  /** How many run now. */
  readonly count: number
  /** They end now, in the order in which they began. */
  end(): void
}

/**
 * Holds the timers of this thread that begin from now on with a time within these milliseconds; others go on as they
 * are. What is held runs for as long as it says unless it is ended, so the time is to be one that no test takes. It has
 * all that a timer of Node has.
 */
export function holdTimers(least: number, most = least): HeldTimers {
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const held = new Map<NodeJS.Timeout, () => void>()
  globalThis.setTimeout = ((callback: (...given: unknown[]) => void, milliseconds?: number, ...given: unknown[]) => {
    if (milliseconds === undefined || milliseconds < least || milliseconds > most)
      return set(callback, milliseconds, ...given)
    const run = (): void => {
      clear(timer)
      if (held.delete(timer)) callback(...given)
    }
    const timer = set(run, milliseconds)
    held.set(timer, run)
    return timer
  }) as typeof set
  globalThis.clearTimeout = (timer) => {
    held.delete(timer as NodeJS.Timeout)
    clear(timer)
  }
  return {
    get count() {
      return held.size
    },
    end: () => {
      for (const run of [...held.values()]) run()
    },
    [Symbol.dispose]: () => {
      globalThis.setTimeout = set
      globalThis.clearTimeout = clear
    },
  }
}
