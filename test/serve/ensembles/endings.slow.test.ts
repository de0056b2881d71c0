// Requests of an ensemble that end before their time, at each of its steps: nothing is left of them.
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { Fault } from '../../../lib/serve/faults.js'
import { failureOf } from '../../support/errors.js'
import { repository, turns } from '../models/folders.js'
import { faked, Held } from './fake-steps.js'
import { ask, ensemble, type EnsembleText, row, tensorText } from './rig.js'

const model = (name: string): Readonly<Record<string, string>> => ({
  [`${name}/1/model.onnx`]: '',
  [`${name}/config.pbtxt`]: `backend: "onnxruntime" max_batch_size: 8 ${tensorText('input', 'x FP32 [3]')} ${tensorText('output', 'y FP32 [3]')}`,
})
// a, then b and c side by side, then d of b alone
const forked: EnsembleText = {
  inputs: ['I FP32 [3]'],
  outputs: ['O FP32 [3]', 'P FP32 [3]'],
  steps: ['a(x=I -> y=m)', 'b(x=m -> y=n)', 'c(x=m -> y=P)', 'd(x=n -> y=O)'],
}
const files = {
  ...ensemble('e', forked),
  ...['a', 'b', 'c', 'd'].map(model).reduce((all, each) => ({ ...all, ...each })),
}
const noFailures = { rejected: 0, queueTimeout: 0, cancelledWaiting: 0, cancelledRunning: 0, failed: 0 }

await t.test('side by side, as soon as inputs are there; the last output ends it', async (t) => {
  const { models, world } = await faked(repository(t, files), { mode: 'none' })
  const held = new Held()
  for (const name of ['b', 'c']) world.answers.set(name, held.answer)
  const asked = ask(models, 'e', [row('I', 1, 2, 3)])
  await turns()
  t.same(world.asked.map(({ step }) => step.name), ['a', 'b', 'c']) // prettier-ignore
  held.go()
  await turns()
  t.same(world.asked.map(({ step }) => step.name), ['a', 'b', 'c', 'd']) // prettier-ignore
  held.go()
  t.same(await asked, { O: [1, 2, 3], P: [1, 2, 3] })
  const counters = models.snapshot.find('e').counters()
  t.match(counters, { requests: 1, rows: 1, executions: 1, failures: noFailures, queueNs: 0, inputNs: 0, outputNs: 0 })
  t.match(counters.batchSizes, [{ rows: 1, executions: 1, requests: 1, computeNs: counters.computeNs }])
  t.ok(counters.computeNs > 0)
  await models.close()
})

await t.test('facts of the request go to the steps; the time that is left, too', async (t) => {
  const { models, world } = await faked(repository(t, files), { mode: 'none' })
  const servable = models.snapshot.find('e')
  const facts = { id: 'mine', priority: 2, parameters: { colour: 'red' }, timeoutUs: 3_600_000_000 }
  await servable.infer({ ...facts, inputs: [row('I', 1, 2, 3)], outputs: ['P'] }, new Cut())
  t.same(world.asked.map(({ step }) => step.name), ['a', 'c'], 'no step that nobody needs') // prettier-ignore
  for (const { request } of world.asked) {
    t.match(request, { id: 'mine', priority: 2, parameters: { colour: 'red' } })
    t.ok((request.timeoutUs ?? 0) > 0 && (request.timeoutUs ?? 0) <= facts.timeoutUs)
    t.same(request.outputs, ['y'])
  }
  t.equal(world.asked[1]?.request.inputs[0]?.bytes, world.asked[0]?.request.inputs[0]?.bytes, 'the same bytes')
  world.asked.length = 0
  const late = await failureOf(() => servable.infer({ timeoutUs: 1, inputs: [row('I', 1, 2, 3)] }, new Cut()))
  t.match(late, { kind: 'UNAVAILABLE', message: "in ensemble 'e', Request timeout expired" })
  t.equal(servable.counters().failures.queueTimeout, 1)
  await models.close()
})

