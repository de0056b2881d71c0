import { onAbort } from '../base/cancellation.js'
import { markForeign } from '../base/stacks.js'

/** One who waits for shared work. */
interface Waiter<P> {
  report(progress: P): void
}

interface Running<T, P> {
  readonly controller: AbortController
  readonly waiters: Set<Waiter<P>>
  readonly promise: Promise<T>
  readonly ended: Promise<void>
}

export interface Joined<T> {
  /** Rejected at once with the signal's reason, or with what the listener threw. */
  readonly result: Promise<{
    readonly value: T
    /** Of those who waited to the end: true for one. */ readonly isFirst: boolean
  }>
  /** Fulfilled when nothing is under way on this caller's behalf any more. */
  readonly ended: Promise<void>
}

/**
 * Work that callers who ask for the same share: each may leave without harm to the others, and when the last has left
 * it is aborted.
 */
export class SharedWork<T, P> {
  readonly #running = new Map<string, Running<T, P>>()

  join(
    key: string,
    limits: { readonly signal: AbortSignal | undefined; readonly onProgress: ((progress: P) => void) | undefined },
    start: (signal: AbortSignal, report: (progress: P) => void) => Promise<T>,
  ): Joined<T> {
    const { signal, onProgress } = limits
    const running = this.#running.get(key) ?? this.#start(key, start)
    let left: Promise<void> | undefined
    const result = new Promise<{ value: T; isFirst: boolean }>((resolve, reject) => {
      const leave = (reason: unknown): void => {
        if (!running.waiters.delete(waiter)) return
        if (running.waiters.size === 0) left = this.#abandon(key, running, reason)
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
        reject(reason)
      }
      const waiter: Waiter<P> = {
        report: (progress) => {
          try {
            onProgress?.(progress)
          } catch (error) {
            markForeign(error)
            leave(error)
          }
        },
      }
      running.waiters.add(waiter)
      const forget = onAbort(signal, () => leave(signal?.reason))
      running.promise
        .then((value) => resolve({ value, isFirst: running.waiters.values().next().value === waiter }), reject)
        .finally(forget)
    })
    const ended = result.then(
      () => {},
      () => left,
    )
    return { result, ended }
  }

  #start(key: string, start: (signal: AbortSignal, report: (progress: P) => void) => Promise<T>): Running<T, P> {
    const controller = new AbortController()
    const waiters = new Set<Waiter<P>>()
    const report = (progress: P): void => {
      for (const waiter of [...waiters]) waiter.report(progress)
    }
    const promise = start(controller.signal, report).finally(() => this.#forget(key, running))
    const ended = promise.then(
      () => {},
      () => {},
    )
    const running: Running<T, P> = { controller, waiters, promise, ended }
    this.#running.set(key, running)
    return running
  }

  /** Who comes from now on begins anew. */
  #abandon(key: string, running: Running<T, P>, reason: unknown): Promise<void> {
    this.#forget(key, running)
    running.controller.abort(reason)
    return running.ended
  }

  #forget(key: string, running: Running<T, P>): void {
    if (this.#running.get(key) === running) this.#running.delete(key)
  }
}
