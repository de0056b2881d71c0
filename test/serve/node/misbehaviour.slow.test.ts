// Modules that do what they should not: the requests that they had fail, with a text that says what, and nothing else
// does.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { Fault } from '../../../lib/serve/faults.js'
import type { NodeModel } from '../../../lib/serve/node/node-model.js'
import { runNode } from '../../support/children.js'
import { temporaryFolder } from '../../support/folders.js'
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
    patient: ({ signal, inputs: { x } }) => new Promise((resolve) => signal.addEventListener('abort', () => { console.log('aborted', signal.reason.name); resolve({ y: x }) })),
  }
  export default {
    execute: (requests) => Promise.all(requests.map((request) => ways[request.parameters.what ?? 'good'](request))),
    unload() { console.log('unloaded') },
  }`

const asked = (model: NodeModel, what: string, cut = new Cut()): ReturnType<typeof ask> =>
  ask(model, [1, 2, 3, 4], { parameters: { what } }, cut)
const isGood = async (model: NodeModel): Promise<boolean> =>
  (await asked(model, 'good')).map(floats).join() === '1,2,3,4'

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
  const { model, failures, warnings } = await load(t, {
    code,
    config: 'instance_group [ { kind: KIND_CPU count: 2 } ]',
  })
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

await t.test('one that cannot be loaded again is not tried for ever', async (t) => {
  const flag = join(temporaryFolder(t), 'flag')
  const once = `
    import { existsSync, writeFileSync } from 'node:fs'
    export default {
      load() {
        if (existsSync(${JSON.stringify(flag)})) throw new Error('the licence is over')
        writeFileSync(${JSON.stringify(flag)}, '')
      },
      execute: () => process.exit(),
    }`
  const { model, failures } = await load(t, { code: once })
  t.match(await faultOf(asked(model, 'good')), ['INTERNAL', /process\.exit\(0\)/])
  await certain(() => failures.length > 0)
  t.match(
    model.failure,
    /ended 3 times within a minute, the last time: load\(\) of model 'm' failed: the licence is over$/,
  )
  t.ok(await noThreadLeft())
})

await t.test('an unload() that throws is told', async (t) => {
  const { model, warnings } = await load(t, {
    code: 'export default { execute() {}, unload() { throw new Error("stuck") } }',
  })
  await model.close()
  t.same(warnings, ["unload() of model 'm' failed: stuck"])
})

await t.test('a module that uses the thread for itself disturbs nothing', async (t) => {
  const noisy = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => {})
    export default { execute: (requests) => (parentPort.postMessage({ type: 'answer', run: 0 }), requests.map(({ inputs: { x } }) => ({ y: x }))) }`
  const { model } = await load(t, { code: noisy })
  t.ok(await isGood(model))
})

await t.test('memory that a module gave away fails its request, and what it keeps is copied', async (t) => {
  const giving = `
    import { markAsUntransferable } from 'node:worker_threads'
    const ways = {
      away(y) { structuredClone(y.data.buffer, { transfer: [y.data.buffer] }) },
      fast(y) { markAsUntransferable(y.data.buffer) },
    }
    export default { execute: (requests) => requests.map(({ output, parameters: { what } }) => {
      const y = output('y', [4])
      ways[what]?.(y)
      return { y }
    }) }`
  const { model } = await load(t, { code: giving })
  t.match(await faultOf(asked(model, 'away')), [
    'INTERNAL',
    /^Expected 16 bytes behind output 'y' of model 'm' but found 0: its buffer was given away before$/,
  ])
  for (const what of ['fast', 'good']) t.same((await asked(model, what)).map(floats), [[0, 0, 0, 0]])
})

await t.test('a timeout answers, and the thread is ended when the model is closed', async (t) => {
  for (const what of ['forever', 'loop']) {
    const { model, warnings, output } = await load(t, { code }, { exitTimeoutMs: what === 'loop' ? 100 : 600_000 })
    const cut = new Cut()
    const running = faultOf(asked(model, what, cut))
    const beside = await load(t, { code })
    t.ok(await isGood(beside.model), 'a model beside it goes on')
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
    t.match(
      warnings,
      what === 'loop'
        ? [/^unload\(\) of instance 0 of model 'm' has not ended within \d+ ms, and its thread was$/]
        : [],
    )
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

await t.test('a program ends though nobody closes its models', async (t) => {
  t.same(await runNode([fileURLToPath(new URL('./unclosed.js', import.meta.url))]), {
    code: 0,
    signal: null,
    stdout: '1\n',
    stderr: '',
  })
})

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
