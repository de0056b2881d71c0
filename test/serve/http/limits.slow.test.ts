// What a client may take of a server: bytes, time and depth; and what becomes of a request whose client has left.
import { create } from '@bufbuild/protobuf'
import { deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import {
  ModelConfigSchema,
  ModelQueuePolicy_TimeoutAction as Action,
} from '../../../lib/kserve/messages/model_config_pb.js'
import { timeoutOf } from '../../../lib/serve/front/run.js'
import { Random } from '../../support/random.js'
import { certain } from '../../support/waiting.js'
import { ask, binary, bytesOf, errorOf, get, inferJson, input, jsonOf, nothingLeft, startRig, Wire } from './rig.js'

const path = '/v2/models/fp32/infer'
const asBytes = { parameters: { binary_data_output: true } }
const heldBody = JSON.stringify({ inputs: [input('FP32', [1])] })

t.test('L0_http: a body above the limit is refused, and the connection goes on', async (t) => {
  await using rig = await startRig({ limits: { maxInputBytes: 10_000 } })
  using wire = new Wire(rig.port)
  const large = Buffer.alloc(10_001, ' ')
  const good = bytesOf({ path, body: JSON.stringify({ inputs: [input('FP32', [1])] }) })
  for (const message of [
    { path, body: large },
    { path, body: large, chunked: 1000 },
    { path, body: gzipSync(large), headers: { 'content-encoding': 'gzip' } },
    { path: '/v2/repository/index', body: large },
    { path: '/v2/repository/index', body: large, chunked: 1000 },
    { path, body: JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [2501], data: [1] }] }) },
  ]) {
    wire.write(bytesOf(message))
    const reply = await wire.reply()
    t.equal(reply.status, 413)
    t.match(errorOf(reply), /Use --http-max-input-size to increase the limit\.$/)
    wire.write(good)
    t.equal((await wire.reply()).status, 200, 'the next request is answered')
  }
  t.ok(await nothingLeft(rig))
})

t.test('a gzip bomb is stopped at the limit', async (t) => {
  await using rig = await startRig({ limits: { maxInputBytes: 2 ** 20 } })
  const spaces = Buffer.alloc(64 * 2 ** 20, ' ')
  for (const [encoding, bomb] of [
    ['gzip', gzipSync(spaces)],
    ['deflate', deflateSync(spaces)],
  ] as const) {
    const headers = { 'content-encoding': encoding }
    for (const more of [{}, { chunked: 1000 }]) {
      t.equal((await ask(rig.port, { path, body: bomb, headers, ...more })).status, 413)
      t.ok(await nothingLeft(rig))
      t.ok((rig.records.at(-1)?.bytesIn ?? Infinity) < 2 ** 21, 'no more was unpacked than the limit and a chunk')
    }
    t.equal((await ask(rig.port, { path: '/v2/repository/models/later/load', body: bomb, headers })).status, 413)
    t.ok(await nothingLeft(rig))
  }
})

t.test('L0_http: test_json_recursion_depth_limit', async (t) => {
  for (const jsonWorkerBytes of [2 ** 20, 100]) {
    await using rig = await startRig({ limits: { jsonWorkerBytes } })
    const nested = (depth: number): string =>
      `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":${'['.repeat(depth)}1${']'.repeat(depth)}}]}`
    t.equal((await inferJson(rig.port, 'fp32', nested(99))).status, 200)
    for (const depth of [100, 1000, 10_000]) {
      const reply = await inferJson(rig.port, 'fp32', nested(depth))
      t.same(
        [reply.status, errorOf(reply)],
        [400, "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (100)"],
      )
    }
    for (const open of ['[', '{"a":']) {
      t.equal((await inferJson(rig.port, 'fp32', open.repeat(10_000))).status, 400)
      t.equal(
        (await ask(rig.port, { path: '/v2/repository/models/later/load', body: open.repeat(10_000) })).status,
        400,
      )
    }
    t.ok(await nothingLeft(rig))
  }
})

