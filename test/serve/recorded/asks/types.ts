// Each data type, as JSON and as bytes, both ways; values that do not fit.
import type { Datatype } from '../../../../lib/kserve/tensor.js'
import type { Ask } from '../ask.js'
import { typed } from '../repository.js'
import { binary, infer, input, inputOf, type Json } from './make.js'

/** Three values as JSON, and the bytes of three. */
export const samples: Readonly<Record<Datatype, { readonly json: readonly unknown[]; readonly bytes: Buffer }>> = {
  BOOL: { json: [true, false, true], bytes: Buffer.of(1, 0, 1) },
  UINT8: { json: [0, 7, 255], bytes: Buffer.of(0, 7, 255) },
  UINT16: { json: [0, 7, 65535], bytes: bytesOf(Uint16Array.of(0, 7, 65535)) },
  UINT32: { json: [0, 7, 4294967295], bytes: bytesOf(Uint32Array.of(0, 7, 4294967295)) },
  UINT64: { json: [0, 7, 9007199254740991], bytes: bytesOf(BigUint64Array.of(0n, 7n, 18446744073709551615n)) },
  INT8: { json: [-128, 0, 127], bytes: bytesOf(Int8Array.of(-128, 0, 127)) },
  INT16: { json: [-32768, 0, 32767], bytes: bytesOf(Int16Array.of(-32768, 0, 32767)) },
  INT32: { json: [-2147483648, 0, 2147483647], bytes: bytesOf(Int32Array.of(-2147483648, 0, 2147483647)) },
  INT64: {
    json: [-9007199254740991, 0, 9007199254740991],
    bytes: bytesOf(BigInt64Array.of(-9223372036854775808n, 0n, 9223372036854775807n)),
  },
  FP16: { json: [0.5, 1, -2], bytes: bytesOf(Uint16Array.of(0x3800, 0x3c00, 0xc000)) },
  FP32: { json: [0.5, 1, -2.25], bytes: bytesOf(Float32Array.of(0.1, 3.4028234663852886e38, -1e-45)) },
  FP64: { json: [0.1, 1, -1e300], bytes: bytesOf(Float64Array.of(0.1, 1e300, -5e-324)) },
  BF16: { json: [0.5, 1, -2], bytes: bytesOf(Uint16Array.of(0x3f00, 0x3f80, 0xc000)) },
  BYTES: { json: ['a', '', 'grün'], bytes: textBytes('a', '', 'grün') },
}

export function bytesOf(values: ArrayBufferView): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength)
}

/** Each text with its length before it. */
export function textBytes(...texts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text)
      return [bytesOf(Uint32Array.of(bytes.length)), bytes]
    }),
  )
}

const inBytes: Json = { outputs: [{ name: 'OUTPUT0', parameters: { binary_data: true } }] }

function ofType(datatype: Datatype): readonly Ask[] {
  const name = datatype.toLowerCase()
  const { json, bytes } = samples[datatype]
  const given = { inputs: [input(datatype, [3], json)] }
  const sent = { inputs: [inputOf(datatype, [3], bytes.length)] }
  const empty = { inputs: [input(datatype, [0], [])] }
  return [
    infer(`${datatype}: JSON to JSON`, name, given),
    infer(`${datatype}: JSON to bytes`, name, { ...given, ...inBytes }),
    binary(`${datatype}: bytes to JSON`, name, sent, bytes),
    binary(`${datatype}: bytes to bytes`, name, { ...sent, ...inBytes }, bytes),
    binary(
      `${datatype}: a byte too few`,
      name,
      { inputs: [inputOf(datatype, [3], bytes.length - 1)] },
      bytes.subarray(1),
    ),
    infer(`${datatype}: no elements`, name, empty),
  ]
}

/** One value that is none of its type, or that does not fit. */
function strange(datatype: string, ...values: readonly unknown[]): readonly Ask[] {
  return values.map((value) => {
    const body = JSON.stringify({ inputs: [input(datatype, [1], ['VALUE'])] }).replace('"VALUE"', String(value))
    return infer(`${datatype}: ${String(value)}`, datatype.toLowerCase(), body)
  })
}

export const typeAsks: readonly Ask[] = [
  ...typed.flatMap(ofType),
  ...strange('BOOL', 0, 1, 2, '"true"', 'null'),
  ...strange('UINT8', 256, -1, 1.5, '"1"', 'true', 'null', '1.0', '1e2'),
  ...strange('INT8', 128, -129),
  ...strange('UINT16', 65536, -1),
  ...strange('INT16', 32768),
  ...strange('UINT32', 4294967296, -1),
  ...strange('INT32', 2147483648, 1.5, '"1"', 'true'),
  ...strange(
    'INT64',
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
    '-9223372036854775809',
    1.5,
    '1e3',
    '"1"',
  ),
  ...strange('UINT64', '9007199254740993', '18446744073709551615', '18446744073709551616', -1),
  ...strange('FP32', 1, '1e39', '-1e39', '1e-50', 'NaN', 'Infinity', '"1"', 'true', 'null', '[1]', '{}'),
  ...strange('FP64', 1, '1e400', '0.1', '-0.0', 'nan'),
  ...strange('BYTES', 1, 'null', 'true', '"\\u0000"', '"\\ud83d\\ude00"', '"\\ud83d"'),
  binary(
    'FP32: NaN and Infinity to JSON',
    'fp32',
    { inputs: [inputOf('FP32', [3], 12)] },
    bytesOf(Float32Array.of(NaN, Infinity, -Infinity)),
  ),
  binary('FP64: NaN to JSON', 'fp64', { inputs: [inputOf('FP64', [1], 8)] }, bytesOf(Float64Array.of(NaN))),
  binary(
    'FP32: NaN to bytes',
    'fp32',
    { inputs: [inputOf('FP32', [1], 4)], ...inBytes },
    bytesOf(Float32Array.of(NaN)),
  ),
  binary('BOOL: a byte of 2', 'bool', { inputs: [inputOf('BOOL', [1], 1)] }, Buffer.of(2)),
  binary('BYTES: a length beyond the end', 'bytes', { inputs: [inputOf('BYTES', [1], 5)] }, Buffer.of(9, 0, 0, 0, 65)),
  binary('BYTES: fewer elements', 'bytes', { inputs: [inputOf('BYTES', [2], 5)] }, textBytes('a')),
  binary('BYTES: more elements', 'bytes', { inputs: [inputOf('BYTES', [1], 10)] }, textBytes('a', 'b')),
  ...typed.map((datatype) =>
    infer(`FP32 for ${datatype}`, datatype.toLowerCase(), { inputs: [input('FP32', [1], [1])] }),
  ),
].filter(({ name }) => name !== 'FP32 for FP32')
