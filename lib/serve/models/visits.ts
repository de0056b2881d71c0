// Who has a version of a model: requests that enter it, and its end, which waits for the last of them.
import { Fault } from '../faults.js'

export class Visits {
  readonly #model: string
  readonly #version: string
  #count = 0
  #isEnding = false
  #onIdle: (() => void) | undefined

  constructor(model: string, version: string) {
    this.#model = model
    this.#version = version
  }

  get inFlight(): number {
    return this.#count
  }

  /**
   * A request that keeps the version alive until what it gives is called. @throws Fault UNAVAILABLE once the version is
   * being closed
   */
  enter(): () => void {
    if (this.#isEnding)
      throw new Fault('UNAVAILABLE', `'${this.#model}' version ${this.#version} is not at ready state`)
    return this.#hold()
  }

  /**
   * The same for what a request that entered does: it is answered, though another version took the place of this one
   * since then.
   */
  inside(): () => void {
    return this.#count > 0 ? this.#hold() : this.enter()
  }

  #hold(): () => void {
    this.#count++
    let left = false
    return () => {
      if (left) return
      left = true
      if (--this.#count === 0) this.#onIdle?.()
    }
  }

  /** Nobody enters from now on. Fulfilled when nobody is inside. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }
}
