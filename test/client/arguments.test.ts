// What is wrong with a call is told before anything is sent: these clients have no server.
import t from 'tap'
import { GrpcClient, HttpClient, type InferenceClient } from '../../lib/client/index.js'
import { describe } from '../../lib/errors.js'
import { Tensor } from '../../lib/index.js'
import { classificationOf } from '../../lib/client/outputs.js'
import { parseExactly } from '../../lib/client/json.js'

const nowhere: readonly InferenceClient[] = [new HttpClient('http://127.0.0.1:1'), new GrpcClient('127.0.0.1:1')]
const one = Tensor.from(new Float32Array([1]), [1, 1])

interface Wanted {
  readonly code: string
  readonly message?: RegExp
}

const invalid = 'ERR_TRT_INVALID_ARGUMENT'

t.test('addresses', (t) => {
  const http = (url: unknown): string => new HttpClient(url as string).url
  const grpc = (url: unknown): string => new GrpcClient(url as string).url
  t.equal(http('http://localhost'), 'http://localhost:80')
  t.equal(http('https://h/'), 'https://h:443')
  t.equal(http(new URL('http://[::1]:8000/a/b/')), 'http://[::1]:8000/a/b')
  t.equal(grpc('localhost'), 'grpc://localhost:8001')
  t.equal(grpc('localhost:9'), 'grpc://localhost:9')
  t.equal(grpc('[::1]:9'), 'grpc://[::1]:9')
  t.equal(grpc('grpcs://h:9'), 'grpcs://h:9')
  t.equal(grpc('https://h'), 'https://h:443')
  const wrongHttp = [
    'localhost:8000',
    'localhost',
    '',
    'ftp://h',
    'grpc://h',
    'http://',
    'http://h:99999',
    'http://[::1',
    'http://h/?a',
    'http://h/#a',
    'http://me:secret@h',
    5,
    null,
    undefined,
    {},
  ]
  for (const url of wrongHttp)
    t.throws(
      () => http(url),
      { code: invalid, message: /^Expected an address such as http:\/\/localhost:8000.* for url but received/ },
      describe(url),
    )
  for (const url of ['', 'h:99999', 'ftp://h', 'grpc://h/path', 'h/path', 'a b', 5, null, undefined])
    t.throws(
      () => grpc(url),
      { code: invalid, message: /^Expected an address such as localhost:8001.* for url but received/ },
      describe(url),
    )
  try {
    http('http://me:secret@h')
  } catch (error) {
    t.notMatch(String(error), 'secret')
  }
  t.end()
})

t.test('options of clients', (t) => {
  const wrong: readonly (readonly [options: unknown, message: RegExp])[] = [
    [5, /^Expected an object for the options of HttpClient but received number 5/],
    [{ maxConections: 1 }, /^Unknown option "maxConections" for HttpClient: did you mean maxConnections\?/],
    [{ maxConnections: 0 }, /^Expected an integer from 1 to 65535 for maxConnections but received number 0/],
    [{ keepAliveMs: 'x' }, /for keepAliveMs/],
    [{ timeoutMs: -1 }, /^Expected milliseconds above 0 .* for timeoutMs/],
    [{ retries: -1 }, /for retries but received number -1/],
    [{ retries: { times: 1.5 } }, /for retries/],
    [{ retries: { when: 1 } }, /^Expected a function for when/],
    [{ retries: { delay: 1 } }, /^Unknown option "delay"/],
    [{ headers: { 'Content-Length': '1' } }, /for headers but received string "Content-Length"/],
    [{ headers: { a: 1 } }, /^Expected a string for headers\['a'\] but received number 1/],
    [{ headers: { 'a b': 'c' } }, /that HTTP allows/],
    [{ headers: { a: 'b\r\nc: d' } }, /that HTTP allows/],
    [{ headers: [] }, /^Expected an object for headers/],
    [{ checkModels: 1 }, /^Expected true or false for checkModels/],
    [{ tls: { ca: 5 } }, /^Expected PEM .* for ca/],
    [{ tls: { cert: '-----BEGIN CERTIFICATE-----' } }, /^Expected cert and key together/],
    [{ tls: { rejectUnauthorized: 0 } }, /for rejectUnauthorized/],
  ]
  for (const [options, message] of wrong)
    t.throws(() => new HttpClient('http://h', options as object), { code: invalid, message }, JSON.stringify(options))
  t.throws(() => new GrpcClient('h', { maxConnections: 1 } as object), {
    code: invalid,
    message: /Unknown option "maxConnections" for GrpcClient/,
  })
  t.end()
})

