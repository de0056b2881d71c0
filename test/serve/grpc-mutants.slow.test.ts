// Bad input over gRPC: mutants of the recorded calls, streams that are reset at every point, many streams: no crash, no
// INTERNAL for a fault of the client, nothing in flight afterwards.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Random } from '../support/random.js'
import { size } from '../support/tiers.js'
import { Connection, framed, grpcHeaders, type RawCall, unframed } from './grpc-mutants/calls.js'
import { recordedSources, sendMutants } from './grpc-mutants/mutants.js'
import { nested } from './grpc-mutants/messages.js'
import { idle, startRecorded } from './grpc-mutants/rig.js'
import { pathOf } from './recorded/grpc/ask.js'
import { calls } from './recorded/grpc/requests.js'

t.setTimeout(600_000)

const rig = await startRecorded(t)
t.teardown(() => rig[Symbol.asyncDispose]())

const [good] = calls.filter(({ name }) => name === 'two inputs')
const inference: RawCall = { path: pathOf('ModelInfer'), headers: grpcHeaders, body: framed(...(good?.messages ?? [])) }
const streamed = (count: number): RawCall => ({
  ...inference,
  path: pathOf('ModelStreamInfer'),
  body: framed(...Array.from({ length: count }, () => good!.messages[0]!)),
})

await t.test('mutants of the recorded calls', async (t) => {
  using connection = new Connection(rig.port)
  const count = size(1000, 100_000)
  const tally = await sendMutants(connection, await recordedSources(), count, new Random(27))
  t.same(tally.wrong, [])
  t.comment(
    `${JSON.stringify([...tally.codes])}, ${String(tally.compared)} compared, ${String(connection.lost)} connections lost`,
  )
  t.ok(tally.compared > count / 10, 'some are as good as before')
  t.ok((tally.codes.get(3) ?? 0) > count / 10)
})

await t.test('a stream that is reset at every byte, and at its answer', async (t) => {
  using connection = new Connection(rig.port)
  const points = [...Array.from(inference.body, (_, at) => at), inference.body.length, 'head', 'data'] as const
  for (const reset of points) await connection.call({ ...inference, reset })
  await Promise.all(points.map((reset) => connection.call({ ...inference, reset })))
  t.equal((await connection.call(inference)).code, 0, 'the connection goes on')
})

await t.test('a stream of inferences that is reset at every message', async (t) => {
  using connection = new Connection(rig.port)
  const { body } = streamed(8)
  for (let messages = 0; messages <= 8; messages++)
    await connection.call({ ...streamed(8), reset: (body.length / 8) * messages })
  for (const reset of ['head', 'data'] as const) await connection.call({ ...streamed(8), reset })
  const answer = await connection.call(streamed(8))
  t.equal(answer.code, 0)
  t.equal(unframed(answer.body).length, 8)
})

await t.test('a thousand streams on one connection', async (t) => {
  using connection = new Connection(rig.port)
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => connection.call(i % 10 === 0 ? { ...inference, reset: 'head' } : inference)),
  )
  t.equal(answers.filter(({ code }) => code === 0).length >= 900, true)
  t.equal(connection.lost, 0)
})

await t.test('half messages, and frames that lie', async (t) => {
  using connection = new Connection(rig.port)
  const codeOf = async (body: Buffer, headers = {}): Promise<number | undefined> =>
    (await connection.call({ ...inference, body, headers: { ...grpcHeaders, ...headers } })).code
  const { body } = inference
  const changed = (at: number, value: number): Buffer =>
    Buffer.concat([body.subarray(0, at), Buffer.of(value), body.subarray(at + 1)])
  for (const [what, half] of [
    ['half a message', body.subarray(0, -5)],
    ['half a prefix', body.subarray(0, 3)],
    ['a length beyond', changed(4, (body[4] ?? 0) + 1)],
  ] as const)
    // prettier-ignore
    t.not(await codeOf(half), 13, what)
  t.not(await codeOf(changed(0, 1)), 13, 'compressed, but nothing says how')
  t.not(await codeOf(changed(0, 1), { 'grpc-encoding': 'gzip' }), 13, 'compressed, but it is not')
  t.equal(await codeOf(changed(0, 1), { 'grpc-encoding': 'br' }), 12, 'compressed in another way')
  t.not(await codeOf(Buffer.alloc(0)), 13, 'no message')
  const packed = gzipSync(Buffer.alloc(2 ** 27))
  const bomb = framed(packed)
  bomb[0] = 1
  t.equal(await codeOf(bomb, { 'grpc-encoding': 'gzip' }), 8, '128 KiB that become 128 MiB')
  const followed = Buffer.concat([body, Buffer.of(0, 0xff, 0xff, 0xff, 0xff, 0)])
  t.equal(
    (await connection.call({ ...inference, body: followed, chunk: body.length })).code,
    8,
    'a second message that is too large',
  )
  t.not(await codeOf(framed(Buffer.concat([inference.body.subarray(5), nested(100_000)]))), 13, 'groups in groups')
  t.equal((await connection.call(inference)).code, 0, 'the connection goes on')
})

await t.test('nothing is in flight', async (t) => {
  await idle(rig)
  using connection = new Connection(rig.port)
  t.equal((await connection.call(inference)).code, 0)
  t.ok(rig.models.snapshot.all.length > 0)
})
