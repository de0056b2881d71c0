/** The requests of a front-end that are not answered to the last byte. */
export class UnderWay {
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