t.test('inferences', async (t) => {
  const fp8 = new Tensor('float8e4m3', new Uint8Array(1), [1])
  const half = String.fromCharCode(0xd800)
  const wrong: readonly (readonly [model: unknown, inputs: unknown, options: unknown, error: Wanted])[] = [
    ['', { a: one }, {}, { code: invalid, message: /^Expected a non-empty string for model/ }],
    [undefined, { a: one }, {}, { code: invalid }],
    [
      'm',
      undefined,
      {},
      { code: invalid, message: /^Expected an object with a value for each input for inputs but received undefined/ },
    ],
    ['m', {}, {}, { code: invalid, message: /for inputs/ }],
    ['m', [one], {}, { code: invalid, message: /for inputs but received array/ }],
    ['m', one, {}, { code: invalid, message: /for inputs but received Tensor/ }],
    ['m', new Map(), {}, { code: invalid, message: /for inputs but received Map/ }],
    ['m', Promise.resolve({}), {}, { code: invalid, message: /for inputs but received a Promise: await it/ }],
    ['m', { '': one }, {}, { code: invalid }],
    [
      'm',
      { a: new Float32Array(1) },
      {},
      { code: invalid, message: /^Expected a Tensor, or for BYTES .* for input 'a' but received Float32Array/ },
    ],
    ['m', { a: undefined }, {}, { code: invalid, message: /for input 'a' but received undefined/ }],
    [
      'm',
      { a: { type: 'float32', dims: [1], data: new Float32Array(1) } },
      {},
      { code: invalid, message: /a tensor of onnxruntime: Tensor.from/ },
    ],
    [
      'm',
      { a: fp8 },
      {},
      {
        code: 'ERR_TRT_DTYPE',
        message: /^Expected a data type that KServe has \(BOOL, .*\) for input 'a' but received float8e4m3/,
      },
    ],
    ['m', { a: new Tensor('int4', new Uint8Array(1), [2]) }, {}, { code: 'ERR_TRT_DTYPE' }],
    [
      'm',
      { a: ['x', 1] },
      {},
      { code: invalid, message: /^Expected a string or a Uint8Array for element 1 of input 'a' but received number 1/ },
    ],
    ['m', { a: [half] }, {}, { code: invalid, message: /half a surrogate pair/ }],
    [
      'm',
      { a: { shape: [2], data: ['x'] } },
      {},
      { code: 'ERR_TRT_SHAPE', message: /^Expected 2 elements for input 'a' of shape \[2\] but received 1/ },
    ],
    ['m', { a: { shape: [-1], data: ['x'] } }, {}, { code: 'ERR_TRT_SHAPE' }],
    [
      'm',
      { a: one },
      { outputs: ['x', 'x'] },
      { code: invalid, message: /each once, for outputs but received string "x"/ },
    ],
    ['m', { a: one }, { outputs: 'x' }, { code: invalid }],
    [
      'm',
      { a: one },
      { classification: 3 },
      { code: invalid, message: /names of the outputs, since classification is a number, for outputs/ },
    ],
    ['m', { a: one }, { classification: { x: 0 } }, { code: invalid, message: /for classification of 'x'/ }],
    [
      'm',
      { a: one },
      { outputs: ['y'], classification: { x: 1 } },
      { code: invalid, message: /for classification but received string "x"/ },
    ],
    ['m', { a: one }, { version: -1 }, { code: invalid, message: /for version/ }],
    ['m', { a: one }, { version: '' }, { code: invalid }],
    ['m', { a: one }, { id: 1 }, { code: invalid, message: /^Expected a string for id/ }],
    ['m', { a: one }, { priority: 1.5 }, { code: invalid }],
    ['m', { a: one }, { queueTimeoutMs: 0 }, { code: invalid }],
    ['m', { a: one }, { timeoutMs: 0 }, { code: invalid }],
    ['m', { a: one }, { signal: {} }, { code: invalid }],
    ['m', { a: one }, { parameters: { x: {} } }, { code: invalid, message: /for parameters.x/ }],
    ['m', { a: one }, { parameters: { x: NaN } }, { code: invalid }],
    ['m', { a: one }, { parameters: { x: 2n ** 64n } }, { code: invalid }],
    [
      'm',
      { a: one },
      { parameters: { priority: 1 } },
      { code: invalid, message: /the option priority in place of 'priority'/ },
    ],
    ['m', { a: one }, { parameters: { timeout: 1 } }, { code: invalid, message: /the option queueTimeoutMs/ }],
    ['m', { a: one }, { encoding: 'text' }, { code: invalid, message: /for encoding/ }],
    ['m', { a: one }, { texts: 'latin1' }, { code: invalid, message: /for texts/ }],
    ['m', { a: one }, { outputz: [] }, { code: invalid, message: /did you mean outputs/ }],
  ]
  for (const client of nowhere)
    for (const [model, inputs, options, error] of wrong)
      await t.rejects(client.infer(model as string, inputs as never, options as never), error)
  const json = { encoding: 'json' } as const
  const [http, grpc] = nowhere as [InferenceClient, InferenceClient]
  await t.rejects(http.infer('m', { a: Tensor.from(new Float32Array([NaN])) }, json), {
    code: invalid,
    message: /^Expected finite numbers/,
  })
  await t.rejects(http.infer('m', { a: [Uint8Array.of(255)] }, json), { code: invalid, message: /^Expected UTF-8/ })
  await t.rejects(grpc.infer('m', { a: one }, json), { code: invalid, message: /gRPC has no JSON/ })
})

