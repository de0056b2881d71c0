// Tensors that cannot be: what onnxruntime-common refuses when they are made.
import type { Name, Row } from './table.js'

const all: readonly (readonly [type: string, data: unknown])[] = [
  ['float32', new Float32Array(100)],
  ['int64', new BigInt64Array(100)],
  ['bool', new Uint8Array(100)],
  ['string', Array<string>(100).fill('x')],
]

const dims: readonly (readonly [what: string, dims: unknown, name: Name, words: RegExp])[] = [
  ['dims that are an object', {}, 'TypeError', /must be a number array/],
  ['dims that are a number', 100, 'TypeError', /must be a number array/],
  ['a dimension that is a text', [1, 2, ''], 'TypeError', /must be an integer/],
  ['a negative dimension', [1, 2, -1], 'RangeError', /must be a non-negative integer/],
  ['a dimension of 1.5', [1, 2, 1.5], 'TypeError', /must be an integer/],
  ['a dimension of NaN', [1, NaN], 'TypeError', /must be an integer/],
  ['a dimension that is a bigint', [100n], 'TypeError', /must be an integer/],
  ['a dimension of 2 ** 53', [2 ** 53], 'TypeError', /must be an integer/],
  ['dims of another length', [10, 8], 'Error', /does not match data length/],
]

const made: readonly (readonly [what: string, args: readonly unknown[], name: Name, words: RegExp])[] = [
  ['an unknown type', ['float128', [1]], 'TypeError', /Unsupported tensor type/],
  ['texts that are typed', ['string', new Uint8Array(1)], 'TypeError', /string array/],
  ['int4 of numbers', ['int4', [1, 2]], 'TypeError', /not supported/],
  ['float32 of a Float64Array', ['float32', new Float64Array(1)], 'TypeError', /must be type of/],
  ['float32 of clamped bytes', ['float32', new Uint8ClampedArray(1)], 'TypeError', /Uint8ClampedArray/],
  ['an empty array', [[]], 'TypeError', /cannot be inferred/],
  ['an array of numbers', [[1, 2]], 'TypeError', /Invalid element type/],
  ['an ArrayBuffer', [new ArrayBuffer(4)], 'TypeError', /Unsupported type/],
  ['int64 of fractions', ['int64', [1.5], [1]], 'RangeError', /BigInt/],
]

export const rows: readonly Row[] = [
  ...all.flatMap(([type, data]) =>
    dims.flatMap(([what, dims, name, words]): Row[] => [
      [`${type}: ${what}`, ({ ort }) => new ort.Tensor(type, data, dims), name, words],
      ...(type === 'bool'
        ? []
        : [[`of ${type}: ${what}`, ({ ort }, made = ort.Tensor) => new made(data, dims), name, words] as Row]),
    ]),
  ),
  ...made.map(([what, args, name, words]): Row => [
    `a Tensor of ${what}`,
    ({ ort }) => new ort.Tensor(...args),
    name,
    words,
  ]),
]