for (const [at, name] of ['a', 'b', 'c', 'd'].entries()) {
  await t.test(`ended at step ${at}`, async (t) => {
    const { models, world } = await faked(repository(t, files), { mode: 'none' })
    const ends = {
      failed: { end: (held: Held) => held.go(new Fault('INVALID_ARG', 'not so')), error: { kind: 'INVALID_ARG', message: "in ensemble 'e', not so" } },
      'refused by a queue': { end: (held: Held) => held.go(new Fault('UNAVAILABLE', 'Exceeds maximum queue size')), error: { kind: 'UNAVAILABLE' } },
      'a broken step': { end: (held: Held) => held.go(new TypeError('x of undefined')), error: { kind: 'INTERNAL', message: "in ensemble 'e', x of undefined" } },
      'the client left': { end: (_: Held, cut: Cut) => cut.happen(new Fault('CANCELLED', 'left')), error: { kind: 'CANCELLED', message: 'left' } },
      'timed out': { end: (_: Held, cut: Cut) => cut.happen(new Fault('UNAVAILABLE', 'Request timeout expired')), error: { kind: 'UNAVAILABLE' } },
    } as const // prettier-ignore
    for (const [what, { end, error }] of Object.entries(ends)) {
      world.answers.clear()
      const held = new Held()
      const others = new Held()
      for (const each of ['b', 'c']) world.answers.set(each, others.answer)
      world.answers.set(name, held.answer)
      const cut = new Cut()
      const asked = failureOf(() => ask(models, 'e', [row('I', 1, 2, 3)], { cut }))
      await turns()
      if (name === 'd') others.go()
      await turns()
      t.equal(held.asked.length, 1, what)
      end(held, cut)
      t.match(await asked, error, what)
      for (const each of others.asked.slice(name === 'd' ? 1 : 0))
        t.ok(each.cut.happened, `${each.step.name} was ended, too: ${what}`)
      await turns()
      t.equal(models.inFlight, 0, what)
      t.same(world.loaded.map(({ visits }) => visits.inFlight), [0, 0, 0, 0], what) // prettier-ignore
    }
    const { requests, failures } = models.snapshot.find('e').counters()
    t.same([requests, failures], [0, { ...noFailures, rejected: 1, cancelledRunning: 2, failed: 1 }])
    t.equal(models.snapshot.find('e').invalid, 1)
    world.answers.clear()
    t.same(await ask(models, 'e', [row('I', 1, 2, 3)]), { O: [1, 2, 3], P: [1, 2, 3] })
    await models.close()
  })
}

await t.test('a request that is refused counts nowhere, as with other models', async (t) => {
  const { models, world } = await faked(repository(t, files), { mode: 'none' })
  const message = async (...inputs: Parameters<typeof ask>[2]): Promise<string> =>
    (await failureOf(() => ask(models, 'e', inputs))).message
  t.match(await message(), "expected 1 inputs but got 0 inputs for model 'e'")
  t.match(await message(row('I', 1, 2)), "unexpected shape for input 'I' for model 'e'. Expected [-1,3], got [1,2]")
  t.same([world.asked.length, models.snapshot.find('e').counters().failures], [0, noFailures])
  const cut = new Cut()
  cut.happen(new Fault('CANCELLED', 'left before'))
  t.equal((await failureOf(() => ask(models, 'e', [row('I', 1, 2, 3)], { cut }))).message, 'left before')
  t.same([world.asked.length, models.inFlight], [0, 0])
  await models.close()
})

await t.test('a step that gives less than it was asked for', async (t) => {
  const { models, world } = await faked(repository(t, files), { mode: 'none' })
  world.answers.set('b', async () => [])
  const fault = await failureOf(() => ask(models, 'e', [row('I', 1, 2, 3)]))
  t.match(fault, {
    kind: 'INTERNAL',
    message: "in ensemble 'e', step 1 (model 'b') gave no output 'y', which is tensor 'n'",
  })
  t.equal(models.inFlight, 0)
  await models.close()
})

await t.test('max_inflight_requests: for each step, over all requests', async (t) => {
  const limited = { ...files, ...ensemble('e', { ...forked, scheduling: 'max_inflight_requests: 2' }) }
  const { models, world } = await faked(repository(t, limited), { mode: 'none' })
  const held = new Held()
  world.answers.set('a', held.answer)
  const cut = new Cut()
  const asked = [1, 2, 3, 4].map((value) => ask(models, 'e', [row('I', value, 0, 0)], value === 3 ? { cut } : {}))
  const third = failureOf(() => asked[2])
  await turns()
  t.equal(held.asked.length, 2)
  cut.happen(new Fault('CANCELLED', 'left'))
  t.equal((await third).message, 'left', 'one that waits ends at once')
  held.go()
  await turns()
  t.equal(held.asked.length, 3)
  held.go()
  held.go()
  for (const i of [0, 1, 3]) t.same((await asked[i])?.['P']?.[0], i + 1)
  t.equal(models.inFlight, 0)
  await models.close()
})
