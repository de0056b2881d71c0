/** Bytes that come in pieces of any size. */
export class Pieces {
  readonly #pieces: AsyncIterator<Uint8Array>
  #buffered: Uint8Array = new Uint8Array(0)

  constructor(pieces: AsyncIterator<Uint8Array>) {
    this.#pieces = pieces
  }

  /** What is there and was not taken yet. */
  get buffered(): Uint8Array {
    return this.#buffered
  }

  /** Waits for more; false at the end. */
  async more(): Promise<boolean> {
    const next = await this.#pieces.next()
    if (next.done === true) return false
    this.#buffered = this.#buffered.length === 0 ? next.value : joined(this.#buffered, next.value)
    return true
  }

  skip(bytes: number): void {
    this.#buffered = this.#buffered.subarray(bytes)
  }

  /** Fills it; false where there is less. */
  async fill(into: Uint8Array): Promise<boolean> {
    let had = 0
    for (;;) {
      const part = this.#buffered.subarray(0, into.length - had)
      into.set(part, had)
      had += part.length
      this.skip(part.length)
      if (had === into.length) return true
      if (!(await this.more())) return false
    }
  }

  /** To the end. */
  async drain(): Promise<void> {
    do this.#buffered = new Uint8Array(0)
    while (await this.more())
  }

  async close(): Promise<void> {
    await this.#pieces.return?.()
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
