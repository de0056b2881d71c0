// The client over HTTP: its connections, what it sends, and what it makes of answers that are none.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { Cut } from '../../lib/base/cancellation.js'
import { Connections } from '../../lib/client/http/connections.js'
import { exchange } from '../../lib/client/http/exchange.js'
import { httpPlace } from '../../lib/client/url.js'
import { HttpClient, type Shaped, type Classification } from '../../lib/client/index.js'
import { Tensor, type TensorRTError } from '../../lib/index.js'
import { skipWithoutIpv6 } from '../support/ipv6.js'
import { holdTimers } from '../support/timers.js'
import { certain } from '../support/waiting.js'
import { selfSigned } from './certificate.js'
import { onceFree } from './free-port.js'
import {
  echo,
  type HttpStandIn,
  reply,
  saying,
  startHttp,
  type Behaviour,
  type StandInOptions,
} from './http-stand-in.js'
import { repositoryOf } from './targets.js'
import { serve } from '../../lib/serve/index.js'

const tensor = Tensor.from(new Float32Array([1, 2, 3]), [1, 3])
const inputs = { INPUT0: tensor }

async function standIn(behaviour?: Behaviour, options?: StandInOptions): Promise<HttpStandIn> {
  const server = await startHttp(behaviour, options)
  t.teardown(() => server[Symbol.asyncDispose]())
  return server
}

t.test('what is sent: JSON of one form, then the tensors', async (t) => {
  const server = await standIn()
  await using client = new HttpClient(`${server.url}/some/prefix/`, { headers: { Authorization: 'Bearer x' } })
  const bytes = Tensor.from(new Uint8Array([7]), [1])
  const both = { INPUT0: tensor, INPUT1: bytes }
  const options = {
    version: '2',
    id: 'a',
    parameters: { n: 2n ** 60n },
    priority: 1,
    queueTimeoutMs: 1.5,
    headers: { 'X-Mine': 'y' },
  }
  const answer = await client
    .infer('name with/slash', both, { ...options, classification: { OUTPUT1: 2 }, outputs: ['OUTPUT0', 'OUTPUT1'] })
    .catch((error: unknown) => error)
  t.match(answer, { code: 'ERR_TRT_SERVER' }, 'uint8 is no class')
  const [asked] = server.asked
  t.equal(asked?.path, '/some/prefix/v2/models/name%20with%2Fslash/versions/2/infer')
  t.match(asked?.headers, {
    host: `127.0.0.1:${server.port}`,
    authorization: 'Bearer x',
    'x-mine': 'y',
    'content-type': 'application/octet-stream',
    connection: 'keep-alive',
  })
  t.strictSame(asked?.head, {
    id: 'a',
    parameters: { n: 2 ** 60, priority: 1, timeout: 1500 },
    inputs: [
      { name: 'INPUT0', datatype: 'FP32', shape: [1, 3], parameters: { binary_data_size: 12 } },
      { name: 'INPUT1', datatype: 'UINT8', shape: [1], parameters: { binary_data_size: 1 } },
    ],
    outputs: [
      { name: 'OUTPUT0', parameters: { binary_data: true } },
      { name: 'OUTPUT1', parameters: { binary_data: true, classification: 2 } },
    ],
  })
  t.strictSame([...(asked?.tensors ?? [])], [...new Uint8Array(tensor.data.buffer), 7])
  await client.infer('m', inputs)
  t.strictSame(server.asked[1]?.head, { parameters: { binary_data_output: true }, inputs: [asked?.head.inputs[0]] })
  await client.infer('m', { INPUT0: Tensor.from(new Float32Array([4, 5, 6]), [1, 3]) })
  t.strictSame(server.asked[2]?.head, server.asked[1]?.head, 'the same head')
  await client.infer('m', { INPUT0: Tensor.from(new Float32Array([4, 5, 6]), [3, 1]) })
  t.strictSame(server.asked[3]?.head.inputs[0].shape, [3, 1], 'another one for another shape')
  await client.infer('m', inputs, { parameters: { x: 1 } })
  t.match(server.asked[4]?.head.parameters, { x: 1, binary_data_output: true })
  await client
    .load('m', { config: { max_batch_size: 4 }, files: { '1/model.onnx': Uint8Array.of(1, 2) } })
    .catch(() => {})
  t.strictSame(server.asked[5]?.head, { parameters: { config: '{"max_batch_size":4}', 'file:1/model.onnx': 'AQI=' } })
  t.equal(server.connections, 1, 'one connection')
})

