/** Work under way, whose end somebody waits for. */
export class Work {
  readonly #running = new Set<Promise<unknown>>()

  /** Counts this until it settles, however it does. @returns the same promise */
  add<T>(work: Promise<T>): Promise<T> {
    const ended = work.then(nothing, nothing).finally(() => this.#running.delete(ended))
    this.#running.add(ended)
    return work
  }

  /** Until nothing that is under way now is any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#running)
  }
}

const nothing = (): void => {}
