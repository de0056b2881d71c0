// Clients that mean harm, or are broken: nothing of them stays, and they take nothing from others.
import t from 'tap'
import { deflateSync, gzipSync } from 'node:zlib'
import { encodeInferRequest } from '../../../lib/kserve/infer-request.js'
import { healthMethods, inferenceMethods, pathOf } from '../../../lib/kserve/methods.js'
import { Budget } from '../../../lib/serve/front/budget.js'
import { certain } from '../../support/waiting.js'
import {
  failureOf,
  frame,
  inferPath,
  nothingLeft,
  oneInput,
  rawHeaders,
  rawSession,
  startRig,
  statusOf,
  streamPath,
} from './rig.js'

const bytes = encodeInferRequest(oneInput('fp32', [1, 2])).toBytes()

t.test('bytes that become many more once they are decompressed', async (t) => {
  const budget = new Budget(2 ** 20)
  await using rig = await startRig({ budget, maxInputSize: 2 ** 26 })
  const held = rig.client.infer(oneInput('held', new Array<number>(1000).fill(1)))
  await certain(() => rig.held.waiting.length === 1)
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  const much = Buffer.alloc(2 ** 25)
  for (const [encoding, compressed] of [
    ['gzip', gzipSync(much)],
    ['deflate', deflateSync(much)],
  ] as const) {
    // prettier-ignore
    for (const path of [inferPath, streamPath]) {
      const call = session.request(rawHeaders(path, { 'grpc-encoding': encoding }))
      call.end(frame(compressed, true))
      const [code, text] = await statusOf(call)
      t.equal(code, '8', `${encoding} to ${path}`)
      t.match(text, 'More than 1048576 bytes of requests and answers are under way: try again later')
    }
  }
  const wrong = session.request(rawHeaders(inferPath, { 'grpc-encoding': 'gzip' }))
  wrong.end(frame(gzipSync(bytes).subarray(0, 20), true))
  t.strictSame(await statusOf(wrong), ['3', 'Failed to decompress message'])
  const unknown = session.request(rawHeaders(inferPath, { 'grpc-encoding': 'constructor' }))
  unknown.end(frame(bytes, true))
  t.equal((await statusOf(unknown))[0], '12')
  rig.held.goOn()
  await held
  t.ok(await nothingLeft(rig))
})

t.test('messages of two bytes for each thing that is kept of them', async (t) => {
  await using rig = await startRig()
  const many = (...bytes: number[]): Buffer => Buffer.alloc(2 ** 19, Buffer.from(bytes))
  const nested = (field: number, inner: Buffer): Buffer => {
    const length = [(inner.length & 0x7f) | 0x80, ((inner.length >> 7) & 0x7f) | 0x80, inner.length >> 14]
    return Buffer.concat([Buffer.from([field, ...length]), inner])
  }
  const text = 'The message has more than 131072 tensors, sizes and parameters'
  const bombs = {
    'inputs': many(0x2a, 0),
    'outputs': many(0x32, 0),
    'raw inputs': many(0x3a, 0),
    'parameters': many(0x22, 0),
    'sizes of a shape': nested(0x2a, nested(0x1a, many(1))),
    'sizes, not packed': nested(0x2a, many(0x18, 1)),
    'parts of contents': nested(0x2a, many(0x2a, 0)),
  } // prettier-ignore
  for (const [what, bomb] of Object.entries(bombs))
    t.strictSame(await failureOf(rig.client.ask(inferPath, bomb)), ['INVALID_ARGUMENT', text], what)
  for (const method of [inferenceMethods.serverLive, inferenceMethods.repositoryModelLoad, healthMethods.check])
    t.strictSame(
      await failureOf(rig.client.ask(pathOf(method), many(0x7a, 0))),
      ['INVALID_ARGUMENT', text],
      method.name,
    )
  t.ok(await nothingLeft(rig))
})

t.test(
  'a stream whose client reads nothing: what it is answered counts, and its messages stay where they are',
  async (t) => {
    await using rig = await startRig()
    const session = await rawSession(rig.port)
    const stream = session.request(rawHeaders(streamPath)).on('error', () => {})
    const long = 'm'.repeat(100_000)
    stream.write(frame(encodeInferRequest(oneInput(long, [1])).toBytes()))
    await certain(() => rig.records.length === 1 && rig.front.bytesInFlight > 100_000)
    const message = frame(encodeInferRequest(oneInput('held', [1])).toBytes())
    stream.write(Buffer.concat(new Array<Buffer>(3000).fill(message)))
    await certain(() => rig.front.inFlight === 1024)
    await rig.client.infer(oneInput('fp32', [1, 2]))
    t.equal(rig.front.inFlight, 1024)
    session.destroy()
    t.ok(await nothingLeft(rig))
  },
)

t.test('a stream whose client reads late gets every answer', async (t) => {
  await using rig = await startRig()
  const stream = rig.client.stream()
  stream.call.pause()
  for (let i = 0; i < 3000; i++) stream.send(oneInput('fp32', [i]))
  stream.call.end()
  await certain(() => rig.records.length >= 1024)
  stream.call.resume()
  t.equal((await stream.ended()).code, 0)
  t.equal(stream.messages.length, 3000)
  t.ok(await nothingLeft(rig))
})
