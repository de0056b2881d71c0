import t from 'tap'
import { dtypes, Tensor, type DType, type TypedData } from '../../lib/index.js'
import { byteSize, copiedBytes, elementCount, isDType, numberDTypes, type NumberDType } from '../../lib/tensor.js'

const arrays: Record<NumberDType, [string, number]> = {
  float32: ['Float32Array', 4],
  float16: ['Uint16Array', 2],
  bfloat16: ['Uint16Array', 2],
  int32: ['Int32Array', 4],
  int64: ['BigInt64Array', 8],
  int8: ['Int8Array', 1],
  uint8: ['Uint8Array', 1],
  bool: ['Uint8Array', 1],
  float8e4m3: ['Uint8Array', 1],
  int4: ['Uint8Array', 0.5],
  float4e2m1: ['Uint8Array', 0.5],
  float64: ['Float64Array', 8],
  int16: ['Int16Array', 2],
  uint16: ['Uint16Array', 2],
  uint32: ['Uint32Array', 4],
  uint64: ['BigUint64Array', 8],
}

t.test('each data type has its array and its size', (t) => {
  t.same([...dtypes].sort(), [...Object.keys(arrays), 'string'].sort())
  for (const dtype of numberDTypes) {
    const [name, bytes] = arrays[dtype]
    const tensor = Tensor.zeros(dtype, [3, 5])
    t.equal(tensor.data.constructor.name, name, dtype)
    t.equal(tensor.byteLength, Math.ceil(15 * bytes))
    t.equal((tensor.data as NodeJS.TypedArray).byteLength, tensor.byteLength)
    t.equal(byteSize(dtype, []), Math.ceil(bytes), 'a scalar')
    t.equal(Tensor.zeros(dtype, [4, 0]).data.length, 0, 'empty')
    t.ok(isDType(dtype))
  }
  for (const no of ['float', 'toString', '__proto__', 5, null, undefined]) t.notOk(isDType(no))
  t.equal(elementCount([]), 1)
  t.end()
})

t.test('a tensor is a view that does not change', (t) => {
  const data = Float32Array.of(1, 2, 3, 4, 5, 6)
  const shape = [2, 3]
  const tensor = new Tensor('float32', data, shape)
  t.equal(tensor.data, data)
  shape[0] = 9
  t.same(tensor.shape, [2, 3])
  t.ok(Object.isFrozen(tensor) && Object.isFrozen(tensor.shape))
  t.equal(tensor.size, 6)
  t.equal(tensor.reshape([6]).data, data)
  const copy = tensor.clone()
  data[0] = 9
  t.same([copy.dtype, copy.shape, copy.data], ['float32', [2, 3], Float32Array.of(1, 2, 3, 4, 5, 6)])
  t.end()
})

t.test('from takes the data type from the array', (t) => {
  const rows: [TypedData, DType][] = [
    [new Float32Array(2), 'float32'],
    [new Int32Array(2), 'int32'],
    [new BigInt64Array(2), 'int64'],
    [new Int8Array(2), 'int8'],
    [new Uint8Array(2), 'uint8'],
    [new Uint8ClampedArray(2), 'uint8'],
    [Buffer.alloc(2), 'uint8'],
    [new Float64Array(2), 'float64'],
    [new Int16Array(2), 'int16'],
    [new Uint32Array(2), 'uint32'],
    [new BigUint64Array(2), 'uint64'],
  ]
  for (const [data, dtype] of rows) {
    const tensor = Tensor.from(data)
    t.same([tensor.dtype, tensor.shape], [dtype, [2]])
  }
  t.same(Tensor.from(new Float32Array(6), [2, 3]).shape, [2, 3])
  const Float16 = (globalThis as { Float16Array?: new (n: number) => Uint8Array }).Float16Array
  if (Float16) t.equal(Tensor.from(new Float16(2)).dtype, 'float16')
  t.end()
})

