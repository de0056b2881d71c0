// Tensors, data types, and files of tensors.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  readTensor as typedReadTensor,
  readTensors as typedReadTensors,
  Tensor as TypedTensor,
  writeTensor as typedWriteTensor,
  writeTensors as typedWriteTensors,
} from '../../lib/index.js'
import { argument, type Room, wrongly } from './table.js'

const Tensor = wrongly(TypedTensor)
const tensor = wrongly(TypedTensor.zeros('float32', [2, 2]))

const tensors: Room = () => [
  [() => new Tensor(), argument, ['for dtype', 'undefined']],
  [() => new Tensor([1, 2, 3]), argument, ['for dtype', 'array [1, 2, 3]']],
  [() => new Tensor(new Float32Array(4), [4]), argument, ['for dtype', 'Float32Array']],
  [() => new Tensor('float32', ['1', '2'], [2]), argument, 'for data'],
  [() => new Tensor('float32', new Float64Array(4), [4]), 'ERR_TRT_DTYPE', ['a Float32Array', 'Float64Array']],
  [() => new Tensor('float32', Buffer.alloc(16), [4]), 'ERR_TRT_DTYPE', ['a Float32Array', 'Buffer']],
  [() => new Tensor('int64', new Int32Array(4), [4]), 'ERR_TRT_DTYPE', ['a BigInt64Array', 'Int32Array']],
  [() => new Tensor('int64', [1.5, 2.5], [2]), argument, 'for data'],
  [() => new Tensor('float32', [[1, 2]], [1, 2]), argument, 'for data'],
  [() => new Tensor('bool', ['yes', 'no'], [2]), argument, 'for data'],
  [() => new Tensor('float16', new Float32Array(4), [4]), 'ERR_TRT_DTYPE', ['a Uint16Array', 'Float32Array']],
  [() => new Tensor('float32', new Float32Array(4)), argument, ['shape', 'undefined']],
  [() => new Tensor('float32', new Float32Array(4), 4), argument, ['shape', 'number 4']],
  [() => new Tensor('float32', new Float32Array(4), '2x2'), argument, ['shape', '"2x2"']],
  [() => new Tensor('float32', new Float32Array(4), [-1, 4]), 'ERR_TRT_SHAPE', ['shape', '-1']],
  [() => new Tensor('float32', new Float32Array(4), [2.5, 2]), 'ERR_TRT_SHAPE', ['shape', '2.5']],
  [() => new Tensor('float32', new Float32Array(4), ['2', 2]), 'ERR_TRT_SHAPE', ['shape', '"2"']],
  [() => new Tensor('float32', new Float32Array(4), new Int32Array([2, 2])), argument, ['shape', 'Int32Array']],
  [() => new Tensor('float32', new Float32Array(10), [1, 3, 224, 224]), 'ERR_TRT_SHAPE', ['602112 bytes', '40']],
  [() => new Tensor('float32', new Float32Array(4), [1, 4, 4]), 'ERR_TRT_SHAPE', ['[1, 4, 4]', '64 bytes', '16']],
  [() => new Tensor('fp16', new Uint16Array(4), [4]), argument, ['float16', '"fp16"']],
  [() => new Tensor('half', new Uint16Array(4), [4]), argument, ['float16', '"half"']],
  [() => new Tensor('Float32', new Float32Array(4), [4]), argument, ['float32', '"Float32"']],
  [() => new Tensor('float', new Float32Array(4), [4]), argument, ['float32', '"float"']],
  [() => new Tensor('double', new Float64Array(4), [4]), argument, ['float64', '"double"']],
  [() => new Tensor('int', new Int32Array(4), [4]), argument, ['int32', '"int"']],
  [() => new Tensor('boolean', new Uint8Array(4), [4]), argument, ['bool', '"boolean"']],
  [() => new Tensor('text', ['a'], [1]), argument, ['string', '"text"']],
  [() => new Tensor('string', [1], [1]), argument, ['string', 'number 1']],
  [() => new Tensor('fp8', new Uint8Array(4), [4]), argument, ['float8e4m3', '"fp8"']],
  [() => Tensor.from(), argument, ['undefined']],
  [() => Tensor.from([1, 2, 3]), argument, ['array [1, 2, 3]', 'Float32Array']],
  [
    () =>
      Tensor.from([
        [1, 2],
        [3, 4],
      ]),
    argument,
    ['array of 2'],
  ],
  [() => Tensor.from(5), argument, ['number 5']],
  [() => Tensor.from(Promise.resolve(new Float32Array(4))), argument, ['a Promise: await it']],
  [() => Tensor.from(new Float32Array(4), [2, 3]), 'ERR_TRT_SHAPE', ['[2, 3]', '24 bytes', '16']],
  [() => Tensor.from(new ArrayBuffer(16), [4]), argument, ['ArrayBuffer']],
  [() => Tensor.from({ data: new Float32Array(4), shape: [4] }), argument, ['Object']],
  [() => Tensor.from({ type: 'text', dims: [1], data: ['a'] }), 'ERR_TRT_DTYPE', ['string', '"text"']],
  [() => Tensor.zeros([2, 2]), argument, ['for dtype', 'array [2, 2]']],
  [() => Tensor.zeros('float32'), argument, ['shape', 'undefined']],
  [() => Tensor.zeros('float32', 2, 2), argument, ['shape', 'number 2']],
  [() => Tensor.zeros('float32', [1e9, 1e9]), 'ERR_TRT_SHAPE', ['1000000000']],
  [() => Tensor.fromBytes('float32', new Float32Array(4), [4]), argument, ['an ArrayBuffer or a Uint8Array']],
  [() => Tensor.fromBytes('float32', new Uint8Array(15), [4]), 'ERR_TRT_SHAPE', ['a multiple of 4 bytes', '15']],
  [() => Tensor.fromBytes('float32', new Uint8Array(17).subarray(1), [4]), argument, ['byteOffset', 'multiple of 4']],
  [() => Tensor.fromFloat32('int8', [1, 2]), argument, ['float16', '"int8"']],
  [() => Tensor.fromFloat32('float16', 'abc'), argument, ['a Float32Array or an array', '"abc"']],
  [() => Tensor.fromFloat32('float16', [1, 2], [3]), 'ERR_TRT_SHAPE', ['[3]']],
  [() => tensor.reshape([5]), 'ERR_TRT_SHAPE', ['[5]']],
  [() => tensor.reshape([-1, 2]), 'ERR_TRT_SHAPE', ['shape', '-1']],
  [() => tensor.reshape(4), argument, ['shape', 'number 4']],
  [() => tensor.reshape(2, 2), argument, ['shape', 'number 2']],
  [() => tensor.as('float16'), 'ERR_TRT_DTYPE', ['float16', 'float32']],
]

