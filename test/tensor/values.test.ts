// Tensors of plain values, as JSON, as console.log shows them; and names of data types that others have.
import { inspect } from 'node:util'
import t from 'tap'
import { type DType, dtypes, Tensor } from '../../lib/index.js'
import { numberDTypes } from '../../lib/tensor.js'
import { meantDType } from '../../lib/tensor/words.js'

type Make = new (dtype: DType, data: readonly unknown[], shape: readonly number[]) => Tensor
const Plain = Tensor as unknown as Make

const made: readonly (readonly [DType, readonly unknown[], readonly unknown[]])[] = [
  ['float32', [0.1, -0, NaN, -Infinity, 1e-46], [Math.fround(0.1), -0, NaN, -Infinity, 0]],
  ['float64', [0.1, 1e300], [0.1, 1e300]],
  ['float16', [1, 65504, 65519, 0.1], [0x3c00, 0x7bff, 0x7bff, 0x2e66]],
  ['bfloat16', [1, -2], [0x3f80, 0xc000]],
  ['float8e4m3', [448, -1], [0x7e, 0xb8]],
  ['int8', [-128, 127, -0], [-128, 127, 0]],
  ['uint8', [0, 255], [0, 255]],
  ['int16', [-32768, 32767], [-32768, 32767]],
  ['uint16', [65535], [65535]],
  ['int32', [-(2 ** 31), 2 ** 31 - 1], [-(2 ** 31), 2 ** 31 - 1]],
  ['uint32', [2 ** 32 - 1], [2 ** 32 - 1]],
  ['int64', [1, -5n, -(2n ** 63n)], [1n, -5n, -(2n ** 63n)]],
  ['uint64', [7, 2n ** 64n - 1n], [7n, 2n ** 64n - 1n]],
  ['bool', [true, false, 1, 0], [1, 0, 1, 0]],
  ['int4', [-8, 7, -1], [0x78, 0x0f]],
  ['float4e2m1', [0.5, -6, 0, -0], [0xf1, 0x80]],
]

t.test('plain values become elements', (t) => {
  t.same(made.map(([dtype]) => dtype).sort(), [...numberDTypes].sort())
  for (const [dtype, values, data] of made) {
    const tensor = new Plain(dtype, values, [values.length])
    t.same([...(tensor.data as Iterable<number | bigint>)], data, dtype)
    t.equal(tensor.size, values.length)
  }
  t.same(new Tensor('int32', [], [0, 3]).data, new Int32Array(0))
  t.same(new Tensor('float32', [7], []).shape, [], 'a scalar')
  t.throws(() => new Tensor('float32', [1, 2, 3], [2]), {
    code: 'ERR_TRT_SHAPE',
    message: /Expected 2 elements \(8 bytes\).* received 3 \(12 bytes\)$/,
  })
  t.end()
})

t.test('values that a data type has not', (t) => {
  const rows: readonly (readonly [DType, unknown, string])[] = [
    ['float32', 1e39, 'Expected a number that float32 has for data[1] of a float32 tensor but received number 1e+39: Tensor.fromFloat32 makes of it what is nearest'],
    ['float16', 65520, 'received number 65520: Tensor.fromFloat32 makes'],
    ['float8e4m3', -449, 'received number -449'],
    ['float8e4m3', Infinity, 'received number Infinity'],
    ['float32', 1n, 'received bigint 1'],
    ['float32', '1', 'received string "1"'],
    ['float32', 'NaN', 'received string "NaN"'],
    ['float32', undefined, 'received undefined'],
    ['float32', [1, 2], 'received array [1, 2]: nested arrays are not taken, values.flat(Infinity) and the shape are'],
    ['int8', 128, 'Expected an integer from -128 to 127 for data[1] of a int8 tensor but received number 128'],
    ['int32', 1.5, 'Expected an integer from -2147483648 to 2147483647 for data[1]'],
    ['uint8', -1, 'Expected an integer from 0 to 255'],
    ['int64', 2 ** 53, 'Expected an integer from -9223372036854775808 to 9223372036854775807, beyond 2^53 a bigint, for'],
    ['int64', 2n ** 63n, 'received bigint 9223372036854775808'],
    ['uint64', -1n, 'received bigint -1'],
    ['int32', 1n, 'received bigint 1'],
    ['bool', 2, 'Expected true, false, 0 or 1 for data[1] of a bool tensor but received number 2'],
    ['int4', 8, 'Expected an integer from -8 to 7 for'],
    ['float4e2m1', 5, 'Expected one of 0, 0.5, 1, 1.5, 2, 3, 4, 6, of either sign, for'],
  ] // prettier-ignore
  for (const [dtype, wrong, words] of rows) {
    const code = 'ERR_TRT_INVALID_ARGUMENT'
    const message = { test: (text: string) => text.includes(words) } as unknown as RegExp
    try {
      new Plain(dtype, [1, wrong], [2])
      t.fail(`${dtype}: ${String(wrong)}`)
    } catch (error) {
      t.match(error, { code }, words)
      t.ok(message.test((error as Error).message), `${words} | ${(error as Error).message}`)
    }
  }
  t.end()
})

