/** The elements of a tensor as plain values: numbers, bigints and booleans, and the text that JSON needs for some. */
import { isBigInt64Array, isBigUint64Array } from 'node:util/types'
import { isOneOf } from '../base/checks.js'
import { describe, TensorRTError } from '../errors.js'
import { type FloatDType, float32Of, floatDTypes, roundedTo } from './convert.js'
import { arrayOf, type DType, type DTypeArrays, isPacked, packedNumberOf } from './dtypes.js'
import { checkedTexts } from './texts.js'

/** The plain values that a tensor of a data type is made of. */
export type DTypeValues<D extends DType> = readonly (
  | (D extends 'string' ? string : number)
  | (D extends 'int64' | 'uint64' ? bigint : never)
  | (D extends 'bool' ? boolean : never)
)[]

/** What JSON has of an element: text for what is no number of JSON, and for whole numbers beyond 2^53. */
type JsonValue = number | string | boolean

const specials: Readonly<Record<string, number>> = {
  ...{ nan: NaN, inf: Infinity, infinity: Infinity },
  ...{ '-nan': NaN, '-inf': -Infinity, '-infinity': -Infinity },
}

/** The least and the greatest of a type of whole numbers. */
function boundsOf(dtype: DType): readonly [bigint, bigint] {
  if (dtype === 'bool') return [0n, 1n]
  const bits = BigInt(arrayOf(dtype).BYTES_PER_ELEMENT * 8)
  return dtype.startsWith('u') ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]
}

/** How a plain value becomes an element; undefined of a value that is none of the data type. */
type Reader = (value: unknown) => number | bigint | undefined

/** @param texts whether text is read, too, as JSON needs it: "NaN", "-Infinity", "9007199254740993" */
export function readerOf(dtype: DType, texts: boolean): Reader {
  if (isOneOf(dtype, floatDTypes))
    return (value) => {
      const number = texts && typeof value === 'string' ? specials[value.toLowerCase()] : value
      return typeof number === 'number' ? number : undefined
    }
  const numberOf = packedNumberOf(dtype)
  if (numberOf !== undefined) return packedReader(numberOf)
  const [least, most] = boundsOf(dtype)
  const [low, high] = [Number(least), Number(most)]
  const isBig = dtype === 'int64' || dtype === 'uint64'
  return (value) => {
    if (typeof value === 'boolean') return dtype === 'bool' ? Number(value) : undefined
    const isText = texts && typeof value === 'string' && /^-?\d{1,20}$/.test(value)
    if (isBig) {
      if (!isText && typeof value !== 'bigint' && !Number.isSafeInteger(value)) return undefined
      const whole = BigInt(value as number | bigint | string)
      return whole >= least && whole <= most ? whole : undefined
    }
    const whole = isText ? Number(value) : value
    return Number.isInteger(whole) && Number(whole) >= low && Number(whole) <= high ? Number(whole) : undefined
  }
}

/** Of a packed type its code: of 0 the positive one. */
function packedReader(numberOf: (code: number) => number): Reader {
  const numbers = Array.from({ length: 16 }, (_, code) => numberOf(code))
  return (value) => {
    const code = numbers.findIndex((number) => Object.is(number, value))
    return code < 0 && value === 0 ? 0 : code < 0 ? undefined : code
  }
}

/** What each element may be, for messages. */
function wanted(dtype: DType): string {
  if (isOneOf(dtype, floatDTypes)) return `a number that ${dtype} has`
  if (dtype === 'bool') return 'true, false, 0 or 1'
  const numberOf = packedNumberOf(dtype)
  if (dtype === 'int4' || numberOf === undefined) {
    const [least, most] = dtype === 'int4' ? [-8, 7] : boundsOf(dtype)
    const big = dtype === 'int64' || dtype === 'uint64' ? ', beyond 2^53 a bigint,' : ''
    return `an integer from ${least} to ${most}${big}`
  }
  return `one of ${Array.from({ length: 8 }, (_, code) => numberOf(code)).join(', ')}, of either sign,`
}

