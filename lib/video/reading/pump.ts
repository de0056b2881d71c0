import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Carries a source's bytes into a program's stdin, as fast as that takes them. */
export class Pump {
  /** What the source threw. */
  failure: { readonly reason: unknown } | undefined
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #into: Writable
  readonly #stopped = new AbortController()

  constructor(pieces: AsyncIterator<Uint8Array>, into: Writable) {
    this.#pieces = pieces
    this.#into = into
    // a program that has what it needs closes its stdin
    into.once('error', () => this.#stopped.abort())
    into.once('close', () => this.#stopped.abort())
    void this.#run()
  }

  /** Lets go of the source, which may be in the middle of a piece: that is not waited for. */
  async close(): Promise<void> {
    this.#stopped.abort()
    this.#into.destroy()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    try {
      for (;;) {
        const next = await this.#pieces.next()
        if (next.done === true) break
        if (signal.aborted) return await this.#leave()
        if (!this.#into.write(next.value)) await once(this.#into, 'drain', { signal }).catch(() => undefined)
        if (signal.aborted) return await this.#leave()
      }
      this.#into.end()
    } catch (reason) {
      if (!signal.aborted) this.failure = { reason }
      this.#into.destroy()
    }
  }

  async #leave(): Promise<void> {
    await this.#pieces.return?.()
  }
}
