// Bytes that come in any pieces, bodies that end early, and requests that were changed at random: never a crash, nor a
// fault of the server, and nothing is kept.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { ask, binary, bytesOf, get, input, type Message, nothingLeft, partsOf, startRig, Wire } from './rig.js'

const asBytes = { parameters: { binary_data_output: true } }
const head = {
  inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [3], parameters: { binary_data_size: 12 } }],
  ...asBytes,
}
const floats = new Uint8Array(Float32Array.of(1, -2.5, 3e7).buffer)
const asJson = JSON.stringify({ id: 'é', inputs: [input('FP32', [1, -2.5, 3e7])], ...asBytes })
const path = '/v2/models/fp32/infer'

const good: readonly Message[] = [
  binary('fp32', head, [floats]),
  { path, body: asJson },
  { ...binary('fp32', head, [floats]), chunked: 10 },
  { path, body: gzipSync(asJson), headers: { 'content-encoding': 'gzip' } },
  { path, body: floats, headers: { 'Inference-Header-Content-Length': 0 } },
]

t.test('L0_http: a request split at every byte', async (t) => {
  await using rig = await startRig()
  for (const message of good.slice(0, 3)) {
    using wire = new Wire(rig.port)
    const bytes = bytesOf(message)
    let wrong = 0
    for (let at = 1; at < bytes.length; at++) {
      await wire.writeEach([bytes.subarray(0, at), bytes.subarray(at)])
      const reply = await wire.reply()
      if (reply.status !== 200 || !partsOf(reply).tensors.equals(floats)) wrong++
    }
    t.equal(wrong, 0, `${bytes.length - 1} places`)
    await wire.writeEach(Array.from(bytes, (byte) => Uint8Array.of(byte)))
    t.same(partsOf(await wire.reply()).tensors, Buffer.from(floats), 'a byte at a time')
  }
  t.ok(await nothingLeft(rig))
})

t.test('two requests in one packet, split at every byte', async (t) => {
  await using rig = await startRig()
  const [one, other] = [bytesOf(good[0] as Message), bytesOf(good[1] as Message)]
  const both = Buffer.concat([one, other])
  let wrong = 0
  using wire = new Wire(rig.port)
  for (let at = 1; at < both.length; at += 3) {
    await wire.writeEach([both.subarray(0, at), both.subarray(at)])
    for (let each = 0; each < 2; each++) if (!partsOf(await wire.reply()).tensors.equals(floats)) wrong++
  }
  t.equal(wrong, 0)
  t.ok(await nothingLeft(rig))
})

t.test('bodies that end early, at every byte', async (t) => {
  await using rig = await startRig()
  for (const message of good) {
    const bytes = bytesOf(message)
    const start = bytes.indexOf('\r\n\r\n') + 4
    for (let at = start; at < bytes.length; at += 5) {
      const wire = new Wire(rig.port)
      wire.socket.end(bytes.subarray(0, at))
      await certain(() => wire.isOver)
    }
  }
  t.ok(await nothingLeft(rig))
  t.same(
    rig.control.servables.flatMap(({ requests }) => requests),
    [],
    'no model ran',
  )
  t.equal((await get(rig.port, '/v2/health/live')).status, 200)
})

t.test('gzip that is corrupt, at every byte', async (t) => {
  await using rig = await startRig()
  const packed = gzipSync(asJson)
  const statuses = new Map<number, number>()
  for (let at = 0; at < packed.length; at++) {
    for (const body of [packed.subarray(0, at), changed(packed, at)]) {
      const reply = await ask(rig.port, { path, body, headers: { 'content-encoding': 'gzip' } })
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
      if (reply.status === 200 && !partsOf(reply).tensors.equals(floats)) t.fail(`a wrong answer to a fault at ${at}`)
    }
  }
  t.same([...statuses.keys()].sort(), [200, 400], 'only bytes of its head that say nothing do no harm')
  t.ok((statuses.get(200) ?? 0) < 10)
  t.ok(await nothingLeft(rig))
})

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 0xff
  return copy
}

