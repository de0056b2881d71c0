import { checkedListener } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { isIterable, isRepeatable, Repeatable } from '../base/iterables.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { expected, TensorRTError } from '../errors.js'
import { type DType, expectedTensor, Tensor, bytesOfTensor } from '../tensor.js'

/** Options of {@link batchesOf}. */
export interface BatchOptions {
  /** How many items make a batch; default 1. The last batch has those that are left. */
  readonly size?: number | undefined
}

const table = { size: option(is.whole(1), 1) } satisfies OptionTable<BatchOptions>

/** @inline */
type Prepare<T, D extends DType> = (item: T) => Tensor<D> | Promise<Tensor<D>>

/**
 * Pictures, or whatever else is iterated, as batches of a model's input: for calibrating, comparing or running it.
 * Where the items can be iterated again, so can the batches.
 * @param prepare makes the input for one item, such as [1, 3, 640, 640]; those of a batch are joined along the first
 * dimension: [8, 3, 640, 640]
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; while it is iterated also ERR_TRT_DTYPE, ERR_TRT_SHAPE where the
 * tensors of a batch do not go together; what the items and `prepare` throw
 * @example
 * ```ts
 * import { batchesOf, letterbox, pictures, toTensor } from 'node-tensorrt/vision'
 *
 * const data = batchesOf(pictures('photos'), (picture) => toTensor(picture, letterbox(picture, 640)), { size: 2 })
 * for await (const batch of data) console.log(batch.shape)
 * ```
 */
export function batchesOf<T, D extends DType>(
  items: Iterable<T> | AsyncIterable<T>,
  prepare: Prepare<T, D>,
  options?: BatchOptions,
): AsyncIterable<Tensor<D>> {
  const { size: most } = checkedOptions(options, table, 'batchesOf')
  if (!isIterable(items)) throw expected('an iterable of pictures', 'items', items)
  const make = checkedListener<Prepare<T, D>>(prepare, 'prepare')
  if (make === undefined) throw expected('a function', 'prepare', prepare)
  const begin = (): AsyncGenerator<Tensor<D>, void, undefined> => gathered(items, make, most)
  return isRepeatable(items) ? new Repeatable(begin) : begin()
}

async function* gathered<T, D extends DType>(
  items: Iterable<T> | AsyncIterable<T>,
  prepare: Prepare<T, D>,
  size: number,
): AsyncGenerator<Tensor<D>, void, undefined> {
  let batch: Tensor<D>[] = []
  for await (const item of items) {
    batch.push(checkedPart(await prepare(item)))
    if (batch.length < size) continue
    yield joined(batch)
    batch = []
  }
  if (batch.length > 0) yield joined(batch)
}

function checkedPart<D extends DType>(tensor: Tensor<D>): Tensor<D> {
  if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', 'what prepare returns', tensor)
  if (tensor.shape.length === 0)
    throw expected('a Tensor whose first dimension counts pictures', 'what prepare returns', 'one of shape []')
  return tensor
}

/** One behind the other along the first dimension. @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_SHAPE */
function joined<D extends DType>(tensors: readonly Tensor<D>[]): Tensor<D> {
  const [first, ...others] = tensors as [Tensor<D>, ...Tensor<D>[]]
  if (others.length === 0) return first
  const { dtype, shape } = first
  for (const other of others) {
    if (other.dtype !== dtype)
      throw new TensorRTError(
        'ERR_TRT_DTYPE',
        `Expected one data type in a batch but received ${dtype} and ${other.dtype}`,
      )
    if (shapeText(other.shape.slice(1)) !== shapeText(shape.slice(1))) throw unlike(shape, other.shape)
  }
  const bytes = new Uint8Array(tensors.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const tensor of tensors) {
    bytes.set(bytesOfTensor(tensor), at)
    at += tensor.byteLength
  }
  const rows = tensors.reduce((sum, each) => sum + (each.shape[0] as number), 0)
  return Tensor.fromBytes(dtype as D, bytes.buffer, [rows, ...shape.slice(1)])
}

function unlike(one: readonly number[], other: readonly number[]): TensorRTError {
  const message = `Expected one shape in a batch, but for the first dimension, but received ${shapeText(one)} and ${shapeText(other)}`
  return new TensorRTError('ERR_TRT_SHAPE', message)
}
