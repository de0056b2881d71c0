// A request ends on the version that it began with, though its body is not there yet when another takes the place.
import t from 'tap'
import { identity } from '../../support/models.js'
import { certain } from '../../support/waiting.js'
import { plus } from '../models/cycles.js'
import { repository, write } from '../models/folders.js'
import { idle, startReal } from './real/server.js'
import { binary, bytesOf, inferJson, jsonOf, Wire } from './rig.js'

const head = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], parameters: { binary_data_size: 16 } }] }
const bytes = bytesOf(binary('m', head, [new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer)]))
const valuesOf = (reply: unknown): unknown => jsonOf(reply as Parameters<typeof jsonOf>[0]).outputs?.[0].data

for (const way of ['load', 'unload'] as const) {
  await t.test(`a body that comes while the model is ${way}ed`, async (t) => {
    const folder = repository(t, { 'm/1/model.onnx': identity('float32', ['N', 4]) })
    await using server = await startReal(folder)
    using wire = new Wire(server.port)
    wire.write(bytes.subarray(0, -5))
    await certain(() => server.front.inFlight === 1 && server.opened[0]?.slots.inUse === 1)
    write(folder, { 'm/1/model.onnx': plus(3) })
    await (way === 'load' ? server.models.load('m') : server.models.unload('m'))
    const again = await inferJson(server.port, 'm', {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }],
    })
    t.same([again.status, valuesOf(again)], way === 'load' ? [200, [4, 5, 6, 7]] : [404, undefined])
    wire.write(bytes.subarray(-5))
    const reply = await wire.reply()
    t.same([reply.status, valuesOf(reply)], [200, [1, 2, 3, 4]])
    await idle(server)
  })
}
