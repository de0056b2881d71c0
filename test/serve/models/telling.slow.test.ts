// What the log has of loads and unloads, and what clients see of the paths of this machine: nothing.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ModelEvent } from '../../../lib/serve/models/settings.js'
import { failureOf } from '../../support/errors.js'
import { remove, repository, write } from './folders.js'
import { rig } from './stand-ins.js'

const onnx = 'no model, since nothing opens it'

/** What was told since the last call, without what is for debugging alone. */
function teller(events: readonly ModelEvent[]): () => readonly string[] {
  let at = 0
  return () => {
    const fresh = events.slice(at).filter(({ what }) => what !== 'loading' && what !== 'unloading')
    at = events.length
    return fresh.map(({ what, model, version, text }) =>
      [what, model, version, text].filter((part) => part !== undefined).join(' '),
    )
  }
}

await t.test('each load has its line, whatever becomes of it', async (t) => {
  const folder = repository(t, { 'a/1/model.onnx': onnx, 'empty/config.pbtxt': '' })
  const { models, loads, events } = rig(folder, { retries: 2 })
  const told = teller(events)
  await models.start()
  const failed = async (name: string, ...more: readonly string[]): Promise<void> => {
    const { message } = await failureOf(() => models.load(name))
    t.notMatch(message, folder, 'no path for the client')
    t.match(told(), more)
  }
  await models.load('a')
  t.same(told(), ['loaded a'])
  await models.load('a')
  t.same(told(), ['loaded a'], 'nothing was to be done')
  await failed('none', "failed none failed to load 'none', failed to poll from model repository")
  await failed(
    'empty',
    `failed empty load failed for model 'empty': at least one version must be available under the version policy of model 'empty': ${join(folder, 'empty')} needs`,
  )
  await failed('..', "warning .. refused to load: invalid model name '..'")

  write(folder, { 'a/1/model.onnx': `${onnx}!` })
  loads.failing.add('a:1')
  const again = 'warning a 1 failed to load, tried again: a:1 is broken'
  await failed(
    'a',
    again,
    again,
    "failed a load failed for model 'a': version 1 is at UNAVAILABLE state: a:1 is broken;",
  )
  write(folder, { 'b/1/model.onnx': onnx })
  mkdirSync(join(folder, 'b', 'config.pbtxt'))
  await failed(
    'b',
    `failed b load failed for model 'b': Expected a file but ${join(folder, 'b', 'config.pbtxt')} is a folder`,
  )
  t.notMatch(JSON.stringify(models.index(false)), folder)
  await failureOf(() => models.load('a', { files: new Map([['1/x', new Uint8Array(1)]]), config: '{}' }))
  t.match(told(), ['warning a refused to load: file override is not allowed'])
  await models.close()
})

await t.test('what cannot be loaded at the start is in the index with its reason alone', async (t) => {
  const { models } = rig(repository(t, { 'empty/config.pbtxt': '' }), { mode: 'none', exitOnError: false })
  await models.start()
  const [{ name, state, reason } = {}] = models.index(false)
  t.same([name, state], ['empty', 'UNAVAILABLE'])
  t.match(
    reason,
    /^at least one version must be available .* empty needs a folder such as 1 with model.plan, model.onnx or model.js$/,
  )
  await models.close()
})

await t.test('each unload has its line', async (t) => {
  const { models, events } = rig(repository(t, { 'a/1/model.onnx': onnx, 'b/1/model.onnx': onnx }))
  const told = teller(events)
  await models.start()
  await models.load('a')
  await models.unload('a')
  t.same(told(), ['loaded a', 'unloaded a 1'])
  await models.unload('a')
  await models.unload('b')
  t.same(told(), ['unloaded a', 'unloaded b'], 'what was not there')
  await failureOf(() => models.unload('none'))
  t.match(told(), ["warning none refused to unload: failed to unload 'none'"])
  await models.close()
  t.same(told(), [])
  await failureOf(() => models.load('a'))
  t.match(told(), ['warning a refused to load: the server is shutting down'])
})

await t.test('poll: a folder that is no model any more is told of once', async (t) => {
  const folder = repository(t, { 'a/1/model.onnx': onnx })
  const { models, events } = rig(folder, { mode: 'poll' })
  const told = teller(events)
  await models.start()
  t.same(told(), ['loaded a'])
  remove(folder, 'a/1')
  await models.poll()
  t.match(told(), [
    `failed a at least one version must be available under the version policy of model 'a': ${join(folder, 'a')} needs`,
  ])
  await models.poll()
  t.same(told(), [])
  t.equal(models.snapshot.find('a').version, '1')
  await failureOf(() => models.load('a'))
  t.match(told(), ['warning a refused to load: explicit model load / unload is not allowed'])
  await models.close()
})

await t.test(
  'poll: a model file that is put beside the folders is told of once, and again after it has moved',
  async (t) => {
    const folder = repository(t, { 'a/1/model.onnx': onnx })
    const { models, events } = rig(folder, { mode: 'poll' })
    const told = teller(events)
    await models.start()
    t.same(told(), ['loaded a'])
    write(folder, { 'b.onnx': onnx })
    await models.poll()
    t.match(told(), [/^warning {2}.* outside of model folders.*move b\.onnx to b\/1\/model\.onnx$/])
    await models.poll()
    t.same(told(), [])
    remove(folder, 'b.onnx')
    await models.poll()
    t.same([told(), models.notes], [[], []])
    remove(folder, 'a')
    await models.poll()
    t.match(told(), [/^warning {2}.* has no models: .* but it is empty$/])
    await models.close()
  },
)

await t.test('a repository that is away: the log has its path, the client has not', async (t) => {
  const folder = repository(t)
  const gone = repository(t, { 'a/1/model.onnx': onnx })
  const { models, events } = rig([folder, gone])
  await models.start()
  remove(gone, '.')
  const { message } = await failureOf(() => models.refresh())
  t.equal(message, 'failed to poll from model repository')
  t.match(events.at(-1)?.text, `Expected a folder for the model repository but '${gone}' does not exist`)
  t.match((await failureOf(() => models.load('a'))).message, 'failed to poll from model repository')
  await models.close()
})

await t.test('fields without effect are told of at each load, once', async (t) => {
  const config = 'optimization { gather_kernel_buffer_threshold: 4 } instance_group { rate_limiter { priority: 2 } }'
  const { models, loads, events } = rig(
    repository(t, { 'a/1/model.onnx': onnx, 'a/2/model.onnx': onnx, 'a/config.pbtxt': config }),
    {
      retries: 1,
    },
  )
  const told = teller(events)
  await models.start()
  const without = [
    "warning a optimization.gather_kernel_buffer_threshold of model 'a' has no effect",
    "warning a instance_group.rate_limiter of model 'a' has no effect",
  ]
  await models.load('a')
  t.match([...told()].sort(), ['loaded a', ...without].sort())
  loads.failing.add('a:2')
  await failureOf(() =>
    models.load('a', { config: JSON.stringify({ optimization: { gather_kernel_buffer_threshold: 4 } }) }),
  )
  t.equal(told().filter((line) => line.includes('has no effect')).length, 1, 'not for each try')
  await models.close()
})
