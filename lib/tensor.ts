import { isAnyArrayBuffer } from 'node:util/types'
import { describe, expected, TensorRTError } from './errors.js'

/** What is known of a data type; the one place where element sizes and array types stand. */
interface DTypeFacts {
  /** Bits of one element: below 8, elements are packed, the first in the low bits. */
  readonly bits: number
  readonly array: TypedArrayConstructor
}

type TypedArrayConstructor =
  | Float32ArrayConstructor
  | Int32ArrayConstructor
  | BigInt64ArrayConstructor
  | Int8ArrayConstructor
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor

/** The array type that holds a tensor's elements, by data type. */
export interface DTypeArrays {
  float32: Float32Array
  /** Raw bits; a `Float16Array` is accepted where the runtime has it. */
  float16: Uint16Array
  /** Raw bits: the upper half of a float32. */
  bfloat16: Uint16Array
  int32: Int32Array
  int64: BigInt64Array
  int8: Int8Array
  uint8: Uint8Array
  /** One byte each, 0 or 1. */
  bool: Uint8Array
  /** E4M3, raw bytes. */
  fp8: Uint8Array
  /** Two elements a byte. */
  int4: Uint8Array
  /** E2M1, two elements a byte. */
  fp4: Uint8Array
}

/**
 * A data type, by the names of this package.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html DataType
 */
export type DType = keyof DTypeArrays

const facts: { readonly [D in DType]: DTypeFacts } = {
  float32: { bits: 32, array: Float32Array },
  float16: { bits: 16, array: Uint16Array },
  bfloat16: { bits: 16, array: Uint16Array },
  int32: { bits: 32, array: Int32Array },
  int64: { bits: 64, array: BigInt64Array },
  int8: { bits: 8, array: Int8Array },
  uint8: { bits: 8, array: Uint8Array },
  bool: { bits: 8, array: Uint8Array },
  fp8: { bits: 8, array: Uint8Array },
  int4: { bits: 4, array: Uint8Array },
  fp4: { bits: 4, array: Uint8Array },
}

/** All data types. */
export const dtypes = Object.freeze(Object.keys(facts) as DType[])

export function isDType(value: unknown): value is DType {
  return typeof value === 'string' && Object.hasOwn(facts, value)
}

/** The number of elements of a shape; 1 for a scalar (`[]`). */
export function elementCount(shape: readonly number[]): number {
  let count = 1
  for (const dim of shape) count *= dim
  return count
}

/** The array type of a data type. */
export function arrayOf(dtype: DType): TypedArrayConstructor {
  return facts[dtype].array
}

/** The bytes that a tensor of this type and shape takes. */
export function byteSize(dtype: DType, shape: readonly number[]): number {
  return Math.ceil((elementCount(shape) * facts[dtype].bits) / 8)
}

/** Checks a shape as a user gave it and returns a frozen copy. @throws TensorRTError ERR_TRT_SHAPE */
export function checkedShape(shape: unknown, name = 'shape'): readonly number[] {
  if (!Array.isArray(shape)) throw expected('an array of non-negative integers', name, shape)
  if (shape.length > 8) throw new TensorRTError('ERR_TRT_SHAPE', `Expected at most 8 dimensions for ${name} but received ${shape.length}`)
  const copy = Array.from(shape as unknown[], (dim) => {
    if (typeof dim !== 'number' || !Number.isSafeInteger(dim) || dim < 0) {
      throw new TensorRTError(
        'ERR_TRT_SHAPE',
        `Expected non-negative integers for ${name} but received ${describe(dim)} in [${(shape as unknown[]).map(String).join(', ')}]`,
      )
    }
    return dim
  })
  if (!Number.isSafeInteger(elementCount(copy)))
    throw new TensorRTError('ERR_TRT_SHAPE', `${name} [${copy.join(', ')}] has more elements than a number can count`)
  return Object.freeze(copy)
}

function isTypedArray(value: unknown): value is NodeJS.TypedArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
}

/** By its tag: Node has the class only since version 24. */
function isFloat16Array(data: unknown): boolean {
  return isTypedArray(data) && (data[Symbol.toStringTag] as string) === 'Float16Array'
}

function arrayFits(dtype: DType, data: NodeJS.TypedArray): boolean {
  if (data instanceof facts[dtype].array) return true
  if (dtype === 'float16' && isFloat16Array(data)) return true
  return data instanceof Uint8ClampedArray && facts[dtype].array === Uint8Array
}

const checkedElsewhere = Symbol('checked elsewhere')

/** For this package: a tensor of what a backend computed. `shape` is frozen, and it all fits together. */
export function trustedTensor<D extends DType>(dtype: D, data: DTypeArrays[D], shape: readonly number[]): Tensor<D> {
  return new (Tensor as unknown as new (...args: unknown[]) => Tensor<D>)(dtype, data, shape, checkedElsewhere)
}

/** Typed numbers with a shape: what goes into an engine and comes out of it. The shape never changes; the data is not copied. */
export class Tensor<D extends DType = DType> {
  readonly dtype: D
  /** Row-major, the outermost dimension first; `[]` is a scalar. */
  readonly shape: readonly number[]
  readonly data: DTypeArrays[D]
  /** The bytes of the data, as the shape says. */
  readonly byteLength: number
  /** Tells a Tensor from what only looks like one: a proxy, or an object with this prototype, could answer differently each time it is asked. */
  readonly #genuine = true

