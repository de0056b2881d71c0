// What the models of a thread have done, until the next answer takes it along.
import type { CountedRun, FailureKind } from '../../models/counters.js'
import type { Counted } from './messages.js'

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }

export class Outbox {
  #counted = empty()

  /** Of a module, or of an ensemble among the steps. */
  ran(model: number, run: CountedRun): void {
    this.#counted.runs.push({ model, run })
  }

  failed(model: number, kind: FailureKind): void {
    this.#counted.failures.push({ model, kind })
  }

  /** An engine counts all but this itself. */
  inferred(model: number, rows: number): void {
    this.#counted.rows.push({ model, rows })
  }

  copied(bytes: number): void {
    this.#counted.copies++
    this.#counted.copiedBytes += bytes
  }

  take(): Counted {
    const counted = this.#counted
    this.#counted = empty()
    return counted
  }
}

function empty(): Mutable<Counted> {
  return { runs: [], failures: [], rows: [], copies: 0, copiedBytes: 0 }
}
