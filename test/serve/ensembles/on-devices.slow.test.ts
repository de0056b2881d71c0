// Ensembles of engines: what lies between them stays on the device, and nothing of it is left however a request ends.
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { DeviceTensor, type Engine } from '../../../lib/index.js'
import type { Models } from '../../../lib/serve/models/manager.js'
import { EngineModel } from '../../../lib/serve/models/engine-model.js'
import { Fault } from '../../../lib/serve/faults.js'
import { driven, driver, everyRuntime, families, leftovers, rtx, type Runtime } from '../../lanes/rig.js'
import { failureOf } from '../../support/errors.js'
import { certain } from '../../support/waiting.js'
import { floats, repository, wire } from '../models/folders.js'
import { copied, modelsFor, settingsFor, specs, staying, watchEngines } from './engines.js'
import { ensemble, type EnsembleText, row, served } from './rig.js'

driver.set({ devices: 2 })
const chain: EnsembleText = {
  inputs: ['I FP32 [3]'],
  outputs: ['O FP32 [3]'],
  steps: ['relu(x=I -> y=m)', 'fan(x=m -> half=n)', 'relu(x=n -> y=O)'],
  maxBatch: 16,
}
const nested: EnsembleText = {
  ...chain,
  steps: ['fan(x=I -> half=m, minus=k)', 'chain(I=m -> O=n)', 'sums(a=n, b=k -> sum=O)'],
}
const twice: EnsembleText = { ...chain, steps: ['sums(a=I, b=I -> sum=O)'] }
const both = (runtime: Runtime) => ({
  ...modelsFor(runtime),
  ...ensemble('chain', chain),
  ...ensemble('nested', nested),
  ...ensemble('twice', twice),
})

/** How often a tensor came from a device to the host. */
function watchCopies(t: { teardown(end: () => unknown): unknown }): () => number {
  const { toHost } = DeviceTensor.prototype // eslint-disable-line @typescript-eslint/unbound-method -- it is called with its tensor
  let count = 0
  DeviceTensor.prototype.toHost = function (this: DeviceTensor, ...options: Parameters<typeof toHost>) {
    count++
    return toHost.apply(this, options)
  } as typeof toHost
  t.teardown(() => (DeviceTensor.prototype.toHost = toHost))
  return () => count
}

function slotsInUse(models: Models, name: string): number {
  const found = models.snapshot.find(name)
  return found instanceof EngineModel ? found.slots.inUse : 0
}

async function once(models: Models, name: string): Promise<number[]> {
  const servable = models.snapshot.find(name)
  const leave = servable.enter()
  const slot = servable.reserve(12)
  slot.bytes.set(row('I', 1, 2, 3).bytes)
  const [answer] = await servable.infer(
    { inputs: [{ name: 'I', datatype: 'FP32', shape: [1, 3], bytes: slot.bytes }] },
    new Cut(),
  )
  slot.release()
  leave()
  return answer === undefined ? [] : floats(answer)
}

for (const runtime of [...everyRuntime, rtx])
  await t.test(`no copy from the client's bytes to the answer: ${runtime.name}`, async (t) => {
    const engines = watchEngines(t)
    const { models } = await served(repository(t, both(runtime)), { engine: settingsFor(runtime) })
    const toHost = watchCopies(t)
    t.same(await once(models, 'twice'), [2, 4, 6], 'one tensor for two inputs')
    const before = copied(engines)
    t.same(await once(models, 'chain'), [4, 6, 8])
    t.same(await once(models, 'nested'), [2, 2, 2])
    t.same([copied(engines) - before, toHost(), staying(engines), models.inFlight], [0, 0, 0, 0])
    for (const name of ['relu', 'fan', 'sums']) t.equal(slotsInUse(models, name), 0, name)
    t.same(
      ['chain', 'nested', 'relu'].map((name) => models.snapshot.find(name).counters().requests),
      [2, 1, 4],
    )
    await models.close()
  })

await t.test('an output of the ensemble that an engine takes, too, comes to the host once', async (t) => {
  const engines = watchEngines(t)
  const shared: EnsembleText = { ...chain, outputs: ['O FP32 [3]', 'm FP32 [3]'] }
  const { models } = await served(repository(t, { ...both(families[0]), ...ensemble('shared', shared) }), {
    engine: settingsFor(families[0]),
  })
  const toHost = watchCopies(t)
  const answer = await models.snapshot.find('shared').infer({ inputs: [row('I', 1, 2, 3)] }, new Cut())
  t.same(answer.map(floats), [[4, 6, 8], [3, 5, 7]]) // prettier-ignore
  t.same([toHost(), staying(engines)], [1, 0])
  await models.close()
})