t.test('bytes in flight: 503 before the body is read, and counted until the answer is gone', async (t) => {
  await using rig = await startRig({ limits: { maxInFlightBytes: 1000 } })
  const { front, held, port } = rig
  using first = new Wire(port)
  first.write(bytesOf({ path: '/v2/models/held/infer', body: heldBody }))
  await certain(() => held.waiting.length === 1)
  t.equal(front.bytesInFlight, heldBody.length + 4, 'the body and the tensor that its JSON became')
  using second = new Wire(port)
  second.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 990\r\n\r\n`)
  const refused = await second.reply()
  t.same([refused.status, refused.headers['retry-after']], [503, '1'])
  t.equal(errorOf(refused), 'More than 1000 bytes of requests and answers are under way: try again later')
  second.write(Buffer.alloc(990, ' '))
  second.write(bytesOf({ path, body: heldBody }))
  t.equal((await second.reply()).status, 200, 'the refused body was dropped and the connection goes on')
  const chunked = await ask(port, { path, body: Buffer.alloc(990, ' '), chunked: 100 })
  t.equal(chunked.status, 503, 'a body of unknown length is counted as it comes')
  held.goOn()
  t.equal((await first.reply()).status, 200)
  t.ok(await nothingLeft(rig))
  const alone = await ask(port, { path, body: JSON.stringify({ inputs: [input('FP32', Array(1000).fill(1))] }) })
  t.equal(alone.status, 503, 'what is too large once it is read is refused too')
  t.ok(await nothingLeft(rig))
})

t.test('an answer that the client does not read counts as in flight', async (t) => {
  await using rig = await startRig({ limits: { maxInputBytes: 2 ** 26 } })
  const size = 32 * 2 ** 20
  const head = {
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [size / 4], parameters: { binary_data_size: size } }],
    ...asBytes,
  }
  using wire = new Wire(rig.port)
  wire.socket.pause()
  wire.write(bytesOf(binary('fp32', head, [new Uint8Array(size)])))
  await certain(() => rig.records.length === 1)
  t.ok(rig.front.bytesInFlight > size, 'the answer is charged')
  t.equal(rig.front.inFlight, 1)
  wire.socket.destroy()
  t.ok(await nothingLeft(rig))
})

t.test('408 for a head and for a body that do not come', async (t) => {
  await using rig = await startRig({ limits: { headTimeoutMs: 50, bodyTimeoutMs: 50 } })
  const body = JSON.stringify({ inputs: [input('FP32', [1])] })
  const whole = bytesOf({ path, body })
  for (const [what, part] of [
    ['head', whole.subarray(0, 20)],
    ['body', whole.subarray(0, -5)],
  ] as const) {
    using wire = new Wire(rig.port)
    wire.write(part)
    const reply = await wire.reply()
    t.same([reply.status, errorOf(reply)], [408, 'The request took too long to arrive'], what)
    await certain(() => wire.isOver)
  }
  t.ok(await nothingLeft(rig))
})

t.test('408 for a body of which a byte comes now and then, whatever it is for', async (t) => {
  await using rig = await startRig({ limits: { headTimeoutMs: 50, bodyTimeoutMs: 50 } })
  const body = JSON.stringify({ inputs: [input('FP32', [1])], padding: 'x'.repeat(100_000) })
  const packed = gzipSync(Buffer.from(new Random(26).bytes(100_000)))
  for (const message of [
    { path, body },
    { path, body, chunked: 1000 },
    { path, body: packed, headers: { 'content-encoding': 'gzip' } },
    binary(
      'fp32',
      { inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [25_000], parameters: { binary_data_size: 100_000 } }] },
      [new Uint8Array(100_000)],
    ),
    { path: '/v2/repository/models/later/load', body },
  ]) {
    using wire = new Wire(rig.port)
    const bytes = bytesOf(message)
    let at = 1000
    wire.write(bytes.subarray(0, at))
    const timer = setInterval(() => wire.write(bytes.subarray(at, ++at)), 5)
    const reply = await wire.reply()
    clearInterval(timer)
    t.same([reply.status, errorOf(reply)], [408, 'The request took too long to arrive'])
    await certain(() => wire.isOver)
  }
  t.ok(await nothingLeft(rig))
  t.same(rig.control.loads, [])
  t.equal((await get(rig.port, '/v2/health/live')).status, 200)
})

t.test('what is no HTTP', async (t) => {
  await using rig = await startRig()
  using wire = new Wire(rig.port)
  wire.write('nothing of this kind\r\n\r\n')
  t.equal((await wire.reply()).status, 400)
  using long = new Wire(rig.port)
  long.write(`GET /v2 HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)
  t.equal((await long.reply()).status, 431)
  t.equal((await get(rig.port, '/v2/models/%zz')).status, 400)
})

t.test('L0_request_cancellation: a client that leaves while its request runs', async (t) => {
  await using rig = await startRig()
  const model = rig.control.servables.find(({ name }) => name === 'held')
  const wire = new Wire(rig.port)
  wire.write(bytesOf({ path: '/v2/models/held/infer', body: heldBody }))
  await certain(() => rig.held.waiting.length === 1)
  t.equal(model?.cuts[0]?.happened, false)
  wire.socket.destroy()
  await certain(() => model?.cuts[0]?.happened === true)
  t.ok(await nothingLeft(rig))
  await certain(() => rig.records.length === 1)
  t.match(rig.records[0], { status: 499, fault: 'CANCELLED', reachedModel: true, model: 'held', version: '1' })
})

t.test('a client that leaves in the middle of its body', async (t) => {
  await using rig = await startRig()
  const whole = bytesOf(
    binary(
      'fp32',
      { inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1000], parameters: { binary_data_size: 4000 } }] },
      [new Uint8Array(4000)],
    ),
  )
  const packed = bytesOf({ path, body: gzipSync(heldBody), headers: { 'content-encoding': 'gzip' } })
  for (const part of [whole.subarray(0, 120), whole.subarray(0, 1000), packed.subarray(0, -5)]) {
    const wire = new Wire(rig.port)
    const before = rig.records.length
    wire.write(part)
    await certain(() => rig.front.inFlight === 1)
    wire.socket.destroy()
    t.ok(await nothingLeft(rig))
    await certain(() => rig.records.length === before + 1)
    t.match(rig.records.at(-1), { status: 499, reachedModel: false })
  }
  t.same(
    rig.control.servables.flatMap(({ requests }) => requests),
    [],
    'no model ran',
  )
})