const more: readonly Message[] = [
  ...good,
  binary(
    'two',
    {
      inputs: [
        { name: 'INPUT0', datatype: 'FP32', shape: [1, 3], parameters: { binary_data_size: 12 } },
        { name: 'INPUT1', datatype: 'INT32', shape: [1, 3], data: [4, 5, 6] },
      ],
    },
    [floats],
  ),
  {
    path: '/v2/models/int64/infer',
    body: JSON.stringify({
      inputs: [input('INT64', [1, -9, 2 ** 50])],
      parameters: { priority: 1, timeout: 60_000_000 },
    }),
  },
  {
    path: '/v2/models/bytes/infer',
    body: JSON.stringify({
      inputs: [input('BYTES', ['a', 'ü', ''])],
      outputs: [{ name: 'OUTPUT0', parameters: { binary_data: true } }],
    }),
  },
  {
    path: '/v2/models/classes/infer',
    body: JSON.stringify({
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }],
      outputs: [{ name: 'OUTPUT0', parameters: { classification: 2 } }],
    }),
  },
  { path: '/v2/repository/index', body: JSON.stringify({ ready: true }) },
  { path: '/v2/repository/models/later/load', body: JSON.stringify({ parameters: { config: '{}' } }) },
]

/** Bytes that JSON and its numbers are made of are likelier than others. */
const likely = Buffer.from('{}[]",:0123456789.-+eE \\utrfalsn\0\xff', 'latin1')

function mutant(random: Random, message: Message): Message {
  const body = Buffer.from(message.body as Uint8Array)
  const parts = [...body]
  for (let left = 1 + random.below(3); left > 0; left--) {
    const at = random.below(parts.length + 1)
    const byte = random.chance(0.8) ? (likely[random.below(likely.length)] ?? 0) : random.below(256)
    const kind = random.below(4)
    if (kind === 0) parts.splice(at, 1)
    else if (kind === 1) parts.splice(at, 0, byte)
    else if (kind === 2) parts[Math.min(at, parts.length - 1)] = byte
    else parts.splice(at, random.below(8), ...parts.slice(random.below(parts.length), random.below(parts.length)))
  }
  return { ...message, body: Buffer.from(parts) }
}

t.test('mutants: what is answered with 200 is what the model got', async (t) => {
  await using rig = await startRig({ limits: { jsonWorkerBytes: 400 } })
  const random = new Random(26)
  const statuses = new Map<number, number>()
  using wire = new Wire(rig.port)
  for (let i = size(1500, 100_000); i > 0; i--) {
    const message = mutant(random, random.pick(more))
    wire.write(bytesOf(message))
    const reply = await wire.reply()
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
    if (reply.status >= 500)
      t.fail(
        `${reply.status} ${reply.body.toString()} to ${Buffer.from(message.body as Uint8Array).toString('latin1')}`,
      )
    if (reply.status === 200 && message.path.endsWith('/infer')) checkOutputs(t, rig, message, reply)
  }
  t.comment(JSON.stringify([...statuses]))
  t.ok((statuses.get(200) ?? 0) > 50)
  t.ok((statuses.get(400) ?? 0) > 50)
  t.ok(await nothingLeft(rig))
})

/** Binary outputs against the bytes that infer() got, which is what a direct call would have computed. */
function checkOutputs(
  t: Pick<typeof import('tap').t, 'fail'>,
  rig: Awaited<ReturnType<typeof startRig>>,
  { path }: Message,
  reply: Awaited<ReturnType<typeof ask>>,
): void {
  const request = rig.control.servables.find(({ name }) => name === path.split('/')[3])?.requests.at(-1)
  const { json, tensors } = partsOf(reply)
  let at = 0
  for (const output of json.outputs) {
    const bytes = output.parameters?.binary_data_size as number | undefined
    if (bytes === undefined) continue
    const got = request?.inputs.find(({ name }) => name === output.name.replace('OUTPUT', 'INPUT'))
    if (!tensors.subarray(at, at + bytes).equals(got?.bytes ?? Buffer.alloc(0)))
      t.fail(`a wrong answer: ${reply.body.toString('latin1')}`)
    if (output.datatype !== 'BYTES' && output.shape.join() !== got?.shape.join())
      t.fail(`a wrong shape: ${output.shape}`)
    at += bytes
  }
}
