import { isAnyArrayBuffer, isFloat32Array, isNativeError, isUint8Array } from 'node:util/types'
import { shapeText } from './base/dims.js'
import { shown, shownAs, type Shown } from './base/shown.js'
import { expected, TensorRTError } from './errors.js'
import { type FloatDType, float32Of, floatDTypes, roundedTo } from './tensor/convert.js'
import {
  arrayOf,
  byteSize,
  checkedData,
  checkedDType,
  checkedShape,
  type DType,
  type DTypeArrays,
  type DTypeData,
  type DTypeOf,
  dtypeOf,
  elementCount,
  isPacked,
  type TypedData,
} from './tensor/dtypes.js'
import { readForeign, type TensorLike } from './tensor/foreign.js'
import { checkedTextsOf, packedLength, packedTexts } from './tensor/texts.js'
import { dataOfValues, type DTypeValues, jsonValuesOf, valuesText } from './tensor/values.js'

export * from './tensor/dtypes.js'
export type { FloatDType } from './tensor/convert.js'
export type { DTypeValues } from './tensor/values.js'
export { expectedTensor, isTensorLike, type TensorLike } from './tensor/foreign.js'

/**
 * Typed numbers with a shape, in memory that JavaScript reaches: what goes into an engine and comes out of it. `Tensor`
 * is the union over all data types, which `dtype` tells apart: after `if (tensor.dtype === 'float32')`, `tensor.data`
 * is a Float32Array. {@link HostTensor} has its properties and methods.
 * @example
 * ```ts
 * import { Tensor } from 'node-tensorrt'
 *
 * const pixels = new Float32Array(3 * 224 * 224)
 * const tensor = new Tensor('float32', pixels, [1, 3, 224, 224]) // over the same memory
 * console.log(tensor.shape, tensor.byteLength, tensor.toFloat32().data.length)
 * ```
 */
export type Tensor<D extends DType = DType> = D extends DType ? HostTensor<D> : never

/** What `JSON.stringify` makes of a {@link Tensor}; {@link TensorConstructor.from} makes one again. */
export interface TensorJson<D extends DType = DType> {
  /** The data type. */
  readonly dtype: D
  /** The dimensions, the outermost first. */
  readonly shape: readonly number[]
  /**
   * The elements in row-major order, as numbers whatever the data type: float32 with as many digits as tell it from its
   * neighbours, -0 as 0. As text: NaN, the infinities, and whole numbers beyond 2^53. Of bool: true and false.
   */
  readonly data: readonly (number | string | boolean)[]
}

