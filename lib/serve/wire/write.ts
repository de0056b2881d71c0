// Elements of an output as JSON: each number with all that it has, or a refusal.
import { Fault, invalid } from '../faults.js'
import { jsonOfElements } from '../../kserve/json-elements.js'
import type { Datatype, WireTensor } from '../../kserve/tensor.js'

/** @throws Fault INVALID_ARG for a type whose numbers JSON has not */
export function checkJsonOutput(datatype: Datatype): void {
  if (datatype !== 'FP16' && datatype !== 'BF16') return
  throw invalid(`sending ${datatype} data via JSON is not supported. Please use the binary data format for output`)
}

/** The elements, with commas between them. @throws Fault INVALID_ARG for what JSON cannot hold */
export function textOfElements(tensor: WireTensor): string {
  const { name, datatype } = tensor
  checkJsonOutput(datatype)
  const refuse = (what: string): Fault =>
    invalid(`output '${name}' has ${what}, which JSON cannot hold: ask for it as binary data`)
  return jsonOfElements(tensor, textsOf, {
    number: (value) => refuse(String(value)),
    text: () => refuse('bytes that are no text'),
  })
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
function textsOf(bytes: Uint8Array): readonly Buffer[] {
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