t.test("a tensor whose memory is another thread's now", async (t) => {
  const data = new Float32Array(4)
  const tensor = Tensor.from(data)
  structuredClone(data.buffer, { transfer: [data.buffer] })
  for (const client of nowhere)
    await t.rejects(client.infer('m', { a: tensor }), {
      code: 'ERR_TRT_DETACHED',
      message: /^Expected 16 bytes behind input 'a' but found 0/,
    })
})

t.test('other calls', async (t) => {
  for (const client of nowhere) {
    await t.rejects(client.load('m', { files: { a: 'x' } as never }), { code: invalid, message: /files\['a'\]/ })
    await t.rejects(client.load('m', { config: 5 as never }), { code: invalid })
    await t.rejects(client.unload('m', { dependents: 'x' as never }), { code: invalid })
    await t.rejects(client.statistics(undefined, { version: 1 }), { code: invalid, message: /name of a model/ })
    await t.rejects(client.modelMetadata(5 as never), { code: invalid })
    await t.rejects(client.isLive({ timeout: 5 } as never), { code: invalid, message: /did you mean timeoutMs/ })
    await t.rejects(client.repositoryIndex({ ready: 1 as never }), { code: invalid })
  }
  const grpc = nowhere[1] as GrpcClient
  t.throws(() => grpc.stream({ classes: 'x' as never }), { code: invalid })
  t.throws(() => grpc.stream({ signal: AbortSignal.abort(new Error('no')) }), { message: 'no' })
  await using stream = grpc.stream()
  await t.rejects(stream.send('', { a: one }), { code: invalid })
  await t.rejects(stream.send('m', { a: one }, { timeoutMs: 5 } as never), { code: invalid })
})

t.test('classes', (t) => {
  t.strictSame(classificationOf('1.500000:3:a:b'), { value: 1.5, index: 3, label: 'a:b' })
  t.strictSame(classificationOf('-7:0'), { value: -7, index: 0 })
  t.strictSame(classificationOf('1e+20:1:'), { value: 1e20, index: 1, label: '' })
  t.strictSame(classificationOf('nan:1'), { value: NaN, index: 1 })
  t.strictSame(classificationOf('-inf:1:x\ny'), { value: -Infinity, index: 1, label: 'x\ny' })
  for (const wrong of ['', 'x', '1', '1:', ':1', '1:x', 'a:1']) t.equal(classificationOf(wrong), undefined, wrong)
  t.end()
})

t.test('long numbers of JSON keep their digits', (t) => {
  t.strictSame(parseExactly('{"a":[9223372036854775807,-9223372036854775808,1,0.10000000000000000555,1e300]}'), {
    a: ['9223372036854775807', '-9223372036854775808', 1, 0.1, 1e300],
  })
  t.strictSame(parseExactly('["a \\" 1234567890123456789 NaN",1234567890123456789,NaN,-Infinity]'), [
    'a " 1234567890123456789 NaN',
    '1234567890123456789',
    'NaN',
    '-Infinity',
  ])
  t.strictSame(parseExactly('[9007199254740993.5,1152921504606846976e3]'), [9007199254740994, 1152921504606846976e3])
  t.throws(() => parseExactly('{'), SyntaxError)
  t.end()
})

t.teardown(() => Promise.all(nowhere.map((client) => client.close())))
