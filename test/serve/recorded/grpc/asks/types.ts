// Each data type, as bytes and as contents.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { Datatype } from '../../../../../lib/kserve/tensor.js'
import { samples, textBytes } from '../../asks/types.js'
import { typed } from '../../repository.js'
import type { GrpcAsk } from '../ask.js'
import { bytes, floats, infer, input } from './make.js'

/** The field of `InferTensorContents` for a type; there is none for those of two bytes. */
const fields: Readonly<Partial<Record<Datatype, string>>> = {
  BOOL: 'bool_contents',
  UINT8: 'uint_contents',
  UINT16: 'uint_contents',
  UINT32: 'uint_contents',
  UINT64: 'uint64_contents',
  INT8: 'int_contents',
  INT16: 'int_contents',
  INT32: 'int_contents',
  INT64: 'int64_contents',
  FP32: 'fp32_contents',
  FP64: 'fp64_contents',
  BYTES: 'bytes_contents',
}

function ofType(datatype: Datatype): readonly GrpcAsk[] {
  const name = datatype.toLowerCase()
  const { json, bytes: sample } = samples[datatype]
  const field = fields[datatype]
  const values =
    datatype === 'BYTES' ? json.map((text) => Buffer.from(String(text)).toString('base64')) : [...(json as JsonValue[])]
  return [
    infer(`${datatype}: bytes`, name, { inputs: [input(datatype, [3])], raw_input_contents: bytes(sample) }),
    infer(`${datatype}: a byte too few`, name, {
      inputs: [input(datatype, [3])],
      raw_input_contents: bytes(sample.subarray(1)),
    }),
    infer(`${datatype}: no elements`, name, {
      inputs: [input(datatype, [0])],
      raw_input_contents: bytes(Buffer.alloc(0)),
    }),
    ...(field === undefined
      ? []
      : [infer(`${datatype}: contents`, name, { inputs: [input(datatype, [3], { [field]: values })] })]),
    infer(`${datatype}: contents of another type`, name, { inputs: [input(datatype, [1], contentsBeside(datatype))] }),
    infer(`${datatype}: empty contents`, name, { inputs: [input(datatype, [0], {})] }),
  ]
}

const contentsBeside = (datatype: Datatype): JsonObject =>
  datatype === 'FP64' ? { fp32_contents: [1] } : { fp64_contents: [1] }

/** A value that its type has not, though the field has. */
const strange = (datatype: Datatype, ...values: readonly (string | number)[]): readonly GrpcAsk[] =>
  values.map((value) => {
    const contents = { [fields[datatype] ?? '']: [value] }
    return infer(`${datatype}: ${String(value)} as contents`, datatype.toLowerCase(), {
      inputs: [input(datatype, [1], contents)],
    })
  })

export const typeCalls: readonly GrpcAsk[] = [
  ...typed.flatMap(ofType),
  ...strange('UINT8', 256),
  ...strange('INT8', 128, -129),
  ...strange('UINT16', 65536),
  ...strange('INT16', 32768),
  ...strange('INT64', '9223372036854775807', '-9223372036854775808'),
  ...strange('UINT64', '18446744073709551615'),
  ...strange('FP32', 'NaN', '-Infinity', -0),
  ...strange('FP64', 1e-320),
  infer('FP16: uint_contents', 'fp16', { inputs: [input('FP16', [1], { uint_contents: [0x3c00] })] }),
  infer('FP32: NaN', 'fp32', { inputs: [input('FP32', [1])], raw_input_contents: bytes(floats(NaN)) }),
  infer('BOOL: a byte of 2', 'bool', { inputs: [input('BOOL', [1])], raw_input_contents: bytes(Buffer.of(2)) }),
  infer('BYTES: a length beyond the end', 'bytes', {
    inputs: [input('BYTES', [1])],
    raw_input_contents: bytes(Buffer.of(9, 0, 0, 0, 65)),
  }),
  infer('BYTES: fewer elements', 'bytes', { inputs: [input('BYTES', [2])], raw_input_contents: bytes(textBytes('a')) }),
  infer('BYTES: more elements', 'bytes', {
    inputs: [input('BYTES', [1])],
    raw_input_contents: bytes(textBytes('a', 'b')),
  }),
  infer('BYTES: contents that are not UTF-8', 'bytes', { inputs: [input('BYTES', [1], { bytes_contents: ['//4A'] })] }),
  infer('BYTES: fewer contents', 'bytes', { inputs: [input('BYTES', [2], { bytes_contents: ['YQ=='] })] }),
  ...typed
    .filter((datatype) => datatype !== 'FP32')
    .map((datatype) =>
      infer(`FP32 for ${datatype}`, datatype.toLowerCase(), {
        inputs: [input('FP32', [1])],
        raw_input_contents: bytes(floats(1)),
      }),
    ),
]
