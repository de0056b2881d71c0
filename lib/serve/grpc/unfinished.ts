// Calls that wait for their client: for the rest of a message, or of a request that has one. Who sends half of it and
// stays would hold memory for as long as the connection lives.

/** What is asked of a call. */
export interface Sender {
  /** It is not read for now: what its client has sent since then waits in the connection. */
  readonly isPaused: boolean
  /** Its client took too long: it ends, soon. */
  giveUp(limitMs: number): void
}

/** How often it is looked for them. */
const checksMs = 1000

export class Unfinished {
  readonly #limitMs: number
  /** With the time at which each began to wait, in that order. */
  readonly #since = new Map<Sender, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** It waits from now on, whether it did before or not. */
  begin(sender: Sender): void {
    this.#since.delete(sender)
    this.#since.set(sender, performance.now())
    this.#timer ??= setInterval(() => this.#check(), Math.min(checksMs, this.#limitMs)).unref()
  }

  has(sender: Sender): boolean {
    return this.#since.has(sender)
  }

  /** Gives whether it waited. */
  end(sender: Sender): boolean {
    return this.#since.delete(sender)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#since.clear()
  }

  #check(): void {
    const now = performance.now()
    for (const [sender, since] of this.#since) {
      if (now - since < this.#limitMs) return
      this.begin(sender) // its end takes it out
      if (!sender.isPaused) sender.giveUp(this.#limitMs)
    }
  }
}

/** Bytes before each message: whether it is compressed, and its length. */
export const frameHead = 5

/** Where in its messages a stream of bytes is. */
export class FrameProgress {
  #head = 0
  #length = 0
  #left = 0

  /** The bytes end within a message. */
  get isWithin(): boolean {
    return this.#head > 0
  }

  /** Gives whether a message has ended in these bytes. */
  take(bytes: Uint8Array): boolean {
    let hasEnded = false
    for (let at = 0; at < bytes.length;) {
      if (this.#head < frameHead) {
        if (this.#head++ > 0) this.#length = this.#length * 256 + bytes[at]!
        at++
        this.#left = this.#length
      } else {
        const part = Math.min(this.#left, bytes.length - at)
        this.#left -= part
        at += part
      }
      if (this.#head < frameHead || this.#left > 0) continue
      this.#head = this.#length = 0
      hasEnded = true
    }
    return hasEnded
  }
}
