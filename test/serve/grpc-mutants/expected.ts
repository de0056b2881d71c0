// The bytes of an input that has contents, by the generated codec: elements of its data type, the lowest byte first.
import type { ModelInferRequest_InferInputTensor } from '../../../lib/kserve/messages/grpc_service_pb.js'
import { textBytes } from '../recorded/asks/types.js'

const ofNumbers: Readonly<Record<string, (values: ArrayLike<number>) => ArrayBufferView>> = {
  UINT8: (values) => Uint8Array.from(values),
  UINT16: (values) => Uint16Array.from(values),
  UINT32: (values) => Uint32Array.from(values),
  INT8: (values) => Int8Array.from(values),
  INT16: (values) => Int16Array.from(values),
  INT32: (values) => Int32Array.from(values),
  FP32: (values) => Float32Array.from(values),
  FP64: (values) => Float64Array.from(values),
}

export function bytesOfInput({ datatype, contents }: ModelInferRequest_InferInputTensor): Uint8Array {
  if (contents === undefined) return new Uint8Array()
  const {
    boolContents,
    intContents,
    int64Contents,
    uintContents,
    uint64Contents,
    fp32Contents,
    fp64Contents,
    bytesContents,
  } = contents
  if (datatype === 'BOOL') return Uint8Array.from(boolContents, Number)
  if (datatype === 'BYTES') return textBytes(...bytesContents)
  if (datatype === 'INT64') return bytes(BigInt64Array.from(int64Contents))
  if (datatype === 'UINT64') return bytes(BigUint64Array.from(uint64Contents))
  const numbers = [...intContents, ...uintContents, ...fp32Contents, ...fp64Contents]
  const made = ofNumbers[datatype]?.(numbers)
  return made === undefined ? new Uint8Array() : bytes(made)
}

const bytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
