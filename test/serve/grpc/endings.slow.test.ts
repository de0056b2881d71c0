// However a call ends: its request leaves the queue, and nothing of it is held.
import t from 'tap'
import { compressionAlgorithms, Server as GrpcServer } from '@grpc/grpc-js'
import type { Fault } from '../../../lib/serve/faults.js'
import { healthMethods, inferenceMethods, pathOf } from '../../../lib/kserve/methods.js'
import { encodeInferRequest } from '../../../lib/kserve/infer-request.js'
import { Budget } from '../../../lib/serve/front/budget.js'
import { holdTimers } from '../../support/timers.js'
import { certain } from '../../support/waiting.js'
import {
  Client,
  failureOf,
  floats,
  frame,
  inferPath,
  nothingLeft,
  oneInput,
  parameters,
  rawHeaders,
  rawSession,
  startRig,
  statusOf,
  streamPath,
  type Rig,
} from './rig.js'

/** Cut for what its client, or its deadline, has done. */
async function cutOf({ control }: Rig): Promise<string> {
  const held = control.servables.find(({ name }) => name === 'held')!
  await certain(() => held.cuts.at(-1)?.happened === true)
  return (held.cuts.at(-1)?.reason as Fault).kind
}

const asked = oneInput('held', [1, 2])
const bytes = encodeInferRequest(asked).toBytes()

t.test('a deadline, a cancel, a stream that is reset and a connection that goes', async (t) => {
  await using rig = await startRig()
  const { client, held, front } = rig
  const session = await rawSession(rig.port)
  {
    using timers = holdTimers(777_000)
    const late = session.request(rawHeaders(inferPath, { 'grpc-timeout': '777S' }))
    late.end(frame(bytes))
    await certain(() => held.waiting.length === 1)
    timers.end()
    const status = await new Promise((resolve) => late.on('response', (headers) => resolve(headers['grpc-status'])))
    t.equal(status, '4')
  }
  t.equal(await cutOf(rig), 'TIMEOUT', 'as the timer has it, whatever time it is')
  t.ok(await nothingLeft(rig))

  const before = held.waiting.length
  const { call, answer } = client.start(inferPath, bytes)
  await certain(() => front.inFlight === 1 && held.waiting.length === before + 1)
  t.equal(front.bytesInFlight > 0, true)
  call.cancel()
  t.equal((await failureOf(answer))[0], 'CANCELLED')
  t.equal(await cutOf(rig), 'CANCELLED')
  t.ok(await nothingLeft(rig))
  t.match(rig.records.at(-1), { fault: 'CANCELLED', status: 1, reachedModel: true, hasResult: false })

  const stream = session.request(rawHeaders(inferPath)).on('error', () => {})
  stream.end(frame(bytes))
  await certain(() => front.inFlight === 1)
  stream.close(8)
  t.ok(await nothingLeft(rig))

  session.request(rawHeaders(inferPath)).on('error', () => {}).end(frame(bytes)) // prettier-ignore
  await certain(() => front.inFlight === 1)
  session.destroy()
  t.equal(await cutOf(rig), 'CANCELLED')
  t.ok(await nothingLeft(rig))
})

t.test('a client that ends its request once the call is over', async (t) => {
  await using rig = await startRig()
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  for (const path of [inferPath, pathOf(inferenceMethods.serverLive), pathOf(healthMethods.watch)]) {
    const late = session.request(rawHeaders(path, { 'grpc-timeout': '50m' })).on('error', () => {})
    late.write(frame(path === inferPath ? bytes : Buffer.alloc(0)))
    const closed = new Promise((resolve) => late.once('close', resolve))
    t.strictSame(await statusOf(late), ['4', 'Deadline exceeded'])
    late.end()
    await closed
  }
  await rig.client.infer(oneInput('fp32', [1, 2]))
  t.ok(await nothingLeft(rig))
  t.equal(rig.records.length, 1, 'none of them was begun')
  t.equal(rig.front.health.watching, 0)
})

