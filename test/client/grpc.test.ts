// The client over gRPC: what it sends, its failures, and its streams.
import t from 'tap'
import { GrpcClient, type InferStream, type StreamItem } from '../../lib/client/index.js'
import { loadGrpc } from '../../lib/client/grpc/peer.js'
import { Tensor } from '../../lib/index.js'
import { holdTimers } from '../support/timers.js'
import { certain } from '../support/waiting.js'
import { onceFree } from './free-port.js'
import { failing, type GrpcStandIn, startGrpc } from './grpc-stand-in.js'

const tensor = Tensor.from(new Float32Array([1, 2, 3]), [1, 3])
const inputs = { INPUT0: tensor }

async function standIn(): Promise<{ readonly server: GrpcStandIn; readonly address: string }> {
  const server = await startGrpc()
  t.teardown(() => server.stop())
  return { server, address: `127.0.0.1:${server.port}` }
}

t.test('what is sent', async (t) => {
  const { server, address } = await standIn()
  await using client = new GrpcClient(`grpc://${address}`, { headers: { 'x-mine': 'a' } })
  const options = {
    version: 2,
    id: 'i',
    priority: 1,
    queueTimeoutMs: 1.5,
    parameters: { text: 'x', yes: true, whole: 2, half: 0.5, large: 2n ** 63n },
    outputs: ['OUTPUT0', 'OUTPUT1'],
  }
  const both = { INPUT0: tensor, INPUT1: ['a', Uint8Array.of(0)] }
  await client.infer('m', both, { ...options, headers: { 'x-call': 'b' } })
  const { parameters, ...request } = server.requests[0]!
  t.match(request, { modelName: 'm', modelVersion: '2', id: 'i' })
  t.match(request.inputs, [
    { name: 'INPUT0', datatype: 'FP32', shape: [1n, 3n] },
    { name: 'INPUT1', datatype: 'BYTES', shape: [2n] },
  ])
  t.strictSame([...request.rawInputContents[1]!], [1, 0, 0, 0, 97, 1, 0, 0, 0, 0])
  t.strictSame(
    request.outputs.map(({ name }) => name),
    ['OUTPUT0', 'OUTPUT1'],
  )
  const choices = Object.fromEntries(
    Object.entries(parameters).map(([name, { parameterChoice }]) => [
      name,
      [parameterChoice.case, parameterChoice.value],
    ]),
  )
  t.strictSame(choices, {
    text: ['stringParam', 'x'],
    yes: ['boolParam', true],
    whole: ['int64Param', 2n],
    half: ['doubleParam', 0.5],
    large: ['uint64Param', 2n ** 63n],
    priority: ['uint64Param', 1n],
    timeout: ['int64Param', 1500n],
  })
  t.strictSame([server.metadata?.get('x-mine'), server.metadata?.get('x-call')], [['a'], ['b']])
  await client.infer('m', inputs, { classification: { OUTPUT0: 3 } }).catch(() => {})
  t.match(server.requests[1]?.outputs[0]?.parameters['classification']?.parameterChoice, {
    case: 'int64Param',
    value: 3n,
  })
})

t.test('headers that HTTP has and gRPC has not', async (t) => {
  const { address } = await standIn()
  for (const headers of [{ 'x!': 'a' }, { 'x-bin': 'a' }, { 'x-mine': 'ä' }]) {
    await using client = new GrpcClient(address, { headers })
    await t.rejects(client.isLive(), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /Expected names of a-z/ })
    await using other = new GrpcClient(address)
    await t.rejects(other.isLive({ headers }), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  }
})