/** The constructor and the static methods of {@link Tensor}. */
export interface TensorConstructor {
  /** For `instanceof`, which tells a {@link Tensor} from what only looks like one. */
  readonly prototype: Tensor
  /**
   * A tensor over `data`, which is not copied; or of plain values, which are.
   * @param dtype the data type
   * @param data the elements, in the array type of `dtype`: see {@link DTypeArrays}. Or a plain array of numbers, of
   * bigints for int64 and uint64, of booleans for bool: floating-point types take the nearest number that they have,
   * the others whole numbers in their range. One list of all elements: nested arrays are refused
   * @param shape row-major, the outermost dimension first; `[]` is a scalar
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also for a plain value that the data type has not;
   * ERR_TRT_DTYPE when the array type is not that of `dtype`; ERR_TRT_SHAPE when its length is not that of `shape`
   */
  new <D extends DType>(dtype: D, data: DTypeData<D> | DTypeValues<D>, shape: readonly number[]): Tensor<D>
  /**
   * A tensor whose data type follows from the array: `Float32Array` gives float32, `BigUint64Array` uint64 and so on.
   * The data is not copied. A `Uint16Array` may be float16, bfloat16 or uint16: use the constructor, which is told.
   * @param shape default: one dimension
   * @throws TensorRTError as the constructor
   */
  from<A extends TypedData>(data: A, shape?: readonly number[]): Tensor<DTypeOf<A>>
  /**
   * A tensor of what looks like one: of onnxruntime's, or of a Tensor that came through `postMessage` and lost its
   * class there. The data is not copied. Or of what {@link HostTensor.toJSON} gave.
   * @param shape another shape of as many elements; default: its own
   * @throws TensorRTError as the constructor; ERR_TRT_DTYPE where this package lacks its data type
   */
  from(tensor: TensorLike, shape?: readonly number[]): Tensor
  /**
   * A tensor of zeros, in memory of its own.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE, ERR_TRT_OUT_OF_MEMORY
   */
  zeros<D extends DType>(dtype: D, shape: readonly number[]): Tensor<D>
  /**
   * A tensor over a whole ArrayBuffer, or over the bytes of a Uint8Array, such as part of a block of {@link
   * Engine.allocateBytes}. Nothing is copied.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also where the bytes do not begin at a multiple of the element's
   * size; ERR_TRT_SHAPE when their number is not that of `shape`
   */
  fromBytes<D extends DType>(
    dtype: D,
    buffer: ArrayBuffer | Uint8Array<ArrayBuffer>,
    shape: readonly number[],
  ): Tensor<D>
  /**
   * Numbers rounded to a floating-point type, to the nearest, in memory of their own: the inverse of {@link
   * HostTensor.toFloat32}. A number beyond the largest of float16 or bfloat16 becomes infinity; float8e4m3 has none,
   * and takes its largest number, 448. float64 takes each number as it is.
   * @throws TensorRTError as the constructor
   * @see https://onnx.ai/onnx/technical/float8.html
   */
  fromFloat32<D extends FloatDType>(
    dtype: D,
    numbers: Float32Array | readonly number[],
    shape?: readonly number[],
  ): Tensor<D>
  /** Whether `value` is a Tensor. */
  is(value: unknown): value is Tensor
  /** `value instanceof Tensor`: as {@link is}. */
  [Symbol.hasInstance](value: unknown): value is Tensor
}

const checkedElsewhere = Symbol('checked elsewhere')
const fromJson = Symbol('perhaps from JSON')

/** For this package: a tensor of what a backend computed. `shape` is frozen, and it all fits together. */
export function trustedTensor<D extends DType>(dtype: D, data: DTypeArrays[D], shape: readonly number[]): Tensor<D> {
  return new HostTensor(dtype, data, shape, checkedElsewhere) as Tensor<D>
}

/** A tensor in memory that JavaScript reaches; {@link Tensor} makes it. It is frozen: its shape never changes. */
class HostTensor<D extends DType> {
  /** The data type. */
  readonly dtype: D
  /** The dimensions, row-major, the outermost first; `[]` is a scalar. */
  readonly shape: readonly number[]
  /**
   * The elements, in the array type of {@link dtype}. Of an array of another type that was given (`Uint8ClampedArray`,
   * `Float16Array`) it is a view of the same memory.
   */
  readonly data: DTypeArrays[D]
  /**
   * The size of the data in bytes, as data type and shape say it. Of texts what they take on their way to a model:
   * their UTF-8, and four bytes each.
   */
  readonly byteLength: number
  /**
   * Tells a Tensor from what only looks like one: a proxy, or an object with this prototype, could answer differently
   * each time it is asked.
   */
  readonly #genuine = true

  constructor(dtype: D, data: unknown, shape: readonly number[], mark?: symbol) {
    this.dtype = dtype
    if (mark === checkedElsewhere) {
      this.data = data as DTypeArrays[D]
      this.shape = shape
      this.byteLength = dataLength(this.data)
      Object.freeze(this)
      return
    }
    checkedDType(dtype)
    this.data = Array.isArray(data) ? dataOfValues(dtype, data, mark === fromJson) : checkedData(dtype, data)
    this.shape = checkedShape(shape)
    this.byteLength = dtype === 'string' ? dataLength(this.data) : byteSize(dtype, this.shape)
    if (!isWhole(this)) throw wrongSize(this)
    Object.freeze(this)
  }

  static from(data: unknown, shape?: readonly number[]): Tensor {
    const dtype = dtypeOf(data)
    if (dtype !== undefined) return new HostTensor(dtype, data, shape ?? [(data as TypedData).length]) as Tensor
    const foreign = readForeign(data)
    return new HostTensor(foreign.dtype, foreign.data, shape ?? foreign.shape, fromJson) as Tensor
  }

