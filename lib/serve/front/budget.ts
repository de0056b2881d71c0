import { Fault } from '../faults.js'

/** UNAVAILABLE, because others hold too much: a status of its own where the protocol has one. */
export class OverBudget extends Fault {
  constructor(most: number) {
    super('UNAVAILABLE', `More than ${most} bytes of requests and answers are under way: try again later`)
  }
}

/** Bytes of requests and answers that a server keeps at once. */
export class Budget {
  readonly #most: number
  #used = 0

  constructor(most: number) {
    this.#most = most
  }

  get used(): number {
    return this.#used
  }

  /** Of one request. */
  open(): Account {
    return new Account(this)
  }

  /** Something is always let in where nothing else is under way. */
  has(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#most
  }

  add(bytes: number): void {
    this.#used += bytes
  }

  get most(): number {
    return this.#most
  }
}

/** The bytes that one request and its answer hold. */
export class Account {
  readonly #budget: Budget
  #held = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** @throws OverBudget */
  take(bytes: number): void {
    if (!this.#budget.has(bytes)) throw new OverBudget(this.#budget.most)
    this.charge(bytes)
  }

  /** Takes what of so many bytes it does not hold yet. @throws OverBudget */
  takeUpTo(bytes: number): void {
    if (bytes > this.#held) this.take(bytes - this.#held)
  }

  /** The same as {@link take} for what is there already and cannot be refused. */
  charge(bytes: number): void {
    this.#held += bytes
    this.#budget.add(bytes)
  }

  /** So many of them are held no longer, or by somebody else. */
  give(bytes: number): void {
    const given = Math.min(bytes, this.#held)
    this.#held -= given
    this.#budget.add(-given)
  }

  /** Twice without harm. */
  release(): void {
    if (this.#held === 0) return
    this.#budget.add(-this.#held)
    this.#held = 0
  }
}
