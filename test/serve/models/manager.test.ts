// Which models are served: control modes, replacing, failures, order. Cases of Triton's L0_lifecycle have its names.
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { failureOf } from '../../support/errors.js'
import { certain } from '../../support/waiting.js'
import { type Files, remove, repository, turns, write } from './folders.js'
import { rig } from './stand-ins.js'
import type { IndexEntry } from '../../../lib/serve/public-types.js'

const onnx = 'no model, since nothing opens it'
const model = (name: string, ...versions: readonly string[]): Files =>
  Object.fromEntries(versions.map((version) => [`${name}/${version}/model.onnx`, onnx]))
const lines = (index: readonly IndexEntry[]): string[] =>
  index.map(({ name, version, state, reason }) => [name, version, state, reason].filter((part) => part).join(' '))
const message = async (call: () => unknown): Promise<string> => (await failureOf(call)).message
const kind = async (call: () => unknown): Promise<unknown> => ((await failureOf(call)) as { kind?: unknown }).kind

await t.test('none: all models, once, each in its latest version; no load and unload', async (t) => {
  const { models, loads, events } = rig(repository(t, { ...model('a', '1', '10', '9'), ...model('b', '3') }), {
    mode: 'none',
  })
  t.notOk(models.isReady(), 'it has not started')
  await models.start()
  t.ok(models.isReady())
  t.same(lines(models.index(false)), ['a 10 READY', 'b 3 READY'])
  t.equal(models.snapshot.find('a').version, '10')
  t.equal(models.snapshot.find('a', '10').version, '10')
  t.same(models.snapshot.versions('a'), ['10'])
  t.equal(models.snapshot.all.length, 2)
  t.equal(await kind(() => models.load('a')), 'UNAVAILABLE')
  t.equal(
    await message(() => models.unload('a')),
    'explicit model load / unload is not allowed if polling is enabled: model-control-mode is none, and has to be explicit',
  )
  const told = events.map(({ what, model }) => `${what} ${model}`).sort()
  t.same(told, ['loaded a', 'loaded b', 'loading a', 'loading b', 'warning a', 'warning a'])
  await models.close()
  t.notOk(models.isReady())
  t.same(loads.open, [])
  t.same(models.snapshot.all, [])
})

await t.test('texts for who asks for what is not there', async (t) => {
  const { models } = rig(repository(t, { ...model('a', '1', '2'), ...model('never', '1') }), { loadModels: ['a'] })
  await models.start()
  const find = (name: string, version?: string) => message(() => models.snapshot.find(name, version))
  t.equal(await find('b'), "Request for unknown model: 'b' is not found")
  t.equal(await find('never'), "Request for unknown model: 'never' is not found")
  t.equal(await find('a', '7'), "Request for unknown model: 'a' version 7 is not found")
  t.match(await find('a', 'x'), "failed to get model version from specified version string 'x'")
  t.equal(await find('a', '-1'), "invalid model version specified '-1' , version should be an integral value > 0")
  t.equal(models.snapshot.find('a', '').version, '2')
  await models.unload('a')
  t.equal(await find('a'), "Request for unknown model: 'a' has no available versions")
  t.equal(await find('a', '2'), "Request for unknown model: 'a' version 2 is not at ready state")
  t.equal(await kind(() => models.snapshot.find('a', '2')), 'UNAVAILABLE')
  t.equal(await kind(() => models.snapshot.find('a')), 'NOT_FOUND')
  await models.close()
})

await t.test('test_model_control, test_model_repository_index: explicit', async (t) => {
  const folder = repository(t, { ...model('a', '1', '2'), ...model('b', '1') })
  const { models, loads } = rig(folder)
  await models.start()
  t.ok(models.isReady())
  t.same(lines(models.index(false)), ['a', 'b'])
  t.same(models.index(true), [])
  await models.load('a')
  t.same(lines(models.index(false)), ['a 2 READY', 'b'])
  await models.load('a')
  t.same(loads.begun, ['a:2'], 'nothing has changed')
  await models.unload('a')
  t.same(lines(models.index(false)), ['a 2 UNAVAILABLE unloaded', 'b'])
  t.ok(models.isReady(), 'nobody wants it')
  await models.load('a')
  write(folder, model('a', '3'))
  await models.load('a')
  t.same(lines(models.index(true)), ['a 3 READY'])
  t.same(lines(models.index(false)), ['a 2 UNAVAILABLE unloaded', 'a 3 READY', 'b'])
  t.same(loads.open, ['a:3 2'])
  write(folder, model('c', '1'))
  await models.load('a')
  t.same(lines(models.index(false)).at(-1), 'b', 'a load looks at its model alone')
  await models.refresh()
  t.same(lines(models.index(false)).at(-1), 'c')
  await models.close()
})

