import { setTimeout as sleep } from 'node:timers/promises'

/** Starts a server on a port that it had before: while it was down anybody may have taken it. */
export async function onceFree<T>(start: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + 60_000; ; await sleep(5)) {
    try {
      return await start()
    } catch (error) {
      if (performance.now() > end) throw error
    }
  }
}