t.test('outputs are views of one answer where they may begin there', async (t) => {
  const server = await standIn()
  await using client = new HttpClient(server.url)
  const doubles = Tensor.from(new Float64Array([1, 2]))
  const outputs = await client.infer('m', { INPUT0: doubles, INPUT1: Tensor.from(Uint8Array.of(9)), INPUT2: doubles })
  t.strictSame(outputs['OUTPUT0']?.data, doubles.data)
  t.strictSame(outputs['OUTPUT2']?.data, doubles.data)
  t.equal(
    (outputs['OUTPUT0']?.data as NodeJS.TypedArray).buffer,
    (outputs['OUTPUT1']?.data as NodeJS.TypedArray).buffer,
    'of one memory',
  )
  t.not(
    (outputs['OUTPUT0']?.data as NodeJS.TypedArray).buffer,
    (outputs['OUTPUT2']?.data as NodeJS.TypedArray).buffer,
    'a copy',
  )
})

t.test('BYTES and classes', async (t) => {
  const server = await standIn()
  await using client = new HttpClient(server.url)
  for (const encoding of ['binary', 'json'] as const) {
    const texts = await client.infer<{ OUTPUT0: Shaped<string> }>(
      'm',
      { INPUT0: ['a', 'ü'] },
      { texts: 'utf8', encoding },
    )
    t.strictSame([...texts.OUTPUT0], ['a', 'ü'])
    t.strictSame(texts.OUTPUT0.shape, [2])
    const bytes = await client.infer<{ OUTPUT0: Shaped<Uint8Array> }>(
      'm',
      { INPUT0: { shape: [1, 1], data: ['ü'] } },
      { encoding },
    )
    t.strictSame(
      bytes.OUTPUT0.map((one) => [...one]),
      [[0xc3, 0xbc]],
    )
    const classes = await client.infer<{ OUTPUT0: Shaped<Classification> }>(
      'm',
      { INPUT0: ['0.5:1:cat', '1:2'] },
      { classification: { OUTPUT0: 2 }, encoding },
    )
    t.strictSame(
      [...classes.OUTPUT0],
      [
        { value: 0.5, index: 1, label: 'cat' },
        { value: 1, index: 2 },
      ],
    )
  }
})