  static zeros(dtype: DType, shape: readonly number[]): Tensor {
    checkedDType(dtype)
    const dims = checkedShape(shape)
    if (dtype === 'string') return new HostTensor(dtype, Array<string>(elementCount(dims)).fill(''), dims)
    const array = arrayOf(dtype)
    const bytes = byteSize(dtype, dims)
    try {
      return new HostTensor(dtype, new array(bytes / array.BYTES_PER_ELEMENT), dims) as Tensor
    } catch (cause) {
      if (!(isNativeError(cause) && cause.name === 'RangeError')) throw cause
      const message = `A ${dtype} tensor of shape [${dims.join(', ')}] has ${bytes} bytes, which is more than can be had`
      throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', message, { cause, details: { bytes } })
    }
  }

  static fromBytes(dtype: DType, buffer: ArrayBuffer | Uint8Array<ArrayBuffer>, shape: readonly number[]): Tensor {
    checkedDType(dtype)
    const isView = isUint8Array(buffer)
    if (!isView && !isAnyArrayBuffer(buffer)) throw expected('an ArrayBuffer or a Uint8Array', 'buffer', buffer)
    if (dtype === 'string') {
      const dims = checkedShape(shape)
      const texts = checkedTextsOf(isView ? buffer : new Uint8Array(buffer), dims)
      return new HostTensor(dtype, texts, dims, checkedElsewhere)
    }
    const array = arrayOf(dtype)
    const size = array.BYTES_PER_ELEMENT
    if (isView && buffer.byteOffset % size !== 0) {
      const message = `Expected a byteOffset that is a multiple of ${size} for a ${dtype} tensor but received ${buffer.byteOffset}`
      throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
    }
    if (buffer.byteLength % size !== 0) {
      throw new TensorRTError(
        'ERR_TRT_SHAPE',
        `Expected a multiple of ${array.BYTES_PER_ELEMENT} bytes for a ${dtype} tensor but received ${buffer.byteLength}`,
      )
    }
    const data = isView ? new array(buffer.buffer, buffer.byteOffset, buffer.byteLength / size) : new array(buffer)
    return new HostTensor(dtype, data, shape) as Tensor
  }

  static fromFloat32(dtype: FloatDType, numbers: Float32Array | readonly number[], shape?: readonly number[]): Tensor {
    checkedDType(dtype, floatDTypes)
    if (!isFloat32Array(numbers) && !Array.isArray(numbers))
      throw expected('a Float32Array or an array', 'numbers', numbers)
    return new HostTensor(dtype, roundedTo(dtype, numbers), shape ?? [numbers.length]) as Tensor
  }

  static is(value: unknown): value is Tensor {
    return typeof value === 'object' && value !== null && #genuine in value
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    return HostTensor.is(value)
  }

  /** The number of elements. */
  get size(): number {
    return elementCount(this.shape)
  }

  /** Where the data is: in memory that JavaScript reaches. */
  get location(): 'host' {
    return 'host'
  }

  /**
   * This tensor, for TypeScript known to be of a data type.
   * @throws TensorRTError ERR_TRT_DTYPE when it is of another, ERR_TRT_INVALID_ARGUMENT when there is no such type
   */
  as<E extends DType>(dtype: E): Tensor<E> {
    if ((checkedDType(dtype) as DType) !== this.dtype)
      throw new TensorRTError('ERR_TRT_DTYPE', `Expected a tensor of ${dtype} but this one is of ${this.dtype}`, {
        details: { expected: dtype, received: this.dtype },
      })
    return this as unknown as Tensor<E>
  }

  /**
   * The numbers as float32, whatever the data type: a tensor in memory of its own, or this one where it is float32
   * already. A number that float32 does not have is rounded to the nearest, ties to even: whole numbers beyond 2^24,
   * and float64, which beyond float32's largest number becomes infinity. {@link TensorConstructor.fromFloat32} is the
   * inverse for floating-point types.
   */
  toFloat32(): Tensor<'float32'> {
    if (this.dtype === 'float32') return this as unknown as Tensor<'float32'>
    return new HostTensor('float32', float32Of(this.dtype, this.data, this.shape), this.shape)
  }

