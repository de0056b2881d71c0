// ModelStreamInfer, Watch, compression, restrictions, TLS.
import t from 'tap'
import * as grpc from '@grpc/grpc-js'
import { fromBinary, toBinary, create } from '@bufbuild/protobuf'
import { encodeInferRequest } from '../../../lib/kserve/infer-request.js'
import { healthMethods, inferenceMethods as rpcs, pathOf } from '../../../lib/kserve/methods.js'
import { certain } from '../../support/waiting.js'
import {
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
  streamPath,
} from './rig.js'

t.test('answers come as they are ready, each with its id and the mark of the last one', async (t) => {
  await using rig = await startRig()
  const stream = rig.client.stream()
  stream.send(oneInput('held', [1], { id: 'slow' }))
  stream.send(
    oneInput('fp32', [2], {
      id: 'fast',
      parameters: parameters({ triton_enable_empty_final_response: { kind: 'bool', value: true } }),
    }),
  )
  const [first] = await stream.count(1)
  t.match(first, {
    errorMessage: '',
    inferResponse: { id: 'fast', modelName: 'fp32', modelVersion: '1', outputs: [{ name: 'OUTPUT0' }] },
  })
  t.strictSame(first?.inferResponse?.rawOutputContents, [floats(2)])
  t.same(first?.inferResponse?.parameters, parameters({ triton_final_response: { kind: 'bool', value: true } }))
  rig.held.goOn()
  t.match((await stream.count(2))[1], { inferResponse: { id: 'slow' } })
  stream.call.end()
  t.equal((await stream.ended()).code, 0)
  t.equal(stream.messages.length, 2, 'no empty answer: none of these models has several')
  t.ok(await nothingLeft(rig))
})

t.test('a failure is a message, and the stream goes on', async (t) => {
  await using rig = await startRig()
  const stream = rig.client.stream()
  stream.send(oneInput('nobody', [1], { id: 'a' }))
  stream.call.write(Buffer.from([0x0a, 9]))
  stream.send({
    ...oneInput('held', [1], { id: 'b' }),
    parameters: parameters({ timeout: { kind: 'int64', value: 10_000n } }),
  })
  await stream.count(3)
  stream.send(oneInput('fp32', [1], { id: 'c' }))
  const [unknown, none, late, good] = await stream.count(4)
  t.match(unknown, {
    errorMessage: "Request for unknown model: 'nobody' is not found",
    inferResponse: { id: 'a', modelName: '' },
  })
  t.match(none, { errorMessage: /^The message /, inferResponse: { id: '' } })
  t.match(late, { errorMessage: 'Request timeout expired', inferResponse: { id: 'b', modelName: 'held' } })
  t.ok(late?.inferResponse?.parameters.has('triton_final_response'))
  t.match(good, { errorMessage: '', inferResponse: { id: 'c' } })
  stream.call.end()
  t.equal((await stream.ended()).code, 0)
  t.ok(await nothingLeft(rig))
})

t.test('with the header triton_grpc_error the first failure ends it', async (t) => {
  await using rig = await startRig()
  const stream = rig.client.stream({ headers: { triton_grpc_error: 'true' } })
  stream.send(oneInput('held', [1]))
  await certain(() => rig.held.waiting.length === 1)
  stream.send(oneInput('nobody', [1]))
  t.match(await stream.ended(), {
    code: grpc.status.NOT_FOUND,
    details: "Request for unknown model: 'nobody' is not found",
  })
  t.ok(await nothingLeft(rig))
})

t.test('a deadline, a cancel, and a client that ends while requests are under way', async (t) => {
  await using rig = await startRig()
  const late = rig.client.stream({ deadlineMs: 100 })
  for (let i = 0; i < 3; i++) late.send(oneInput('held', [i]))
  t.equal((await late.ended()).code, grpc.status.DEADLINE_EXCEEDED)
  t.ok(await nothingLeft(rig))
  const cancelled = rig.client.stream()
  for (let i = 0; i < 3; i++) cancelled.send(oneInput('held', [i]))
  await certain(() => rig.front.inFlight === 3)
  cancelled.call.cancel()
  t.ok(await nothingLeft(rig))
  rig.held.goOn()
  const ended = rig.client.stream()
  for (let i = 0; i < 3; i++) ended.send(oneInput('held', [i]))
  ended.call.end()
  await certain(() => rig.held.waiting.length === 3)
  rig.held.goOn()
  t.equal((await ended.ended()).code, 0)
  t.equal(ended.messages.length, 3)
  t.ok(await nothingLeft(rig))
})

t.test('a stream that is reset at every byte of its messages', async (t) => {
  await using rig = await startRig()
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  const message = frame(encodeInferRequest(oneInput('fp32', [1])).toBytes())
  const two = Buffer.concat([message, message])
  for (let end = 0; end <= two.length; end += 3) {
    const stream = session.request(rawHeaders(streamPath)).on('error', () => {})
    stream.write(two.subarray(0, end))
    await new Promise((resolve) => setImmediate(resolve))
    stream.close(8)
  }
  t.ok(await nothingLeft(rig))
  t.equal((await rig.client.infer(oneInput('fp32', [1]))).modelName, 'fp32')
})

