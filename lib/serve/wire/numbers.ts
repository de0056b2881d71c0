// Elements of a tensor from JSON to bytes: each number arrives as it was sent, or is refused.
import { type Fault, invalid } from '../faults.js'
import { type Datatype, elementBytes, elementsOf, isNumeric, type NumericDatatype } from '../../kserve/tensor.js'

/** A tensor whose elements are in JSON. */
export interface JsonElements {
  readonly name: string
  readonly datatype: Datatype
  /** Of elements. */
  readonly count: number
  /** As JSON.parse has it; floats are read from this. */
  readonly plain: unknown
  /** With null for each number that is written as a fraction; integers are read from this. */
  readonly exact: unknown
}

/** @throws Fault INVALID_ARG for a type whose numbers JSON has not */
export function checkJsonType({ name, datatype }: { readonly name: string; readonly datatype: Datatype }): void {
  if (datatype !== 'FP16' && datatype !== 'BF16') return
  throw invalid(
    `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
  )
}

/** Bytes that the elements take. @throws Fault INVALID_ARG where texts are none */
export function bytesOfElements({ datatype, count, plain }: JsonElements): number {
  return datatype === 'BYTES' ? bytesOfTexts(plain) : count * elementBytes[datatype]
}

function bytesOfTexts(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, inner: unknown) => sum + bytesOfTexts(inner), 0)
  if (typeof value !== 'string')
    throw invalid('Unable to parse JSON bytes array: attempt to access JSON non-string as string')
  if (/\p{Surrogate}/u.test(value))
    throw invalid(`Unable to parse 'data': half of a surrogate pair is no text: send it as binary data`)
  return 4 + Buffer.byteLength(value)
}

/**
 * Writes the elements to the target, row-major, the lowest byte first, whatever way they are nested.
 * @throws Fault INVALID_ARG with Triton's texts, and where a number would not arrive as it was sent
 */
export function writeElements(elements: JsonElements, target: Uint8Array): void {
  const { datatype, count } = elements
  if (count > 0) checkJsonType(elements)
  if (datatype === 'BYTES') return writeTexts(elements, target)
  const isFloat = datatype === 'FP32' || datatype === 'FP64'
  const data = isFloat ? elements.plain : elements.exact
  if (!isNumeric(datatype)) return checkNone(elements)
  const bytes = target.byteOffset % 8 === 0 ? target : new Uint8Array(target.length)
  if (writeNumbers(elements, data, readers[datatype], elementsOf(datatype, bytes)) !== count) throw otherShape(elements)
  if (bytes !== target) target.set(bytes)
}

/** Reads one element. @throws Fault INVALID_ARG */
type Reader<T> = (value: unknown, elements: JsonElements) => T

/** @returns how many there were */
function writeNumbers(
  elements: JsonElements,
  data: unknown,
  read: Reader<number | bigint>,
  array: { [index: number]: number | bigint },
): number {
  let next = 0
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const inner of value as unknown[]) walk(inner)
      return
    }
    if (next >= elements.count) throw otherShape(elements)
    array[next++] = read(value, elements)
  }
  walk(data)
  return next
}

/** Triton's text, with the input and both counts. */
function otherShape({ name, count, plain }: JsonElements): Fault {
  const given = Array.isArray(plain) ? plain.flat(Infinity).length : 1
  return invalid(
    `Unable to parse 'data': Shape does not match true shape of 'data' field (input '${name}': the number of elements is ${given}, but ${count} in its shape)`,
  )
}

/** Of a type that JSON has no numbers of a tensor without elements is all that may come. */
function checkNone(elements: JsonElements): void {
  const { plain } = elements
  if (!Array.isArray(plain) || plain.flat(Infinity).length > 0) throw otherShape(elements)
}

function wrong(kind: string): Fault {
  return invalid(`Unable to parse 'data': attempt to access JSON ${kind}`)
}

/** A number that is not as it was sent any more is not told. */
function lossy(value: number, { name, datatype }: JsonElements, why: string): Fault {
  const what =
    Number.isSafeInteger(value) || (Math.abs(value) < Infinity && !Number.isInteger(value)) ? String(value) : 'a number'
  return invalid(`Unable to parse 'data': ${what} in input '${name}' ${why} ${datatype}: send it as binary data`)
}

function checkUnsigned(value: unknown): asserts value is number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw wrong('non-unsigned-integer as unsigned-integer')
}

function checkSigned(value: unknown): asserts value is number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong('non-signed-integer as signed-integer')
}

function checkDouble(value: unknown): asserts value is number {
  if (typeof value !== 'number') throw wrong('non-number as double')
}

const outOfRange = 'is out of the range of'
const beyond = 'is beyond 2^53, where JSON may lose digits of'

function unsigned(most: number): Reader<number> {
  return (value, elements) => {
    checkUnsigned(value)
    if (value > most) throw lossy(value, elements, outOfRange)
    return value
  }
}

function signed(least: number, most: number): Reader<number> {
  return (value, elements) => {
    checkSigned(value)
    if (value < least || value > most) throw lossy(value, elements, outOfRange)
    return value
  }
}

const unsigned64: Reader<bigint> = (value, elements) => {
  checkUnsigned(value)
  if (!Number.isSafeInteger(value)) throw lossy(value, elements, beyond)
  return BigInt(value)
}

const signed64: Reader<bigint> = (value, elements) => {
  checkSigned(value)
  if (!Number.isSafeInteger(value)) throw lossy(value, elements, beyond)
  return BigInt(value)
}

const float64: Reader<number> = (value, elements) => {
  checkDouble(value)
  if (!Number.isFinite(value)) throw lossy(value, elements, outOfRange)
  return value
}

const float32: Reader<number> = (value, elements) => {
  checkDouble(value)
  if (!Number.isFinite(Math.fround(value))) throw lossy(value, elements, outOfRange)
  return value
}

const bool: Reader<number> = (value) => {
  if (typeof value !== 'boolean') throw wrong('non-boolean as boolean')
  return value ? 1 : 0
}

const readers: Readonly<Record<NumericDatatype, Reader<number | bigint>>> = {
  BOOL: bool,
  UINT8: unsigned(2 ** 8 - 1),
  UINT16: unsigned(2 ** 16 - 1),
  UINT32: unsigned(2 ** 32 - 1),
  UINT64: unsigned64,
  INT8: signed(-(2 ** 7), 2 ** 7 - 1),
  INT16: signed(-(2 ** 15), 2 ** 15 - 1),
  INT32: signed(-(2 ** 31), 2 ** 31 - 1),
  INT64: signed64,
  FP32: float32,
  FP64: float64,
}

function writeTexts(elements: JsonElements, target: Uint8Array): void {
  const { plain, count } = elements
  const bytes = Buffer.from(target.buffer, target.byteOffset, target.byteLength)
  let [next, at] = [0, 0]
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const inner of value as unknown[]) walk(inner)
      return
    }
    const length = bytes.write(value as string, at + 4)
    bytes.writeUInt32LE(length, at)
    at += 4 + length
    next++
  }
  walk(plain)
  if (next !== count) throw otherShape(elements)
}
