// Feeds, fetches and options of run() that are wrong.
import { expand, identities, lookUp, nonZero } from '../../support/models.js'
import type { Given, Name, Row } from './table.js'

const three = (): Float32Array => new Float32Array(3)

/** What looks like a Tensor, in part. */
const like = (more: object): object => ({ type: 'float32', dims: [1, 3], location: 'cpu', data: three(), ...more })

const without = (name: string): object => {
  const tensor = like({})
  Reflect.deleteProperty(tensor, name)
  return tensor
}

type Part = readonly [what: string, value: (given: Given) => unknown, name: Name, words: RegExp, theirs?: Row[4]]

const detached = (): Float32Array => {
  const data = new Float32Array(3)
  structuredClone(data.buffer, { transfer: [data.buffer] })
  return data
}

/** Bytes that shrink under the view that is on them. */
const shrunk = (): Float32Array => {
  const buffer = new (ArrayBuffer as any)(12, { maxByteLength: 24 })
  const data = new Float32Array(buffer)
  buffer.resize(4)
  return data
}

const own = (message: string): never => {
  throw new RangeError(message)
}

const revoked = (target: object): object => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

/** The feed `b`, beside a good `a`. */
const feeds: readonly Part[] = [
  ['undefined', () => undefined, 'Error', /input 'b' is missing/],
  ['null', () => null, 'TypeError', /Tensor must be an object.*'b'|Tensor must be an object/],
  ['a number', () => 1, 'TypeError', /Tensor must be an object/],
  ['a text', () => 'x', 'TypeError', /Tensor must be an object/],
  ['a boolean', () => true, 'TypeError', /Tensor must be an object/],
  ['a symbol', () => Symbol('x'), 'TypeError', /Tensor must be an object/],
  ['a function', () => three, 'TypeError', /Tensor/],
  ['an array of numbers', () => [1, 2, 3], 'TypeError', /Tensor.dims must be an array/],
  ['a Float32Array', three, 'TypeError', /Tensor.dims must be an array/],
  ['a Promise', () => Promise.resolve(like({})), 'TypeError', /Tensor.dims/],
  ['an empty object', () => ({}), 'TypeError', /Tensor.dims/],
  ['an object without dims', () => without('dims'), 'TypeError', /Tensor.dims/],
  ['an object without a location', () => without('location'), 'TypeError', /Tensor.location/],
  ['an object without a type', () => without('type'), 'TypeError', /Tensor.type/],
  ['an object without data', () => without('data'), 'TypeError', /Tensor.data/],
  ['dims that are a text', () => like({ dims: '1x3' }), 'TypeError', /Tensor.dims/],
  ['dims that are an object', () => like({ dims: { 0: 1, 1: 3, length: 2 } }), 'TypeError', /Tensor.dims/],
  ['dims that are typed', () => like({ dims: Int32Array.of(1, 3) }), 'TypeError', /Tensor.dims/],
  ['a dimension that is a text', () => like({ dims: [1, '3'] }), 'TypeError', /Tensor.dims\[1\]/],
  ['a dimension that is a bigint', () => like({ dims: [1n, 3n] }), 'TypeError', /Tensor.dims\[0\]/],
  ['a dimension of null', () => like({ dims: [null, 3] }), 'TypeError', /Tensor.dims\[0\]/],
  ['dims with a hole', () => like({ dims: [1, , 3] }), 'TypeError', /Tensor.dims\[1\]/], // eslint-disable-line no-sparse-arrays
  ['a negative dimension', () => like({ dims: [-1, 3] }), 'RangeError', /Tensor.dims\[0\]/],
  ['a dimension of NaN', () => like({ dims: [1, NaN] }), 'RangeError', /Tensor.dims\[1\]/],
  ['a dimension of 1.5', () => like({ dims: [2, 1.5] }), 'RangeError', /Tensor.dims\[1\]/],
  ['an infinite dimension', () => like({ dims: [Infinity, 3] }), 'RangeError', /Tensor.dims\[0\]/],
  ['a dimension of 2 ** 40', () => like({ dims: [2 ** 40, 3] }), 'RangeError', /Tensor.dims\[0\]/],
  ['dims of more than there is', () => like({ dims: [2 ** 31, 3] }), 'Error', /./],
  ['dims whose product is too large', () => like({ dims: [2 ** 31, 2 ** 31, 2 ** 31] }), 'Error', /./],
  ['more than 8 dimensions', () => like({ dims: Array(9).fill(1) }), 'Error', /./],
  ['a million dimensions', () => like({ dims: Array(1e6).fill(1) }), 'Error', /./, 'untried'],
  ['fewer data than dims', () => like({ data: new Float32Array(2) }), 'Error', /./],
  ['more data than dims', () => like({ data: new Float32Array(4) }), 'Error', /./, 'runs'],
  ['no data at all', () => like({ data: new Float32Array(0) }), 'Error', /./],
  ['a location that is a number', () => like({ location: 1 }), 'TypeError', /Tensor.location/],
  ['a location of nowhere', () => like({ location: 'moon' }), 'RangeError', /Tensor.location/],
  ['a location of none', () => like({ location: 'none' }), 'RangeError', /Tensor.location/],
  ['a texture', () => like({ location: 'texture', texture: {} }), 'RangeError', /Tensor.location/, 'TypeError'],
  ['a GPU buffer', () => like({ location: 'gpu-buffer', gpuBuffer: {} }), 'RangeError', /Tensor.location/, 'TypeError'],
  ['an ml-tensor', () => like({ location: 'ml-tensor', mlTensor: {} }), 'RangeError', /Tensor.location/, 'TypeError'],
  ['a type that is a number', () => like({ type: 1 }), 'TypeError', /Tensor.type/],
  ['a type of nothing', () => like({ type: 'complex64' }), 'TypeError', /Tensor.type/],
  ['a type of an empty name', () => like({ type: '' }), 'TypeError', /Tensor.type/],
  ['a type by the name of a method', () => like({ type: 'toString' }), 'TypeError', /Tensor.type/],
  ['a type in capitals', () => like({ type: 'FLOAT32' }), 'TypeError', /Tensor.type/],
  ['a type that is bfloat16', () => like({ type: 'bfloat16', data: new Uint16Array(3) }), 'TypeError', /Tensor.type/],
  ['data that is an array', () => like({ data: [1, 2, 3] }), 'TypeError', /Tensor.data must be a typed array/],
  ['data that is an ArrayBuffer', () => like({ data: new ArrayBuffer(12) }), 'TypeError', /Tensor.data/],
  ['data that is a DataView', () => like({ data: new DataView(new ArrayBuffer(12)) }), 'TypeError', /Tensor.data/],
  ['data that is a text', () => like({ data: 'abc' }), 'TypeError', /Tensor.data/],
  ['data of null', () => like({ data: null }), 'TypeError', /Tensor.data/],
  ['data of another array', () => like({ data: new Float64Array(3) }), 'TypeError', /Tensor.data/],
  ['data of whole numbers', () => like({ data: new Int32Array(3) }), 'TypeError', /Tensor.data/],
  ['data of a proxy', () => like({ data: new Proxy(three(), {}) }), 'TypeError', /Tensor.data/],
  ['data that was transferred away', () => like({ data: detached() }), 'Error', /./, 'untried'],
  ['data of a buffer that shrank', () => like({ data: shrunk() }), 'Error', /./, 'untried'],
  ['a type that the model has not', () => like({ type: 'float64', data: new Float64Array(3) }), 'Error', /float64/],
  ['int32 for float32', () => like({ type: 'int32', data: new Int32Array(3) }), 'Error', /int32/],
  ['bool for float32', () => like({ type: 'bool', data: new Uint8Array(3) }), 'Error', /bool/],
  ['float16 for float32', () => like({ type: 'float16', data: new Uint16Array(3) }), 'Error', /float16/],
  ['texts for numbers', ({ ort }) => new ort.Tensor(['a', 'b', 'c'], [1, 3]), 'Error', /string/],
  ['another shape', ({ x }) => x([1, 4]), 'Error', /./],
  ['another rank', ({ x }) => x([3]), 'Error', /./],
  ['a scalar', ({ ort }) => new ort.Tensor('float32', new Float32Array(1), []), 'Error', /./],
  ['a tensor that was disposed', ({ x }) => disposed(x()), 'RangeError', /Tensor.location/],
  ['a getter of dims that throws', () => like({ get dims() { return own('dims') } }), 'RangeError', /dims/, 'untried'], // prettier-ignore
  ['a getter of type that throws', () => getter('type'), 'RangeError', /type/, 'untried'],
  ['a getter of data that throws', () => getter('data'), 'RangeError', /data/, 'untried'],
  ['a getter of location that throws', () => getter('location'), 'RangeError', /location/, 'untried'],
  ['a proxy that was revoked', () => revoked(like({})), 'TypeError', /Cannot perform.*proxy/, 'untried'],
  ['a tensor of node-tensorrt', () => ({ dtype: 'float32', shape: [1, 3], data: three() }), 'TypeError', /Tensor.dims/],
]

