import { reworded, TensorRTError } from '../errors.js'

/**
 * V8 writes the functions that wait for a promise into the stack of an error when that is made. Ours are often made
 * where nobody's promise is near: by a native thread or a worker, for a load or a build that several wait for, or in a
 * timer. So they are made anew for each who waits, once something has failed.
 */

/** Errors that we were given: reasons of signals, and what listeners threw. */
const given = new WeakSet()

/** Whoever gave us an error gets it back, and not a copy. */
export function markForeign(error: unknown): void {
  if (error instanceof TensorRTError) given.add(error)
}

/** The same error, made here; one that is not ours as it is. */
export function restacked(error: unknown): unknown {
  if (!(error instanceof TensorRTError) || given.has(error)) return error
  return reworded(error, error.message)
}

/** Awaits work; its error is made anew. */
export async function awaitRestacked<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw restacked(error)
  }
}

/** What a promise that was made by hand is resolved with, instead of being rejected: the good way costs nothing. */
export async function failRestacked(error: unknown): Promise<never> {
  // two turns later that promise waits for this one, so that V8 finds who waits for it
  for (let turn = 0; turn < 2; turn++) await Promise.resolve()
  throw restacked(error)
}
