import { describe, expected, TensorRTError } from '../errors.js'
import { expectedDType } from './words.js'

/** What is known of a data type; the one place where element sizes and array types stand. */
interface DTypeFacts {
  /** Bits of one element: below 8, elements are packed, the first in the low bits. */
  readonly bits: number
  readonly array: TypedArrayConstructor
  /** The number that a code of a packed type stands for. */
  readonly numberOf?: (code: number) => number
}

type TypedArrayConstructor =
  | Float32ArrayConstructor
  | Int32ArrayConstructor
  | BigInt64ArrayConstructor
  | Int8ArrayConstructor
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor
  | Float64ArrayConstructor
  | Int16ArrayConstructor
  | Uint32ArrayConstructor
  | BigUint64ArrayConstructor

/** The array type of a tensor's data, by data type. */
export interface DTypeArrays {
  /** IEEE 754, 32 bits. */
  float32: Float32Array
  /** IEEE 754, 16 bits, as raw bits; {@link HostTensor.toFloat32} gives the numbers. */
  float16: Uint16Array
  /** The upper half of a float32, as raw bits; {@link HostTensor.toFloat32} gives the numbers. */
  bfloat16: Uint16Array
  /** Signed, 32 bits. */
  int32: Int32Array
  /** Signed, 64 bits. */
  int64: BigInt64Array
  /** Signed, 8 bits. */
  int8: Int8Array
  /** Unsigned, 8 bits. */
  uint8: Uint8Array
  /** One byte for each element, 0 or 1. */
  bool: Uint8Array
  /** E4M3, as raw bytes. */
  float8e4m3: Uint8Array
  /** Signed, two elements in a byte, the first in the low bits. */
  int4: Uint8Array
  /** E2M1, two elements in a byte, the first in the low bits. */
  float4e2m1: Uint8Array
  /** IEEE 754, 64 bits. On the CPU only: TensorRT has no such type. */
  float64: Float64Array
  /** Signed, 16 bits. On the CPU only. */
  int16: Int16Array
  /** Unsigned, 16 bits. On the CPU only. */
  uint16: Uint16Array
  /** Unsigned, 32 bits. On the CPU only. */
  uint32: Uint32Array
  /** Unsigned, 64 bits. On the CPU only. */
  uint64: BigUint64Array
  /** Texts, in a frozen array. On the CPU only; a lone surrogate is U+FFFD once a model has it, as UTF-8 lacks it. */
  string: readonly string[]
}

/**
 * A data type, by the names of this package.
 * @see https://onnx.ai/onnx/intro/concepts.html#element-type
 */
export type DType = keyof DTypeArrays

/** The data types of numbers: all but `string`. */
export type NumberDType = Exclude<DType, 'string'>

const cpuDTypes = ['float64', 'int16', 'uint16', 'uint32', 'uint64', 'string'] as const

/**
 * The data types that TensorRT has; the others are the CPU's alone.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html DataType
 * @useDeclaredType
 */
export type TensorRTDType = Exclude<DType, (typeof cpuDTypes)[number]>

/** `Float16Array` where the program's own TypeScript library has it; Node has it since version 24. */
export type Float16ArrayIfAny = typeof globalThis extends { Float16Array: { readonly prototype: infer A } } ? A : never

/** The arrays that a tensor of a data type takes as its data. */
export type DTypeData<D extends DType> =
  | DTypeArrays[D]
  | (D extends 'float16' ? Float16ArrayIfAny : never)
  | (Uint8Array extends DTypeArrays[D] ? Uint8ClampedArray : never)

/**
 * The data type that follows from an array alone. Of a `Uint16Array` (float16, bfloat16, uint16), and of bytes that are
 * no uint8, it has to be said.
 */
export type DTypeOf<A> = A extends Float32Array
  ? 'float32'
  : A extends Int32Array
    ? 'int32'
    : A extends BigInt64Array
      ? 'int64'
      : A extends Int8Array
        ? 'int8'
        : A extends Uint8Array | Uint8ClampedArray
          ? 'uint8'
          : A extends Float64Array
            ? 'float64'
            : A extends Int16Array
              ? 'int16'
              : A extends Uint32Array
                ? 'uint32'
                : A extends BigUint64Array
                  ? 'uint64'
                  : A extends Float16ArrayIfAny
                    ? 'float16'
                    : never

/** The arrays whose data type follows from them alone. */
export type TypedData =
  | Float32Array
  | Int32Array
  | BigInt64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Float64Array
  | Int16Array
  | Uint32Array
  | BigUint64Array
  | Float16ArrayIfAny

/** The value of each code of E2M1, without the sign. */
const e2m1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]

const facts: { readonly [D in Exclude<DType, 'string'>]: DTypeFacts } = {
  float32: { bits: 32, array: Float32Array },
  float16: { bits: 16, array: Uint16Array },
  bfloat16: { bits: 16, array: Uint16Array },
  int32: { bits: 32, array: Int32Array },
  int64: { bits: 64, array: BigInt64Array },
  int8: { bits: 8, array: Int8Array },
  uint8: { bits: 8, array: Uint8Array },
  bool: { bits: 8, array: Uint8Array },
  float8e4m3: { bits: 8, array: Uint8Array },
  int4: { bits: 4, array: Uint8Array, numberOf: (code) => (code < 8 ? code : code - 16) },
  float4e2m1: { bits: 4, array: Uint8Array, numberOf: (code) => (code < 8 ? 1 : -1) * e2m1[code & 7]! },
  float64: { bits: 64, array: Float64Array },
  int16: { bits: 16, array: Int16Array },
  uint16: { bits: 16, array: Uint16Array },
  uint32: { bits: 32, array: Uint32Array },
  uint64: { bits: 64, array: BigUint64Array },
}