await t.test('names that nobody has: 404, and nothing is left of them', async (t) => {
  const { models } = rig(repository(t, model('a', '1')))
  await models.start()
  t.equal(await kind(() => models.load('b')), 'NOT_FOUND')
  t.equal(await message(() => models.load('b')), "failed to load 'b', failed to poll from model repository")
  t.equal(await kind(() => models.unload('b')), 'NOT_FOUND')
  await models.unload('a')
  for (const name of ['', ' ', '..', 'a/b', '../a'])
    t.equal(await kind(() => models.load(name)), 'INVALID_ARG', JSON.stringify(name))
  t.same(lines(models.index(false)), ['a'])
  t.ok(models.isReady())
  await models.close()
  t.equal(await kind(() => models.load('a')), 'UNAVAILABLE')
})

await t.test('version_policy', async (t) => {
  const folder = repository(t, {
    ...model('a', '1', '2', '3'),
    'a/config.pbtxt': 'version_policy { specific { versions: [ 1, 3 ] } }',
  })
  const { models } = rig(folder)
  await models.start()
  await models.load('a')
  t.same(models.snapshot.versions('a'), ['1', '3'])
  write(folder, { 'a/config.pbtxt': 'version_policy { latest { num_versions: 2 } }' })
  await models.load('a')
  t.same(lines(models.index(false)), ['a 1 UNAVAILABLE unloaded', 'a 2 READY', 'a 3 READY'])
  write(folder, { 'a/config.pbtxt': 'version_policy { specific { versions: [ 8 ] } }' })
  const text =
    "load failed for model 'a': at least one version must be available under the version policy of model 'a'\n"
  t.equal(await message(() => models.load('a')), text)
  t.same(models.snapshot.versions('a'), ['2', '3'])
  await models.close()
})

await t.test(
  'test_model_reload_fail: a failed load leaves the old one at work, and its reason in the index',
  async (t) => {
    const folder = repository(t, model('a', '1'))
    const { models, loads, events } = rig(folder)
    await models.start()
    await models.load('a')
    const before = models.snapshot.find('a')
    write(folder, model('a', '2'))
    loads.failing.add('a:2')
    const text = 'version 2 is at UNAVAILABLE state: a:2 is broken;'
    t.equal(await message(() => models.load('a')), `load failed for model 'a': ${text}\n`)
    t.equal(models.snapshot.find('a'), before)
    t.same(lines(models.index(false)), [`a 1 READY ${text}`, 'a 2 UNAVAILABLE a:2 is broken'])
    t.ok(models.isReady())
    t.same(events.at(-1)?.text, `load failed for model 'a': ${text}`)
    write(folder, { 'a/config.pbtxt': 'nonsense' })
    t.match(await message(() => models.load('a')), /load failed for model 'a': .*config\.pbtxt/)
    t.equal(models.snapshot.find('a'), before)
    remove(folder, 'a/config.pbtxt')
    loads.failing.clear()
    await models.load('a')
    t.same(lines(models.index(false)), ['a 1 UNAVAILABLE unloaded', 'a 2 READY'])
    await models.close()
  },
)

await t.test('of several versions all are taken, or none', async (t) => {
  const { models, loads } = rig(
    repository(t, { ...model('a', '1', '2'), 'a/config.pbtxt': 'version_policy { all {} }' }),
  )
  await models.start()
  loads.failing.add('a:1')
  await failureOf(() => models.load('a'))
  t.same(lines(models.index(false)), ['a 1 UNAVAILABLE a:1 is broken', 'a 2 UNAVAILABLE unloaded'])
  t.same(loads.open, [])
  t.notOk(models.isReady(), 'it should be ready, and is not')
  await models.unload('a')
  t.ok(models.isReady())
  await models.close()
})

