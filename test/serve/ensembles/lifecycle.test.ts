// Ensembles and the models of their steps come, change and go: control modes, order, what hangs together.
import t from 'tap'
import { failureOf } from '../../support/errors.js'
import { type Files, remove, repository, turns, wire, write } from '../models/folders.js'
import { faked, Held } from './fake-steps.js'
import { ask, ensemble, type EnsembleText, ensembleText, row, tensorText } from './rig.js'
import type { Models } from '../../../lib/serve/models/manager.js'

const model = (name: string, ...versions: readonly string[]): Files => withSize(name, 3, ...versions)
const withSize = (name: string, size: number, ...versions: readonly string[]): Files => ({
  [`${name}/config.pbtxt`]: `backend: "onnxruntime" max_batch_size: 8 version_policy { all {} } ${tensorText('input', `x FP32 [${size}]`)} ${tensorText('output', `y FP32 [${size}]`)}`,
  ...Object.fromEntries(
    (versions.length === 0 ? ['1'] : versions).map((version) => [
      `${name}/${version}/model.onnx`,
      `${version} ${Math.random()}`,
    ]),
  ),
})
const plain: EnsembleText = {
  inputs: ['I FP32 [3]'],
  outputs: ['O FP32 [3]'],
  steps: ['a(x=I -> y=m)', 'b(x=m -> y=O)'],
}
const lines = (models: Models): string[] =>
  models
    .index(false)
    .map(({ name, version, state, reason }) => [name, version, state, reason].filter((part) => part).join(' '))
const message = async (call: () => unknown): Promise<string> => (await failureOf(call)).message
const gone = 'ensemble e contains models that are not available or ambiguous'

await t.test('none: steps are loaded before the ensemble, whatever their names', async (t) => {
  const folder = repository(t, {
    ...ensemble('e', plain),
    ...ensemble('z', { ...plain, steps: ['e(I=I -> O=O)'] }),
    ...ensemble('aa', { ...plain, steps: ['z(I=I -> O=O)'] }),
    ...model('a'),
    ...model('b'),
  })
  const { models, events } = await faked(folder, { mode: 'none' })
  t.same(lines(models), ['a 1 READY', 'aa 1 READY', 'b 1 READY', 'e 1 READY', 'z 1 READY'])
  t.ok(models.isReady())
  const loaded = events.filter(({ what }) => what === 'loaded').map((event) => event.model)
  t.same(loaded.slice(2), ['e', 'z', 'aa'])
  t.same(await ask(models, 'aa', [row('I', 1, 2, 3)]), { O: [1, 2, 3] })
  await models.close()
})

await t.test('none: a step that fails, and circles between ensembles', async (t) => {
  const folder = repository(t, {
    ...ensemble('e', plain),
    ...model('a'),
    ...ensemble('p', { ...plain, steps: ['q(I=I -> O=O)'] }),
    ...ensemble('q', { ...plain, steps: ['r(I=I -> O=O)'] }),
    ...ensemble('r', { ...plain, steps: ['p(I=I -> O=O)'] }),
  })
  const { models } = await faked(folder, { mode: 'none' })
  t.notOk(models.isReady())
  const [, e, ...circle] = lines(models)
  t.equal(e, `e 1 UNAVAILABLE ${gone}: b: step 1 (model 'b')`)
  t.equal(circle.length, 3)
  for (const line of circle) t.match(line, /circular dependency between ensembles/)
  await models.close()
})

await t.test('explicit: an ensemble brings its steps, which go with it where nothing else has them', async (t) => {
  const folder = repository(t, {
    ...ensemble('e', plain),
    ...ensemble('f', { ...plain, steps: ['e(I=I -> O=m)', 'b(x=m -> y=O)'] }),
    ...model('a'),
    ...model('b'),
    ...model('c'),
  })
  const { models, world } = await faked(folder)
  await models.load('f')
  t.same(lines(models), ['a 1 READY', 'b 1 READY', 'c', 'e 1 READY', 'f 1 READY'])
  await models.unload('f', false)
  t.same(lines(models), ['a 1 READY', 'b 1 READY', 'c', 'e 1 READY', 'f 1 UNAVAILABLE unloaded'], 'they stay')
  await models.load('f')
  await models.load('b')
  await models.unload('f', true)
  await turns()
  t.same(models.index(true).map(({ name }) => name), ['b'], 'b was loaded by its name') // prettier-ignore
  await models.load('e')
  await models.load('f')
  await models.unload('f', true)
  await turns()
  t.same(
    models.index(true).map(({ name }) => name),
    ['a', 'b', 'e'],
    'e was loaded by its name, and has a',
  )
  await models.unload('e', true)
  await models.unload('b', true)
  await turns()
  t.same(world.open, [])
  t.same(models.index(true), [])
  t.ok(models.isReady())
  await models.close()
})

