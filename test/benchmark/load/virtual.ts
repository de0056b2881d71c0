// Time that the test holds, and an engine that answers by it: nothing is timed, and the same seed gives the same
// figures each time.
import { setMaxListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import type { LoadTestable, LoadTestRequest } from '../../../lib/benchmark/index.js'
import type { Clock } from '../../../lib/benchmark/load/clock.js'
import { TensorRTError } from '../../../lib/errors.js'
import type { Tensor } from '../../../lib/index.js'

interface Event {
  readonly at: number
  readonly run: () => void
}

/** Time goes on when nobody has anything left to do at the time that it is. */
export class VirtualClock implements Clock {
  #now = 0
  readonly #events: Event[] = []

  now(): number {
    return this.#now
  }

  at(at: number, run: () => void): void {
    this.#events.push({ at, run })
  }

  /** The event loop was busy for so long. */
  hold(ms: number): void {
    this.#now += ms
  }

  until(at: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const over = (): void => reject(signal?.reason as Error)
      if (signal?.aborted === true) return over()
      signal?.addEventListener('abort', over, { once: true })
      this.at(Math.max(at, this.#now), () => {
        signal?.removeEventListener('abort', over)
        resolve()
      })
    })
  }

  /** Runs what is due next, again and again, until the promise is settled. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isOver = false
    const over = (): void => void (isOver = true)
    promise.then(over, over)
    for (;;) {
      await setImmediate()
      if (isOver) return await promise
      this.#events.sort((a, b) => a.at - b.at)
      const next = this.#events.shift()
      if (next === undefined) throw new Error('everybody waits, and nothing is due')
      this.#now = Math.max(this.#now, next.at)
      next.run()
    }
  }
}

export interface Request extends LoadTestRequest {
  readonly rows: number
  readonly at: number
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** One server without batches: a request takes `serviceMs`; more than `maxQueue` waiting ones are refused. */
export class VirtualEngine implements LoadTestable {
  readonly clock: VirtualClock
  readonly asked: Request[] = []
  inputs: LoadTestable['inputs'] = {
    x: { name: 'x', dtype: 'float32', shape: [-1, 2], profiles: [] } as unknown as LoadTestable['inputs'][string],
  }
  readonly backend = 'cpu'
  readonly description = 'a server of the tests'
  serviceMs: number
  maxQueue = Infinity
  /** Throws for a request, where it is to. */
  failing: (request: Request, index: number) => Error | undefined = () => undefined
  #executions = 0
  #busy = false
  readonly #queue: Waiting[] = []

  constructor(clock: VirtualClock, serviceMs: number) {
    this.clock = clock
    this.serviceMs = serviceMs
  }

  counters(): { executions: number } {
    return { executions: this.#executions }
  }

  infer(inputs: Readonly<Record<string, Tensor>>, options: LoadTestRequest = {}): Promise<unknown> {
    const request = { ...options, rows: inputs['x']!.shape[0]!, at: this.clock.now() }
    this.asked.push(request)
    const failure = this.failing(request, this.asked.length - 1)
    if (failure !== undefined) return Promise.reject(failure)
    if (this.#queue.length >= this.maxQueue) return Promise.reject(new TensorRTError('ERR_TRT_QUEUE_FULL', 'full'))
    if (options.signal) setMaxListeners(0, options.signal)
    return new Promise((resolve, reject) => {
      const waiting = { resolve: () => resolve({}), reject }
      options.signal?.addEventListener('abort', () => {
        const place = this.#queue.indexOf(waiting)
        if (place >= 0) this.#queue.splice(place, 1)
        reject(options.signal?.reason as Error)
      })
      this.#queue.push(waiting)
      this.#next()
    })
  }

  #next(): void {
    const waiting = this.#busy ? undefined : this.#queue.shift()
    if (waiting === undefined) return
    this.#busy = true
    this.clock.at(this.clock.now() + this.serviceMs, () => {
      this.#busy = false
      this.#executions++
      waiting.resolve()
      this.#next()
    })
  }
}
