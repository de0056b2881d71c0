// Elements of an output as JSON: each number with all that it has, or a refusal.
import { isUtf8 } from 'node:buffer'
import { Fault, invalid } from '../faults.js'
import type { Datatype, WireTensor } from '../../kserve/tensor.js'

/** @throws Fault INVALID_ARG for a type whose numbers JSON has not */
export function checkJsonOutput(datatype: Datatype): void {
  if (datatype !== 'FP16' && datatype !== 'BF16') return
  throw invalid(`sending ${datatype} data via JSON is not supported. Please use the binary data format for output`)
}

/** The elements, with commas between them. @throws Fault INVALID_ARG for what JSON cannot hold */
export function textOfElements(tensor: WireTensor): string {
  checkJsonOutput(tensor.datatype)
  if (tensor.datatype === 'BYTES') return textsOf(tensor.bytes).map(quotedText(tensor.name)).join(',')
  return texts[tensor.datatype]?.(aligned(tensor.bytes), tensor.name) ?? ''
}

/** Bytes that its JSON has about, to decide who writes it. */
export function roughLengthOfText({ datatype, bytes }: WireTensor): number {
  return bytes.length * (charactersOfByte[datatype] ?? 1)
}

/** Characters of JSON that a byte of such a tensor makes at most, about. */
const charactersOfByte: { readonly [datatype in Datatype]?: number } = {
  BOOL: 6,
  UINT8: 4,
  INT8: 5,
  UINT16: 3,
  INT16: 4,
  UINT32: 3,
  INT32: 3,
  UINT64: 3,
  INT64: 3,
  FP32: 5,
  FP64: 3,
}

/** Of a tensor of BYTES, without the lengths before them. @throws Fault INTERNAL where the lengths do not fit */
export function textsOf(bytes: Uint8Array): readonly Buffer[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: Buffer[] = []
  for (let at = 0; at < all.length;) {
    const end = at + 4 <= all.length ? at + 4 + all.readUInt32LE(at) : Infinity
    if (end > all.length) throw new Fault('INTERNAL', 'output tensor shape does not match size of output')
    found.push(all.subarray(at + 4, end))
    at = end
  }
  return found
}

function quotedText(name: string): (text: Buffer) => string {
  return (text) => {
    if (isUtf8(text)) return JSON.stringify(text.toString())
    throw invalid(`output '${name}' has bytes that are no text, which JSON cannot hold: ask for it as binary data`)
  }
}

type TextOf = (bytes: Uint8Array, name: string) => string

type AnyArray =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array

interface ArrayOf<T extends AnyArray> {
  new (buffer: ArrayBufferLike, offset: number, length: number): T
  readonly BYTES_PER_ELEMENT: number
}

function view<T extends AnyArray>(array: ArrayOf<T>, { buffer, byteOffset, byteLength }: Uint8Array): T {
  return new array(buffer, byteOffset, byteLength / array.BYTES_PER_ELEMENT)
}

function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice()
}

function integers<T extends AnyArray>(array: ArrayOf<T>): TextOf {
  return (bytes) => view(array, bytes).join(',')
}

/** Zero keeps its sign, which join() would drop. */
function floats<T extends Float32Array | Float64Array>(array: ArrayOf<T>): TextOf {
  return (bytes, name) => {
    const values = view(array, bytes)
    let hasMinusZero = false
    for (const value of values) {
      if (value - value !== 0)
        throw invalid(`output '${name}' has ${value}, which JSON cannot hold: ask for it as binary data`)
      if (value === 0 && Object.is(value, -0)) hasMinusZero = true
    }
    return hasMinusZero
      ? Array.from(values, (value) => (Object.is(value, -0) ? '-0.0' : String(value))).join(',')
      : values.join(',')
  }
}

const booleans: TextOf = (bytes) => Array.from(bytes, (byte) => (byte === 0 ? 'false' : 'true')).join(',')

const texts: { readonly [datatype in Datatype]?: TextOf } = {
  BOOL: booleans,
  UINT8: integers(Uint8Array),
  UINT16: integers(Uint16Array),
  UINT32: integers(Uint32Array),
  UINT64: integers(BigUint64Array),
  INT8: integers(Int8Array),
  INT16: integers(Int16Array),
  INT32: integers(Int32Array),
  INT64: integers(BigInt64Array),
  FP32: floats(Float32Array),
  FP64: floats(Float64Array),
}
