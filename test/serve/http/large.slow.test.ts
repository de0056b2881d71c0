// Large bodies: JSON is read and written beside the event loop, and tensors go to the socket as they are.
import { Socket } from 'node:net'
import t from 'tap'
import { watchEventLoop } from '../../support/event-loop.js'
import { certain } from '../../support/waiting.js'
import { FakeControl, FakeServable } from './fakes.js'
import { ask, binary, bytesOf, errorOf, inferJson, input, jsonOf, nothingLeft, partsOf, startRig } from './rig.js'

const asBytes = { parameters: { binary_data_output: true } }

t.test('long JSON, in and out, is the same as short JSON', async (t) => {
  await using rig = await startRig({ limits: { jsonWorkerBytes: 1000 } })
  const send = (model: string, body: unknown): Promise<any> => inferJson(rig.port, model, body)
  const floats = Array.from({ length: 5000 }, (_, i) => i / 3)
  const reply = jsonOf(await send('fp64', { id: 'long', inputs: [input('FP64', floats)] }))
  t.same([reply.id, reply.outputs[0].data], ['long', floats])
  const texts = Array.from({ length: 500 }, (_, i) => `ü${i}`)
  t.same(jsonOf(await send('bytes', { inputs: [input('BYTES', texts)] })).outputs[0].data, texts)
  const bytes = partsOf(await send('fp64', { inputs: [input('FP64', floats)], ...asBytes }))
  t.same(new Float64Array(new Uint8Array(bytes.tensors).buffer), Float64Array.from(floats))
  const classes = await send('fp64', {
    inputs: [input('FP64', floats)],
    outputs: [{ name: 'OUTPUT0', parameters: { classification: 2 } }],
  })
  t.same(jsonOf(classes).outputs[0].data, ['1666.333333:4999', '1666.000000:4998'])
  const two = (shape: number, mixed: object): unknown => ({
    inputs: [
      { name: 'INPUT0', datatype: 'FP32', shape: [shape, 3], data: Array(shape * 3).fill(1.5) },
      { name: 'INPUT1', datatype: 'INT32', shape: [shape, 3], data: Array(shape * 3).fill(7) },
    ],
    padding: 'x'.repeat(1000),
    ...mixed,
  })
  const mixed = partsOf(
    await send(
      'two',
      two(8, { outputs: [{ name: 'OUTPUT0', parameters: { binary_data: true } }, { name: 'OUTPUT1' }] }),
    ),
  )
  t.same([mixed.tensors.length, mixed.json.outputs[1].data], [96, Array(24).fill(7)])
  for (const chunked of [undefined, 999]) {
    const head = {
      inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [2], parameters: { binary_data_size: 8 } }],
      padding: 'y'.repeat(3000),
    }
    const message = binary(
      'fp32',
      head,
      [new Uint8Array(Float32Array.of(3, 4).buffer)],
      chunked === undefined ? {} : { chunked },
    )
    t.same(jsonOf(await ask(rig.port, message)).outputs[0].data, [3, 4], 'tensors after long JSON')
  }
  const faults: readonly (readonly [body: unknown, text: RegExp])[] = [
    [`{"padding":"${'z'.repeat(2000)}",`, /Missing a name for object member/],
    [{ inputs: [input('FP64', [...floats, 'x'])] }, /non-number as double/],
    [{ inputs: [input('FP32', floats)] }, /data-type is 'FP32', but model 'fp64' expects 'FP64'/],
  ]
  for (const [body, text] of faults) {
    const refused = await send('fp64', body)
    t.equal(refused.status, 400)
    t.match(errorOf(refused), text)
  }
  const nan = binary(
    'fp64',
    { inputs: [{ name: 'INPUT0', datatype: 'FP64', shape: [500], parameters: { binary_data_size: 4000 } }] },
    [new Uint8Array(Float64Array.from({ length: 500 }, () => NaN).buffer)],
  )
  t.match(errorOf(await ask(rig.port, nan)), /output 'OUTPUT0' has NaN/)
  t.ok(await nothingLeft(rig))
})

t.test('megabytes of JSON do not keep the event loop', async (t) => {
  await using rig = await startRig()
  const body = JSON.stringify({
    inputs: [
      input(
        'FP32',
        Array.from({ length: 1_000_000 }, (_, i) => i / 7),
      ),
    ],
  })
  const message = bytesOf({ path: '/v2/models/fp32/infer', body })
  const { front, port } = rig
  let reply: any
  // parse and print of this take hundreds of milliseconds, in which the timer would fire a handful of times
  const { ticks, total } = await watchEventLoop(
    async () => (reply = await ask(port, { path: '/v2/models/fp32/infer', body })),
  )
  t.comment(`${message.length} bytes, ${ticks} ticks in ${Math.round(total)} ms`)
  t.ok(ticks > 50)
  t.equal(reply.status, 200)
  t.equal(JSON.parse(reply.body.toString()).outputs[0].data.length, 1_000_000)
  await certain(() => front.bytesInFlight === 0)
})

t.test('a large result is written with its head and without a copy', async (t) => {
  const result = new Float32Array(200_000).fill(2.5)
  const large = new FakeServable('large', {
    ports: [{ datatype: 'FP32', dims: [-1] }],
    work: async () => [
      { name: 'OUTPUT0', datatype: 'FP32', shape: [result.length], bytes: new Uint8Array(result.buffer) },
    ],
  })
  await using rig = await startRig({ models: new FakeControl([large]) })
  const written: { readonly chunk: Buffer | string; readonly encoding: string }[][] = []
  const prototype = Socket.prototype as unknown as { _writev: (chunks: any, callback: unknown) => void }
  const original = prototype._writev
  t.teardown(() => (prototype._writev = original))
  prototype._writev = function (this: Socket, chunks: any, callback: unknown): void {
    written.push([...chunks])
    original.call(this, chunks, callback)
  }
  const reply = await inferJson(rig.port, 'large', { inputs: [input('FP32', [1])], ...asBytes })
  t.equal(partsOf(reply).tensors.length, result.byteLength)
  const mine = written.find((chunks) =>
    chunks.some(({ chunk }) => typeof chunk !== 'string' && chunk.buffer === result.buffer),
  )
  t.ok(mine, "the socket got the result's own memory")
  t.match(String(mine?.[0]?.chunk), /^HTTP\/1\.1 200 OK/, 'in the same write as the head')
})
