// Modules that do what they should not: the requests that they had fail, with a text that says what, and nothing else does.
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { Fault } from '../../../lib/serve/faults.js'
import type { NodeModel } from '../../../lib/serve/node/node-model.js'
import { certain } from '../../support/waiting.js'
import { floats } from '../models/folders.js'
import { ask, faultOf, load, noThreadLeft } from './rig.js'

/** Each request says what is to be done with it. */
const code = `
  const ways = {
    good: ({ inputs: { x } }) => ({ y: x }),
    exit: () => process.exit(3),
    forever: () => new Promise(() => {}),
    loop() { for (;;); },
    rejection: () => (Promise.reject(new RangeError('nobody asked')), new Promise(() => {})),
    timer: () => (setTimeout(() => { throw new Error('too late') }), new Promise(() => {})),
    memory() { const all = []; for (;;) all.push(new Array(10000).fill({})) },
    post: ({ inputs: { x } }) => { postMessage?.('x'); return { y: x } },
    patient: ({ signal, inputs: { x } }) => new Promise((resolve) => signal.addEventListener('abort', () => { console.log('aborted', signal.reason.name); resolve({ y: x }) })),
  }
  export default {
    execute: (requests) => Promise.all(requests.map((request) => ways[request.parameters.what ?? 'good'](request))),
    unload() { console.log('unloaded') },
  }`

const asked = (model: NodeModel, what: string, cut = new Cut()): ReturnType<typeof ask> =>
  ask(model, [1, 2, 3, 4], { parameters: { what } }, cut)
const isGood = async (model: NodeModel): Promise<boolean> => (await asked(model, 'good')).map(floats).join() === '1,2,3,4'

for (const [what, text] of Object.entries({
  exit: /^instance 0 of model 'm' has ended: the module called process\.exit\(3\)$/,
  rejection: /^instance 0 of model 'm' has ended: uncaught RangeError: nobody asked$/,
  timer: /^instance 0 of model 'm' has ended: uncaught too late$/,
  memory: /^instance 0 of model 'm' has ended: out of memory \(max_memory_mb is 16\)$/,
}))
  await t.test(`a module whose thread ends: ${what}`, async (t) => {
    const config = 'parameters { key: "max_memory_mb" value { string_value: "16" } }'
    const { model, warnings, failures } = await load(t, { code, config })
    const slot = model.reserve(16)
    slot.bytes.fill(1)
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [4], bytes: slot.bytes }] as const
    const failing = faultOf(model.infer({ inputs, parameters: { what } }, new Cut()))
    const waiting = isGood(model)
    t.match(await failing, ['INTERNAL', text])
    t.ok(await waiting, 'a request that waited is answered by another one')
    slot.release()
    t.same([model.slots.inUse, model.slots.kept], [0, 0], 'the memory went with it')
    t.match(warnings, [new RegExp(`${text.source.slice(0, -1)}; another one takes its place$`)])
    t.same([model.counters().failures.failed, model.counters().requests, failures], [1, 1, []])
  })

await t.test('three deaths in a minute, and the model is not available', async (t) => {
  const { model, failures, warnings } = await load(t, { code, config: 'instance_group [ { kind: KIND_CPU count: 2 } ]' })
  t.equal(model.failure, undefined)
  const patient = new Cut()
  const under = faultOf(asked(model, 'patient', patient))
  for (let i = 0; i < 2; i++) t.match(await faultOf(asked(model, 'exit')), ['INTERNAL', /process\.exit/])
  t.ok(await isGood(model))
  t.match(await faultOf(asked(model, 'exit')), ['INTERNAL', /process\.exit/])
  await certain(() => model.failure !== undefined)
  const text =
    /^model 'm' answers no more requests, since its instances have ended 3 times within a minute, the last time: instance \d of model 'm' has ended: the/
  t.match(model.failure, text)
  t.match(failures, [text])
  t.match(await faultOf(asked(model, 'good')), ['UNAVAILABLE', text])
  t.throws(() => model.enter(), { message: text })
  patient.happen(new Fault('CANCELLED', 'the client left'))
  t.same(await under, ['CANCELLED', 'the client left'])
  t.ok(await noThreadLeft(), 'the other instance ends once it is done')
  t.equal(warnings.length, 3)
  await model.close()
})

await t.test('a timeout answers, and the thread is ended when the model is closed', async (t) => {
  for (const what of ['forever', 'loop']) {
    const { model, warnings, output } = await load(t, { code }, { exitTimeoutMs: 100 })
    const cut = new Cut()
    const running = faultOf(asked(model, what, cut))
    const waiting = new Cut()
    const behind = faultOf(asked(model, 'good', waiting))
    await certain(() => model.pending === 1)
    cut.happen(new Fault('UNAVAILABLE', 'Request timeout expired'))
    waiting.happen(new Fault('UNAVAILABLE', 'Request timeout expired'))
    t.same(await running, ['TIMEOUT', 'Request timeout expired'], 'what runs is over time')
    t.same(await behind, ['UNAVAILABLE', 'Request timeout expired'], 'what waits is so for the load')
    const { cancelledRunning, cancelledWaiting } = model.counters().failures
    t.same([cancelledRunning, cancelledWaiting, model.pending, model.inFlight], [1, 1, 0, 0])
    await model.close()
    t.match(warnings, what === 'loop' ? [/^unload\(\) of instance 0 of model 'm' has not ended within \d+ ms, and its thread was$/] : [])
    t.same(output, what === 'loop' ? [] : ['stdout: unloaded'])
  }
})

await t.test('a request that is cut tells the module, which goes on', async (t) => {
  const { model, output } = await load(t, { code })
  const cut = new Cut()
  const running = faultOf(asked(model, 'patient', cut))
  await certain(() => model.inFlight === 1 && model.pending === 0)
  cut.happen(new Fault('CANCELLED', 'the client left'))
  t.same(await running, ['CANCELLED', 'the client left'])
  t.ok(await isGood(model))
  await certain(() => output.length > 0)
  t.same(output, ['stdout: aborted AbortError'])
})

await t.test('requests under way have the time that a close gives them', async (t) => {
  const { model } = await load(t, { code }, { exitTimeoutMs: 50 })
  const running = faultOf(asked(model, 'forever'))
  const waiting = faultOf(asked(model, 'good'))
  await certain(() => model.pending === 1)
  const closed = model.close()
  t.throws(() => model.enter(), { message: "'m' version 1 is not at ready state" })
  t.match(await running, ['UNAVAILABLE', /^instance 0 of model 'm' was ended before it was done$/])
  t.same(await waiting, ['UNAVAILABLE', "'m' version 1 was unloaded before it answered"])
  await closed
})

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