/** All data types. */
export const dtypes = Object.freeze([...Object.keys(facts), 'string'] as DType[])

/** Those of numbers, whose elements have a size, and lie in a typed array. */
export const numberDTypes: readonly NumberDType[] = dtypes.filter(isNumberDType)

/** The data types that TensorRT has. */
export const tensorrtDTypes: readonly TensorRTDType[] = dtypes.filter(isTensorRTDType)

export function isDType(value: unknown): value is DType {
  return value === 'string' || isNumberDType(value)
}

export function isNumberDType(value: unknown): value is NumberDType {
  return typeof value === 'string' && Object.hasOwn(facts, value)
}

/** @throws TensorRTError ERR_TRT_DTYPE */
function factsOf(dtype: DType): DTypeFacts {
  if (dtype !== 'string') return facts[dtype]
  const message = `Expected a data type of numbers (${numberDTypes.join(', ')}) but received string: texts have no size and no typed array`
  throw new TensorRTError('ERR_TRT_DTYPE', message)
}

function isTensorRTDType(dtype: DType): dtype is TensorRTDType {
  return !(cpuDTypes as readonly DType[]).includes(dtype)
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedDType<D extends DType>(dtype: D, among: readonly DType[] = dtypes, name = 'dtype'): D {
  if (isDType(dtype) && among.includes(dtype)) return dtype
  throw expectedDType(`one of ${among.join(', ')}`, name, dtype, among)
}

/** The number of elements of a shape; 1 for a scalar (`[]`). */
export function elementCount(shape: readonly number[]): number {
  let count = 1
  for (const dim of shape) count *= dim
  return count
}

/** Whether several elements share a byte. */
export function isPacked(dtype: DType): boolean {
  return dtype !== 'string' && facts[dtype].bits < 8
}

/** The number that a code of a packed type stands for; nothing for other types. */
export function packedNumberOf(dtype: DType): ((code: number) => number) | undefined {
  return factsOf(dtype).numberOf
}

/** The array type of a data type. @throws TensorRTError ERR_TRT_DTYPE for string */
export function arrayOf(dtype: DType): TypedArrayConstructor {
  return factsOf(dtype).array
}

/** The bytes that a tensor of this type and shape takes. @throws TensorRTError ERR_TRT_DTYPE for string */
export function byteSize(dtype: DType, shape: readonly number[]): number {
  return Math.ceil((elementCount(shape) * factsOf(dtype).bits) / 8)
}

/** Checks a shape as a user gave it and returns a frozen copy. @throws TensorRTError ERR_TRT_SHAPE */
export function checkedShape(shape: unknown, name = 'shape'): readonly number[] {
  if (!Array.isArray(shape)) throw expected('an array of non-negative integers', name, shape)
  if (shape.length > 8)
    throw new TensorRTError('ERR_TRT_SHAPE', `Expected at most 8 dimensions for ${name} but received ${shape.length}`)
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

export function isTypedArray(value: unknown): value is NodeJS.TypedArray {
  return arrayNameOf(value) !== undefined
}

const tag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)

/**
 * The name of a typed array's class, of whichever realm it is: 'Float32Array', and 'Float16Array', which Node has only
 * since version 24. Nothing for what is none.
 */
function arrayNameOf(value: unknown): string | undefined {
  return tag?.get?.call(value) as string | undefined
}

/**
 * The data of a tensor in the array type of its data type: what was given, or a view of the same memory where that is
 * another type that holds the same elements (`Uint8ClampedArray`, `Float16Array`).
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE
 */
export function checkedData<D extends DType>(dtype: D, data: unknown): DTypeArrays[D] {
  if (dtype === 'string') throw expected('an array of strings', 'data', data)
  const { array } = factsOf(dtype)
  if (arrayNameOf(data) === array.name) return data as DTypeArrays[D]
  if (!isTypedArray(data)) throw expected(`a ${array.name}, or an array of plain values,`, 'data', data)
  const other = dtype === 'float16' ? 'Float16Array' : array === Uint8Array ? 'Uint8ClampedArray' : undefined
  const fits = arrayNameOf(data) === other
  if (fits) return new array(data.buffer as ArrayBuffer, data.byteOffset, data.length) as DTypeArrays[D]
  throw new TensorRTError(
    'ERR_TRT_DTYPE',
    `Expected a ${array.name} for the data of a ${dtype} tensor but received ${describe(data)}`,
  )
}

/** The data types of which each has an array of its own. */
const ownArrays = ['float32', 'int32', 'int64', 'int8', 'uint8', 'float64', 'int16', 'uint32', 'uint64'] as const

/** The data type that follows from an array alone; nothing where it does not. */
export function dtypeOf(data: unknown): DType | undefined {
  const name = arrayNameOf(data)
  if (name === 'Uint8ClampedArray') return 'uint8'
  if (name === 'Float16Array') return 'float16'
  return ownArrays.find((dtype) => facts[dtype].array.name === name)
}