await t.test('ended while each of the engines computes', async (t) => {
  const engines = watchEngines(t)
  const { models } = await served(repository(t, both(families[0])), { engine: settingsFor(families[0]) })
  const running = (): Engine | undefined => engines.find((engine) => engine.stats().inFlight > 0)
  const servable = models.snapshot.find('nested')
  for (const steps of [0, 1, 2, 3, 4]) {
    const done = models.snapshot.all.filter(({ platform }) => platform !== 'ensemble')
    const completed = (): number => done.reduce((sum, each) => sum + each.counters().requests, 0)
    const begun = completed()
    await driven({ clock: 'manual', computeMs: 5 }, async () => {
      const cut = new Cut()
      const slot = servable.reserve(12)
      const inputs = [{ ...row('I', 1, 2, 3), bytes: slot.bytes }]
      const asked = failureOf(() => servable.infer({ inputs }, cut))
      for (let step = 0; step < steps; step++) {
        await certain(() => running() !== undefined)
        const before = completed()
        while (completed() === before) {
          driver.advance(1000)
          await certain(() => completed() > before || running() !== undefined)
          await new Promise((resolve) => setTimeout(resolve, 1))
        }
      }
      await certain(() => running() !== undefined)
      cut.happen(new Fault('CANCELLED', 'left'))
      slot.release()
      t.equal((await asked).message, 'left')
      t.equal(completed() - begun, steps)
      const ended = certain(() => running() === undefined)
      const clock = setInterval(() => driver.advance(1000), 1)
      await ended.finally(() => clearInterval(clock))
    })
    await certain(() => staying(engines) === 0 && models.inFlight === 0)
    await certain(() => slotsInUse(models, 'fan') === 0)
    t.pass(`after ${steps} steps`)
  }
  t.same(servable.counters().failures.cancelledRunning, 5)
  t.same(await once(models, 'nested'), [2, 2, 2])
  await models.close()
})

await t.test('a step that fails: what others gave is gone', async (t) => {
  const engines = watchEngines(t)
  const plain = modelsFor(families[0], specs, 'optimization { cuda { graphs: false } }') // an enqueue for each inference
  const { models } = await served(repository(t, { ...both(families[0]), ...plain }), {
    engine: settingsFor(families[0]),
  })
  const servable = models.snapshot.find('nested')
  for (const nth of [1, 2, 3, 4, 5]) {
    families[0].control.failNth('enqueueV3', nth)
    const fault = await failureOf(() => servable.infer({ inputs: [row('I', 1, 2, 3)] }, new Cut()))
    t.match(fault, { kind: 'INTERNAL', message: /^in ensemble 'nested', / })
    t.equal(fault.message.includes("in ensemble 'chain', "), nth > 1 && nth < 5, fault.message)
    await certain(() => staying(engines) === 0 && models.inFlight === 0)
  }
  t.equal(servable.counters().failures.failed, 5)
  t.same(await once(models, 'nested'), [2, 2, 2])
  await models.close()
})

await t.test('several GPUs: the next step runs where the tensor is, or gets it by the host', async (t) => {
  const engines = watchEngines(t)
  const on = (gpus: string): string => `max_batch_size: 16 instance_group { kind: KIND_GPU gpus: [ ${gpus} ] }`
  const folder = repository(t, {
    ...modelsFor(families[0], { relu: specs.relu, fan: specs.fan, far: specs.relu }),
    'relu/config.pbtxt': on('0, 1'),
    'fan/config.pbtxt': on('1, 0'),
    'far/config.pbtxt': on('1'),
    ...ensemble('near', chain),
    ...ensemble('away', { ...chain, steps: ['relu(x=I -> y=m)', 'far(x=m -> y=n)', 'fan(x=n -> half=O)'] }),
  })
  const { models } = await served(folder, { engine: { tensorrt: { library: families[0].path } } })
  const toHost = watchCopies(t)
  const ask = async (name: string): Promise<unknown> =>
    (await models.snapshot.find(name).infer({ inputs: [wire('I', [1, 2, 3], [1, 3])] }, new Cut())).map(floats)
  t.same(await Promise.all([ask('near'), ask('near'), ask('near'), ask('near')]), Array(4).fill([[4, 6, 8]]))
  t.equal(toHost(), 0)
  t.same(await Promise.all([ask('away'), ask('away')]), Array(2).fill([[3.5, 5.5, 7.5]]))
  t.ok(toHost() <= 2, 'what the first left on the other GPU')
  await certain(() => staying(engines) === 0)
  await models.close()
})

t.same(leftovers(rtx), {})