await t.test('test_load_unload_same_model_stress: in the order of their requests', async (t) => {
  const folder = repository(t, model('a', '1'))
  const { models, loads } = rig(folder)
  await models.start()
  const open = loads.hold()
  const done: string[] = []
  const calls = [
    models.load('a').then(() => done.push('load')),
    models.unload('a').then(() => done.push('unload')),
    models.load('a').then(() => done.push('load again')),
    models.load('a').then(() => done.push('once more')),
  ]
  await certain(() => loads.begun.length > 0)
  await turns()
  t.same([loads.begun, done, lines(models.index(false))], [['a:1'], [], ['a 1 LOADING']])
  open()
  await Promise.all(calls)
  t.same(done, ['load', 'unload', 'load again', 'once more'])
  t.same(loads.begun, ['a:1', 'a:1'])
  t.same(loads.open, ['a:1 1'])
  await models.close()
})

await t.test('test_model_availability_on_reload: a request ends on the version that it began with', async (t) => {
  const folder = repository(t, model('a', '1'))
  const { models, loads, events } = rig(folder)
  await models.start()
  await models.load('a')
  const begun = models.snapshot.find('a')
  const leave = begun.enter()
  write(folder, model('a', '2'))
  const open = loads.hold()
  const loading = models.load('a')
  await certain(() => loads.begun.length === 2)
  t.equal(models.snapshot.find('a'), begun, 'until the other is ready')
  open()
  await loading
  t.equal(models.snapshot.find('a').version, '2')
  t.same(lines(models.index(false)), ['a 1 UNLOADING', 'a 2 READY'])
  t.same([models.inFlight, loads.open], [1, ['a:1 0', 'a:2 1']])
  leave()
  await certain(() => events.some(({ what, version }) => what === 'unloaded' && version === '1'))
  t.same(lines(models.index(false)), ['a 1 UNAVAILABLE unloaded', 'a 2 READY'])
  t.same([models.inFlight, loads.open], [0, ['a:2 1']])
  await models.close()
})

await t.test('a version that was loaded again and unloaded again is unloaded when both are closed', async (t) => {
  const { models, events } = rig(repository(t, model('a', '1')))
  await models.start()
  const leave: (() => void)[] = []
  for (let i = 0; i < 2; i++) {
    await models.load('a')
    leave.push(models.snapshot.find('a').enter())
    await models.unload('a')
  }
  const unloaded = (): number => events.filter(({ what }) => what === 'unloaded').length
  leave[0]?.()
  await certain(() => unloaded() === 1)
  t.same(lines(models.index(false)), ['a 1 UNLOADING'])
  leave[1]?.()
  await certain(() => unloaded() === 2)
  t.same(lines(models.index(false)), ['a 1 UNAVAILABLE unloaded'])
  await models.close()
})

await t.test('the snapshot of a request does not change', async (t) => {
  const { models } = rig(repository(t, model('a', '1')), { loadModels: ['*'] })
  await models.start()
  const { snapshot } = models
  await models.unload('a')
  t.equal(snapshot.find('a').version, '1')
  t.not(models.snapshot, snapshot)
  await models.close()
})

await t.test('load-model: names, all, and what cannot be', async (t) => {
  const folder = repository(t, { ...model('a', '1'), ...model('b', '1') })
  const first = rig(folder, { loadModels: ['b', 'b'] })
  await first.models.start()
  t.same(lines(first.models.index(true)), ['b 1 READY'])
  await first.models.close()
  const all = rig(folder, { loadModels: ['*'] })
  await all.models.start()
  t.same(lines(all.models.index(true)), ['a 1 READY', 'b 1 READY'])
  await all.models.close()
  const both = rig(folder, { loadModels: ['*', 'a'] })
  t.match(await message(() => both.models.start()), /Wildcard model name/)
  const missing = rig(folder, { loadModels: ['a', 'c'] })
  t.match(await message(() => missing.models.start()), /failed to load all models: failed to load 'c'/)
  t.same(missing.loads.open, [])
})

await t.test('exit-on-error and strict-readiness', async (t) => {
  const files = { ...model('a', '1'), ...model('b', '1') }
  const strict = rig(repository(t, files), { mode: 'none' })
  strict.loads.failing.add('b:1')
  t.equal(
    await message(() => strict.models.start()),
    "failed to load all models: load failed for model 'b': version 1 is at UNAVAILABLE state: b:1 is broken;",
  )
  t.same(strict.loads.open, [])
  for (const strictReadiness of [true, false]) {
    const { models, loads } = rig(repository(t, files), { mode: 'none', exitOnError: false, strictReadiness })
    loads.failing.add('b:1')
    await models.start()
    t.equal(models.isReady(), !strictReadiness)
    t.same(lines(models.index(false)), ['a 1 READY', 'b 1 UNAVAILABLE b:1 is broken'])
    await models.close()
  }
})

