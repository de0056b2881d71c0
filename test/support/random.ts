/** What was to be picked from is empty: a model that was mutated before may lack what the next mutation wants to change. */
export class NothingToPick extends Error {}

/** Numbers that are the same for the same seed: the one generator of all tests. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** Mulberry32: from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let z = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32
  }

  /** From -1 to below 1. */
  around(): number {
    return this.next() * 2 - 1
  }

  /** By the normal distribution, mean 0 and variance 1: Box and Muller's. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  /** A whole number from 0 to below n. */
  below(n: number): number {
    return Math.floor(this.next() * n)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** @throws NothingToPick */
  pick<T>(values: readonly T[]): T {
    if (values.length === 0) throw new NothingToPick()
    return values[this.below(values.length)] as T
  }

  /** By the values' weights. */
  weighted<T extends { readonly weight: number }>(values: readonly T[]): T {
    let left = this.next() * values.reduce((sum, { weight }) => sum + weight, 0)
    return values.find(({ weight }) => (left -= weight) < 0) ?? this.pick(values)
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256))
  }
}
