/** What a timer saw of the event loop while something ran. */
export interface EventLoopReport {
  /**
   * How often the timer fired: what tests judge by. Work that holds up the loop leaves two or three, however long it
   * takes.
   */
  readonly ticks: number
  /**
   * Milliseconds, to be told only, for a busy machine decides too: the longest that nothing else could run, and all.
   */
  readonly longest: number
  readonly total: number
}

/** Runs the work beside a timer of a millisecond: the one meter of all tests. */
export async function watchEventLoop(work: () => Promise<unknown>): Promise<EventLoopReport> {
  let [longest, ticks] = [0, 0]
  const begun = performance.now()
  let last = begun
  const look = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(() => {
    look()
    ticks++
  }, 1)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  look() // work that never let go ends before the timer's first turn
  return { ticks, longest, total: last - begun }
}