t.test('a client that leaves while a worker reads its JSON', async (t) => {
  await using rig = await startRig({ limits: { jsonWorkerBytes: 10 } })
  const { worker } = rig.front
  const read = worker.read.bind(worker)
  let [begun, goOn] = [0, (): void => {}]
  const gate = new Promise<void>((resolve) => (goOn = resolve))
  const results: Promise<unknown>[] = []
  worker.read = (...order) => {
    begun++
    const result = gate.then(() => read(...order))
    results.push(result)
    return result
  }
  const wire = new Wire(rig.port)
  const head = { inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [2], parameters: { binary_data_size: 8 } }] }
  wire.write(bytesOf(binary('fp32', head, [new Uint8Array(8)])).subarray(0, -2))
  await certain(() => begun === 1)
  wire.socket.destroy()
  await certain(() => rig.front.inFlight === 0)
  goOn()
  await Promise.all(results)
  await get(rig.port, '/v2')
  t.ok(await nothingLeft(rig))
  t.same(
    rig.control.servables.flatMap(({ requests }) => requests),
    [],
    'no model ran',
  )
})

t.test('L0_client_timeout: a timeout that passes ends the request where it runs', async (t) => {
  await using rig = await startRig()
  const body = { inputs: [input('FP32', [1])], parameters: { timeout: 1000, priority: 2 } }
  const reply = await inferJson(rig.port, 'held', body)
  t.same([reply.status, errorOf(reply), reply.headers['retry-after']], [503, 'Request timeout expired', '1'])
  const model = rig.control.servables.find(({ name }) => name === 'held')
  t.match(model?.requests[0], { timeoutUs: 1000, priority: 2 })
  t.equal(model?.cuts[0]?.happened, true)
  t.ok(await nothingLeft(rig))
})

t.test('whose timeout counts: that of the request, unless the queue policy says otherwise', (t) => {
  const config = (policy: object, more: object = {}): any =>
    create(ModelConfigSchema, {
      schedulingChoice: { case: 'dynamicBatching', value: { defaultQueuePolicy: policy, ...more } },
    } as never)
  t.equal(timeoutOf(create(ModelConfigSchema), 0, 0), undefined)
  t.equal(timeoutOf(create(ModelConfigSchema), 0, 1500), 1.5)
  t.equal(timeoutOf(create(ModelConfigSchema), 0, Number.MAX_SAFE_INTEGER), 2 ** 31 - 1)
  t.equal(timeoutOf(config({}), 0, 1500), 1.5)
  t.equal(timeoutOf(config({ timeoutAction: Action.DELAY }), 0, 1500), undefined)
  t.equal(timeoutOf(config({ defaultTimeoutMicroseconds: 9n }), 0, 1500), undefined)
  t.equal(timeoutOf(config({ defaultTimeoutMicroseconds: 9n, allowTimeoutOverride: true }), 0, 1500), 1.5)
  const levels = { defaultPriorityLevel: 2n, priorityQueuePolicy: { 2: { timeoutAction: Action.DELAY } } }
  t.equal(timeoutOf(config({}, levels), 0, 1500), undefined)
  t.equal(timeoutOf(config({}, levels), 1, 1500), 1.5)
  t.end()
})

t.test('the end: not ready, no new connections and no new work; what is under way ends', async (t) => {
  await using rig = await startRig()
  using busy = new Wire(rig.port)
  using kept = new Wire(rig.port)
  busy.write(bytesOf({ path: '/v2/models/held/infer', body: heldBody }))
  await certain(() => rig.held.waiting.length === 1)
  kept.write('GET /v2/health/ready HTTP/1.1\r\nhost: x\r\n')
  const stopped = rig.front.stopAccepting()
  kept.write('\r\n')
  const health = await kept.reply()
  t.same([health.status, jsonOf(health), health.headers['connection']], [400, { live: true, ready: false }, 'close'])
  t.equal(rig.front.inFlight, 1)
  await t.rejects(get(rig.port, '/v2/health/live'), 'nobody listens')
  let isDrained = false
  const drained = rig.front.drained().then(() => (isDrained = true))
  t.equal(isDrained, false)
  rig.held.goOn()
  const last = await busy.reply()
  t.same([last.status, last.headers['connection']], [200, 'close'])
  await drained
  await stopped
  await rig.front.drained()
  t.ok(await nothingLeft(rig))
})

t.test('work that comes over a connection that was there before the end is refused', async (t) => {
  await using rig = await startRig()
  using wire = new Wire(rig.port)
  const message = bytesOf({ path, body: heldBody })
  wire.write(message.subarray(0, 30))
  await certain(() => wire.socket.bytesWritten === 30)
  await get(rig.port, '/v2') // the first bytes have come by then
  const stopped = rig.front.stopAccepting()
  wire.write(message.subarray(30))
  const reply = await wire.reply()
  t.same([reply.status, errorOf(reply), reply.headers['connection']], [503, 'Server not ready', 'close'])
  await stopped
})