t.test('deadlines of more milliseconds than 31 bits have are in the future', async (t) => {
  await using rig = await startRig()
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  const held = encodeInferRequest(oneInput('held', [1])).toBytes()
  const timeouts = ['2592000S', '99999999S', '99999999M', '99999999H', '3000H']
  const statuses = timeouts.map(async (timeout) => {
    const call = session.request(rawHeaders(inferPath, { 'grpc-timeout': timeout }))
    call.end(frame(held))
    return statusOf(call)
  })
  await certain(() => rig.held.waiting.length === timeouts.length)
  await new Promise((resolve) => setTimeout(resolve, 20))
  rig.held.goOn()
  for (const [i, status] of (await Promise.all(statuses)).entries())
    t.strictSame(status, ['0', 'OK'], timeouts[i] ?? '')
})

t.test('half a message, and bytes that are too many for one call', async (t) => {
  await using rig = await startRig()
  const { front } = rig
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  const whole = frame(bytes)
  for (const end of [0, 1, 5, 6, whole.length - 1]) {
    const stream = session.request(rawHeaders(inferPath)).on('error', () => {})
    stream.write(whole.subarray(0, end))
    if (end > 0) await certain(() => front.bytesInFlight === end)
    stream.close(8)
    t.ok(await nothingLeft(rig), `${end} bytes, then a reset`)
  }
  for (const body of [Buffer.alloc(0), whole.subarray(0, 6), Buffer.concat([whole, whole])]) {
    const stream = session.request(rawHeaders(inferPath)).on('error', () => {})
    const ended = new Promise((resolve) => stream.on('close', resolve))
    stream.resume().end(body)
    await ended
    t.ok(await nothingLeft(rig), `${body.length} bytes, then the end`)
  }
})

t.test('the timeout of a request, which its model has', async (t) => {
  await using rig = await startRig()
  const timeout = parameters({ timeout: { kind: 'int64', value: 20_000n } })
  t.strictSame(await failureOf(rig.client.infer({ ...asked, parameters: timeout })), [
    'UNAVAILABLE',
    'Request timeout expired',
  ])
  t.ok(await nothingLeft(rig))
})

t.test('a message above the limit, also once it is decompressed', async (t) => {
  await using rig = await startRig({ maxInputSize: 1000 })
  const { client } = rig
  t.equal((await client.infer(oneInput('fp32', new Array<number>(200).fill(1)))).rawOutputContents[0]?.length, 800)
  const [code, told] = await failureOf(client.infer(oneInput('fp32', new Array<number>(300).fill(1))))
  t.equal(code, 'RESOURCE_EXHAUSTED')
  t.match(
    told,
    /^Received message larger than max \(\d+ vs 1000\)\. Use --http-max-input-size to increase the limit\.$/,
  )
  const zipped = new Client(rig.port, { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip })
  t.teardown(() => zipped.close())
  t.equal((await zipped.infer(oneInput('fp32', new Array<number>(200).fill(1)))).rawOutputContents[0]?.length, 800)
  const [zippedCode, zippedText] = await failureOf(zipped.infer(oneInput('fp32', new Array<number>(30_000).fill(1))))
  t.equal(zippedCode, 'RESOURCE_EXHAUSTED')
  t.match(zippedText, /^Received message that decompresses to a size larger than 1000\. Use --http-max-input-size/)
  t.ok(await nothingLeft(rig))
})

t.test('what others hold: RESOURCE_EXHAUSTED, for whole messages and for half ones', async (t) => {
  const budget = new Budget(4000)
  await using rig = await startRig({ budget })
  const { client, held, front } = rig
  const first = client.infer(oneInput('held', new Array<number>(700).fill(1)))
  await certain(() => held.waiting.length === 1)
  const large = oneInput('fp32', new Array<number>(500).fill(1))
  const [code, told] = await failureOf(client.infer(large))
  t.strictSame(
    [code, told],
    ['RESOURCE_EXHAUSTED', 'More than 4000 bytes of requests and answers are under way: try again later'],
  )
  const stream = client.stream()
  stream.send({ ...large, id: 'seven' })
  await stream.count(1) // a message or a status
  t.match(JSON.stringify([stream.messages, stream.status]), /More than 4000 bytes/)
  stream.call.cancel()
  t.equal((await client.infer(oneInput('fp32', [1]))).rawOutputContents[0]?.length, 4, 'a small one has room')
  held.goOn()
  t.equal((await first).rawOutputContents[0]?.length, 2800)
  t.equal((await client.infer(large)).rawOutputContents[0]?.length, 2000)
  t.ok(await nothingLeft(rig))
  t.equal(budget.used, 0)
  t.equal(front.inFlight, 0)
})