await t.test('explicit: a step that goes takes its ensembles along, and they come back with it', async (t) => {
  const folder = repository(t, {
    ...ensemble('e', plain),
    ...ensemble('f', { ...plain, steps: ['e(I=I -> O=O)'] }),
    ...model('a'),
    ...model('b'),
  })
  const { models, world, events } = await faked(folder)
  await models.load('f')
  await models.unload('b')
  await turns()
  const why = `${gone}: b: step 1 (model 'b')`
  t.same(lines(models).slice(1), [
    'b 1 UNAVAILABLE unloaded',
    `e 1 UNAVAILABLE ${why}`,
    "f 1 UNAVAILABLE ensemble f contains models that are not available or ambiguous: e: step 0 (model 'e')",
  ])
  t.ok(models.isReady(), 'nobody wants them')
  t.ok(events.some(({ what, model, text }) => what === 'warning' && model === 'e' && text === why))
  t.equal(await message(() => models.snapshot.find('e')), "Request for unknown model: 'e' has no available versions")
  await models.load('b')
  t.same(models.index(true).map(({ name }) => name), ['a', 'b', 'e', 'f']) // prettier-ignore
  t.same(await ask(models, 'f', [row('I', 1, 2, 3)]), { O: [1, 2, 3] })
  await models.unload('b')
  await models.unload('e')
  await models.load('b')
  t.same(models.index(true).map(({ name }) => name), ['a', 'b'], 'it was unloaded by its name') // prettier-ignore
  t.match(await message(() => models.unload('nobody')), /is in no model repository/)
  await models.close()
  t.same(world.open, [])
})

await t.test('a step that changes is held against its ensembles before it takes the place', async (t) => {
  const folder = repository(t, {
    ...ensemble('e', plain),
    ...ensemble('f', { ...plain, steps: ['e(I=I -> O=O)'] }),
    ...model('a'),
    ...model('b'),
  })
  const { models, world } = await faked(folder)
  await models.load('f')
  const before = models.snapshot.find('b')
  write(folder, withSize('b', 4, '2'))
  const text =
    "in ensemble e, ensemble tensor m: inconsistent shape: [-1,3] is inferred from model a while [-1,4] is inferred from model b: output 'y' of step 0 (model 'a') and input 'x' of step 1 (model 'b')"
  t.equal(await message(() => models.load('b')), `load failed for model 'b': ${text}\n`)
  t.equal(models.snapshot.find('b'), before, 'the old one goes on')
  t.same(world.open, ['a:1', 'b:1'])
  t.same(lines(models), ['a 1 READY', `b 1 READY ${text}`, `b 2 UNAVAILABLE ${text}`, 'e 1 READY', 'f 1 READY'])
  t.equal((await message(() => models.load('f'))).includes(text), true, 'as a step it fails, too')
  write(folder, model('b', '3'))
  await models.load('b')
  await ask(models, 'f', [row('I', 1, 2, 3)])
  t.equal(world.asked.at(-1)?.step.version, '3')
  write(folder, { 'e/config.pbtxt': ensembleText({ ...plain, steps: ['a(x=I -> y=m)', 'b:3(x=m -> y=O)'] }) })
  await models.load('e')
  remove(folder, 'b/3')
  t.match(await message(() => models.load('b')), /whose required version 3 is not loaded/)
  await models.close()
})

await t.test('an ensemble and its step that change together do not hinder each other', async (t) => {
  const folder = repository(t, { ...ensemble('e', plain), ...model('a'), ...model('b') })
  const { models } = await faked(folder)
  await models.load('e')
  write(folder, {
    ...withSize('a', 4, '2'),
    ...withSize('b', 4, '2'),
    ...ensemble('e', { ...plain, inputs: ['I FP32 [4]'], outputs: ['O FP32 [4]'] }),
  })
  await models.load('e')
  t.same(await ask(models, 'e', [row('I', 1, 2, 3, 4)]), { O: [1, 2, 3, 4] })
  await models.close()
})