t.test('JSON and back', (t) => {
  for (const [dtype, values] of made) {
    const tensor = new Plain(dtype, values, [1, values.length])
    const again = Tensor.from(JSON.parse(JSON.stringify(tensor)) as { dtype: string; shape: number[]; data: unknown })
    t.same([again.dtype, again.shape], [dtype, [1, values.length]])
    // of -0 JSON keeps no sign
    const numbers = [again, tensor].map((each) => Array.from(each.toFloat32().data, (number) => number + 0))
    t.same(numbers[0], numbers[1], dtype)
    if (/64/.test(dtype)) t.same(again.data, tensor.data, dtype)
  }
  const text = (tensor: Tensor): string => JSON.stringify(tensor)
  t.equal(text(new Tensor('float32', [0.1, NaN], [2])), '{"dtype":"float32","shape":[2],"data":[0.1,"NaN"]}')
  t.equal(text(new Tensor('float16', [0.5], [])), '{"dtype":"float16","shape":[],"data":[0.5]}')
  t.equal(
    text(new Tensor('int64', [5, 2n ** 60n], [2])),
    '{"dtype":"int64","shape":[2],"data":[5,"1152921504606846976"]}',
  )
  t.equal(text(new Tensor('bool', [true, 0], [2])), '{"dtype":"bool","shape":[2],"data":[true,false]}')
  t.equal(text(new Tensor('int4', [-8, 7, 1], [3])), '{"dtype":"int4","shape":[3],"data":[-8,7,1]}')
  t.end()
})

t.test('console.log shows what it is, and a few values', (t) => {
  const rows: readonly (readonly [Tensor, string])[] = [
    [new Tensor('float32', [0.1, 2], [2, 1]), "Tensor { dtype: 'float32', shape: [ 2, 1 ], values: [0.1, 2] }"],
    [new Tensor('int64', [5n], []), "Tensor { dtype: 'int64', shape: [], values: [5] }"],
    [new Tensor('bool', [true, false], [2]), "Tensor { dtype: 'bool', shape: [ 2 ], values: [true, false] }"],
    [new Tensor('float16', [1, 2, 3, 4, 5, 6], [6]), "Tensor { dtype: 'float16', shape: [ 6 ], values: [1, 2, 3, 4, 5, 6] }"],
    [Tensor.zeros('float32', [0, 4]), "Tensor { dtype: 'float32', shape: [ 0, 4 ], values: [] }"],
    [new Tensor('string', ['a', 'b"'], [2]), "values: [\"a\", \"b\\\"\"]"],
    [new Tensor('int4', [1, 2, 3, 4, 5, 6, 7], [7]), "values: [1, 2, 3, … 1 more …, 5, 6, 7]"],
    [Tensor.zeros('float32', [1, 3, 224, 224]), "shape: [ 1, 3, 224, 224 ],\n  values: [0, 0, 0, … 150522 more …, 0, 0, 0]"],
  ] // prettier-ignore
  for (const [tensor, text] of rows) t.ok(inspect(tensor).includes(text), inspect(tensor))
  t.equal(inspect({ a: { b: rows[0]![0] } }, { depth: 1 }), '{ a: { b: [Tensor] } }')
  const gone = new Float32Array(2)
  const tensor = new Tensor('float32', gone, [2])
  structuredClone(gone.buffer, { transfer: [gone.buffer] })
  t.match(inspect(tensor), /values: \(its memory was transferred away\)/)
  t.end()
})

t.test('names of data types that others have', (t) => {
  const rows: Readonly<Record<string, DType | undefined>> = {
    ...{ fp16: 'float16', half: 'float16', Float32: 'float32', FLOAT: 'float32', float: 'float32', double: 'float64' },
    ...{ int: 'int32', 'torch.float32': 'float32', 'np.int64': 'int64', bfloat: 'bfloat16', uint8c: 'uint8' },
    ...{ 'torch.half': 'float16', long: 'int64', uint8_t: 'uint8', Float32Array: 'float32', fp8: 'float8e4m3' },
    ...{ 'tensor(float16)': 'float16', boolean: 'bool', BF16: 'bfloat16', float8_e4m3fn: 'float8e4m3', flaot32: 'float32' },
    ...{ string: 'string', str: 'string', '': undefined, complex64: undefined, x: undefined },
  } // prettier-ignore
  for (const [name, wanted] of Object.entries(rows)) t.equal(meantDType(name, dtypes), wanted, name)
  t.throws(() => Tensor.zeros('fp16' as DType, [1]), { message: /received string "fp16": did you mean float16\?$/ })
  t.throws(() => Tensor.fromFloat32('int' as 'float32', [1]), { message: /received string "int"$/ }, 'none to round to')
  t.throws(() => Tensor.from({ type: 'float', dims: [1], data: Float32Array.of(1) }), {
    code: 'ERR_TRT_DTYPE',
    message: /did you mean float32\?$/,
  })
  t.end()
})
