import { expected, TensorRTError } from '../errors.js'

/** What may end a call before its work does. */
export interface Limits {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds from the call on. */
  readonly timeoutMs?: number | undefined
}

/** The longest delay that setTimeout keeps; beyond it, it fires at once. */
const longestTimeout = 2 ** 31 - 1

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedTimeout(timeoutMs: unknown): number | undefined {
  if (timeoutMs === undefined) return undefined
  if (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= longestTimeout) return timeoutMs
  throw expected(`milliseconds above 0 and at most ${longestTimeout}`, 'timeoutMs', timeoutMs)
}

/**
 * Starts work that the limits may cut short: its promise is then rejected at once with `signal.reason` or ERR_TRT_TIMEOUT, the signal that the
 * work was given is aborted, and what becomes of the work is nobody's concern.
 */
export function within<T>({ signal, timeoutMs }: Limits, start: (signal?: AbortSignal) => Promise<T>): Promise<T> {
  if (signal === undefined && timeoutMs === undefined) return start()
  if (signal?.aborted) return Promise.reject(signal.reason as Error)
  const controller = new AbortController()
  return new Promise<T>((resolve, reject) => {
    const finish = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    const cut = (reason: Error): void => {
      finish()
      reject(reason)
      controller.abort(reason)
    }
    const onAbort = (): void => cut(signal?.reason as Error)
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => cut(timedOut(timeoutMs)), timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    start(controller.signal).then(resolve, reject).finally(finish)
  })
}

function timedOut(timeoutMs: number): TensorRTError {
  return new TensorRTError('ERR_TRT_TIMEOUT', `Not done within ${timeoutMs} ms`, { details: { timeoutMs } })
}
