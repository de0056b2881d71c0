// Elements of a tensor from JSON to bytes: each number arrives as it was sent, or is refused.
import { type Fault, invalid } from '../faults.js'
import { type Datatype, elementBytes } from '../../kserve/tensor.js'

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
  const write = writers[datatype] ?? writeNone
  const isFloat = datatype === 'FP32' || datatype === 'FP64'
  const bytes = target.byteOffset % 8 === 0 ? target : new Uint8Array(target.length)
  const written = write(bytes, isFloat ? elements.plain : elements.exact, elements)
  if (written !== count) throw tooFew()
  if (bytes !== target) target.set(bytes)
}

type Writer = (target: Uint8Array, data: unknown, elements: JsonElements) => number
type NumberArray =
  Uint8Array | Uint16Array | Uint32Array | Int8Array | Int16Array | Int32Array | Float32Array | Float64Array

/** Reads one element. @throws Fault INVALID_ARG */
type Reader<T> = (value: unknown, elements: JsonElements) => T

function writer<T>(view: (bytes: Uint8Array) => { [index: number]: T }, read: Reader<T>): Writer {
  return (target, data, elements) => {
    const array = view(target)
    let next = 0
    const walk = (value: unknown): void => {
      if (Array.isArray(value)) {
        for (const inner of value as unknown[]) walk(inner)
        return
      }
      if (next >= elements.count)
        throw invalid(`Unable to parse 'data': Shape does not match true shape of 'data' field`)
      array[next++] = read(value, elements)
    }
    walk(data)
    return next
  }
}

function tooFew(): Fault {
  return invalid(`Unable to parse 'data': Shape does not match true shape of 'data' field`)
}

/** Of a type that JSON has no numbers of: a tensor without elements is all that may come. */
const writeNone: Writer = (_target, data) => {
  if (Array.isArray(data) && data.flat(Infinity).length === 0) return 0
  throw tooFew()
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

function unsigned(most: number): Reader<number> {
  return (value, elements) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
      throw wrong('non-unsigned-integer as unsigned-integer')
    if (value > most) throw lossy(value, elements, 'is out of the range of')
    return value
  }
}

function signed(least: number, most: number): Reader<number> {
  return (value, elements) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong('non-signed-integer as signed-integer')
    if (value < least || value > most) throw lossy(value, elements, 'is out of the range of')
    return value
  }
}

const beyond = 'is beyond 2^53, where JSON may lose digits of'

const unsigned64: Reader<bigint> = (value, elements) => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw wrong('non-unsigned-integer as unsigned-integer')
  if (!Number.isSafeInteger(value)) throw lossy(value, elements, beyond)
  return BigInt(value)
}

const signed64: Reader<bigint> = (value, elements) => {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong('non-signed-integer as signed-integer')
  if (!Number.isSafeInteger(value)) throw lossy(value, elements, beyond)
  return BigInt(value)
}

const float64: Reader<number> = (value, elements) => {
  if (typeof value !== 'number') throw wrong('non-number as double')
  if (!Number.isFinite(value)) throw lossy(value, elements, 'is out of the range of')
  return value
}

const float32: Reader<number> = (value, elements) => {
  if (typeof value !== 'number') throw wrong('non-number as double')
  if (!Number.isFinite(Math.fround(value))) throw lossy(value, elements, 'is out of the range of')
  return value
}

const bool: Reader<number> = (value) => {
  if (typeof value !== 'boolean') throw wrong('non-boolean as boolean')
  return value ? 1 : 0
}

/** A view of a buffer whose bytes begin where its elements may. */
function viewOf<T extends NumberArray | BigInt64Array | BigUint64Array>(array: {
  new (buffer: ArrayBufferLike, offset: number, length: number): T
  readonly BYTES_PER_ELEMENT: number
}): (bytes: Uint8Array) => T {
  return ({ buffer, byteOffset, byteLength }) => new array(buffer, byteOffset, byteLength / array.BYTES_PER_ELEMENT)
}

const writers: { readonly [datatype in Datatype]?: Writer } = {
  BOOL: writer(viewOf(Uint8Array), bool),
  UINT8: writer(viewOf(Uint8Array), unsigned(2 ** 8 - 1)),
  UINT16: writer(viewOf(Uint16Array), unsigned(2 ** 16 - 1)),
  UINT32: writer(viewOf(Uint32Array), unsigned(2 ** 32 - 1)),
  UINT64: writer(viewOf(BigUint64Array), unsigned64),
  INT8: writer(viewOf(Int8Array), signed(-(2 ** 7), 2 ** 7 - 1)),
  INT16: writer(viewOf(Int16Array), signed(-(2 ** 15), 2 ** 15 - 1)),
  INT32: writer(viewOf(Int32Array), signed(-(2 ** 31), 2 ** 31 - 1)),
  INT64: writer(viewOf(BigInt64Array), signed64),
  FP32: writer(viewOf(Float32Array), float32),
  FP64: writer(viewOf(Float64Array), float64),
}

function writeTexts({ plain, count }: JsonElements, target: Uint8Array): void {
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
  if (next !== count) throw tooFew()
}
