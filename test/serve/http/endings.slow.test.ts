// What ends while others are under way: clients behind another request on their connection, answers that are still
// read, loads; and memory within the limit.
import { connect } from 'node:net'
import t from 'tap'
import { Fault } from '../../../lib/serve/faults.js'
import { serve } from '../../../lib/serve/index.js'
import { Random } from '../../support/random.js'
import { certain, until } from '../../support/waiting.js'
import { putIdentity } from '../repositories.js'
import { repository } from '../models/folders.js'
import { idle, startReal } from './real/server.js'
import { ask, binary, bytesOf, errorOf, inferJson, input, jsonOf, nothingLeft, startRig, Wire } from './rig.js'

await t.test('a client that leaves with requests behind each other on its connection', async (t) => {
  const folder = repository(t)
  putIdentity(folder, 'm', { maxBatchSize: 64, config: 'dynamic_batching { max_queue_delay_microseconds: 60000000 }' })
  await using server = await startReal(folder)
  const head = {
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 1000], parameters: { binary_data_size: 4000 } }],
  }
  const request = bytesOf(binary('m', head, [new Uint8Array(4000)]))
  for (let round = 0; round < 4; round++) {
    const wire = new Wire(server.port)
    wire.write(Buffer.concat(Array.from({ length: 16 }, () => request)))
    await certain(() => server.front.inFlight === 16)
    wire.socket.destroy()
    await idle(server)
  }
  await certain(() => server.records.length === 64)
  t.ok(server.records.every(({ status }) => status === 499))
  const full = { name: 'INPUT0', datatype: 'FP32', shape: [64, 1], data: Array<number>(64).fill(1) }
  t.equal((await inferJson(server.port, 'm', { inputs: [full] })).status, 200, 'a full batch need not wait')
})

for (const encoding of ['identity', 'gzip']) {
  await t.test(`an answer (${encoding}) that its client still reads is whole, though the server drains`, async (t) => {
    const folder = repository(t)
    putIdentity(folder, 'm', { maxBatchSize: 0 })
    await using server = await serve({
      modelRepository: folder,
      http: { port: 0, address: '127.0.0.1' },
      engine: { backend: 'cpu' },
    })
    const bytes = 16 * 2 ** 20
    const random = new Random(7)
    const tensor = Uint32Array.from({ length: bytes / 4 }, () => random.below(2 ** 32))
    const head = {
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [bytes / 4], parameters: { binary_data_size: bytes } }],
      outputs: [{ name: 'OUTPUT0', parameters: { binary_data: true } }],
    }
    const socket = connect({ port: server.addresses.http!.port, host: '127.0.0.1' })
    let [got, drained] = [0, false]
    socket.on('data', (chunk) => (got += chunk.length))
    socket.write(
      bytesOf(binary('m', head, [new Uint8Array(tensor.buffer)], { headers: { 'accept-encoding': encoding } })),
    )
    await certain(() => got > 0)
    socket.pause()
    const drain = server.drain({ timeoutMs: 60_000 }).then((result) => {
      drained = true
      return result
    })
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
    t.equal(drained, false, 'its bytes are in no socket yet')
    socket.resume()
    t.same(await drain, { left: 0 })
    // the keep-alive timeout of the server, 72 s, would close it as well
    t.ok(await until(() => socket.closed, 30_000), 'the server closes the connection')
    t.ok(got > bytes, `${got} bytes`)
  })
}

await t.test('a load is under way until it is answered', async (t) => {
  await using rig = await startRig()
  let end = (): void => {}
  const held = new Promise<void>((resolve) => (end = resolve))
  rig.control.load = async () => {
    await held
    throw new Fault('INTERNAL', 'it failed in the end')
  }
  const asked = ask(rig.port, { path: '/v2/repository/models/later/load', body: '' })
  await certain(() => rig.front.inFlight === 1)
  end()
  t.match(errorOf(await asked), 'it failed in the end')
  t.ok(await nothingLeft(rig))
})

await t.test('a body whose length nobody told takes no more memory than it may', async (t) => {
  await using rig = await startRig({ limits: { maxInputBytes: 2 ** 20 } })
  const claiming = (bytes: number): Promise<any> => {
    const head = {
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [bytes / 4], parameters: { binary_data_size: bytes } }],
    }
    return ask(rig.port, binary('fp32', head, [new Uint8Array(16)], { chunked: 100 }))
  }
  for (const bytes of [2 ** 21, 2 ** 33, 4 * 2 ** 50]) {
    const reply = await claiming(bytes)
    t.equal(reply.status, 413, `${bytes}`)
    t.match(errorOf(reply), /^the body of \d+ bytes exceeds the maximum allowed 1048576 bytes/)
  }
  t.equal((await claiming(2 ** 19)).status, 400, 'what is within the limit is missing')
  t.ok(await nothingLeft(rig))
})

await t.test('a long text beside a fraction', async (t) => {
  await using rig = await startRig()
  const reply = await inferJson(rig.port, 'fp32', { id: 'x'.repeat(12e6), inputs: [input('FP32', [1.5])] })
  t.same([reply.status, jsonOf(reply).outputs[0].data], [200, [1.5]])
})