await t.test('a request keeps the versions with which it began', async (t) => {
  const folder = repository(t, { ...ensemble('e', plain), ...model('a'), ...model('b') })
  const { models, world } = await faked(folder)
  await models.load('e')
  const held = new Held()
  world.answers.set('a', held.answer)
  const asked = ask(models, 'e', [row('I', 1, 2, 3)])
  await turns()
  t.equal(held.asked[0]?.step.version, '1')
  write(folder, { ...model('a', '2'), ...model('b', '2') })
  await models.load('a')
  await models.load('b')
  t.ok(world.open.includes('b:1'), 'which has begun nothing of it yet')
  held.go()
  t.same(await asked, { O: [1, 2, 3] })
  t.same(world.asked.map(({ step }) => `${step.name}:${step.version}`), ['a:1', 'b:1']) // prettier-ignore
  await turns()
  t.same([models.inFlight, models.snapshot.find('e').counters().requests], [0, 1], 'counters go on')
  world.answers.clear()
  await ask(models, 'e', [row('I', 1, 2, 3)])
  t.same(world.asked.slice(2).map(({ step }) => `${step.name}:${step.version}`), ['a:2', 'b:2']) // prettier-ignore
  t.equal(models.snapshot.find('e').counters().requests, 2)
  world.answers.set('a', held.answer)
  const last = ask(models, 'e', [row('I', 4, 5, 6)])
  await turns()
  await models.unload('a')
  t.ok(world.open.includes('b:2') && world.open.includes('a:2'))
  held.go()
  t.same(await last, { O: [4, 5, 6] }, 'though its step was unloaded')
  await models.close()
  t.same(world.open, [])
})

await t.test('poll: ensembles follow their steps, in whatever order they come', async (t) => {
  const folder = repository(t, { ...ensemble('e', plain), ...model('a') })
  const { models, world } = await faked(folder, { mode: 'poll' })
  const poll = async (): Promise<void> => {
    await models.poll()
    await models.poll()
  }
  t.match(lines(models)[1], /^e 1 UNAVAILABLE .* b: step 1/)
  write(folder, model('b'))
  await poll()
  t.same(lines(models), ['a 1 READY', 'b 1 READY', 'e 1 READY'], 'the one that it waited for')
  remove(folder, 'a')
  await poll()
  await turns()
  t.match(lines(models), ['a 1 UNAVAILABLE unloaded', 'b 1 READY', /^e 1 UNAVAILABLE ensemble e contains/])
  write(folder, model('a'))
  await poll()
  t.same(models.index(true).map(({ name }) => name), ['a', 'b', 'e']) // prettier-ignore
  write(folder, withSize('b', 4, '2'))
  await poll()
  t.match(lines(models)[1], /^b 1 READY in ensemble e, ensemble tensor m: inconsistent shape/)
  write(folder, {
    ...withSize('a', 4, '2'),
    ...withSize('b', 4, '3'),
    ...ensemble('e', { ...plain, inputs: ['I FP32 [4]'], outputs: ['O FP32 [4]'] }),
  })
  await poll()
  t.same(await ask(models, 'e', [wire('I', [1, 2, 3, 4], [1, 4])]), { O: [1, 2, 3, 4] })
  await models.close()
  t.same(world.open, [])
})

await t.test('a step that is replaced while its ensemble loads', async (t) => {
  const folder = repository(t, { ...ensemble('e', plain), ...model('a'), ...model('b') })
  const { models, world } = await faked(folder)
  await models.load('a')
  let open = (): void => {}
  world.gate = new Promise((resolve) => (open = resolve))
  const loads = [models.load('e')]
  await turns()
  write(folder, model('a', '2'))
  loads.push(models.load('a'))
  await turns()
  open()
  await Promise.all(loads)
  await ask(models, 'e', [row('I', 1, 2, 3)])
  t.same(world.asked.map(({ step }) => step.version), ['2', '1']) // prettier-ignore
  const both = await Promise.allSettled([models.load('e'), models.unload('a'), models.load('e'), models.load('a')])
  t.ok(both.every(({ status }) => status === 'fulfilled'))
  t.same(await ask(models, 'e', [row('I', 1, 2, 3)]), { O: [1, 2, 3] })
  await models.close()
  t.same(world.open, [])
})