t.test('the types of the CPU alone, from an array and from bytes', (t) => {
  const given = [
    new Tensor('float64', Float64Array.of(-0, Number.MIN_VALUE, Number.MAX_VALUE, -Infinity, NaN), [5]),
    new Tensor('int16', Int16Array.of(-32768, -1, 32767), [3]),
    new Tensor('uint16', Uint16Array.of(0, 0x3c00, 65535), [3]),
    new Tensor('uint32', Uint32Array.of(0, 2 ** 31, 2 ** 32 - 1), [3]),
    new Tensor('uint64', BigUint64Array.of(0n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n), [4]),
  ]
  for (const tensor of given) {
    const again = Tensor.fromBytes(tensor.dtype, copiedBytes(tensor.data), tensor.shape)
    t.equal(again.data.constructor, tensor.data.constructor, tensor.dtype)
    t.same(again, tensor, `${tensor.dtype}: from bytes`)
    t.same(tensor.clone(), tensor, `${tensor.dtype}: cloned`)
    t.equal(tensor.as(tensor.dtype), tensor)
    const { BYTES_PER_ELEMENT: size } = tensor.data
    t.throws(() => Tensor.fromBytes(tensor.dtype, new ArrayBuffer(size + 1), [1]), {
      code: 'ERR_TRT_SHAPE',
      message: `Expected a multiple of ${size} bytes for a ${tensor.dtype} tensor but received ${size + 1}`,
    })
    t.throws(() => new Tensor(tensor.dtype as 'int8', new Int8Array(8), [8]), {
      code: 'ERR_TRT_DTYPE',
      message: /received Int8Array/,
    })
  }
  t.equal(given[4]?.data[3], 2n ** 64n - 1n)
  t.throws(() => new Tensor('uint64', new BigInt64Array(1) as never, [1]), {
    code: 'ERR_TRT_DTYPE',
    message: /Expected a BigUint64Array/,
  })
  const Float16 = (globalThis as { Float16Array?: new (n: number) => Uint16Array }).Float16Array
  if (Float16)
    t.throws(() => new Tensor('uint16', new Float16(1), [1]), {
      code: 'ERR_TRT_DTYPE',
      message: /received Float16Array/,
    })
  t.end()
})

t.test('only what the class made is a Tensor', (t) => {
  const tensor = Tensor.zeros('int8', [1])
  t.ok(Tensor.is(tensor))
  for (const no of [
    new Proxy(tensor, {}),
    Object.create(Tensor.prototype),
    Object.assign({}, tensor),
    null,
    undefined,
    5,
  ])
    t.notOk(Tensor.is(no))
  t.end()
})

t.test('bytes are copied, of a Buffer too', (t) => {
  const bytes = Buffer.from([1, 2, 3, 4])
  const copy = copiedBytes(bytes.subarray(1, 3))
  bytes.fill(0)
  t.same(new Uint8Array(copy), Uint8Array.of(2, 3))
  const gone = new Uint8Array(2)
  structuredClone(gone.buffer, { transfer: [gone.buffer] })
  t.equal(copiedBytes(gone).byteLength, 0)
  t.end()
})