function getter(name: string): object {
  return Object.defineProperty(like({}), name, { get: () => own(`the ${name}`) })
}

function disposed(tensor: any): object {
  tensor.dispose()
  return tensor
}

/** All that stands where the feeds do. */
const records: readonly Part[] = [
  ['nothing', () => undefined, 'TypeError', /'feeds'/],
  ['null', () => null, 'TypeError', /'feeds'/],
  ['a number', () => 1, 'TypeError', /'feeds'/],
  ['a text', () => 'a', 'TypeError', /'feeds'/],
  ['a function', () => three, 'TypeError', /'feeds'/],
  ['a bare tensor', ({ x }) => x(), 'TypeError', /'feeds'/],
  ['an array of tensors', ({ x }) => [x(), x()], 'TypeError', /'feeds'/],
  ['nothing in them', () => ({}), 'Error', /input 'a' is missing/],
  ['a Map', ({ x }) => new Map([['a', x()]]), 'Error', /input 'a' is missing/],
  ['other names', ({ x }) => ({ A: x(), B: x() }), 'Error', /input 'a' is missing/],
  ['one of two', ({ x }) => ({ a: x() }), 'Error', /input 'b' is missing/],
  ['a Promise of them', ({ x }) => Promise.resolve({ a: x(), b: x() }), 'Error', /input 'a' is missing/],
  ['a getter that throws', ({ x }) => ({ a: x(), get b() { return own('b') } }), 'RangeError', /^b$/, 'untried'], // prettier-ignore
  ['a proxy that was revoked', () => revoked({}), 'TypeError', /Cannot perform.*proxy/, 'untried'],
]

