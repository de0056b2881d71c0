import type { Engine } from '../engine.js'
import type { Tensor } from '../tensor.js'

/**
 * Input tensors of an engine's own memory that are used again: new memory is expensive, and where it is page-locked it
 * holds up the event loop.
 */
export class TensorPool {
  readonly #engine: Engine
  readonly #input: string
  readonly #most: number
  #free: Tensor[] = []

  /** @param most how many are kept, the last ones */
  constructor(engine: Engine, input: string, most: number) {
    this.#engine = engine
    this.#input = input
    this.#most = most
  }

  /** One of this shape; what it holds is not defined. */
  take(shape: readonly number[]): Tensor {
    const at = this.#free.findIndex(
      (tensor) => tensor.shape.length === shape.length && tensor.shape.every((side, axis) => side === shape[axis]),
    )
    return at < 0 ? this.#engine.allocate(this.#input, shape) : (this.#free.splice(at, 1)[0] as Tensor)
  }

  /** Back when nobody reads or writes it any more: one whose call was given up never comes. */
  give(tensor: Tensor): void {
    this.#free.push(tensor)
    if (this.#free.length > this.#most) this.#free.shift()
  }

  clear(): void {
    this.#free = []
  }
}
