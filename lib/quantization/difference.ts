import { setImmediate as turn } from 'node:timers/promises'
import { TensorRTError } from '../errors.js'
import { shapeText } from '../base/dims.js'
import type { Tensor } from '../tensor.js'

/**
 * How far one output of a model is from the same output of another, over all that was run. The first model is the
 * reference.
 */
export interface Difference {
  /** Whether each element of one is the same as that of the other; NaN and an infinity are the same as themselves. */
  readonly equal: boolean
  /**
   * The cosine of the angle between both, all elements together: 1 where they are the same but for a factor; 1 too
   * where both are zero. NaN where `nonFinite` is not 0, so that no bound holds.
   */
  readonly cosine: number
  /**
   * Peak signal-to-noise ratio in dB: the reference's largest magnitude against the root of the mean squared
   * difference; infinite where they are equal, -Infinity where `nonFinite` is not 0.
   */
  readonly psnr: number
  /** The largest difference of two elements. */
  readonly maxAbsolute: number
  /** The mean of the differences, without their signs. */
  readonly meanAbsolute: number
  /** The largest difference by the reference's magnitude there, which counts as 2^-52 where it is less. */
  readonly maxRelative: number
  /**
   * The share of rows (along the last dimension) whose largest element is at the same place; nothing where no row has
   * two.
   */
  readonly top1?: number | undefined
  /** How many pairs of finite elements were compared. */
  readonly count: number
  /**
   * Where `atol` or `rtol` is given: how many pairs are further from each other, |other - reference| > atol + rtol
   * |reference|, as numpy.allclose has it; those that `nonFinite` counts are among them.
   */
  readonly outside?: number | undefined
  /**
   * How many pairs could not be: one or both are not finite, and they are not the same. A comparison with any of them
   * has failed.
   */
  readonly nonFinite: number
}

/** How many elements are looked at before others get their turn: about a millisecond's work. */
const stretch = 2 ** 18

/** How far elements may be from those of the reference: atol + rtol |reference|. */
export interface Closeness {
  readonly atol: number
  readonly rtol: number
}

/** What is summed up of one output. */
export class DifferenceSum {
  readonly #close: Closeness | undefined
  #outside = 0
  #count = 0
  #nonFinite = 0
  #dot = 0
  #aa = 0
  #bb = 0
  #squares = 0
  #absolute = 0
  #maxAbsolute = 0
  #maxRelative = 0
  #peak = 0
  #rows = 0
  #agreeing = 0

  constructor(close?: Closeness) {
    this.#close = close
  }

  /** Adds one result of each. @throws TensorRTError ERR_TRT_SHAPE where they are not of one shape */
  async add(name: string, reference: Tensor, other: Tensor): Promise<void> {
    if (shapeText(reference.shape) !== shapeText(other.shape)) {
      const message = `Expected ${shapeText(reference.shape)} for output ${JSON.stringify(name)}, as the first model gives it, but the second gives ${shapeText(other.shape)}`
      throw new TensorRTError('ERR_TRT_SHAPE', message)
    }
    const [a, b] = [reference.toFloat32().data, other.toFloat32().data]
    for (let from = 0; from < a.length; from += stretch) {
      this.#addStretch(a, b, from, Math.min(a.length, from + stretch))
      if (from + stretch < a.length) await turn()
    }
    if (this.#close !== undefined) this.#countOutside(a, b, this.#close)
    const row = reference.shape.at(-1) ?? 0
    if (reference.shape.length > 0 && row > 1) this.#compareRows(a, b, row)
  }

  get result(): Difference {
    return {
      equal: this.#nonFinite === 0 && this.#squares === 0,
      cosine: this.#cosine,
      psnr: this.#psnr,
      maxAbsolute: this.#maxAbsolute,
      meanAbsolute: this.#count === 0 ? 0 : this.#absolute / this.#count,
      maxRelative: this.#maxRelative,
      ...(this.#rows > 0 && { top1: this.#agreeing / this.#rows }),
      count: this.#count,
      ...(this.#close !== undefined && { outside: this.#outside + this.#nonFinite }),
      nonFinite: this.#nonFinite,
    }
  }

  get #cosine(): number {
    if (this.#nonFinite > 0) return NaN
    if (this.#squares === 0) return 1
    const norms = Math.sqrt(this.#aa) * Math.sqrt(this.#bb)
    return norms > 0 ? Math.min(1, this.#dot / norms) : 0
  }

  get #psnr(): number {
    if (this.#nonFinite > 0) return -Infinity
    return this.#squares === 0 ? Infinity : 10 * Math.log10(this.#peak ** 2 / (this.#squares / this.#count))
  }

  #addStretch(a: Float32Array, b: Float32Array, from: number, to: number): void {
    let [dot, aa, bb, squares, absolute] = [0, 0, 0, 0, 0]
    for (let i = from; i < to; i++) {
      const [x, y] = [a[i]!, b[i]!]
      const apart = Math.abs(x - y)
      if (!(apart < Infinity)) {
        this.#addOdd(x, y)
        continue
      }
      this.#count++
      dot += x * y
      aa += x * x
      bb += y * y
      squares += apart * apart
      absolute += apart
      if (apart > this.#maxAbsolute) this.#maxAbsolute = apart
      if (apart > 0) this.#maxRelative = Math.max(this.#maxRelative, apart / Math.max(Math.abs(x), Number.EPSILON))
      this.#peak = Math.max(this.#peak, Math.abs(x))
    }
    this.#dot += dot
    this.#aa += aa
    this.#bb += bb
    this.#squares += squares
    this.#absolute += absolute
  }

  /** Of pairs that are finite. */
  #countOutside(a: Float32Array, b: Float32Array, { atol, rtol }: Closeness): void {
    for (let i = 0; i < a.length; i++) {
      const apart = Math.abs(a[i]! - b[i]!)
      if (apart < Infinity && apart > atol + rtol * Math.abs(a[i]!)) this.#outside++
    }
  }

  /** Infinities that are the same are no difference, and have no place in a cosine. */
  #addOdd(x: number, y: number): void {
    if (!Object.is(x, y)) this.#nonFinite++
  }

  #compareRows(a: Float32Array, b: Float32Array, row: number): void {
    for (let at = 0; at + row <= a.length; at += row) {
      this.#rows++
      if (largest(a, at, row) === largest(b, at, row)) this.#agreeing++
    }
  }
}

function largest(values: Float32Array, from: number, count: number): number {
  let best = from
  for (let i = from + 1; i < from + count; i++) if (values[i]! > values[best]!) best = i
  return best
}