t.test('Watch tells what has changed: of the server, of a model, of what is none', async (t) => {
  await using rig = await startRig()
  const { client, control, front } = rig
  const watch = (service: string) => {
    const told: number[] = []
    let status: number | undefined
    const { input, output } = healthMethods.watch
    const same = (bytes: Buffer): Buffer => bytes
    const request = Buffer.from(toBinary(input, create(input, { service })))
    const call = client.raw.makeServerStreamRequest(pathOf(healthMethods.watch), same, same, request)
    call.on('data', (bytes: Buffer) => told.push(fromBinary(output, bytes).status)).on('error', () => {})
    call.on('status', ({ code }) => (status = code))
    return { told, call, status: () => status }
  }
  const [server, model, unknown] = [watch(''), watch('fp32'), watch('nobody')]
  await certain(() => [server, model, unknown].every(({ told }) => told.length === 1))
  t.strictSame([server.told, model.told, unknown.told], [[1], [1], [3]])
  control.ready = false
  front.changed()
  front.changed()
  await certain(() => server.told.length === 2)
  control.ready = true
  front.changed()
  await certain(() => server.told.length === 3)
  t.strictSame([server.told, model.told], [[1, 2, 1], [1]])
  unknown.call.cancel()
  await certain(() => front.health.watching === 2)
  void front.stopAccepting()
  await certain(() => server.told.length === 4 && model.told.length === 2)
  t.strictSame(
    [server.told, model.told],
    [
      [1, 2, 1, 2],
      [1, 2],
    ],
  )
  await front.close()
  await certain(() => server.status() !== undefined && model.status() !== undefined)
  t.equal(server.status(), grpc.status.UNAVAILABLE)
  t.equal(front.health.watching, 0)
})

t.test('answers are compressed for who takes it, if the server is told so', async (t) => {
  const asked = frame(encodeInferRequest(oneInput('fp32', new Array<number>(2000).fill(1))).toBytes())
  for (const [compression, accepted, encoding] of [
    ['none', 'gzip', undefined],
    ['low', 'identity,deflate,gzip', 'gzip'],
    ['high', 'identity,deflate,gzip', 'deflate'],
    ['medium', 'gzip', 'gzip'],
    ['low', 'identity', undefined],
    ['low', undefined, undefined],
  ] as const) {
    await using rig = await startRig({ compressionLevel: compression })
    const session = await rawSession(rig.port)
    for (const path of [inferPath, streamPath]) {
      const stream = session.request(
        rawHeaders(path, accepted === undefined ? {} : { 'grpc-accept-encoding': accepted }),
      )
      const chunks: Buffer[] = []
      let found: unknown
      stream
        .on('response', (headers) => (found = headers['grpc-encoding']))
        .on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.end(asked)
      await new Promise((resolve) => stream.on('close', resolve))
      const body = Buffer.concat(chunks)
      t.equal(found, encoding ?? 'identity', `${compression} ${accepted ?? ''}`)
      t.equal(body[0], encoding === undefined ? 0 : 1)
      t.equal(body.readUInt32BE(1), body.length - 5)
      t.equal(body.length > 8000, encoding === undefined)
    }
    session.destroy()
    const answer = await rig.client.infer(oneInput('fp32', new Array<number>(2000).fill(1)))
    t.equal(answer.rawOutputContents[0]?.length, 8000, 'and the library of a client reads it')
    const stream = rig.client.stream()
    stream.send(oneInput('fp32', new Array<number>(2000).fill(1)))
    t.equal((await stream.count(1))[0]?.inferResponse?.rawOutputContents[0]?.length, 8000)
    stream.call.end()
    t.ok(await nothingLeft(rig))
  }
})

t.test('a restricted API wants its header', async (t) => {
  const rule = { header: 'triton-grpc-protocol-key', value: 'secret' }
  await using rig = await startRig({ restricted: new Map([['inference', rule], ['health', rule]]) }) // prettier-ignore
  const { client } = rig
  const refused = ['UNAVAILABLE', "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"]
  const headers = { 'triton-grpc-protocol-key': 'secret' }
  t.strictSame(await failureOf(client.infer(oneInput('fp32', [1]))), refused)
  t.strictSame(
    await failureOf(client.infer(oneInput('fp32', [1]), { headers: { 'triton-grpc-protocol-key': 'x' } })),
    refused,
  )
  t.strictSame(await failureOf(client.plain(rpcs.serverLive)), refused)
  t.equal((await client.infer(oneInput('fp32', [1]), { headers })).modelName, 'fp32')
  t.equal((await client.plain(rpcs.serverLive, {}, { headers })).live, true)
  t.equal((await client.plain(rpcs.serverMetadata)).name, 'node-tensorrt')
  t.equal((await client.stream().ended()).code, grpc.status.UNAVAILABLE)
  const stream = client.stream({ headers })
  stream.send(oneInput('fp32', [1]))
  t.equal((await stream.count(1)).length, 1)
  stream.call.end()
  t.ok(await nothingLeft(rig))
})
