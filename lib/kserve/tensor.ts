// What a tensor is between a client and a model: its own type, since KServe's texts (BYTES) need not be UTF-8, as those
// of a Tensor are.
import type { DType } from '../tensor.js'

/** KServe's names of data types: BYTES are texts and bytes, each of its own length. */
export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'FP32'
  | 'FP64'
  | 'BF16'
  | 'BYTES'

/** The data types of this package that a client has a name for. */
export const dtypeOf: Readonly<Record<Exclude<Datatype, 'BYTES'>, DType>> = {
  BOOL: 'bool',
  UINT8: 'uint8',
  UINT16: 'uint16',
  UINT32: 'uint32',
  UINT64: 'uint64',
  INT8: 'int8',
  INT16: 'int16',
  INT32: 'int32',
  INT64: 'int64',
  FP16: 'float16',
  FP32: 'float32',
  FP64: 'float64',
  BF16: 'bfloat16',
}

/** In the order of Triton's DataType. */
export const datatypes: readonly Datatype[] = [...(Object.keys(dtypeOf) as Datatype[]), 'BYTES']

export function isDatatype(name: string): name is Datatype {
  return (datatypes as readonly string[]).includes(name)
}

/**
 * Bytes of an element, whose bits the name has; of BYTES each has a length of its own, which stands before it as four
 * bytes, the lowest first.
 */
export const elementBytes = Object.fromEntries(
  Object.keys(dtypeOf).map((name) => [name, Number(/\d+/.exec(name)?.[0] ?? 8) / 8]),
) as Readonly<Record<keyof typeof dtypeOf, number>>

/** The other way; nothing for types that KServe has not, such as float8e4m3. */
export function datatypeOf(dtype: DType): Datatype | undefined {
  return dtype === 'string' ? 'BYTES' : datatypes.find((name) => name !== 'BYTES' && dtypeOf[name] === dtype)
}

export interface WireTensor {
  readonly name: string
  readonly datatype: Datatype
  /** As the client has it, with the rows of a batch first where the model has batches. */
  readonly shape: readonly number[]
  /** Row-major, the lowest byte first; of BYTES each element with its length before it. */
  readonly bytes: Uint8Array
}

const arrays = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const

/** Data types whose elements are numbers of JavaScript. */
export type NumericDatatype = keyof typeof arrays
export type ElementArray = InstanceType<(typeof arrays)[NumericDatatype]>

export function isNumeric(datatype: Datatype): datatype is NumericDatatype {
  return datatype in arrays
}

/** The elements over the same bytes, or over a copy where these begin at a place at which no element may. */
export function elementsOf(datatype: NumericDatatype, bytes: Uint8Array): ElementArray {
  const size = elementBytes[datatype]
  const { buffer, byteOffset, length } = bytes.byteOffset % size === 0 ? bytes : bytes.slice()
  return new arrays[datatype](buffer as ArrayBuffer, byteOffset, length / size)
}