t.test('misuse', (t) => {
  const f = new Float32Array(6)
  const rows: [what: string, make: () => unknown, code: string, message: RegExp][] = [
    ['an unknown data type', () => new Tensor('float' as DType, f, [6]), 'ERR_TRT_INVALID_ARGUMENT', /Expected one of float32, .* for dtype but received string "float"/],
    ['no array', () => new Tensor('float32', 'x' as unknown as Float32Array, [1]), 'ERR_TRT_INVALID_ARGUMENT', /Expected a Float32Array, or an array of plain values, for data but received string "x"/],
    ['a promise', () => new Tensor('float32', Promise.resolve(f) as unknown as Float32Array, [6]), 'ERR_TRT_INVALID_ARGUMENT', /for data but received a Promise: await it/],
    ['a DataView', () => new Tensor('uint8', new DataView(new ArrayBuffer(1)) as unknown as Uint8Array, [1]), 'ERR_TRT_INVALID_ARGUMENT', /received DataView/],
    ['another array', () => new Tensor('float32', new Float64Array(6) as unknown as Float32Array, [6]), 'ERR_TRT_DTYPE', /Expected a Float32Array for the data of a float32 tensor but received Float64Array/],
    ['too few elements', () => new Tensor('float32', f, [7]), 'ERR_TRT_SHAPE', /^Expected 7 elements \(28 bytes\) of data for a float32 tensor of shape \[7\] but received 6 \(24 bytes\)$/],
    ['too few packed', () => new Tensor('int4', new Uint8Array(3), [3, 5]), 'ERR_TRT_SHAPE', /^Expected 8 bytes \(15 elements, two in a byte\) of data for a int4 tensor of shape \[3, 5\] but received 3$/],
    ['no shape', () => new Tensor('float32', f, 6 as unknown as number[]), 'ERR_TRT_INVALID_ARGUMENT', /Expected an array of non-negative integers for shape but received number 6/],
    ['a negative dimension', () => new Tensor('float32', f, [-1, 6]), 'ERR_TRT_SHAPE', /received number -1 in \[-1, 6\]/],
    ['half a dimension', () => new Tensor('float32', f, [1.5, 4]), 'ERR_TRT_SHAPE', /received number 1.5/],
    ['a hole', () => new Tensor('float32', f, new Array(1) as number[]), 'ERR_TRT_SHAPE', /received undefined/],
    ['nine dimensions', () => new Tensor('float32', f, new Array(9).fill(1) as number[]), 'ERR_TRT_SHAPE', /at most 8 dimensions for shape but received 9/],
    ['too many elements', () => Tensor.zeros('int8', [2 ** 30, 2 ** 30]), 'ERR_TRT_SHAPE', /more elements than a number can count/],
    ['zeros beyond memory', () => Tensor.zeros('float32', [2 ** 20, 2 ** 30]), 'ERR_TRT_OUT_OF_MEMORY', /float32 tensor of shape \[1048576, 1073741824\] has 4503599627370496 bytes, which is more than can be had/],
    ['zeros just beyond what an array can be', () => Tensor.zeros('float32', [2 ** 47]), 'ERR_TRT_OUT_OF_MEMORY', /bytes, which is more than can be had/],
    ['zeros of nothing known', () => Tensor.zeros('x' as DType, [1]), 'ERR_TRT_INVALID_ARGUMENT', /for dtype/],
    ['bytes of nothing known', () => Tensor.fromBytes('x' as DType, new ArrayBuffer(1), [1]), 'ERR_TRT_INVALID_ARGUMENT', /for dtype/],
    ['bytes that are none', () => Tensor.fromBytes('int8', f as unknown as ArrayBuffer, [24]), 'ERR_TRT_INVALID_ARGUMENT', /Expected an ArrayBuffer or a Uint8Array for buffer but received Float32Array/],
    ['bytes that begin within an element', () => Tensor.fromBytes('float32', new Uint8Array(16).subarray(2, 10), [2]), 'ERR_TRT_INVALID_ARGUMENT', /Expected a byteOffset that is a multiple of 4 for a float32 tensor but received 2/],
    ['half an element of a view', () => Tensor.fromBytes('float32', new Uint8Array(16).subarray(4, 10), [1]), 'ERR_TRT_SHAPE', /Expected a multiple of 4 bytes/],
    ['half an element', () => Tensor.fromBytes('float32', new ArrayBuffer(6), [1]), 'ERR_TRT_SHAPE', /Expected a multiple of 4 bytes/],
    ['from a plain array', () => Tensor.from([1] as unknown as Float32Array), 'ERR_TRT_INVALID_ARGUMENT', /Expected a Float32Array, Int32Array.* received array \[1\]: of plain numbers new Tensor\(dtype, values, shape\) makes one$/],
    ['from nested arrays', () => Tensor.from([[1], [2]] as unknown as Float32Array), 'ERR_TRT_INVALID_ARGUMENT', /new Tensor\(dtype, values\.flat\(Infinity\), shape\)/],
    ['from numbers of three types', () => Tensor.from(new Uint16Array(1) as unknown as Uint8Array), 'ERR_TRT_INVALID_ARGUMENT', /BigUint64Array \(other data types, float16, bfloat16 and uint16 among them: new Tensor\(.* received Uint16Array/],
    ['another size', () => new Tensor('float32', f, [6]).reshape([5]), 'ERR_TRT_SHAPE', /Expected 5 elements \(20 bytes\)/],
  ] // prettier-ignore
  for (const [what, make, code, message] of rows) t.throws(make, { name: 'TensorRTError', code, message }, what)
  t.end()
})
