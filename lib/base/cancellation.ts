import { expected, TensorRTError } from '../errors.js'
import { restacked, failRestacked, markForeign } from './stacks.js'

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
 * Of a wait in the queue, which native code counts to the microsecond. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function checkedQueueTimeout(timeoutMs: unknown, name = 'queueTimeoutMs'): number | undefined {
  if (timeoutMs === undefined) return undefined
  if (typeof timeoutMs === 'number' && timeoutMs >= 0.001 && timeoutMs <= longestTimeout) return timeoutMs
  throw expected(`milliseconds from 0.001 to ${longestTimeout}`, name, timeoutMs)
}

/** All of ours that wait for one signal. */
class Waiters {
  static readonly #of = new WeakMap<AbortSignal, Waiters>()
  readonly #signal: AbortSignal
  readonly #callbacks = new Set<() => void>()

  static of(signal: AbortSignal): Waiters {
    return Waiters.#of.get(signal) ?? new Waiters(signal)
  }

  private constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#tell, { once: true })
    Waiters.#of.set(signal, this)
  }

  readonly #tell = (): void => {
    Waiters.#of.delete(this.#signal)
    markForeign(this.#signal.reason)
    for (const callback of this.#callbacks) {
      this.#callbacks.delete(callback) // who forgets it now finds nothing left to do
      callback()
    }
  }

  add(callback: () => void): void {
    this.#callbacks.add(callback)
  }

  delete(callback: () => void): void {
    if (!this.#callbacks.delete(callback) || this.#callbacks.size > 0) return
    Waiters.#of.delete(this.#signal)
    this.#signal.removeEventListener('abort', this.#tell)
  }
}

const nothing = (): void => {}

/**
 * Calls back, once, when the signal is aborted, at once where it is already, never without a signal. The result forgets
 * it: whoever is done calls that, so that a signal that outlives thousands of calls keeps nothing of them. They share
 * one listener. `callback` is a function of its own for each call, and does not throw.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return nothing
  if (signal.aborted) {
    markForeign(signal.reason)
    callback()
    return nothing
  }
  const waiters = Waiters.of(signal)
  waiters.add(callback)
  return () => waiters.delete(callback)
}

/**
 * How work learns that nobody waits for it any more. An AbortSignal for each inference would cost more than the rest of
 * a call.
 */
export class Cut {
  #callback = nothing
  #reason: { readonly given: unknown } | undefined

  get happened(): boolean {
    return this.#reason !== undefined
  }

  /** What it happened for; nothing before. */
  get reason(): unknown {
    return this.#reason?.given
  }

  /**
   * Calls back when it happens, at once where it has. There is one callback, the last that was given; it does not
   * throw.
   */
  onCut(callback: () => void): void {
    this.#callback = callback
    if (this.#reason !== undefined) callback()
  }

  /** @throws the reason, whatever it is */
  throwIfHappened(): void {
    if (this.#reason !== undefined) throw this.#reason.given
  }

  happen(reason: unknown): void {
    this.#reason = { given: reason }
    this.#callback()
  }
}

/**
 * Starts work that the limits may cut short: its promise is then rejected at once with `signal.reason` or
 * ERR_TRT_TIMEOUT, the cut that the work was given has happened, and what becomes of the work is nobody's concern. With
 * a signal that is aborted already nothing is started. However it ends, neither a listener nor a timer is left.
 */
export function within<T>({ signal, timeoutMs }: Limits, start: (cut?: Cut) => Promise<T>): Promise<T> {
  if (signal === undefined && timeoutMs === undefined) return start()
  if (signal?.aborted) {
    markForeign(signal.reason)
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
    return Promise.reject(signal.reason)
  }
  const cut = new Cut()
  return new Promise<T>((resolve, reject) => {
    const forget = onAbort(signal, () => {
      finish()
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
      reject(signal?.reason)
      cut.happen(signal?.reason)
    })
    const onTimeout = (): void => {
      const error = timedOut(timeoutMs)
      finish()
      resolve(failRestacked(error))
      cut.happen(error)
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs)
    const finish = (): void => {
      if (timer !== undefined) clearTimeout(timer)
      forget()
    }
    try {
      start(cut).then(
        (value) => {
          finish()
          resolve(value)
        },
        (error: unknown) => {
          if (cut.happened) return // the promise is rejected already, and would leave this failure to nobody
          finish()
          resolve(failRestacked(error))
        },
      )
    } catch (error) {
      finish()
      throw restacked(error)
    }
  })
}

function timedOut(timeoutMs = 0): TensorRTError {
  return new TensorRTError('ERR_TRT_TIMEOUT', `Not done within ${timeoutMs} ms`, { details: { timeoutMs } })
}