await t.test('a model in two repositories is served from neither; a repository that is no folder', async (t) => {
  const folders = [repository(t, { ...model('a', '1'), ...model('b', '1') }), repository(t, model('a', '1'))]
  const { models } = rig(folders, { mode: 'none', exitOnError: false })
  await models.start()
  t.match(lines(models.index(false)), [/^a UNAVAILABLE .*several repositories/, 'b 1 READY'])
  t.notOk(models.isReady())
  await models.close()
  const nowhere = rig(join(folders[0] ?? '', 'nowhere'))
  await t.rejects(nowhere.models.start(), { code: 'ERR_TRT_FILE' })
})

await t.test('retries, and how many load at once', async (t) => {
  const folder = repository(t, Object.assign({}, ...['a', 'b', 'c', 'd', 'e'].map((name) => model(name, '1'))) as Files)
  const { models, loads } = rig(folder, { mode: 'none', loadThreads: 2, retries: 2, exitOnError: false })
  loads.failing.add('a:1')
  const starting = models.start()
  await starting
  t.equal(loads.mostRunning, 2)
  t.equal(loads.begun.filter((key) => key === 'a:1').length, 3)
  t.equal(models.snapshot.all.length, 4)
  await models.close()
})

await t.test('close() gives up loads under way, and waits for the requests of the others', async (t) => {
  const { models, loads } = rig(repository(t, { ...model('a', '1'), ...model('b', '1') }))
  await models.start()
  await models.load('a')
  const leave = models.snapshot.find('a').enter()
  const open = loads.hold()
  const loading = failureOf(() => models.load('b'))
  await certain(() => loads.begun.includes('b:1'))
  let closed = false
  const closing = models.close().then(() => (closed = true))
  t.notOk(models.isReady())
  open()
  t.match((await loading).message, /the server is shutting down/)
  await turns()
  t.notOk(closed)
  leave()
  await closing
  t.same(loads.open, [])
})

await t.test('poll: a change counts once two looks in a row saw the same', async (t) => {
  const folder = repository(t, model('a', '1'))
  const { models, loads } = rig(folder, { mode: 'poll' })
  await models.start()
  t.same(loads.begun, ['a:1'])
  await models.poll()
  await models.poll()
  t.same(loads.begun, ['a:1'], 'nothing has changed')

  write(folder, { 'a/2/model.onnx': 'half' })
  await models.poll()
  write(folder, { 'a/2/model.onnx': 'half and half' })
  await models.poll()
  t.same(loads.begun, ['a:1'], 'it is still being copied')
  await models.poll()
  t.same(loads.begun, ['a:1', 'a:2'])
  t.equal(models.snapshot.find('a').version, '2')

  write(folder, model('b', '1'))
  await models.poll()
  t.same(models.snapshot.versions('b'), [])
  await models.poll()
  t.same(models.snapshot.versions('b'), ['1'])

  loads.failing.add('a:3')
  write(folder, model('a', '3'))
  for (let i = 0; i < 4; i++) await models.poll()
  t.equal(loads.begun.filter((key) => key === 'a:3').length, 1, 'what failed is tried again when it changes')
  t.equal(models.snapshot.find('a').version, '2')
  loads.failing.clear()
  utimesSync(join(folder, 'a/3/model.onnx'), 1, 1)
  await models.poll()
  await models.poll()
  t.equal(models.snapshot.find('a').version, '3')

  remove(folder, 'b')
  await models.poll()
  t.same(models.snapshot.versions('b'), ['1'])
  await models.poll()
  t.same(models.snapshot.versions('b'), [])
  t.same(lines(models.index(false)).at(-1), 'b 1 UNAVAILABLE unloaded')
  t.ok(models.isReady())
  await models.close()
})

await t.test(
  'poll: a folder that is no model keeps the server from being ready only as long as it is there',
  async (t) => {
    const folder = repository(t, { ...model('a', '1'), 'b/config.pbtxt': '' })
    const { models } = rig(folder, { mode: 'poll', exitOnError: false })
    await models.start()
    t.notOk(models.isReady())
    remove(folder, 'b')
    await models.poll()
    await models.poll()
    t.ok(models.isReady())
    t.same(lines(models.index(false)), ['a 1 READY'])
    await models.close()
  },
)

await t.test('a start that is given up loads nothing', async (t) => {
  const { models, loads, events } = rig(repository(t, model('a', '1')), { mode: 'none' })
  const started = models.start()
  const closed = models.close()
  t.equal(await kind(() => started), 'UNAVAILABLE')
  await closed
  t.same([loads.begun, events], [[], []])
})