t.test('elements that are no raw bytes', async (t) => {
  const { server, address } = await standIn()
  await using client = new GrpcClient(address)
  const output = (datatype: string, contents: object, length = 2): void => {
    server.behaviour = () => ({ modelName: 'm', outputs: [{ name: 'y', datatype, shape: [BigInt(length)], contents }] })
  }
  output('INT64', { int64Contents: [2n ** 62n, -1n] })
  t.strictSame((await client.infer('m', inputs))['y']?.data, new BigInt64Array([2n ** 62n, -1n]))
  output('UINT8', { uintContents: [0, 255] })
  t.strictSame((await client.infer('m', inputs))['y']?.data, new Uint8Array([0, 255]))
  output('BOOL', { boolContents: [true, false] })
  t.strictSame((await client.infer('m', inputs))['y']?.data, new Uint8Array([1, 0]))
  output('UINT8', { uintContents: [0, 256] })
  await t.rejects(client.infer('m', inputs), { code: 'ERR_TRT_SERVER', message: /has the element 256/ })
  output('BYTES', { bytesContents: [Buffer.from('a'), Buffer.from('ü')] })
  t.strictSame(
    await client.infer<{ y: never }>('m', inputs, { texts: 'utf8' }).then(({ y }) => [...(y as Iterable<string>)]),
    ['a', 'ü'],
  )
  server.behaviour = () => ({ outputs: [{ name: 'y' }], rawOutputContents: [Buffer.alloc(1), Buffer.alloc(1)] })
  await t.rejects(client.infer('m', inputs), { code: 'ERR_TRT_SERVER', message: /1 outputs, and the bytes of 2/ })
})

t.test('failures have the name of the code and the text of the server', async (t) => {
  const { server, address } = await standIn()
  await using client = new GrpcClient(address)
  for (const code of [
    'INVALID_ARGUMENT',
    'UNAVAILABLE',
    'INTERNAL',
    'RESOURCE_EXHAUSTED',
    'DEADLINE_EXCEEDED',
  ] as const) {
    server.behaviour = () => {
      throw failing(code, `it is ${code}`)
    }
    await t.rejects(client.infer('m', inputs), {
      code: 'ERR_TRT_SERVER',
      message: `it is ${code}`,
      details: { status: code, model: 'm', sent: true },
    })
  }
  t.equal(server.requests.length, 5, 'nothing was sent twice')
  server.behaviour = () => new Promise(() => {})
  {
    using timers = holdTimers(700_000, 777_000)
    const late = t.rejects(client.infer('m', inputs, { timeoutMs: 777_000 }), {
      code: 'ERR_TRT_TIMEOUT',
      message: 'Not done within 777000 ms',
      details: { timeoutMs: 777_000 },
    })
    await certain(() => server.requests.length === 6)
    timers.end()
    await late
  }
  await certain(() => server.cancelled === 1)
  const controller = new AbortController()
  const running = client.infer('m', inputs, { signal: controller.signal })
  await certain(() => server.requests.length === 7)
  controller.abort(new Error('enough'))
  await t.rejects(running, { message: 'enough' })
  await certain(() => server.cancelled === 2)
})

t.test('refused connections are tried again; what was sent is not', async (t) => {
  const { server, address } = await standIn()
  const { port } = server
  await server.stop()
  await using impatient = new GrpcClient(address, { retries: 0 })
  await t.rejects(impatient.infer('m', inputs), {
    code: 'ERR_TRT_SERVER',
    message: /^Cannot reach grpc:\/\/127.0.0.1:\d+: connect ECONNREFUSED/,
    details: { code: 'ECONNREFUSED', sent: false },
  })
  await using client = new GrpcClient(address, { retries: { times: 1000, delayMs: 5 } })
  const waiting = client.infer('m', inputs, { timeoutMs: 60_000 })
  const again = await onceFree(() => startGrpc({ port }))
  t.strictSame((await waiting)['OUTPUT0']?.data, tensor.data, 'once the server is there')
  again.behaviour = () => {
    void again.stop()
    return new Promise(() => {})
  }
  await t.rejects(client.infer('m', inputs, { id: 'a', timeoutMs: 60_000 }), {
    code: 'ERR_TRT_SERVER',
    details: { sent: true },
  })
  t.equal(again.ids.get('a'), 1)
})

async function itemsOf(stream: InferStream): Promise<StreamItem[]> {
  const items: StreamItem[] = []
  for await (const item of stream) items.push(item)
  return items
}

