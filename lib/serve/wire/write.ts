// Elements of an output as JSON: each number with all that it has, or a refusal.
import { isUtf8 } from 'node:buffer'
import { Fault, invalid } from '../faults.js'
import { type Datatype, type ElementArray, elementsOf, isNumeric, type WireTensor } from '../../kserve/tensor.js'

/** @throws Fault INVALID_ARG for a type whose numbers JSON has not */
export function checkJsonOutput(datatype: Datatype): void {
  if (datatype !== 'FP16' && datatype !== 'BF16') return
  throw invalid(`sending ${datatype} data via JSON is not supported. Please use the binary data format for output`)
}

/** The elements, with commas between them. @throws Fault INVALID_ARG for what JSON cannot hold */
export function textOfElements(tensor: WireTensor): string {
  const { name, datatype, bytes } = tensor
  checkJsonOutput(datatype)
  if (datatype === 'BYTES') return textsOf(bytes).map(quotedText(name)).join(',')
  if (datatype === 'BOOL') return Array.from(bytes, (byte) => (byte === 0 ? 'false' : 'true')).join(',')
  if (!isNumeric(datatype)) return ''
  const elements = elementsOf(datatype, bytes)
  return datatype === 'FP32' || datatype === 'FP64' ? floatsText(elements, name) : elements.join(',')
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

/** Zero keeps its sign, which join() would drop. */
function floatsText(values: ElementArray, name: string): string {
  let hasMinusZero = false
  for (const value of values as Float32Array | Float64Array) {
    if (value - value !== 0)
      throw invalid(`output '${name}' has ${value}, which JSON cannot hold: ask for it as binary data`)
    if (value === 0 && Object.is(value, -0)) hasMinusZero = true
  }
  return hasMinusZero
    ? Array.from<unknown, string>(values, (value) => (Object.is(value, -0) ? '-0.0' : String(value))).join(',')
    : values.join(',')
}
