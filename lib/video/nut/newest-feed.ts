import type { Readable } from 'node:stream'
import { failRestacked } from '../../base/stacks.js'
import type { FedFrame, FedStream, FrameFeed } from './fed.js'
import { StreamFeed } from './stream-feed.js'

type Settle = (frame: FedFrame | undefined | Promise<never>) => void

/** Reads all the time, and keeps the newest frame: without the addon, as far as the event loop is free. */
export class NewestFeed implements FrameFeed {
  readonly stdout = 'pipe'
  readonly #feed = new StreamFeed()
  readonly #waiters: Settle[] = []
  #frame: FedFrame | undefined
  #dropped = 0
  #ended: Promise<void> | undefined
  #over = false
  #error: unknown

  get dropped(): number {
    return this.#dropped
  }

  start(stdout: Readable | undefined): void {
    this.#feed.start(stdout)
    this.#ended = this.#readAll()
  }

  header(): Promise<FedStream | undefined> {
    return this.#feed.header()
  }

  next(): Promise<FedFrame | undefined> {
    const frame = this.#frame
    this.#frame = undefined
    if (frame !== undefined) return Promise.resolve(frame)
    if (this.#over) return this.#error === undefined ? Promise.resolve(undefined) : failRestacked(this.#error)
    return this.#feed.held(() => new Promise((resolve) => this.#waiters.push(resolve)))
  }

  async close(): Promise<void> {
    const closing = this.#feed.close()
    for (const settle of this.#waiters.splice(0)) settle(undefined)
    await Promise.all([closing, this.#ended])
    if (this.#frame !== undefined) this.#dropped++
    this.#frame = undefined
    this.#error = undefined
  }

  async #readAll(): Promise<void> {
    try {
      for (let frame = await this.#feed.read(); frame !== undefined; frame = await this.#feed.read()) this.#put(frame)
    } catch (error) {
      this.#error = error
    }
    this.#over = true
    for (const settle of this.#waiters.splice(0))
      settle(this.#error === undefined ? undefined : failRestacked(this.#error))
  }

  #put(frame: FedFrame): void {
    const settle = this.#waiters.shift()
    if (settle !== undefined) return settle(frame)
    if (this.#frame !== undefined) this.#dropped++
    this.#frame = frame
  }
}
