// What a front-end of any protocol is: where it listens, and what it has under way.
import { setImmediate } from 'node:timers'
import type { Server } from 'node:net'
import { JsonWorker } from '../http/json-worker.js'
import type { Budget } from './budget.js'

export abstract class ListeningFrontEnd {
  readonly budget: Budget
  readonly worker = new JsonWorker()
  protected readonly underWay = new UnderWay()
  protected hasStopped = false
  readonly #place: { readonly address: string; readonly port: number }

  constructor(place: { readonly address: string; readonly port: number }, budget: Budget) {
    this.#place = place
    this.budget = budget
  }

  protected abstract get listener(): Server

  /** Where it listens. */
  get address(): { readonly host: string; readonly port: number } {
    const bound = this.listener.address()
    const { address, port } = typeof bound === 'object' && bound !== null ? bound : this.#place
    return { host: address, port }
  }

  get isStopping(): boolean {
    return this.hasStopped
  }

  /** Requests that do something (inferences, loads), in streams too, and are not answered to the last byte. */
  get inFlight(): number {
    return this.underWay.count
  }

  /** Bytes of all that is under way. */
  get bytesInFlight(): number {
    return this.budget.used
  }

  readTogether(): Promise<void> | undefined {
    return this.underWay.readTogether()
  }

  /** Fulfilled once none of them is under way. */
  drained(): Promise<void> {
    return this.underWay.idle()
  }
}

/** The requests of a front-end that are not answered to the last byte. */
class UnderWay {
  #count = 0
  #onIdle: (() => void)[] = []
  #reading: Promise<void> | undefined

  get count(): number {
    return this.#count
  }

  /** A request is under way until it ends. */
  begin(): void {
    this.#count++
  }

  end(): void {
    if (--this.#count > 0) return
    for (const tell of this.#onIdle.splice(0)) tell()
  }

  /** Fulfilled once none of them is left. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }

  /**
   * Waits, where other requests are under way, until what the sockets have already is read: requests that came together
   * go to their models together. A lane that sleeps is then woken once for all of them, and their batch is fuller. A
   * request that is alone does not wait.
   */
  readTogether(): Promise<void> | undefined {
    if (this.#count < 2) return undefined
    this.#reading ??= new Promise<void>((resolve) => {
      setImmediate(() => {
        this.#reading = undefined
        resolve()
      })
    })
    return this.#reading
  }
}
