// What is wrong with the JSON of an inference, its tensors or its model.
import type { Ask } from '../ask.js'
import { binary, floats, infer, input, inputOf, type Json } from './make.js'

const good = input('FP32', [2], [1, 2])
const without = (key: string): Json => Object.fromEntries(Object.entries(good).filter(([name]) => name !== key))

const json: readonly Ask[] = [
  infer('no body', 'fp32', ''),
  infer('no JSON', 'fp32', '{"inputs":'),
  infer('text', 'fp32', 'hello'),
  infer('a list', 'fp32', '[]'),
  infer('a number', 'fp32', '1'),
  infer('null', 'fp32', 'null'),
  infer('an empty object', 'fp32', {}),
  infer('more after the JSON', 'fp32', `${JSON.stringify({ inputs: [good] })} x`),
  infer('white space around', 'fp32', ` \n${JSON.stringify({ inputs: [good] })}\n `),
  infer('a comma too many', 'fp32', '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1],}]}'),
  infer('a key twice', 'fp32', '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"shape":[2],"data":[1]}]}'),
  infer('depth of 90', 'fp32', { inputs: [good], extra: JSON.parse('['.repeat(88) + ']'.repeat(88)) as unknown }),
  infer('depth of 200', 'fp32', { inputs: [good], extra: JSON.parse('['.repeat(200) + ']'.repeat(200)) as unknown }),
  infer('data of a depth of 150', 'fp32', {
    inputs: [input('FP32', [1], JSON.parse('['.repeat(150) + '1' + ']'.repeat(150)))],
  }),
  infer('members that nobody knows', 'fp32', { inputs: [{ ...good, color: 'red' }], color: 1 }),
  infer('a byte order mark', 'fp32', `\uFEFF${JSON.stringify({ inputs: [good] })}`),
  infer(
    'not UTF-8',
    'fp32',
    Buffer.concat([
      Buffer.from('{"id":"'),
      Buffer.of(0xff, 0xfe),
      Buffer.from(`","inputs":[${JSON.stringify(good)}]}`),
    ]),
  ),
]

const members: readonly Ask[] = [
  infer('inputs are none', 'fp32', { inputs: [] }),
  infer('inputs are an object', 'fp32', { inputs: good }),
  infer('inputs are null', 'fp32', { inputs: null }),
  infer('an input is a number', 'fp32', { inputs: [1] }),
  infer('no name', 'fp32', { inputs: [without('name')] }),
  infer('no datatype', 'fp32', { inputs: [without('datatype')] }),
  infer('no shape', 'fp32', { inputs: [without('shape')] }),
  infer('no data', 'fp32', { inputs: [without('data')] }),
  infer('the name is a number', 'fp32', { inputs: [{ ...good, name: 1 }] }),
  infer('the datatype is a number', 'fp32', { inputs: [{ ...good, datatype: 1 }] }),
  infer('the datatype is unknown', 'fp32', { inputs: [{ ...good, datatype: 'FLOAT' }] }),
  infer('the datatype is in small letters', 'fp32', { inputs: [{ ...good, datatype: 'fp32' }] }),
  infer('the shape is a number', 'fp32', { inputs: [{ ...good, shape: 2 }] }),
  infer('the shape has a text', 'fp32', { inputs: [{ ...good, shape: ['2'] }] }),
  infer('the shape has a fraction', 'fp32', { inputs: [{ ...good, shape: [1.5] }] }),
  infer('the shape is negative', 'fp32', { inputs: [{ ...good, shape: [-2] }] }),
  infer('the shape is -1', 'fp32', { inputs: [{ ...good, shape: [-1] }] }),
  infer('the shape is 2.0', 'fp32', '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2.0],"data":[1,2]}]}'),
  infer('the shape overflows', 'matrix', { inputs: [{ ...good, shape: [4294967296, 4294967296] }] }),
  infer('the shape has no sizes', 'fp32', { inputs: [{ ...good, shape: [] }] }),
  infer('data is a number', 'fp32', { inputs: [{ ...good, data: 1 }] }),
  infer('data is an object', 'fp32', { inputs: [{ ...good, data: {} }] }),
  infer('data is null', 'fp32', { inputs: [{ ...good, data: null }] }),
  infer('data is a text', 'fp32', { inputs: [{ ...good, data: 'ab' }] }),
  infer('parameters of an input are a list', 'fp32', { inputs: [{ ...good, parameters: [] }] }),
  infer('parameters are a text', 'fp32', { inputs: [good], parameters: 'x' }),
  infer('outputs are an object', 'fp32', { inputs: [good], outputs: {} }),
  infer('outputs are none', 'fp32', { inputs: [good], outputs: [] }),
  infer('an output is a text', 'fp32', { inputs: [good], outputs: ['OUTPUT0'] }),
  infer('an output has no name', 'fp32', { inputs: [good], outputs: [{}] }),
  infer('the name of an output is a number', 'fp32', { inputs: [good], outputs: [{ name: 1 }] }),
  infer('the id is a text', 'fp32', { id: 'a "b" ü', inputs: [good] }),
  infer('the id is empty', 'fp32', { id: '', inputs: [good] }),
  infer('the id is a number', 'fp32', { id: 7, inputs: [good] }),
  infer('the id is null', 'fp32', { id: null, inputs: [good] }),
]