  /**
   * A view on `data`, which is not copied.
   * @throws TensorRTError ERR_TRT_DTYPE when the array type is not that of `dtype`, ERR_TRT_SHAPE when its length is not that of `shape`.
   */
  constructor(dtype: D, data: DTypeArrays[D], shape: readonly number[])
  constructor(dtype: D, data: DTypeArrays[D], shape: readonly number[], mark?: symbol) {
    this.dtype = dtype
    this.data = data
    if (mark === checkedElsewhere) {
      this.shape = shape
      this.byteLength = data.byteLength
      Object.freeze(this)
      return
    }
    if (!isDType(dtype)) throw expected(`one of ${dtypes.join(', ')}`, 'dtype', dtype)
    if (!isTypedArray(data)) throw expected(`a ${facts[dtype].array.name}`, 'data', data)
    if (!arrayFits(dtype, data)) {
      throw new TensorRTError(
        'ERR_TRT_DTYPE',
        `Expected a ${facts[dtype].array.name} for the data of a ${dtype} tensor but received ${describe(data)}`,
      )
    }
    this.shape = checkedShape(shape)
    const wanted = byteSize(dtype, this.shape)
    this.byteLength = wanted
    if (data.byteLength !== wanted) {
      throw new TensorRTError(
        'ERR_TRT_SHAPE',
        `Expected ${wanted} bytes of data for a ${dtype} tensor of shape [${this.shape.join(', ')}] but received ${data.byteLength}`,
      )
    }
    Object.freeze(this)
  }

  /** A tensor whose data type follows from the array: `Float32Array` → float32, `BigInt64Array` → int64 and so on; `shape` defaults to one dimension. */
  static from<D extends DType = DType>(data: DTypeArrays[D], shape?: readonly number[]): Tensor<D> {
    const dtype = dtypeOf(data)
    return new Tensor(dtype as D, data, shape ?? [data.length])
  }

  /** A tensor of zeros, in memory of its own. @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_OUT_OF_MEMORY */
  static zeros<D extends DType>(dtype: D, shape: readonly number[]): Tensor<D> {
    if (!isDType(dtype)) throw expected(`one of ${dtypes.join(', ')}`, 'dtype', dtype)
    const dims = checkedShape(shape)
    const bytes = byteSize(dtype, dims)
    const { array } = facts[dtype]
    try {
      return new Tensor(dtype, new array(bytes / array.BYTES_PER_ELEMENT) as DTypeArrays[D], dims)
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause
      const message = `A ${dtype} tensor of shape [${dims.join(', ')}] has ${bytes} bytes, which is more than can be had`
      throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', message, { cause, details: { bytes } })
    }
  }

  /**
   * A tensor over a whole ArrayBuffer.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE when its length is not that of `shape`.
   */
  static fromBytes<D extends DType>(dtype: D, buffer: ArrayBuffer, shape: readonly number[]): Tensor<D> {
    if (!isDType(dtype)) throw expected(`one of ${dtypes.join(', ')}`, 'dtype', dtype)
    if (!isAnyArrayBuffer(buffer)) throw expected('an ArrayBuffer', 'buffer', buffer)
    const { array } = facts[dtype]
    if (buffer.byteLength % array.BYTES_PER_ELEMENT !== 0) {
      throw new TensorRTError(
        'ERR_TRT_SHAPE',
        `Expected a multiple of ${array.BYTES_PER_ELEMENT} bytes for a ${dtype} tensor but received ${buffer.byteLength}`,
      )
    }
    return new Tensor(dtype, new array(buffer) as DTypeArrays[D], shape)
  }

  /** Whether `value` was made by this class. */
  static is(value: unknown): value is Tensor {
    return typeof value === 'object' && value !== null && #genuine in value
  }

  /** The number of elements. */
  get size(): number {
    return elementCount(this.shape)
  }

  /** The same data with another shape of as many elements. @throws TensorRTError ERR_TRT_SHAPE */
  reshape(shape: readonly number[]): Tensor<D> {
    return new Tensor(this.dtype, this.data, shape)
  }

  /** The same numbers in memory of their own. */
  clone(): Tensor<D> {
    return Tensor.fromBytes(this.dtype, copiedBytes(this.data), this.shape)
  }
}

/** The bytes of a typed array in a new ArrayBuffer. Not `data.slice()`, which of a Buffer is a view. */
export function copiedBytes(data: NodeJS.TypedArray): ArrayBuffer {
  const copy = new ArrayBuffer(data.byteLength)
  if (data.byteLength > 0) new Uint8Array(copy).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  return copy
}

function dtypeOf(data: unknown): DType {
  if (data instanceof Float32Array) return 'float32'
  if (data instanceof Int32Array) return 'int32'
  if (data instanceof BigInt64Array) return 'int64'
  if (data instanceof Int8Array) return 'int8'
  if (data instanceof Uint8Array || data instanceof Uint8ClampedArray) return 'uint8'
  if (isFloat16Array(data)) return 'float16'
  throw expected(
    'a Float32Array, Int32Array, BigInt64Array, Int8Array or Uint8Array (other data types: new Tensor(dtype, data, shape))',
    'data',
    data,
  )
}
