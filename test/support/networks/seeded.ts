/** Numbers that are the same for the same seed, fast enough for the millions of weights of a network. */
export class Seeded {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** Mulberry32: evenly from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let z = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32
  }

  /** Evenly around `mean`, with this standard deviation. */
  values(count: number, deviation: number, mean = 0): Float32Array {
    const bound = Math.sqrt(3) * deviation
    const values = new Float32Array(count)
    for (let i = 0; i < count; i++) values[i] = mean + bound * (2 * this.next() - 1)
    return values
  }
}
