import { type ElementType, elementTypeName } from '../element-type.js'
import { elementCount, isNumberDType, typedDataOf } from '../../tensor.js'
import type { TensorProto, ValueInfoProto } from '../onnx_pb.js'
import { isExternal, tensorFromProto } from '../tensors.js'

/**
 * A dimension: its size, the name of one that is known only when the model runs, or nothing.
 * @inline
 */
export type Dim = number | string | undefined

/** What is known of a value without running the model. */
export interface ValueType {
  /** The element type; undefined: it is not known. */
  readonly dtype: ElementType | undefined
  /**
   * The sizes of the dimensions; a string names one that is known only when the model runs. Undefined: not even the
   * rank is known.
   */
  readonly shape: readonly Dim[] | undefined
}

/**
 * The same with the elements, where they are few numbers that shapes may depend on; a string is the size of a dimension
 * with that name.
 */
export interface Known extends ValueType {
  readonly value?: readonly Dim[] | undefined
}

export const nothing: Known = { dtype: undefined, shape: undefined }

/** A file could make shapes that grow with each node: Gather adds ranks up. */
const mostDims = 64
/** Shapes are computed from short lists. */
export const mostElements = 1024

/** A size, or undefined where no tensor can have it. */
export function size(number: number | undefined): number | undefined {
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined
}

/** What a rule gave, without what no tensor can have. */
export function bounded({ dtype, shape, value }: Known): Known {
  if (shape === undefined || shape.length > mostDims) return { dtype, shape: undefined }
  const dims = shape.map((dim) => (typeof dim === 'number' ? size(dim) : dim))
  const count = product(dims)
  return {
    dtype,
    shape: dims,
    value: value !== undefined && value.length <= mostElements && value.length === count ? value : undefined,
  }
}

/** The size of a list, an unknown one included. */
export function product(dims: readonly Dim[]): Dim {
  const names = dims.filter((dim) => typeof dim !== 'number')
  const number = dims.reduce<number>((all, dim) => (typeof dim === 'number' ? all * dim : all), 1)
  if (number === 0) return 0
  if (names.length === 0) return size(number)
  return names.length === 1 && number === 1 ? names[0] : undefined
}

/** Two dimensions, one of them repeated where it is 1. */
function broadcastDim(a: Dim, b: Dim): Dim {
  if (a === 1) return b
  if (b === 1 || a === b) return a
  // What is not 1 stays: the other one is 1 or the same, or the model does not run.
  if (typeof a === 'number') return typeof b === 'number' ? undefined : a
  return typeof b === 'number' ? b : undefined
}

/** The shape of elementwise operators: aligned at the last dimension. */
export function broadcast(shapes: readonly (readonly Dim[] | undefined)[]): readonly Dim[] | undefined {
  return shapes.reduce((a, b) => {
    if (a === undefined || b === undefined) return undefined
    const rank = Math.max(a.length, b.length)
    return Array.from({ length: rank }, (_, i) => broadcastDim(aligned(a, rank, i), aligned(b, rank, i)))
  })
}

function aligned(shape: readonly Dim[], rank: number, i: number): Dim {
  const at = i - (rank - shape.length)
  return at < 0 ? 1 : shape[at]
}

/** What two sources say of one dimension. */
export function either(a: Dim, b: Dim): Dim {
  return typeof a === 'number' ? a : typeof b === 'number' ? b : (a ?? b)
}

/** An axis that may count from the end. */
export function axisOf(axis: number | undefined, rank: number): number | undefined {
  if (axis === undefined || axis < -rank || axis >= rank) return undefined
  return axis < 0 ? axis + rank : axis
}

/** What a stored tensor is. */
export function typeOf({ dataType, dims }: TensorProto): Known {
  const dtype = elementTypeName(dataType)
  return bounded({ dtype: dtype === 'undefined' ? undefined : dtype, shape: dims.map(Number) })
}

const readable = 'float32 float64 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool'.split(' ')

/**
 * The elements of a short tensor; those in other files are left there. @throws TensorRTError ERR_TRT_ONNX_PARSE where
 * there are not as many as the shape says
 */
export function readNumbers(tensor: TensorProto): readonly number[] | undefined {
  const dtype = elementTypeName(tensor.dataType)
  const shape = tensor.dims.map(Number)
  if (isExternal(tensor) || !isNumberDType(dtype) || !readable.includes(dtype)) return undefined
  if (shape.length > 1 || elementCount(shape) > mostElements) return undefined
  return Array.from<number | bigint, number>(typedDataOf(tensorFromProto(tensor)), Number)
}

/** What the model says of a value. */
export function declared({ type }: Pick<ValueInfoProto, 'type'>, names: ReadonlyMap<string, number>): Known {
  if (type?.value.case !== 'tensorType') return nothing
  const tensor = type.value.value
  const dtype = elementTypeName(tensor.elemType)
  const shape = tensor.shape?.dim.map(({ value }): Dim => {
    if (value.case === 'dimParam' && value.value !== '') return names.get(value.value) ?? value.value
    return value.case === 'dimValue' ? Number(value.value) : undefined
  })
  return bounded({ dtype: dtype === 'undefined' ? undefined : dtype, shape })
}