/** What follows the feeds. */
const rest: readonly (readonly [
  what: string,
  rest: (given: Given) => unknown[],
  name: Name,
  words: RegExp,
  theirs?: Row[4],
])[] = [
  ['fetches of null', () => [null], 'TypeError', /argument\[1\]/],
  ['fetches that are a number', () => [1], 'TypeError', /argument\[1\]/],
  ['fetches that are a text', () => ['sum'], 'TypeError', /argument\[1\]/],
  ['fetches that are a function', () => [three], 'TypeError', /argument\[1\]/],
  ['fetches that are a tensor', ({ x }) => [x()], 'TypeError', /'fetches'/],
  ['no fetches at all', () => [[]], 'TypeError', /'fetches'/],
  ['fetches that are numbers', () => [[1, 2, 3]], 'TypeError', /'fetches'/],
  ['fetches of null in a list', () => [['sum', null]], 'TypeError', /'fetches'/],
  ['fetches of an unknown name', () => [['sum', 'product']], 'RangeError', /product/],
  ['fetches of an input', () => [['a']], 'RangeError', /invalid output name: a/],
  ['fetches of an empty name', () => [['']], 'RangeError', /'fetches'/],
  ['fetches by the name of a method', () => [['toString']], 'RangeError', /'fetches'/],
  ['options that are a number', () => [['sum'], 1], 'TypeError', /'options'/],
  ['options of null', () => [['sum'], null], 'TypeError', /'options'/],
  ['options that are a text', () => [{ sum: null }, 'x'], 'TypeError', /'options'/],
  ['a severity that is a text', () => [{ logSeverityLevel: 'error' }], 'TypeError', /logSeverityLevel/],
  ['a severity of null', () => [{ logSeverityLevel: null }], 'TypeError', /logSeverityLevel/],
  ['a severity of 8', () => [{ logSeverityLevel: 8 }], 'RangeError', /logSeverityLevel/],
  ['a severity of -1', () => [{ logSeverityLevel: -1 }], 'RangeError', /logSeverityLevel/],
  ['a severity of 1.5', () => [['sum'], { logSeverityLevel: 1.5 }], 'RangeError', /logSeverityLevel/],
  ['a severity of NaN', () => [{ sum: null }, { logSeverityLevel: NaN }], 'RangeError', /logSeverityLevel/],
  ['a tag that is a number', () => [{ tag: 1 }], 'TypeError', /tag/],
  ['a tag of null', () => [['sum'], { tag: null }], 'TypeError', /tag/],
  ['options of a getter that throws', () => [{ get tag() { return own('the tag') } }], 'RangeError', /the tag/, 'untried'], // prettier-ignore
]

