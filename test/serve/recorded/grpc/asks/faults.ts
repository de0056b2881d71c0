// What is wrong with an inference: its tensors, its model, where its bytes are.
import type { JsonObject } from '@bufbuild/protobuf'
import { type GrpcAsk, messageOf } from '../ask.js'
import { bytes, floats, good, infer, input, raw, request } from './make.js'

const two = floats(1, 2)
const ofTwo = (name: string, shape: readonly (number | string)[], model = 'fp32'): GrpcAsk =>
  infer(name, model, { inputs: [input('FP32', shape)], raw_input_contents: bytes(two) })
const contents = { fp32_contents: [1, 2] }
const a = input('FP32', [1, 3])
const b = input('INT32', [1, 3], undefined, 'INPUT1')
const three = floats(1, 2, 3)

const shapes: readonly GrpcAsk[] = [
  ofTwo('the shape is negative', [-2]),
  ofTwo('the shape is -1', [-1]),
  ofTwo('two negative sizes', [-1, -2], 'matrix'),
  ofTwo('the least size that there is', ['-9223372036854775808']),
  ofTwo('a zero among sizes', [0, 3], 'matrix'),
  ofTwo('the shape overflows', ['4294967296', '4294967296'], 'matrix'),
  ofTwo('the shape has no sizes', []),
  ofTwo('a shape that the model has not', [2, 1], 'fixed'),
  ofTwo('a rank that the model has not', [2], 'fixed'),
  ofTwo('too high a rank', [1, 1, 2], 'fixed'),
  ofTwo('bytes for fewer elements', [1]),
  ofTwo('bytes for more elements', [3]),
  infer('contents for fewer elements', 'fp32', { inputs: [input('FP32', [1], contents)] }),
  infer('contents for more elements', 'fp32', { inputs: [input('FP32', [3], contents)] }),
  infer('contents for a negative size', 'fp32', { inputs: [input('FP32', [-1], contents)] }),
  infer('a matrix of any size', 'matrix', { inputs: [input('FP32', [1, 2], contents)] }),
  infer('a matrix without elements', 'matrix', {
    inputs: [input('FP32', [0, 3])],
    raw_input_contents: bytes(Buffer.alloc(0)),
  }),
]

const places: readonly GrpcAsk[] = [
  infer('contents and bytes', 'fp32', { inputs: [input('FP32', [2], contents)], raw_input_contents: bytes(two) }),
  infer('empty contents and bytes', 'fp32', { inputs: [input('FP32', [2], {})], raw_input_contents: bytes(two) }),
  infer('contents of one, bytes of the other', 'two', {
    inputs: [a, { ...b, contents: { int_contents: [1, 2, 3] } }],
    raw_input_contents: bytes(three),
  }),
  infer('neither contents nor bytes', 'fp32', { inputs: [input('FP32', [2])] }),
  infer('bytes of one missing', 'two', { inputs: [a, b], raw_input_contents: bytes(three) }),
  infer('bytes of one too many', 'fp32', { inputs: [input('FP32', [2])], raw_input_contents: bytes(two, two) }),
  infer('bytes without an input', 'fp32', { raw_input_contents: bytes(two) }),
  infer('contents of two types', 'fp32', { inputs: [input('FP32', [2], { ...contents, int_contents: [1] })] }),
]

const tensors: readonly GrpcAsk[] = [
  infer('no inputs', 'fp32', {}),
  infer('an unknown input', 'fp32', { ...good, inputs: [input('FP32', [2], undefined, 'x')] }),
  infer('an input with an empty name', 'fp32', { ...good, inputs: [input('FP32', [2], undefined, '')] }),
  infer('an unknown input beside the right one', 'fp32', {
    inputs: [input('FP32', [2]), input('FP32', [2], undefined, 'x')],
    raw_input_contents: bytes(two, two),
  }),
  infer('an input twice', 'fp32', {
    inputs: [input('FP32', [2]), input('FP32', [2])],
    raw_input_contents: bytes(two, two),
  }),
  infer('two inputs', 'two', { inputs: [a, b], raw_input_contents: bytes(three, three) }),
  infer('two inputs, the other way round', 'two', { inputs: [b, a], raw_input_contents: bytes(three, three) }),
  infer('two inputs of contents', 'two', {
    inputs: [
      { ...a, contents: { fp32_contents: [1, 2, 3] } },
      { ...b, contents: { int_contents: [-1, 2, 3] } },
    ],
  }),
  infer('the second input is missing', 'two', { inputs: [a], raw_input_contents: bytes(three) }),
  infer('the first input is missing', 'two', { inputs: [b], raw_input_contents: bytes(three) }),
  infer('one twice, the other missing', 'two', { inputs: [a, a], raw_input_contents: bytes(three, three) }),
  infer('batches that differ', 'two', {
    inputs: [a, input('INT32', [2, 3], undefined, 'INPUT1')],
    raw_input_contents: bytes(three, Buffer.alloc(24)),
  }),
  infer('datatypes the other way round', 'two', {
    inputs: [
      { ...a, datatype: 'INT32' },
      { ...b, datatype: 'FP32' },
    ],
    raw_input_contents: bytes(three, three),
  }),
  infer('the datatype is unknown', 'fp32', { ...good, inputs: [input('FLOAT', [2])] }),
  infer('the datatype is unknown, with contents', 'fp32', { inputs: [input('FLOAT', [2], contents)] }),
  infer('the datatype is in small letters', 'fp32', { ...good, inputs: [input('fp32', [2])] }),
  infer('the datatype is empty', 'fp32', { ...good, inputs: [input('', [2])] }),
  infer('an input in shared memory', 'fp32', {
    inputs: [
      {
        ...input('FP32', [2]),
        parameters: { shared_memory_region: { string_param: 'r' }, shared_memory_byte_size: { int64_param: '8' } },
      },
    ],
  }),
  infer('binary_data_size of an input', 'fp32', {
    ...good,
    inputs: [{ ...input('FP32', [2]), parameters: { binary_data_size: { int64_param: '4' } } }],
  }),
]

