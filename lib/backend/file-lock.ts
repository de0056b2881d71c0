import { resolve } from 'node:path'
import { fromNative, loadAddon, native } from './native.js'
import type { NativeFileLock } from './native-types.js'
import { checkedText } from '../base/checks.js'
import { type Limits, within } from '../base/deadline.js'

/**
 * Runs `body` while nobody else is in a `withFileLock` of the same path: no other caller, thread or process, trtexec and its like included. What is
 * locked is `<path>.lock`, which stays; its folder must exist. The kernel frees the lock when its holder dies. Not re-entrant.
 *
 * The limits are those of waiting; once it runs, the body is left to itself. Abort rejects at once with the signal's reason.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_TIMEOUT, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM
 */
export async function withFileLock<T>(path: string, limits: Limits, body: () => Promise<T>): Promise<T> {
  checkedText(path, 'path', 'a path')
  let held: NativeFileLock | undefined
  try {
    await within(limits, async (signal) => {
      const lock = await takeLock(resolve(path), signal)
      // the limits may have run out since: then nobody would release it
      if (signal?.aborted) lock.release()
      else held = lock
    })
    return await body()
  } finally {
    held?.release()
  }
}

async function takeLock(file: string, signal: AbortSignal | undefined): Promise<NativeFileLock> {
  const waiting = startWaiting(file)
  const onAbort = (): void => waiting.cancel()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await native(() => waiting.promise)
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

function startWaiting(file: string): ReturnType<ReturnType<typeof loadAddon>['lockFile']> {
  try {
    return loadAddon().lockFile(file)
  } catch (error) {
    throw fromNative(error)
  }
}