/** A place for the output `sum`, float32 [1, 3]. */
const places: readonly Part[] = [
  ['another shape of as many', ({ x }) => x([3, 1]), 'Error', /fetch "sum"/],
  ['too few columns', ({ x }) => x([1, 2]), 'Error', /fetch "sum"/],
  ['too many columns', ({ x }) => x([1, 4]), 'Error', /fetch "sum"/],
  ['too many rows', ({ x }) => x([2, 3]), 'Error', /./],
  ['another rank', ({ x }) => x([3]), 'Error', /fetch "sum"/],
  ['no dimensions', ({ ort }) => new ort.Tensor('float32', new Float32Array(1), []), 'Error', /fetch "sum"/],
  ['another type', ({ ort }) => new ort.Tensor('int32', new Int32Array(3), [1, 3]), 'Error', /fetch "sum"/],
  [
    'a type of as many bytes',
    ({ ort }) => new ort.Tensor('uint32', new Uint32Array(3), [1, 3]),
    'Error',
    /fetch "sum"/,
  ],
  ['a larger type', ({ ort }) => new ort.Tensor('float64', new Float64Array(3), [1, 3]), 'Error', /fetch "sum"/],
  ['texts', ({ ort }) => new ort.Tensor(['', '', ''], [1, 3]), 'Error', /string/],
  ['a tensor that was disposed', ({ x }) => disposed(x()), 'RangeError', /Tensor.location/],
  [
    'data that was transferred away',
    ({ ort }) => late(ort, (data) => structuredClone(data.buffer, { transfer: [data.buffer] })),
    'Error',
    /./,
    'untried',
  ],
  ['data of a buffer that shrank', ({ ort }) => place(ort, shrunkLater), 'Error', /./, 'untried'],
]

/** A Tensor whose memory changes after it was made. */
function late(ort: any, change: (data: Float32Array<ArrayBuffer>) => void): object {
  const data = three() as Float32Array<ArrayBuffer>
  const tensor = new ort.Tensor('float32', data, [1, 3])
  change(data)
  return tensor
}

function place(ort: any, change: (data: Float32Array) => void): object {
  const data = new Float32Array(new (ArrayBuffer as any)(12, { maxByteLength: 24 }))
  const tensor = new ort.Tensor('float32', data.subarray(0, 3), [1, 3])
  change(data)
  return tensor
}

const shrunkLater = ({ buffer }: Float32Array): void => (buffer as any).resize(4)

/** Failures of the model itself. */
const failing: readonly Row[] = [
  ['rows that do not go together', ({ run, x }) => run({ a: x([2, 3]), b: x([3, 3]) }), 'Error', /./],
  [
    'an index beyond the table',
    async ({ ort, opened }) => (await opened(lookUp())).run({ x: new ort.Tensor('int64', BigInt64Array.of(9n), [1]) }),
    'Error',
    /./,
  ],
  [
    'a shape that it cannot have',
    async ({ ort, opened }) =>
      (await opened(expand())).run({
        x: new ort.Tensor('float32', three(), [3]),
        s: new ort.Tensor('int64', BigInt64Array.of(2n), [1]),
      }),
    'Error',
    /./,
  ],
  [
    'int64 that came as numbers',
    async ({ opened }) => (await opened(lookUp())).run({ x: { type: 'int64', dims: [1], location: 'cpu', data: [1] } }),
    'TypeError',
    /Tensor.data/,
  ],
  [
    'int64 in an Int32Array',
    async ({ opened }) =>
      (await opened(lookUp())).run({ x: { type: 'int64', dims: [1], location: 'cpu', data: Int32Array.of(1) } }),
    'TypeError',
    /Tensor.data/,
  ],
  [
    'uint64 for int64',
    async ({ ort, opened }) =>
      (await opened(lookUp())).run({ x: new ort.Tensor('uint64', BigUint64Array.of(1n), [1]) }),
    'Error',
    /uint64/,
  ],
  [
    'a place for more than was found',
    async ({ ort, opened }) =>
      (await opened(nonZero())).run(
        { x: new ort.Tensor('float32', Float32Array.of(1, 0), [2]) },
        { y: new ort.Tensor('int64', new BigInt64Array(2), [1, 2]) },
      ),
    'Error',
    /./,
  ],
  [
    'one of many types',
    async ({ ort, opened }) =>
      (await opened(identities([{ name: 'h', dtype: 'float16', shape: [2] }]))).run({
        h: new ort.Tensor('uint16', new Uint16Array(2), [2]),
      }),
    'Error',
    /uint16/,
  ],
]

export const rows: readonly Row[] = [
  ...records.map(([what, value, name, words, theirs]): Row => [
    `feeds: ${what}`,
    (given) => given.session.run(value(given)),
    name,
    words,
    theirs,
  ]),
  ...feeds.map(([what, value, name, words, theirs]): Row => [
    `a feed: ${what}`,
    (given) => given.session.run({ a: given.x(), b: value(given) }),
    name,
    words,
    theirs,
  ]),
  ...rest.map(([what, values, name, words, theirs]): Row => [
    what,
    (given) => given.run(undefined, ...values(given)),
    name,
    words,
    theirs,
  ]),
  ...places.map(([what, value, name, words, theirs]): Row => [
    `a place: ${what}`,
    (given) => given.run(undefined, { sum: value(given) }),
    name,
    words,
    theirs,
  ]),
  ...failing,
]
