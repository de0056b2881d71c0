// How a body is laid out: the length of its JSON, raw tensors, compression, pieces.
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import type { Ask } from '../ask.js'
import { binary, floats, infer, input, inputOf } from './make.js'
import { textBytes } from './types.js'

const length = 'Inference-Header-Content-Length'
const head = Buffer.from(JSON.stringify({ inputs: [inputOf('FP32', [2], 8)] }))
const whole = Buffer.concat([head, floats(1, 2)])
const json = JSON.stringify({ inputs: [input('FP32', [2], [1, 2])] })

const lengths: readonly Ask[] = [
  infer('length of the JSON: right', 'fp32', whole, { [length]: String(head.length) }),
  infer('length of the JSON: not told', 'fp32', whole),
  infer('length of the JSON: too small', 'fp32', whole, { [length]: String(head.length - 1) }),
  infer('length of the JSON: too large', 'fp32', whole, { [length]: String(head.length + 1) }),
  infer('length of the JSON: beyond the body', 'fp32', whole, { [length]: String(whole.length + 1) }),
  infer('length of the JSON: all of the body', 'fp32', json, { [length]: String(json.length) }),
  infer('length of the JSON: negative', 'fp32', whole, { [length]: '-1' }),
  infer('length of the JSON: no number', 'fp32', whole, { [length]: 'x' }),
  infer('length of the JSON: a number and more', 'fp32', whole, { [length]: `${String(head.length)}x` }),
  infer('length of the JSON: a fraction', 'fp32', whole, { [length]: `${String(head.length)}.0` }),
  infer('length of the JSON: empty', 'fp32', json, { [length]: '' }),
  infer('length of the JSON: 2^31', 'fp32', whole, { [length]: '2147483648' }),
  infer('length of the JSON: 2^32', 'fp32', whole, { [length]: '4294967296' }),
  infer('length of the JSON: 2^64', 'fp32', whole, { [length]: '18446744073709551616' }),
]

const raw: readonly Ask[] = [
  infer('raw: a tensor', 'fp32', floats(1, 2, 3), { [length]: '0' }),
  infer('raw: nothing', 'fp32', '', { [length]: '0' }),
  infer('raw: half an element', 'fp32', Buffer.of(1, 2, 3, 4, 5), { [length]: '0' }),
  infer('raw: a row', 'batched', floats(1, 2, 3, 4), { [length]: '0' }),
  infer('raw: two rows', 'batched', floats(1, 2, 3, 4, 5, 6, 7, 8), { [length]: '0' }),
  infer('raw: less than a row', 'batched', floats(1, 2), { [length]: '0' }),
  infer('raw: fixed sizes', 'fixed', floats(1, 2, 3, 4), { [length]: '0' }),
  infer('raw: two sizes that vary', 'matrix', floats(1, 2, 3, 4), { [length]: '0' }),
  infer('raw: two inputs', 'two', floats(1, 2, 3, 4, 5, 6), { [length]: '0' }),
  infer('raw: half precision', 'fp16', Buffer.of(0, 0x3c, 0, 0x40), { [length]: '0' }),
  infer('raw: texts', 'bytes', 'hello', { [length]: '0' }),
  infer('raw: texts with their length', 'bytes', textBytes('hello'), { [length]: '0' }),
  infer('raw: reshaped', 'reshaped', floats(1, 2, 3, 4), { [length]: '0' }),
  infer('raw: a scalar', 'scalar', floats(1), { [length]: '0' }),
  infer('raw: an unknown model', 'nothing', floats(1), { [length]: '0' }),
  infer('raw: octets', 'fp32', floats(1), { [length]: '0', 'Content-Type': 'application/octet-stream' }),
]

const gzip = gzipSync(json)
const inBytes = JSON.stringify({
  inputs: [input('FP32', [2], [1, 2])],
  outputs: [{ name: 'OUTPUT0', parameters: { binary_data: true } }],
})

const compressed: readonly Ask[] = [
  infer('gzip', 'fp32', gzip, { 'Content-Encoding': 'gzip' }),
  infer('deflate', 'fp32', deflateSync(json), { 'Content-Encoding': 'deflate' }),
  infer('deflate without a head', 'fp32', deflateRawSync(json), { 'Content-Encoding': 'deflate' }),
  infer('gzip, as GZIP', 'fp32', gzip, { 'Content-Encoding': 'GZIP' }),
  infer('gzip, of bytes', 'fp32', gzipSync(whole), { 'Content-Encoding': 'gzip', [length]: String(head.length) }),
  infer('gzip, raw', 'fp32', gzipSync(floats(1, 2)), { 'Content-Encoding': 'gzip', [length]: '0' }),
  infer('gzip, corrupt', 'fp32', Buffer.concat([gzip.subarray(0, 12), Buffer.alloc(20, 7)]), {
    'Content-Encoding': 'gzip',
  }),
  infer('gzip, cut off', 'fp32', gzip.subarray(0, -6), { 'Content-Encoding': 'gzip' }),
  infer('gzip, that is none', 'fp32', json, { 'Content-Encoding': 'gzip' }),
  infer('gzip, of nothing', 'fp32', gzipSync(''), { 'Content-Encoding': 'gzip' }),
  infer('gzip, and no body', 'fp32', '', { 'Content-Encoding': 'gzip' }),
  infer('gzip, not told', 'fp32', gzip),
  infer('deflate, that is gzip', 'fp32', gzip, { 'Content-Encoding': 'deflate' }),
  infer('br', 'fp32', json, { 'Content-Encoding': 'br' }),
  infer('identity', 'fp32', json, { 'Content-Encoding': 'identity' }),
  infer('gzip twice', 'fp32', gzipSync(gzip), { 'Content-Encoding': 'gzip, gzip' }),
  ...[
    'gzip',
    'deflate',
    'gzip, deflate',
    'deflate, gzip',
    'br',
    '*',
    'identity',
    'gzip;q=0',
    'deflate;q=1, gzip;q=0.5',
    'GZIP',
    '',
  ].map((accepted) => infer(`accepts "${accepted}"`, 'fp32', json, { 'Accept-Encoding': accepted })),
  infer('accepts gzip of bytes', 'fp32', inBytes, { 'Accept-Encoding': 'gzip' }),
  infer('accepts deflate of bytes', 'fp32', inBytes, { 'Accept-Encoding': 'deflate' }),
  infer('accepts gzip of an error', 'fp32', '{}', { 'Accept-Encoding': 'gzip' }),
]

const others: readonly Ask[] = [
  infer('chunked', 'fp32', json, { 'Transfer-Encoding': 'chunked' }),
  infer('chunked, of bytes', 'fp32', whole, { 'Transfer-Encoding': 'chunked', [length]: String(head.length) }),
  infer('chunked, more bytes', 'fp32', Buffer.concat([whole, floats(1)]), {
    'Transfer-Encoding': 'chunked',
    [length]: String(head.length),
  }),
  ...[
    'text/plain',
    'application/octet-stream',
    'application/x-www-form-urlencoded',
    'x',
    'application/json; charset=utf-8',
  ].map((type) => infer(`content type ${type}`, 'fp32', json, { 'Content-Type': type })),
  infer('accepts text alone', 'fp32', json, { Accept: 'text/html' }),
  binary('a type that does not go with bytes', 'fp32', { inputs: [inputOf('FP32', [1], 4)] }, floats(1), {
    'Content-Type': 'text/plain',
  }),
]

export const bodyAsks: readonly Ask[] = [...lengths, ...raw, ...compressed, ...others]