  /**
   * The same data with another shape of as many elements.
   * @throws TensorRTError ERR_TRT_SHAPE
   */
  reshape(shape: readonly number[]): HostTensor<D> {
    return new HostTensor(this.dtype, this.data, shape)
  }

  /** The same numbers in memory of their own. */
  clone(): HostTensor<D> {
    if (this.dtype === 'string') return new HostTensor(this.dtype, this.data, this.shape, checkedElsewhere)
    return HostTensor.fromBytes(this.dtype, copiedBytes(this.data as NodeJS.TypedArray), this.shape) as HostTensor<D>
  }

  /**
   * For `JSON.stringify`, whose text `Tensor.from(JSON.parse(text))` makes a tensor of again. Each element takes about
   * 10 bytes of text: beyond some 50 million elements V8 has no text so long, and throws a RangeError. Large tensors
   * are for {@link writeTensor}.
   */
  toJSON(): TensorJson<D> {
    return { dtype: this.dtype, shape: this.shape, data: jsonValuesOf(this.dtype, this.data, this.shape) }
  }

  /** @internal What `console.log` shows: the first and the last values, as numbers. */
  [shownAs](...how: Shown): string {
    const { dtype, shape, data, size } = this
    return shown('Tensor', { dtype, shape, values: { [shownAs]: () => valuesText(dtype, data, size) } }, how)
  }
}

function wrongSize({ dtype, shape, byteLength, data }: HostTensor<DType>): TensorRTError {
  const [wanted, given] = [elementCount(shape), data.length]
  const details = { expected: wanted, received: given }
  const whose = `of data for a ${dtype} tensor of shape ${shapeText(shape)}`
  if (!('byteLength' in data)) {
    const message = `Expected ${wanted} texts ${whose} but received ${given}`
    return new TensorRTError('ERR_TRT_SHAPE', message, { details })
  }
  const message = isPacked(dtype)
    ? `Expected ${byteLength} bytes (${wanted} elements, two in a byte) ${whose} but received ${given}`
    : `Expected ${wanted} elements (${byteLength} bytes) ${whose} but received ${given} (${data.byteLength} bytes)`
  return new TensorRTError('ERR_TRT_SHAPE', message, { details })
}

export type { HostTensor }

Object.defineProperty(HostTensor, 'name', { value: 'Tensor' })

/** Makes tensors and tells them from other objects; see {@link TensorConstructor}. */
export const Tensor = HostTensor as unknown as TensorConstructor

const dataLength = (data: DTypeArrays[DType]): number => ('byteLength' in data ? data.byteLength : packedLength(data))

/**
 * Whether all of its data is there: a transfer to a worker empties a tensor's array, and a resizable buffer can shrink
 * below it. Texts stay.
 */
export function isWhole({ data, byteLength, shape }: Tensor | HostTensor<DType>): boolean {
  return 'byteLength' in data ? data.byteLength === byteLength : data.length === elementCount(shape)
}

/** The typed array of a tensor of numbers. @throws TensorRTError ERR_TRT_DTYPE for one of texts */
export function typedDataOf({ data, dtype }: Tensor): Exclude<DTypeArrays[DType], readonly string[]> {
  if ('byteLength' in data) return data
  throw new TensorRTError('ERR_TRT_DTYPE', `Expected a tensor of numbers but received one of ${dtype}`)
}

/** The bytes of a tensor's data: a view of numbers, none where they were transferred away; a packed copy of texts. */
export function bytesOfTensor({ data }: Tensor): Uint8Array {
  if (!('byteLength' in data)) return packedTexts(data)
  return data.byteLength === 0 ? new Uint8Array() : new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

/** The bytes of a typed array in a new ArrayBuffer. Not `data.slice()`, which of a Buffer is a view. */
export function copiedBytes(data: NodeJS.TypedArray): ArrayBuffer {
  const copy = new ArrayBuffer(data.byteLength)
  if (data.byteLength > 0) new Uint8Array(copy).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  return copy
}
