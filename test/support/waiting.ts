import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until it holds, and says whether it came to, which on a busy machine takes a while to know. */
export async function until(holds: () => boolean, milliseconds = 60_000): Promise<boolean> {
  const end = performance.now() + milliseconds
  while (!holds()) {
    if (performance.now() > end) return false
    await sleep(1)
  }
  return true
}

/** The same where nothing else can be told if it does not come to hold. */
export async function certain(holds: () => boolean): Promise<void> {
  if (!(await until(holds))) throw new Error(`it did not come to be: ${holds.toString()}`)
}

/** The garbage collector, where Node was started with --expose-gc. */
export const collect = async (): Promise<void> => {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await sleep(5)
  }
}
