// A model in JavaScript whose instances die one after the other, behind a server: what it says of it, and how it comes
// back.
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { serve } from '../../../lib/serve/index.js'
import type { Server } from '../../../lib/serve/public-types.js'
import { certain } from '../../support/waiting.js'
import { configOf, noThreadLeft } from './rig.js'
import { ensemble } from '../ensembles/rig.js'
import { repository } from '../models/folders.js'

const copy = (what: string): string => `
  export default { execute: (requests) => requests.map(({ inputs: { x } }) => {
    ${what}
    return { y: x }
  }) }`
const bad = copy('if (x.data[0] < 0) process.exit(3)')
const text =
  /^model 'm' answers no more requests, since its instances have ended 3 times within a minute, the last time: .*process\.exit\(3\)$/

interface Rig {
  readonly server: Server
  readonly lines: Record<string, unknown>[]
  readonly get: (path: string) => Promise<readonly [number, unknown]>
  readonly infer: (model: string, first: number) => Promise<readonly [number, unknown]>
}

async function started(folder: string, more: Partial<Parameters<typeof serve>[0]> = {}): Promise<Rig> {
  const lines: Record<string, unknown>[] = []
  const log = { destination: { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) } }
  const server = await serve({ modelRepository: folder, http: { port: 0, address: '127.0.0.1' }, log, ...more })
  const get = async (path: string, init?: RequestInit): Promise<readonly [number, unknown]> => {
    const reply = await fetch(`${server.addresses.http?.url ?? ''}/v2/${path}`, init)
    const body = await reply.text()
    return [reply.status, body === '' ? '' : JSON.parse(body)]
  }
  const infer = (model: string, first: number): Promise<readonly [number, unknown]> => {
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [4], data: [first, 2, 3, 4] }]
    return get(`models/${model}/infer`, { method: 'POST', body: JSON.stringify({ inputs }) })
  }
  return { server, lines, get, infer }
}

await t.test(
  'three deaths in a minute: the index, health and metadata say so, and a load brings it back',
  async (t) => {
    const folder = repository(t, {
      'm/config.pbtxt': configOf(),
      'm/1/model.js': bad,
      ...ensemble('e', { inputs: ['x FP32 [4]'], outputs: ['z FP32 [4]'], steps: ['m(x=x -> y=z)'], maxBatch: 0 }),
    })
    const { server, lines, get, infer } = await started(folder, { modelControlMode: 'explicit', loadModel: ['m', 'e'] })
    t.teardown(() => server.close())
    t.same([(await infer('e', 1))[0], (await get('health/ready'))[0]], [200, 200])
    for (let i = 0; i < 3; i++) t.equal((await infer('m', -1))[0], 500)
    await certain(() => server.index().every(({ state }) => state === 'UNAVAILABLE')) // the ensemble's threads end first
    const index = server.index()
    t.match(index, [
      { name: 'e', version: '1', state: 'UNAVAILABLE', reason: /'m'.*answers no more requests/s },
      { name: 'm', version: '1', state: 'UNAVAILABLE', reason: text },
    ])
    t.same(
      [(await get('health/ready'))[0], (await get('models/m/ready'))[0], (await get('models/m/versions/1/ready'))[0]],
      [400, 400, 400],
    )
    const said = {
      error: /^Request for unknown model: 'm' version 1 is not at ready state: model 'm' answers no more requests/,
    }
    for (const path of ['models/m', 'models/m/versions/1']) t.match((await get(path))[1], said)
    t.match(await infer('m', 1), [503, said])
    t.match(await infer('e', 1), [404, { error: /'e' has no available versions/ }])
    t.match(
      lines.filter(({ level, msg }) => level === 'error' && msg !== 'inference failed'),
      [{ model: 'm', version: '1', error: text, msg: 'a model answers no more requests' }],
    )
    await server.load('m')
    t.same(
      server.index().map(({ state }) => state),
      ['READY', 'READY'],
    )
    t.same([(await infer('m', 1))[0], (await infer('e', 1))[0], (await get('health/ready'))[0]], [200, 200, 200])
  },
)

await t.test('one version of two that is broken leaves the other', async (t) => {
  const policy = 'version_policy: { all {} }'
  const folder = repository(t, { 'm/config.pbtxt': configOf(policy), 'm/1/model.js': copy(''), 'm/2/model.js': bad })
  const { server, infer } = await started(folder, { modelControlMode: 'poll', repositoryPollSecs: 1000 })
  t.teardown(() => server.close())
  for (let i = 0; i < 3; i++) await infer('m', -1)
  await certain(() => server.index().some(({ state }) => state === 'UNAVAILABLE'))
  t.match(server.index(), [
    { version: '1', state: 'READY' },
    { version: '2', state: 'UNAVAILABLE', reason: text },
  ])
  t.match(await infer('m', -1), [200, { model_version: '1' }])
})

await t.test(
  'lines of a module are lines of the log, with who wrote them; a thread that does not end is ended in time',
  async (t) => {
    const code = `export default {
    load: ({ instance }) => instance === 1 && console.error('loaded'),
    async execute(requests) { await new Promise(() => {}) },
    unload: () => new Promise(() => setInterval(() => {}, 1000)),
  }`
    const folder = repository(t, {
      'm/config.pbtxt': configOf('instance_group [ { count: 2 kind: KIND_CPU } ]'),
      'm/1/model.js': code,
    })
    const { server, lines } = await started(folder, { exitTimeoutSecs: 1 })
    t.match(
      lines.filter(({ msg }) => msg === 'loaded'),
      [{ level: 'info', model: 'm', version: '1', instance: 1, stream: 'stderr' }],
    )
    await server.close()
    const ended = lines.filter(({ msg }) => String(msg).startsWith('unload() of instance'))
    t.equal(ended.length, 2)
    for (const { msg } of ended)
      t.ok(Number(/has not ended within (\d+) ms/.exec(String(msg))?.[1]) <= 1000, String(msg))
  },
)

await t.test('paths of this machine are for the log alone, wherever links lead', async (t) => {
  const outside = repository(t, {
    'two/model.js': "import './nothing.js'",
    'm/config.pbtxt': configOf(),
    'm/1/model.js': "import './none.js'",
  })
  const folder = repository(t, { 'n/config.pbtxt': configOf(), 'n/1/model.js': copy('') })
  symlinkSync(join(outside, 'm'), join(folder, 'm'))
  symlinkSync(join(outside, 'two'), join(folder, 'n/2'))
  const { server, lines } = await started(folder, {
    modelControlMode: 'explicit',
    loadModel: ['*'],
    exitOnError: false,
  })
  t.teardown(() => server.close())
  t.same(
    server.index().map(({ reason }) => reason),
    [
      "model.js of model 'm' cannot be loaded: Cannot find module 'm/1/none.js' imported from m/1/model.js",
      "model.js of model 'n' cannot be loaded: Cannot find module 'n/2/nothing.js' imported from n/2/model.js",
    ],
  )
  t.equal(lines.filter(({ error }) => String(error).includes(outside)).length, 2)
})

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