const a = input('FP32', [1, 3], [1, 2, 3], 'INPUT0')
const b = input('INT32', [1, 3], [1, 2, 3], 'INPUT1')

const tensors: readonly Ask[] = [
  infer('an unknown input', 'fp32', { inputs: [{ ...good, name: 'x' }] }),
  infer('an unknown input beside the right one', 'fp32', { inputs: [good, { ...good, name: 'x' }] }),
  infer('an input twice', 'fp32', { inputs: [good, good] }),
  infer('two inputs', 'two', { inputs: [a, b] }),
  infer('two inputs, the other way round', 'two', { inputs: [b, a] }),
  infer('the second input is missing', 'two', { inputs: [a] }),
  infer('the first input is missing', 'two', { inputs: [b] }),
  infer('one twice, the other missing', 'two', { inputs: [a, a] }),
  infer('batches that differ', 'two', { inputs: [a, input('INT32', [2, 3], [1, 2, 3, 4, 5, 6], 'INPUT1')] }),
  infer('datatypes the other way round', 'two', {
    inputs: [
      { ...a, datatype: 'INT32' },
      { ...b, datatype: 'FP32' },
    ],
  }),
  infer('too few elements', 'fp32', { inputs: [input('FP32', [3], [1, 2])] }),
  infer('too many elements', 'fp32', { inputs: [input('FP32', [1], [1, 2])] }),
  infer('rows', 'fixed', {
    inputs: [
      input(
        'FP32',
        [2, 2],
        [
          [1, 2],
          [3, 4],
        ],
      ),
    ],
  }),
  infer('rows in one', 'fixed', { inputs: [input('FP32', [2, 2], [1, 2, 3, 4])] }),
  infer('rows of different lengths', 'fixed', { inputs: [input('FP32', [2, 2], [[1, 2, 3], [4]])] }),
  infer('columns for rows', 'matrix', {
    inputs: [
      input(
        'FP32',
        [2, 3],
        [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
      ),
    ],
  }),
  infer('rows and numbers', 'fixed', { inputs: [input('FP32', [2, 2], [[1, 2], 3, 4])] }),
  infer('a shape that the model has not', 'fixed', { inputs: [input('FP32', [2, 3], [1, 2, 3, 4, 5, 6])] }),
  infer('a rank that the model has not', 'fixed', { inputs: [input('FP32', [4], [1, 2, 3, 4])] }),
  infer('too high a rank', 'fixed', { inputs: [input('FP32', [1, 2, 2], [1, 2, 3, 4])] }),
  infer('a matrix of any size', 'matrix', { inputs: [input('FP32', [1, 3], [1, 2, 3])] }),
  infer('a matrix without elements', 'matrix', { inputs: [input('FP32', [0, 3], [])] }),
]

const batches: readonly Ask[] = [
  infer('one row', 'batched', { inputs: [input('FP32', [1, 4], [1, 2, 3, 4])] }),
  infer('two rows', 'batched', { inputs: [input('FP32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8])] }),
  infer('more rows than there may be', 'batched', { inputs: [input('FP32', [5, 4], Array<number>(20).fill(1))] }),
  infer('no rows', 'batched', { inputs: [input('FP32', [0, 4], [])] }),
  infer('no batch', 'batched', { inputs: [input('FP32', [4], [1, 2, 3, 4])] }),
  infer('rows of a wrong size', 'batched', { inputs: [input('FP32', [1, 5], [1, 2, 3, 4, 5])] }),
  infer('a batch too many', 'batched', { inputs: [input('FP32', [1, 1, 4], [1, 2, 3, 4])] }),
  infer('an empty shape with batches', 'batched', { inputs: [input('FP32', [], [1])] }),
  infer('reshaped', 'reshaped', { inputs: [input('FP32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8])] }),
  infer('reshaped, as the model has it', 'reshaped', { inputs: [input('FP32', [1, 2, 2], [1, 2, 3, 4])] }),
  infer('a scalar a row', 'scalar', { inputs: [input('FP32', [3, 1], [1, 2, 3])] }),
  infer('a scalar a row without its size', 'scalar', { inputs: [input('FP32', [3], [1, 2, 3])] }),
]

const models: readonly Ask[] = [
  infer('an unknown model', 'nothing', { inputs: [good] }),
  infer('an unknown version', 'fp32/2', { inputs: [good] }),
  infer('a version that is no number', 'fp32/x', { inputs: [good] }),
  infer('version -1', 'fp32/-1', { inputs: [good] }),
  infer('a version with a zero before it', 'fp32/01', { inputs: [good] }),
  infer('a version', 'versions/2', { inputs: [good] }),
  infer('the newest version', 'versions', { inputs: [good] }),
  infer('the newest version of those with numbers', 'newest', { inputs: [good] }),
  infer('a version that was not chosen', 'chosen/2', { inputs: [good] }),
  infer('a model that was never loaded', 'later', { inputs: [good] }),
  infer('an unknown model and no JSON', 'nothing', '{'),
  infer('a name that is none', 'a%20b%2Fc', { inputs: [good] }),
]

const sent = inputOf('FP32', [2], 8)

const sizes: readonly Ask[] = [
  binary('a size that is less than the shape', 'fp32', { inputs: [inputOf('FP32', [2], 4)] }, floats(1)),
  binary('a size that is more than the shape', 'fp32', { inputs: [inputOf('FP32', [2], 12)] }, floats(1, 2, 3)),
  binary('fewer bytes than the size', 'fp32', { inputs: [sent] }, floats(1)),
  binary('more bytes than the size', 'fp32', { inputs: [sent] }, floats(1, 2, 3)),
  binary('no bytes', 'fp32', { inputs: [sent] }, floats()),
  binary('a size of nothing', 'fp32', { inputs: [inputOf('FP32', [0], 0)] }, floats()),
  binary('a negative size', 'fp32', { inputs: [inputOf('FP32', [2], -8)] }, floats(1, 2)),
  binary('a size that is a text', 'fp32', { inputs: [inputOf('FP32', [2], '8')] }, floats(1, 2)),
  binary('a size that is a fraction', 'fp32', { inputs: [inputOf('FP32', [2], 8.5)] }, floats(1, 2)),
  binary('a size that is null', 'fp32', { inputs: [inputOf('FP32', [2], null)] }, floats(1, 2)),
  binary('a size beyond all', 'fp32', { inputs: [inputOf('FP32', [2], 1e15)] }, floats(1, 2)),
  binary('data and a size', 'fp32', { inputs: [{ ...sent, data: [5, 6] }] }, floats(1, 2)),
  binary('data, and bytes that are of nobody', 'fp32', { inputs: [good] }, floats(1, 2)),
  binary(
    'two of bytes',
    'two',
    { inputs: [inputOf('FP32', [1, 3], 12), inputOf('INT32', [1, 3], 12, 'INPUT1')] },
    floats(1, 2, 3, 4, 5, 6),
  ),
  binary('bytes and JSON', 'two', { inputs: [b, inputOf('FP32', [1, 3], 12)] }, floats(1, 2, 3)),
  binary(
    'bytes whose sum is too small',
    'two',
    { inputs: [inputOf('FP32', [1, 3], 12), inputOf('INT32', [1, 3], 12, 'INPUT1')] },
    floats(1, 2, 3, 4),
  ),
  binary('rows in bytes', 'batched', { inputs: [inputOf('FP32', [2, 4], 32)] }, floats(1, 2, 3, 4, 5, 6, 7, 8)),
  binary('reshaped in bytes', 'reshaped', { inputs: [inputOf('FP32', [1, 4], 16)] }, floats(1, 2, 3, 4)),
]

export const faultAsks: readonly Ask[] = [...json, ...members, ...tensors, ...batches, ...models, ...sizes]