t.test('numbers of JSON: all digits, or a refusal', async (t) => {
  const server = await standIn()
  await using client = new HttpClient(server.url)
  const long = new BigInt64Array([2n ** 63n - 1n, -(2n ** 63n)])
  server.behaviour = (_asked, response) => {
    reply(
      response,
      200,
      '{"model_name":"m","outputs":[{"name":"y","datatype":"INT64","shape":[2],"data":[9223372036854775807,-9223372036854775808]}]}',
    )
  }
  t.strictSame((await client.infer('m', { x: Tensor.from(long) }, { encoding: 'json' }))['y']?.data, long)
  server.behaviour = saying(
    200,
    '{"outputs":[{"name":"y","datatype":"FP32","shape":[3],"data":[[NaN],[-Infinity,1152921504606846976]]}]}',
  )
  t.strictSame(
    (await client.infer('m', inputs, { encoding: 'json' }))['y']?.data,
    new Float32Array([NaN, -Infinity, 2 ** 60]),
  )
  for (const [datatype, data] of [
    ['UINT8', '256'],
    ['INT64', '1.5'],
    ['INT32', '"x"'],
    ['UINT8', '0.5'],
    ['FP32', '{}'],
    ['FP32', '{"toString":1}'],
    ['FP32', '"abc"'],
    ['FP16', 'null'],
    ['BF16', '"x"'],
    ['FP32', `${'['.repeat(20_000)}1${']'.repeat(20_000)}`],
    ['BYTES', '1'],
  ] as const) {
    server.behaviour = saying(200, `{"outputs":[{"name":"y","datatype":"${datatype}","shape":[1],"data":[${data}]}]}`)
    await t.rejects(
      client.infer('m', inputs, { encoding: 'json' }),
      { code: 'ERR_TRT_SERVER', message: /is not one of the protocol/ },
      `${datatype} ${data.slice(0, 20)}`,
    )
  }
  server.behaviour = saying(
    200,
    `{"id":"${'a'.repeat(1e7)}","outputs":[{"name":"y","datatype":"INT64","shape":[1],"data":[9007199254740993]}]}`,
  )
  t.strictSame(
    (await client.infer('m', inputs))['y']?.data,
    new BigInt64Array([9007199254740993n]),
    'beside a long text',
  )
  const twice = '{"name":"__proto__","datatype":"FP32","shape":[1],"data":[3]}'
  server.behaviour = saying(200, `{"outputs":[${twice},${twice}]}`)
  t.strictSame(Object.keys(await client.infer('m', inputs)), ['__proto__'])
})

t.test('answers that are none', async (t) => {
  const server = await standIn()
  await using client = new HttpClient(server.url)
  const output = (more: object): object => ({ outputs: [{ name: 'y', datatype: 'FP32', shape: [1], ...more }] })
  const head = (value: object, tail: number, length?: number): Behaviour => {
    const text = JSON.stringify(value)
    return saying(200, Buffer.concat([Buffer.from(text), Buffer.alloc(tail)]), {
      'Inference-Header-Content-Length': length ?? Buffer.byteLength(text),
    })
  }
  const wrong: readonly (readonly [behaviour: Behaviour, message: RegExp])[] = [
    [saying(200, ''), /not one of the protocol/],
    [saying(200, '[]'), /it is no object/],
    [saying(200, {}), /it has no outputs/],
    [saying(200, { outputs: [1] }), /no object/],
    [saying(200, { outputs: [{ name: 'y' }] }), /without name, datatype and shape/],
    [saying(200, output({})), /neither data nor binary_data_size/],
    [saying(200, output({ data: [1, 2] })), /is FP32 \[1\], and has 2 elements/],
    [saying(200, output({ shape: [-1], data: [] })), /has the shape \[-1\]/],
    [saying(200, output({ datatype: 'FP8', data: [1] })), /of the data type FP8/],
    [head(output({ parameters: { binary_data_size: 4 } }), 3), /goes beyond its end/],
    [head(output({ parameters: { binary_data_size: 4 } }), 5), /1 bytes follow its last output/],
    [head(output({ parameters: { binary_data_size: 3 } }), 3), /has 3 bytes/],
    [head(output({ datatype: 'BYTES', parameters: { binary_data_size: 5 } }), 5), /has 5 bytes/],
    [head(output({}), 0, 9999), /its head has 9999 bytes/],
    [saying(200, 'x', { 'Content-Encoding': 'gzip' }), /encoding gzip/],
    [saying(200, 'x', { 'Inference-Header-Content-Length': 1 }), /not one of the protocol/],
  ]
  for (const [behaviour, message] of wrong) {
    server.behaviour = behaviour
    await t.rejects(
      client.infer('m', inputs),
      { code: 'ERR_TRT_SERVER', message, details: { sent: true } },
      String(message),
    )
  }
  server.behaviour = (_asked, response) => response.writeHead(200, { 'Content-Length': 1e15 }).end()
  await t.rejects(client.infer('m', inputs), { code: 'ERR_TRT_SERVER' }, 'more than there is memory')
  server.behaviour = (_asked, response) => {
    response.writeHead(200)
    response.write('{"outputs":[{"name":"y","datatype":"FP32",')
    response.end('"shape":[1],"data":[5]}]}')
  }
  t.strictSame((await client.infer('m', inputs))['y']?.data, new Float32Array([5]), 'in chunks, without a length')
})