t.test('a client that reads no answers holds what it was answered, until it goes', async (t) => {
  await using rig = await startRig()
  const session = await rawSession(rig.port)
  const stream = session.request(rawHeaders(inferPath)).on('error', () => {})
  stream.end(frame(encodeInferRequest(oneInput('fp32', new Array<number>(100_000).fill(1))).toBytes()))
  await certain(() => rig.records.length === 1)
  t.equal(rig.front.inFlight, 1)
  t.equal(rig.front.bytesInFlight, 400_000)
  session.destroy()
  t.ok(await nothingLeft(rig))
})

t.test('drain: connections are told to go, what is under way ends, new requests find nobody', async (t) => {
  await using rig = await startRig()
  const { client, held, front, port } = rig
  const session = await rawSession(port)
  const goaway = new Promise<number>((resolve) => session.on('goaway', (code: number) => resolve(code)))
  const underWay = client.infer(asked)
  const stream = client.stream()
  stream.send({ ...asked, id: 'streamed' })
  await certain(() => held.waiting.length === 2)
  const stopped = front.stopAccepting()
  t.equal(await goaway, 0)
  const late = new Client(port)
  t.teardown(() => late.close())
  t.equal((await failureOf(late.infer(oneInput('fp32', [1]))))[0], 'UNAVAILABLE')
  stream.send(oneInput('fp32', [1], { id: 'late' }))
  t.match((await stream.count(1))[0], {
    errorMessage: 'GRPC server is shutting down and has stopped accepting new requests.',
    inferResponse: { id: 'late' },
  })
  held.goOn()
  t.strictSame((await underWay).rawOutputContents, [floats(1, 2)])
  t.match((await stream.count(2))[1], { errorMessage: '', inferResponse: { id: 'streamed' } })
  await front.drained()
  stream.call.end()
  t.equal((await stream.ended()).code, 0)
  await stopped
  t.ok(await nothingLeft(rig))
})

t.test('close: what is under way is cut, and streams that wait are told', async (t) => {
  await using rig = await startRig()
  const underWay = rig.client.infer(asked)
  underWay.catch(() => {})
  await certain(() => rig.held.waiting.length === 1)
  await rig.front.close()
  t.match((await failureOf(underWay))[0], /^(CANCELLED|UNAVAILABLE)$/)
  t.ok(await nothingLeft(rig))

  await using idle = await startRig()
  const stream = idle.client.stream()
  stream.send(oneInput('fp32', [1]))
  await stream.count(1)
  await idle.front.close()
  t.match(await stream.ended(), { code: 14, details: 'the server is shutting down' })
})

t.test('the answer that was made last arrives, though the server closes as soon as nothing is under way', async (t) => {
  for (let i = 0; i < 10; i++) {
    await using rig = await startRig()
    const answer = rig.client.infer(oneInput('held', new Array<number>(50_000).fill(i)))
    await certain(() => rig.held.waiting.length === 1)
    void rig.front.stopAccepting()
    rig.held.goOn()
    await rig.front.drained()
    await rig.front.close()
    t.equal((await answer).rawOutputContents[0]?.length, 200_000)
  }
})

t.test('the library has what the counting of bytes, the windows and the encodings go by', async (t) => {
  const server = new GrpcServer()
  t.ok('commonServerOptions' in server && 'http2Servers' in server)
  server.forceShutdown()
  await using rig = await startRig()
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  await certain(() => session.remoteSettings.initialWindowSize === 2 ** 20)
  await certain(() => (session.state.remoteWindowSize ?? 0) >= 2 ** 22)
  t.pass('windows of 1 and 4 MiB')
  t.equal(streamPath, '/inference.GRPCInferenceService/ModelStreamInfer')
})
