// Signals of requests, and of the batch that they are in, made when somebody asks for them: an AbortSignal for each
// request would cost more than most answers.

/** What may be aborted. */
class Ending {
  #reason: { readonly given: unknown } | undefined
  #controller: AbortController | undefined

  get happened(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.given)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    if (this.#reason !== undefined) return
    this.#reason = { given: reason }
    this.#controller?.abort(reason)
  }
}

/** Of a batch of requests: once all are cancelled, so is the batch. */
export class Endings {
  readonly #each: readonly Ending[]
  readonly #batch = new Ending()

  constructor(requests: number) {
    this.#each = Array.from({ length: requests }, () => new Ending())
  }

  get batchSignal(): AbortSignal {
    return this.#batch.signal
  }

  signalOf(request: number): AbortSignal {
    return (this.#each[request] ?? this.#batch).signal
  }

  isCancelled(request: number): boolean {
    return this.#each[request]?.happened ?? false
  }

  /** Nobody waits for this one any more. */
  cancel(request: number, reason: unknown): void {
    this.#each[request]?.abort(reason)
    if (this.#each.every(({ happened }) => happened)) this.#batch.abort(reason)
  }
}
