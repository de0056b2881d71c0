import { createHash, type Hash } from 'node:crypto'
import { isIterable, isRepeatable } from '../base/iterables.js'
import type { InputBatch } from '../building/calibration.js'
import { type AnyTensor } from '../device-tensor.js'
import { type CallInput, isTensor, readInput } from '../engine/arguments.js'
import { expected, TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { bytesOfTensor } from '../tensor.js'

export type { InputBatch }

/** @inline */
type Batches = Iterable<InputBatch> | AsyncIterable<InputBatch>

/**
 * Where batches come from: what can be iterated (an array, a generator, a stream), or a function that begins a new
 * iteration each time it is called. What can be iterated only once serves one run: whoever needs a second one says so
 * (ERR_TRT_INVALID_ARGUMENT). Of what is asynchronous that is everything but `batchesOf(pictures(…))` of
 * `node-tensorrt/vision`: nobody can tell whether its iterators are all of one stream.
 */
export type CalibrationData = Batches | (() => Batches)

/** Batches of a user, from the beginning each time. */
export class BatchSource {
  readonly #data: CalibrationData
  readonly #most: number
  #began = false

  /** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
  constructor(data: unknown, most = Infinity) {
    if (typeof data !== 'function' && !isIterable(data))
      throw expected('an iterable of Tensors, or a function that returns one,', 'data', data)
    this.#data = data as CalibrationData
    this.#most = most
  }

  /** Whether it can be iterated again. */
  get isRepeatable(): boolean {
    return typeof this.#data === 'function' || isRepeatable(this.#data)
  }

  /** The first batches of the same. */
  first(most: number): BatchSource {
    return new BatchSource(this.#data, Math.min(most, this.#most))
  }

  /**
   * All batches, as many as are allowed. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no batch, and for a
   * second iteration of what has only one
   */
  async *open(): AsyncGenerator<CallInput, void, undefined> {
    if (this.#most === 0) return
    let count = 0
    for await (const batch of this.#begin()) {
      yield readBatch(batch, count)
      if (++count >= this.#most) return
    }
  }

  #begin(): Batches {
    if (typeof this.#data !== 'function') {
      if (this.#began && !isRepeatable(this.#data)) {
        throw new TensorRTError(
          'ERR_TRT_INVALID_ARGUMENT',
          'The data was iterated already and cannot be again: give a function that returns a new iterable each time',
        )
      }
      this.#began = true
      return this.#data
    }
    const batches: unknown = this.#data()
    if (!isIterable(batches))
      throw expected('an iterable of Tensors', 'what the function for the data returns', batches)
    return batches as Batches
  }
}

function readBatch(batch: unknown, index: number): CallInput {
  const given = readInput(batch)
  for (const tensor of isTensor(given) ? [given] : given.values()) {
    if (tensor.location === 'device') throw expected('Tensors in ordinary memory', `batch ${index}`, tensor)
  }
  return given
}

/**
 * The hash of all batches that it is told of, in their order. The tensors of one count by their names, in whatever
 * order those come.
 */
export class BatchHash {
  readonly #hash: Hash = createHash('sha256')

  add(names: readonly string[], tensors: readonly AnyTensor[]): void {
    const named = tensors.map((tensor, i) => [names[i] ?? '', tensor as Tensor] as const)
    for (const [name, tensor] of named.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      this.#hash.update(JSON.stringify([name, tensor.dtype, tensor.shape]))
      this.#hash.update(bytesOfTensor(tensor))
    }
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}
