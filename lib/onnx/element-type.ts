import { expected } from '../errors.js'
import { byteSize, type DType, isNumberDType } from '../tensor.js'

/**
 * ONNX's element types by their number (TensorProto.DataType); those that a `Tensor` can hold have the name that they
 * have there.
 */
const elementTypes = [
  'undefined',
  'float32',
  'uint8',
  'int8',
  'uint16',
  'int16',
  'int32',
  'int64',
  'string',
  'bool',
  'float16',
  'float64',
  'uint32',
  'uint64',
  'complex64',
  'complex128',
  'bfloat16',
  'float8e4m3',
  'float8e4m3fnuz',
  'float8e5m2',
  'float8e5m2fnuz',
  'uint4',
  'int4',
  'float4e2m1',
  'float8e8m0',
  'uint2',
  'int2',
  'float6e2m3',
  'float6e3m2',
] as const satisfies readonly (DType | string)[]

/**
 * An element type of ONNX: each data type of this package, and those that only ONNX has.
 * @useDeclaredType
 */
export type ElementType = (typeof elementTypes)[number]

/** The name of an element type; `'undefined'` for a number that ONNX does not define. */
export function elementTypeName(number: number): ElementType {
  return elementTypes[number] ?? 'undefined'
}

/** Whether `value` is the name of an element type that a tensor can have. */
export function isElementType(value: unknown): value is ElementType {
  return value !== 'undefined' && (elementTypes as readonly unknown[]).includes(value)
}

/**
 * ONNX's number of an element type, which is also the value of the attribute `to` of a Cast. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function elementTypeNumber(dtype: ElementType): number {
  const number = elementTypes.indexOf(dtype)
  if (number < 0) throw expected(`an element type of ONNX (${elementTypes.slice(1).join(', ')})`, 'dtype', dtype)
  return number
}

/** Bits of an element of the types that no `Tensor` has. */
const bits: Readonly<Partial<Record<ElementType, number>>> = {
  ...{ complex64: 64, complex128: 128, float8e4m3fnuz: 8, float8e5m2: 8, float8e5m2fnuz: 8, float8e8m0: 8 },
  ...{ float6e2m3: 6, float6e3m2: 6, uint4: 4, int2: 2, uint2: 2 },
}

/** Nothing for a type whose elements have no fixed size. */
export function bitsOf(dtype: ElementType): number | undefined {
  return isNumberDType(dtype) ? byteSize(dtype, [8]) : bits[dtype] // eight elements have as many bytes as one has bits
}

/** The bytes of so many elements; nothing for a type whose elements have no fixed size. */
export function bytesOf(dtype: ElementType | undefined, elements: number): number | undefined {
  const each = dtype && bitsOf(dtype)
  return each === undefined ? undefined : Math.ceil((elements * each) / 8)
}
