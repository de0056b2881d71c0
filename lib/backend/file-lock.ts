import { resolve } from 'node:path'
import { type Cut, type Limits, within } from '../base/cancellation.js'
import { checkedText } from '../base/checks.js'
import { loadAddon, native, nativeSync } from './native.js'
import type { NativeFileLock } from './native-types.js'

/**
 * Runs `body` while nobody else is in a `withFileLock` of the same path: no other caller, thread or process, trtexec
 * and its like included. What is locked is `<path>.lock`, which stays; its folder must exist. The kernel frees the lock
 * when its holder dies. Not re-entrant.
 *
 * The limits are those of waiting; once it runs, the body is left to itself. Abort rejects at once with the signal's
 * reason.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_TIMEOUT, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_NO_ADDON,
 * ERR_TRT_PLATFORM
 */
export async function withFileLock<T>(path: string, limits: Limits, body: () => Promise<T>): Promise<T> {
  checkedText(path, 'path', 'a path')
  let held: NativeFileLock | undefined
  try {
    await within(limits, async (cut) => {
      const lock = await takeLock(resolve(path), cut)
      // the limits may have run out since: then nobody would release it
      if (cut?.happened) lock.release()
      else held = lock
    })
    return await body()
  } finally {
    held?.release()
  }
}

async function takeLock(file: string, cut: Cut | undefined): Promise<NativeFileLock> {
  const waiting = nativeSync(() => loadAddon().lockFile(file))
  cut?.onCut(() => waiting.cancel())
  return native(() => waiting.promise)
}
