// What a module of a model in JavaScript is started with: plain data, which goes to a thread as it is.
import type { Datatype } from '../../kserve/tensor.js'
import type { ModelContext } from './types.js'

/** An input or output as the model has it. */
export interface TensorSpec {
  readonly name: string
  readonly datatype: Datatype
  /** Without the rows of a batch; -1 for sizes that requests decide. */
  readonly dims: readonly number[]
}

export interface ModuleStart extends Omit<ModelContext, 'signal'> {
  /** Below the folder of the version. */
  readonly file: string
  /** 0: the model has no batches. */
  readonly maxBatch: number
  readonly inputs: readonly TensorSpec[]
  readonly outputs: readonly TensorSpec[]
}

/** The shape that a tensor has in a request of so many rows, with -1 for sizes that nobody fixed. */
export function shapeOf(
  { maxBatch }: Pick<ModuleStart, 'maxBatch'>,
  { dims }: TensorSpec,
  rows: number,
): readonly number[] {
  return maxBatch > 0 ? [rows, ...dims] : dims
}

export function fitsShape(shape: readonly number[], wanted: readonly number[]): boolean {
  return (
    shape.length === wanted.length && wanted.every((size, i) => (size < 0 ? (shape[i] ?? -1) >= 0 : size === shape[i]))
  )
}