t.test('a server that speaks when nobody has asked, or changes the protocol', async (t) => {
  const answer = (value: number): string => {
    const body = `{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[${value}]}]}`
    return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
  let [asked, connections, ended, isUpgrade] = [0, 0, 0, false]
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => {}).on('close', () => ended++)
    socket.on('data', () => {
      if (isUpgrade)
        return void socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n')
      const value = ++asked
      socket.write(answer(value))
      if (value === 1) setImmediate(() => socket.write(answer(99)))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  await using client = new HttpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { retries: 0 })
  t.same((await client.infer('m', inputs))['y']?.data, [1])
  await certain(() => ended === 1)
  t.same((await client.infer('m', inputs))['y']?.data, [2])
  t.equal(connections, 2, 'what was said between has ended the connection')
  isUpgrade = true
  await t.rejects(client.infer('m', inputs), { code: 'ERR_TRT_SERVER', message: /it changes the protocol/ })
})

t.test('who is not interested any more ends no connection that has another request', async (t) => {
  const server = await standIn(saying(200, {}))
  const place = httpPlace(server.url)
  const connections = new Connections(place, { rejectUnauthorized: true }, { maxConnections: 1, keepAliveMs: 4000 })
  const cut = new Cut()
  const call = { url: server.url, headers: [], cut, deadline: undefined, timeoutMs: undefined }
  const question = { method: 'GET', path: '/v2', headers: ['Host', place.host], body: [] } as const
  await exchange(connections, question, call)
  const connection = await connections.take(undefined)
  cut.happen(new Error('late'))
  t.equal(connection.isUsable, true)
  await connections.close()
})

t.test('failures have the status and the text of the server', async (t) => {
  const server = await standIn(saying(503, { error: 'Request timeout expired' }))
  await using client = new HttpClient(server.url)
  await t.rejects(client.infer('m', inputs), {
    code: 'ERR_TRT_SERVER',
    message: 'Request timeout expired',
    details: { status: 503, model: 'm', url: server.url },
  })
  server.behaviour = saying(502, '<html>')
  await t.rejects(client.infer('m', inputs), {
    code: 'ERR_TRT_SERVER',
    message: 'HTTP 502 Bad Gateway',
    details: { status: 502 },
  })
  await t.rejects(client.isLive(), { code: 'ERR_TRT_SERVER', details: { status: 502 } })
  server.behaviour = saying(400, '')
  t.equal(await client.isLive(), false)
  t.equal(await client.isReady(), false)
  server.behaviour = saying(200, 'nothing')
  t.equal(await client.isLive(), true, 'a body is not looked at')
  await t.rejects(client.serverMetadata(), { code: 'ERR_TRT_SERVER', message: /not one of the protocol/ })
  server.behaviour = saying(200, '5')
  await t.rejects(client.modelConfig('m'), { code: 'ERR_TRT_SERVER', message: /it is no object/ })
  t.equal(server.asked.length, 8, 'nothing was sent twice')
})

t.test('an abort reaches the server, and a timeout does', async (t) => {
  const server = await standIn(() => {})
  await using client = new HttpClient(server.url, { maxConnections: 1 })
  const controller = new AbortController()
  const running = client.infer('m', inputs, { signal: controller.signal })
  const waiting = client.infer('m', inputs, { signal: AbortSignal.any([controller.signal]) })
  await certain(() => server.asked.length === 1)
  controller.abort('enough')
  await t.rejects(
    Promise.all([running.catch((error: unknown) => Promise.reject(new Error(String(error)))), waiting.catch(() => {})]),
    {
      message: 'enough',
    },
  )
  await certain(() => server.left === 1)
  {
    using timers = holdTimers(777_000)
    const late = t.rejects(client.infer('m', inputs, { timeoutMs: 777_000 }), {
      code: 'ERR_TRT_TIMEOUT',
      message: 'Not done within 777000 ms',
      details: { timeoutMs: 777_000 },
    })
    await certain(() => server.asked.length === 2)
    timers.end()
    await late
  }
  await certain(() => server.left === 2)
  server.behaviour = echo
  t.strictSame((await client.infer('m', inputs))['OUTPUT0']?.data, tensor.data, 'another connection takes its place')
  t.equal(server.asked.length, 3, 'what waited was never sent')
})

t.test('connections are bounded', async (t) => {
  const held: (() => void)[] = []
  const server = await standIn((asked, response, request) => held.push(() => echo(asked, response, request)))
  await using client = new HttpClient(server.url, { maxConnections: 2 })
  const all = Array.from({ length: 5 }, () => client.infer('m', inputs))
  for (let i = 0; i < 5; i++) {
    await certain(() => held.length > 0)
    t.ok(held.length <= 2)
    held.shift()?.()
  }
  await Promise.all(all)
  t.equal(server.connections, 2)
})

t.test('a connection that the server closed while it was idle costs nothing', async (t) => {
  const server = await standIn()
  const errors: unknown[] = []
  await using client = new HttpClient(server.url, { retries: 0 })
  for (let i = 0; i < 20; i++) {
    await client.infer('m', inputs, { id: String(i) }).catch((error: unknown) => errors.push(error))
    server.server.closeIdleConnections()
    const end = performance.now() + 15
    while (performance.now() < end); // this thread hears of nothing
  }
  t.strictSame(errors, [])
  t.ok([...server.ids.values()].every((count) => count === 1))
  t.equal(server.ids.size, 20)
})

t.test('the server says how long it keeps connections', async (t) => {
  const server = await standIn(undefined, { keepAliveTimeout: 1000 })
  await using client = new HttpClient(server.url, { retries: 0 })
  for (let i = 0; i < 3; i++) {
    await client.infer('m', inputs)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  t.equal(server.connections, 3, 'a second less than it says')
})

t.test('refused connections are tried again; what was sent is not', async (t) => {
  const gone = await startHttp()
  await gone.stop()
  await using impatient = new HttpClient(gone.url, { retries: 0 })
  await t.rejects(impatient.infer('m', inputs), {
    code: 'ERR_TRT_SERVER',
    message: /^Cannot reach http:\/\/127.0.0.1:\d+: connect ECONNREFUSED/,
    details: { code: 'ECONNREFUSED', sent: false, model: 'm' },
  })
  await t.rejects(impatient.isLive(), { code: 'ERR_TRT_SERVER', details: { sent: false } })
  await using client = new HttpClient(gone.url, { retries: { times: 1000, delayMs: 1 } })
  const waiting = client.infer('m', inputs, { timeoutMs: 60_000 })
  const server = await onceFree(() => startHttp(echo, { port: gone.port }))
  t.strictSame((await waiting)['OUTPUT0']?.data, tensor.data, 'once the server is there')
  server.behaviour = (_asked, response) => response.destroy()
  await t.rejects(client.infer('m', inputs, { id: 'a' }), {
    code: 'ERR_TRT_SERVER',
    message: /may have run/,
    details: { sent: true },
  })
  server.behaviour = (_asked, response) => {
    response.writeHead(200, { 'Content-Length': 100 }).write('half')
    setImmediate(() => response.destroy())
  }
  await t.rejects(client.infer('m', inputs, { id: 'b' }), { code: 'ERR_TRT_SERVER', details: { sent: true } })
  t.strictSame([server.ids.get('a'), server.ids.get('b')], [1, 1])
  await server.stop()
})

t.test('retries of what may have run, where they are asked for', async (t) => {
  let count = 0
  const server = await standIn((asked, response, request) =>
    ++count % 3 === 0
      ? echo(asked, response, request)
      : count % 3 === 1
        ? response.destroy()
        : reply(response, 503, '{"error":"busy"}'),
  )
  const seen: unknown[] = []
  const when = ({ details }: TensorRTError): boolean => seen.push(details['status']) > 0
  await using client = new HttpClient(server.url, { retries: { times: 2, delayMs: 1, when } })
  t.strictSame((await client.infer('m', inputs, { id: 'x' }))['OUTPUT0']?.data, tensor.data)
  t.strictSame(seen, [undefined, 503])
  t.equal(server.ids.get('x'), 3)
  await using once = new HttpClient(server.url, { retries: { times: 1, delayMs: 1, when } })
  await t.rejects(once.infer('m', inputs), { message: 'busy' })
})

t.test('an answer before the request was read whole', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () =>
      socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 15\r\n\r\n{"error":"much"}'.replace('15', '16')),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await using client = new HttpClient(`http://127.0.0.1:${port}`)
  const large = { x: Tensor.zeros('float32', [4_000_000]) }
  const error: unknown = await client.infer('m', large).catch((error: unknown) => error)
  t.match(error, { code: 'ERR_TRT_SERVER', details: { sent: true } })
  server.close()
})

t.test('models are known beforehand, where that is asked for', async (t) => {
  await using server = await serve({
    modelRepository: repositoryOf(t, false),
    http: { port: 0, address: '127.0.0.1' },
    modelControlMode: 'explicit',
    loadModel: ['*'],
  })
  const url = server.addresses.http?.url ?? ''
  await using client = new HttpClient(url, { checkModels: true })
  t.ok(await client.infer('ident', inputs))
  const before = server.statistics('ident').model_stats[0]?.inference_stats
  await t.rejects(client.infer('ident', { INPUT1: tensor }), {
    code: 'ERR_TRT_UNKNOWN_INPUT',
    message: "Expected an input of model 'ident' ('INPUT0') for inputs but received 'INPUT1'",
  })
  await t.rejects(client.infer('ident', { INPUT0: Tensor.from(new Int32Array(1), [1, 1]) }), {
    code: 'ERR_TRT_DTYPE',
    message: "Expected float32 for input 'INPUT0' but received int32",
  })
  await t.rejects(client.infer('ident', { INPUT0: Tensor.from(new Float32Array(1)) }), {
    code: 'ERR_TRT_SHAPE',
    message: /^Expected shape \[-1, -1\]/,
  })
  await t.rejects(client.infer('ident', inputs, { outputs: ['x'] }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /^Expected an output of model 'ident'/,
  })
  t.strictSame(server.statistics('ident').model_stats[0]?.inference_stats, before, 'nothing was sent')
  await t.rejects(client.infer('none', inputs), { code: 'ERR_TRT_SERVER', details: { status: 404 } })
  await client.load('ident', {
    config: {
      max_batch_size: 0,
      backend: 'onnxruntime',
      input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
      output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
    },
  })
  t.ok(await client.infer('ident', inputs), 'another model in its place')
})

t.test('TLS', async (t) => {
  const pair = selfSigned()
  const server = await standIn(echo, { tls: pair })
  await using stranger = new HttpClient(server.url, { retries: 0 })
  await t.rejects(stranger.infer('m', inputs), {
    code: 'ERR_TRT_SERVER',
    message: /^Cannot reach https:/,
    details: { sent: false },
  })
  await using client = new HttpClient(server.url, { tls: { ca: pair.cert, servername: 'localhost' } })
  for (let i = 0; i < 3; i++) t.strictSame((await client.infer('m', inputs))['OUTPUT0']?.data, tensor.data)
  t.equal(server.asked.length, 3)
  await using careless = new HttpClient(server.url, { tls: { rejectUnauthorized: false } })
  t.ok(await careless.infer('m', inputs))
})

t.test('reaches a server on an IPv6 address', { skip: skipWithoutIpv6 }, async (t) => {
  const server = await startHttp()
  await server.stop()
  const other = server.server.listen(0, '::1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  await using client = new HttpClient(`http://[::1]:${port}`)
  t.ok(await client.infer('m', inputs))
  t.equal(server.asked[0]?.headers.host, `[::1]:${port}`)
  other.closeAllConnections()
  other.close()
})
