import { Seeded } from './networks/seeded.js'

/**
 * What was to be picked from is empty: a model that was mutated before may lack what the next mutation wants to change.
 */
export class NothingToPick extends Error {}

/** Numbers that are the same for the same seed: the one generator of all tests. */
export class Random extends Seeded {
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