await t.test('poll: a repository that is away for a moment takes no model away', async (t) => {
  const folder = repository(t, model('a', '1'))
  const moved = repository(t)
  const { models, events } = rig([folder, moved], { mode: 'poll' })
  await models.start()
  remove(moved, '.')
  await models.poll()
  await models.poll()
  t.equal(models.snapshot.find('a').version, '1')
  t.equal(events.filter(({ what, text = '' }) => what === 'warning' && text.startsWith('Expected a folder')).length, 2)
  mkdirSync(moved)
  await models.close()
})

await t.test('poll by itself', async (t) => {
  const folder = repository(t, model('a', '1'))
  const { models } = rig(folder, { mode: 'poll', pollSecs: 0.01 })
  await models.start()
  write(folder, model('a', '2'))
  await certain(() => models.snapshot.find('a').version === '2')
  await models.close()
})

await t.test('test_config_override: until the next load without one', async (t) => {
  const { models, loads } = rig(repository(t, model('a', '1', '2')))
  await models.start()
  await models.load('a', { config: '{"version_policy":{"specific":{"versions":[1]}}}' })
  t.same(models.snapshot.versions('a'), ['1'])
  await models.load('a')
  t.same(models.snapshot.versions('a'), ['2'])
  t.match(await message(() => models.load('a', { config: '{' })), /load failed for model 'a': Invalid config override/)
  t.match(await message(() => models.load('a', { config: '{"name":"other"}' })), /directory name must equal model name/)
  t.same(models.snapshot.versions('a'), ['2'])
  t.equal(loads.open.length, 1)
  await models.close()
})

await t.test('test_file_override: refused unless allowed; files go when the model does', async (t) => {
  const files = new Map([['7/model.onnx', Buffer.from(onnx)]])
  const config = '{"backend":"onnxruntime"}'
  const strict = rig(repository(t))
  await strict.models.start()
  t.equal(await kind(() => strict.models.load('a', { config, files })), 'UNSUPPORTED')
  t.match(await message(() => strict.models.load('a', { config, files })), /--allow-file-override/)
  t.same(strict.models.index(false), [])
  await strict.models.close()

  const folder = repository(t, model('a', '1'))
  const { models, loads } = rig(folder, { allowFileOverride: true })
  await models.start()
  t.equal(
    await message(() => models.load('a', { files })),
    "Load parameter 'config' must be specified for model file override",
  )
  await models.load('a', { config, files })
  t.same(models.snapshot.versions('a'), ['7'], 'in place of all that the folder has')
  await models.load('b', { config, files })
  t.same(models.snapshot.versions('b'), ['7'], 'also of a name that no repository has')
  const [first = '', second = ''] = loads.paths
  t.same(readFileSync(join(first, '7/model.onnx'), 'utf8'), onnx)
  t.equal(statSync(first).mode & 0o77, 0, 'of this user alone')
  const leave = models.snapshot.find('a').enter()
  await models.load('a')
  t.same(models.snapshot.versions('a'), ['1'])
  t.ok(existsSync(first), 'as long as a request has it')
  leave()
  await certain(() => !existsSync(first))
  loads.failing.add('b:7')
  await failureOf(() => models.load('b', { config, files }))
  t.notOk(existsSync(loads.paths.at(-1) ?? ''), 'of a load that failed')
  t.ok(existsSync(second))
  await models.close()
  t.notOk(existsSync(second))
})

await t.test('test_file_override_security: names beyond the folder of a version', async (t) => {
  const { models, loads } = rig(repository(t, model('a', '1')), { allowFileOverride: true })
  await models.start()
  const names = [
    '../x', '/etc/x', '1/../../x', '1/../x', '1/./x', '1//x', '1', '1/', 'x', 'config.pbtxt', 'v1/model.onnx', '01/model.onnx', '-1/x', '1/a\\b', '1/a\0b',
    '1/..', './1/x', ' 1/x', `1/${'x'.repeat(256)}`, '',
  ] // prettier-ignore
  for (const name of names) {
    const files = new Map([['1/model.onnx', Buffer.from(onnx)], [name, Buffer.from('x')]]) // prettier-ignore
    t.equal(
      await kind(() => models.load('a', { config: '{}', files })),
      'INVALID_ARG',
      JSON.stringify(name.slice(0, 20)),
    )
  }
  t.same(loads.begun, [])
  await models.close()
})
