import { isBigInt64Array, isBigUint64Array, isFloat32Array } from 'node:util/types'
import { TensorRTError } from '../errors.js'
import { type DType, type DTypeArrays, elementCount, packedNumberOf } from './dtypes.js'

/** The data types that stand for real numbers, and that float32 numbers can be rounded to. */
export const floatDTypes = ['float32', 'float16', 'bfloat16', 'float8e4m3', 'float64'] as const

/**
 * The floating-point data types that {@link TensorConstructor.fromFloat32} makes.
 * @useDeclaredType
 */
export type FloatDType = (typeof floatDTypes)[number]

/** A floating-point format of up to 16 bits with a sign, laid out as IEEE 754 has it. */
interface Format {
  readonly exponentBits: number
  readonly mantissaBits: number
  /**
   * Whether the largest exponent is of infinities and NaN; else all of it is of numbers but its last code, which is
   * NaN.
   */
  readonly infinities: boolean
}

const formats = {
  float16: { exponentBits: 5, mantissaBits: 10, infinities: true },
  bfloat16: { exponentBits: 8, mantissaBits: 7, infinities: true },
  float8e4m3: { exponentBits: 4, mantissaBits: 3, infinities: false },
} as const satisfies Partial<Record<DType, Format>>

/** The value of each code; made at the first use. */
const tables = new Map<keyof typeof formats, Float32Array>()

function tableOf(dtype: keyof typeof formats): Float32Array {
  let table = tables.get(dtype)
  if (table === undefined) tables.set(dtype, (table = newTable(formats[dtype])))
  return table
}

function newTable({ exponentBits, mantissaBits, infinities }: Format): Float32Array {
  const half = 2 ** (exponentBits + mantissaBits)
  const bias = 2 ** (exponentBits - 1) - 1
  const table = new Float32Array(2 * half)
  for (let code = 0; code < half; code++) {
    const exponent = code >> mantissaBits
    const mantissa = code & (2 ** mantissaBits - 1)
    const lowest = exponent === 0 // subnormal numbers, and zero
    let value = (mantissa / 2 ** mantissaBits + (lowest ? 0 : 1)) * 2 ** ((lowest ? 1 : exponent) - bias)
    if (infinities && exponent === 2 ** exponentBits - 1) value = mantissa === 0 ? Infinity : NaN
    if (!infinities && code === half - 1) value = NaN
    table[code] = value
    table[code + half] = -value
  }
  return table
}

/**
 * The numbers of a tensor's data, in memory of their own; float32's as they are, without a copy. What float32 cannot
 * hold (whole numbers beyond 2^24, most of float64) is rounded to the nearest, of two that are as near to the even one;
 * a float64 beyond float32's largest number becomes infinite. As ONNX's Cast does.
 */
export function float32Of<D extends DType>(dtype: D, data: DTypeArrays[D], shape: readonly number[]): Float32Array {
  if (isFloat32Array(data)) return data
  if (dtype === 'string') {
    throw new TensorRTError(
      'ERR_TRT_DTYPE',
      'Expected a tensor of numbers but received one of string: texts are no numbers',
    )
  }
  if (isBigInt64Array(data) || isBigUint64Array(data)) return Float32Array.from(data as BigInt64Array, nearlyNumber)
  if (dtype === 'float16' || dtype === 'bfloat16' || dtype === 'float8e4m3')
    return looked(data as Uint16Array | Uint8Array, tableOf(dtype))
  const numberOf = packedNumberOf(dtype)
  return numberOf === undefined
    ? new Float32Array(data as Uint8Array)
    : unpacked(data as Uint8Array, elementCount(shape), numberOf)
}

/**
 * A number that rounds to the float32 next to a whole number of 64 bits. Beyond 2^53 it is not the number nearest to
 * that: one rounding after another could end one float32 beside. Instead the bits that go are told by the last one that
 * stays.
 */
function nearlyNumber(value: bigint): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  const lost = (value & 2047n) === 0n ? 0n : 1n
  return Number((value >> 11n) | lost) * 2048
}

function looked(codes: Uint16Array | Uint8Array, table: Float32Array): Float32Array {
  const numbers = new Float32Array(codes.length)
  for (let i = 0; i < codes.length; i++) numbers[i] = table[codes[i]!]!
  return numbers
}

function unpacked(bytes: Uint8Array, count: number, valueOf: (code: number) => number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => valueOf((bytes[i >> 1]! >> (4 * (i & 1))) & 15))
}

const bits = new Uint32Array(1)
const number = new Float32Array(bits.buffer)

/**
 * Numbers rounded to a data type, to the nearest, of two that are as near to the even one, in memory of their own. What
 * is beyond a float16's or bfloat16's largest number becomes infinite; float8e4m3 has no infinities, and takes its
 * largest number (448), as ONNX's Cast and the GPU do. float64 takes each as it is.
 */
export function roundedTo<D extends FloatDType>(dtype: D, numbers: ArrayLike<number>): DTypeArrays[D] {
  if (dtype === 'float32') return Float32Array.from(numbers) as DTypeArrays[D]
  if (dtype === 'float64') return Float64Array.from(numbers) as DTypeArrays[D]
  const format = formats[dtype as Exclude<D, 'float32' | 'float64'>]
  const codes = new (dtype === 'float8e4m3' ? Uint8Array : Uint16Array)(numbers.length)
  const encode = encoderOf(format)
  for (let i = 0; i < codes.length; i++) {
    const given = numbers[i]!
    number[0] = given
    if (number[0] !== given) roundToOdd(given)
    codes[i] = encode(bits[0]!)
  }
  return codes as DTypeArrays[D]
}

/**
 * Of a number that float32 does not hold: the next one towards 0, its last bit set, so that rounding it again is
 * rounding once (the format has two bits less).
 */
function roundToOdd(given: number): void {
  if (Number.isNaN(given)) return
  if (Math.abs(number[0]!) > Math.abs(given)) bits[0]! -= 1
  bits[0]! |= 1
}

/** From the bits of a float32 to those of a format. */
function encoderOf({ exponentBits, mantissaBits, infinities }: Format): (bits: number) => number {
  const dropped = 23 - mantissaBits
  const bias = 2 ** (exponentBits - 1) - 1
  const sign = 2 ** (exponentBits + mantissaBits)
  const rebias = (127 - bias) * 2 ** mantissaBits
  const largest = infinities ? (2 ** exponentBits - 1) * 2 ** mantissaBits : sign - 2
  const nan = infinities ? largest + 2 ** (mantissaBits - 1) : sign - 1
  const smallestNormal = (128 - bias) * 2 ** 23
  const subnormal = 2 ** (bias - 1 + mantissaBits)
  return (given) => {
    const negative = given >= 2 ** 31 ? sign : 0
    const magnitude = given & 0x7fffffff
    if (magnitude > 0x7f800000) return negative + nan
    if (magnitude < smallestNormal && bias < 127) return negative + roundedToEven(Math.abs(number[0]!) * subnormal)
    const code = ((magnitude + 2 ** (dropped - 1) - 1 + ((magnitude >>> dropped) & 1)) >>> dropped) - rebias
    return negative + Math.min(code, largest)
  }
}

/** Of a number that is not negative. */
function roundedToEven(value: number): number {
  const below = Math.floor(value)
  const rest = value - below
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below
}