/**
 * The data of a tensor that is made of plain values, in memory of its own. Floating-point numbers are rounded to the
 * nearest; what is no value of the data type, or beyond its largest, is refused.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function dataOfValues<D extends DType>(dtype: D, values: readonly unknown[], texts: boolean): DTypeArrays[D] {
  if (dtype === 'string') return checkedTexts(values) as DTypeArrays[D]
  const read = readerOf(dtype, texts)
  const elements = Array.from(values, (value, index) => {
    const element = read(value)
    if (element === undefined) throw noElement(dtype, value, index)
    return element
  })
  if (!isOneOf(dtype, floatDTypes)) return storedIn(dtype, elements) as DTypeArrays[D]
  const data = roundedTo(dtype, elements as number[])
  const index = beyondLargest(dtype, elements as number[], data)
  if (index >= 0) throw noElement(dtype, elements[index], index)
  return data
}

/** Whole numbers, and codes of packed types, in an array of the data type. */
export function storedIn(dtype: DType, elements: readonly (number | bigint)[]): DTypeArrays[DType] {
  if (!isPacked(dtype)) return (arrayOf(dtype) as Uint8ArrayConstructor).from(elements as readonly number[])
  const bytes = new Uint8Array(Math.ceil(elements.length / 2))
  elements.forEach((code, index) => (bytes[index >> 1]! |= Number(code) << (4 * (index & 1))))
  return bytes
}

/** The first number that became infinite, or, since float8e4m3 has no infinities, its largest. */
function beyondLargest(dtype: FloatDType, numbers: readonly number[], data: DTypeArrays[FloatDType]): number {
  if (dtype === 'float64') return -1
  if (dtype === 'float8e4m3') return numbers.findIndex((number) => Math.abs(number) > 448)
  const rounded = float32Of<FloatDType>(dtype, data, [])
  return numbers.findIndex((number, index) => Number.isFinite(number) && Math.abs(rounded[index]!) === Infinity)
}

function noElement(dtype: DType, value: unknown, index: number): TensorRTError {
  const message = `Expected ${wanted(dtype)} for data[${index}] of a ${dtype} tensor but received ${describe(value)}`
  const remedy = Array.isArray(value)
    ? ': nested arrays are not taken, values.flat(Infinity) and the shape are'
    : typeof value === 'number' && isOneOf(dtype, floatDTypes)
      ? ': Tensor.fromFloat32 makes of it what is nearest'
      : ''
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message + remedy)
}

/** The elements as JSON has them: {@link readerOf} with `texts` reads them. */
export function jsonValuesOf<D extends DType>(dtype: D, data: DTypeArrays[D], shape: readonly number[]): JsonValue[] {
  if (dtype === 'string') return [...(data as readonly string[])]
  if (dtype === 'bool') return Array.from(data as Uint8Array, (value) => value !== 0)
  if (isBigInt64Array(data) || isBigUint64Array(data))
    return Array.from(data as BigInt64Array, (value) =>
      Number.isSafeInteger(Number(value)) ? Number(value) : String(value),
    )
  if (dtype === 'float64') return Array.from(data as Float64Array, finite)
  if (isOneOf(dtype, floatDTypes)) return Array.from(float32Of(dtype as FloatDType, data as never, shape), shortest)
  return isPacked(dtype) ? Array.from(float32Of(dtype, data, shape)) : Array.from(data as Uint8Array)
}

function finite(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}

/** The fewest digits, from 6 on, that give this float32 again; nine always do. */
function shortest(value: number): number | string {
  if (!Number.isFinite(value)) return String(value)
  if (value === 0) return value // of either sign
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return Number(value.toPrecision(9))
}

/** How many values are shown at each end of a tensor that has more than both. */
const shownAtEnds = 3

/** The first and the last elements, for `console.log`. */
export function valuesText<D extends DType>(dtype: D, data: DTypeArrays[D], size: number): string {
  if (size > 0 && data.length === 0) return '(its memory was transferred away)'
  const from = (start: number, end: number): string[] => {
    if (dtype === 'string') return (data as readonly string[]).slice(start, end).map((text) => shortText(text))
    const numbers = data as Exclude<DTypeArrays[DType], readonly string[]>
    if (!isPacked(dtype)) return jsonValuesOf(dtype, numbers.subarray(start, end) as DTypeArrays[D], []).map(plainText)
    // two elements are in a byte
    const bytes = numbers.subarray(start >> 1, Math.ceil(end / 2)) as DTypeArrays[D]
    return jsonValuesOf(dtype, bytes, [bytes.length * 2])
      .map(plainText)
      .slice(start & 1, (start & 1) + end - start)
  }
  if (size <= 2 * shownAtEnds) return `[${from(0, size).join(', ')}]`
  const gap = `… ${size - 2 * shownAtEnds} more …`
  return `[${[...from(0, shownAtEnds), gap, ...from(size - shownAtEnds, size)].join(', ')}]`
}

/** The longest text that is shown whole, in characters. */
const longestShown = 60

const shortText = (text: string): string =>
  JSON.stringify(text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`)

const plainText = (value: JsonValue): string => (Object.is(value, -0) ? '-0' : String(value))