t.test('a stream: answers and failures of requests, each with its id', async (t) => {
  const { address } = await standIn()
  await using client = new GrpcClient(address)
  await using stream = client.stream()
  t.equal(await stream.send('m', inputs), '1')
  t.equal(await stream.send('none', inputs, { id: 'b' }), 'b')
  t.equal(await stream.send('m', { INPUT0: Tensor.from(new Float32Array([9]), [1, 1]) }), '2')
  stream.end()
  await t.rejects(stream.send('m', inputs), { code: 'ERR_TRT_CLOSED' })
  const items = await itemsOf(stream)
  t.strictSame(
    items.map(({ id }) => id),
    ['1', 'b', '2'],
  )
  t.match(items[1]?.error, { code: 'ERR_TRT_SERVER', message: 'no such model' })
  t.strictSame(items[0]?.outputs?.['OUTPUT0']?.data, tensor.data)
  t.strictSame(items[2]?.outputs?.['OUTPUT0']?.data, new Float32Array([9]))
})

t.test('a stream of many, read while they are sent', async (t) => {
  const { address } = await standIn()
  await using client = new GrpcClient(address)
  await using stream = client.stream()
  const data = new Float32Array(2000)
  const sending = (async () => {
    for (let i = 0; i < 300; i++) {
      data.fill(i)
      await stream.send('m', { INPUT0: Tensor.from(data) }, { id: String(i) })
    }
    stream.end()
  })()
  const items = await itemsOf(stream)
  await sending
  t.strictSame(
    items.map(({ id, outputs }) => [id, outputs?.['OUTPUT0']?.data[1999]]),
    Array.from({ length: 300 }, (_, i) => [String(i), i]),
    'memory may change once a request was sent',
  )
})

t.test('how streams end', async (t) => {
  const { server, address } = await standIn()
  await using client = new GrpcClient(address)
  const begun = async (signal?: AbortSignal): Promise<InferStream> => {
    const stream = client.stream({ signal })
    await stream.send('m', inputs)
    return stream
  }
  const controller = new AbortController()
  const aborted = await begun(controller.signal)
  const reading = t.rejects(itemsOf(aborted), { message: 'enough' }, 'by a signal')
  await certain(() => server.requests.length === 1)
  controller.abort(new Error('enough'))
  await reading
  await certain(() => server.cancelled === 1)
  await t.rejects(aborted.send('m', inputs), { code: 'ERR_TRT_CLOSED' })

  const left = await begun()
  for await (const item of left) {
    t.equal(item.id, '1')
    break
  }
  await certain(() => server.cancelled === 2)
  left.close()
  left.close()
  t.strictSame(await itemsOf(left), [], 'read after it was closed')

  const late = client.stream({ timeoutMs: 30 })
  await t.rejects(itemsOf(late), { code: 'ERR_TRT_TIMEOUT', message: 'Not done within 30 ms' })

  const failed = await begun()
  await failed.send('end', inputs)
  const got: string[] = []
  await t.rejects(
    (async () => {
      for await (const { id } of failed) got.push(id)
    })(),
    { code: 'ERR_TRT_SERVER', message: 'the stream ends', details: { status: 'UNAVAILABLE' } },
    'by the server',
  )
  t.strictSame(got, ['1'], 'what came before is given')

  await server.stop()
  const nobody = client.stream()
  await t.rejects(itemsOf(nobody), { code: 'ERR_TRT_SERVER' })
})

t.test('without @grpc/grpc-js', async (t) => {
  const find = (): string => {
    throw new Error('not found')
  }
  await t.rejects(loadGrpc(find), {
    code: 'ERR_TRT_SERVER',
    message: 'Cannot make a client: gRPC needs @grpc/grpc-js. To install it: npm install @grpc/grpc-js',
  })
  await t.rejects(
    loadGrpc(() => '/nowhere/at-all.js'),
    { code: 'ERR_TRT_SERVER', message: /was found at \/nowhere\/at-all.js but cannot be loaded/ },
  )
})