const rows = (count: number): JsonObject => ({
  inputs: [input('FP32', [count, 4])],
  raw_input_contents: bytes(Buffer.alloc(count * 16, floats(1, 2, 3, 4))),
})

const batches: readonly GrpcAsk[] = [
  infer('one row', 'batched', rows(1)),
  infer('four rows', 'batched', rows(4)),
  infer('more rows than there may be', 'batched', rows(5)),
  infer('no rows', 'batched', rows(0)),
  infer('no batch', 'batched', { inputs: [input('FP32', [4])], raw_input_contents: bytes(Buffer.alloc(16)) }),
  infer('an empty shape with batches', 'batched', {
    inputs: [input('FP32', [])],
    raw_input_contents: bytes(Buffer.alloc(4)),
  }),
  infer('rows of a wrong size', 'batched', {
    inputs: [input('FP32', [1, 5])],
    raw_input_contents: bytes(Buffer.alloc(20)),
  }),
  infer('reshaped', 'reshaped', rows(2)),
  infer('a scalar a row', 'scalar', { inputs: [input('FP32', [3, 1])], raw_input_contents: bytes(three) }),
]

const models: readonly GrpcAsk[] = [
  infer('an unknown model', 'nothing', good),
  infer('no model', '', good),
  infer('an unknown version', 'fp32/2', good),
  infer('a version that is no number', 'fp32/x', good),
  infer('version -1', 'fp32/-1', good),
  infer('a version', 'versions/2', good),
  infer('the newest version', 'versions', good),
  infer('a version that was not chosen', 'chosen/2', good),
  infer('a model that was never loaded', 'later', good),
  infer('a name with a slash', 'a/b', good),
  infer('the id is a text', 'fp32', { ...good, id: 'a "b" ü' }),
]

const goodBytes = messageOf('ModelInfer', request('fp32', good))

const garbled: readonly GrpcAsk[] = [
  raw('ModelInfer: half a message', 'ModelInfer', goodBytes.subarray(0, goodBytes.length - 5)),
  raw('ModelInfer: a field that nobody knows', 'ModelInfer', Buffer.concat([goodBytes, Buffer.of(0xfa, 7, 1, 65)])),
  raw('ModelInfer: a length beyond all', 'ModelInfer', Buffer.of(0x0a, 0xff, 0xff, 0xff, 0xff, 7)),
  raw('ModelInfer: the name is not UTF-8', 'ModelInfer', Buffer.concat([Buffer.of(0x0a, 1, 0xff), goodBytes])),
  raw('ModelInfer: the name twice', 'ModelInfer', Buffer.concat([Buffer.of(0x0a, 1, 120), goodBytes])),
  raw('ModelInfer: the shape is not packed', 'ModelInfer', unpackedShape()),
  raw('ModelInfer: no message', 'ModelInfer'),
  raw('ModelInfer: an empty message', 'ModelInfer', Buffer.alloc(0)),
  raw('ModelInfer: two messages', 'ModelInfer', goodBytes, goodBytes),
  { ...raw('ModelInfer: compressed', 'ModelInfer', goodBytes), gzip: true },
  { ...infer('ModelInfer: compressed, and refused', 'nothing', good), gzip: true },
]

/** A shape of [1, 2] as two fields, as proto2 has them; readers have to take both. */
function unpackedShape(): Buffer {
  const field = (number: number, content: Uint8Array): Buffer =>
    Buffer.concat([Buffer.of(number * 8 + 2, content.length), content])
  const tensor = [field(1, Buffer.from('INPUT0')), field(2, Buffer.from('FP32')), Buffer.of(0x18, 1, 0x18, 2)]
  return Buffer.concat([field(1, Buffer.from('matrix')), field(5, Buffer.concat(tensor)), field(7, two)])
}

export const faultCalls: readonly GrpcAsk[] = [...shapes, ...places, ...tensors, ...batches, ...models, ...garbled]
