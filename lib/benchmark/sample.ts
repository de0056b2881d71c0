import { uniform } from './random.js'

/** Of how many queries times are kept one by one; of more they are a sample. */
export const mostKept = 2 ** 20

/**
 * Numbers in bounded memory, as native/execution/sample.h has it: all of them up to `most`; of more the least, the
 * greatest, and of the others a sample in which each is as likely as any other (Vitter's algorithm R).
 */
export class Sample {
  readonly #most: number
  readonly #kept: number[] = []
  readonly #random = uniform(1)
  #seen = 0

  constructor(most = mostKept) {
    this.#most = most
  }

  add(value: number): void {
    const kept = this.#kept
    this.#seen++
    if (kept.length < this.#most) {
      kept.push(value)
      return
    }
    if (this.#seen === this.#most + 1) this.#placeExtremes()
    let rest = value
    if (rest < kept[0]!) [rest, kept[0]] = [kept[0]!, rest]
    if (rest > kept[1]!) [rest, kept[1]] = [kept[1]!, rest]
    const place = 2 + Math.floor(this.#random() * (this.#seen - 2))
    if (place < this.#most) kept[place] = rest
  }

  /** How many were added. */
  get seen(): number {
    return this.#seen
  }

  get values(): Float64Array {
    return Float64Array.from(this.#kept)
  }

  #placeExtremes(): void {
    const kept = this.#kept
    const swap = (a: number, b: number): void => void ([kept[a], kept[b]] = [kept[b]!, kept[a]!])
    const of = (isBetter: (a: number, b: number) => boolean, from: number): number => {
      let best = from
      for (let i = from; i < kept.length; i++) if (isBetter(kept[i]!, kept[best]!)) best = i
      return best
    }
    swap(0, of((a, b) => a < b, 0)) // prettier-ignore
    swap(1, of((a, b) => a > b, 1)) // prettier-ignore
  }
}