const files: Room = ({ folder }) => {
  const [readTensor, readTensors] = [wrongly(typedReadTensor), wrongly(typedReadTensors)]
  const [writeTensor, writeTensors] = [wrongly(typedWriteTensor), wrongly(typedWriteTensors)]
  const file = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const text = file('text.npy', 'not numpy')
  const raw = file('x.raw', new Uint8Array(15))
  const json = file('x.json', '{ "x": [1, 2')
  const csv = file('x.csv', '1,2,3')
  const zip = file('x.npz', 'PK nothing')
  const out = join(folder, 'out.npy')
  return [
    [() => readTensor(), argument, ['a path', 'undefined']],
    [() => readTensor('nope.npy'), 'ERR_TRT_FILE', ['nope.npy', 'no such file']],
    [() => readTensor(folder), argument, ['.npy', 'format']],
    [() => readTensor(csv), argument, ['.npy', '.npz', 'the option format']],
    [() => readTensor(text), 'ERR_TRT_FILE', ['text.npy', 'npy']],
    [() => readTensor(zip), 'ERR_TRT_FILE', ['x.npz']],
    [() => readTensor(json), 'ERR_TRT_FILE', ['x.json']],
    [() => readTensor(raw), argument, ['x.raw', 'dtype']],
    [() => readTensor(raw, { dtype: 'float32', shape: [4] }), 'ERR_TRT_SHAPE', ['x.raw', '16', '15']],
    [() => readTensor(raw, { dtype: 'fp32', shape: [4] }), argument, ['float32', '"fp32"']],
    [() => readTensor(raw, { type: 'float32' }), argument, ['did you mean dtype?']],
    [() => readTensor(raw, { dtype: 'float32', shape: 4 }), argument, ['shape', 'number 4']],
    [() => readTensor(new Uint8Array(16)), argument, ['format', 'bytes']],
    [() => readTensor(text, { format: 'numpy' }), argument, ["'npy', 'npz', 'raw', 'json'", '"numpy"']],
    [() => readTensors(join(folder, 'none.npz')), 'ERR_TRT_FILE', ['none.npz', 'no such file']],
    [() => readTensors(raw, { dtype: 'float32' }), argument, ['"dtype" for readTensors', 'expect']],
    [() => readTensors(raw, { expect: ['x'] }), argument, ['expect', 'array of 1']],
    [() => writeTensor(tensor, out), argument, ['a Tensor', 'tensor', 'string']],
    [() => writeTensor(out, { y: tensor }), argument, ['a Tensor', 'pass one of its tensors, such as outputs.y']],
    [() => writeTensor(out), argument, ['a Tensor', 'undefined']],
    [() => writeTensor(out, [1, 2]), argument, ['a Tensor', 'array [1, 2]']],
    [() => writeTensor(join(folder, 'out.txt'), tensor), argument, ['.npy', 'the option format']],
    [() => writeTensor(join(folder, 'no', 'out.npy'), tensor), 'ERR_TRT_FILE', ['out.npy', 'there is no folder']],
    [() => writeTensor(out, tensor, { compress: true }), argument, ['did you mean compressed?']],
    [() => writeTensors(out, tensor), argument, ['Tensor']],
    [() => writeTensors(out, { a: tensor, b: tensor }), argument, ['.npz', '2 tensors']],
    [() => writeTensors(out, { a: [1] }), argument, ['a Tensor', 'a']],
    [() => writeTensors(out, []), argument, ['tensors by their names', 'array []']],
  ]
}

export const tensorRooms: readonly Room[] = [tensors, files]
