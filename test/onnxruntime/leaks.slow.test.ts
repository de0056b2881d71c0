// Sessions that come and go leave nothing, released or only forgotten.
import t from 'tap'
import { runNode } from '../support/children.js'

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** Without tap, which remembers. */
const program = (more: string): string => `
  import { setFlagsFromString } from 'node:v8'
  import { runInNewContext } from 'node:vm'
  import { setTimeout as soon } from 'node:timers/promises'
  import { InferenceSession, Tensor } from ${url('../../lib/onnxruntime/entry.js')}
  import { loadAddon } from ${url('../../lib/backend/native.js')}
  import { addModel } from ${url('../support/models.js')}
  setFlagsFromString('--expose-gc')
  setFlagsFromString('--semi-space-growth-factor=1') // V8 would enlarge its young generation sooner or later, which is no leak
  const gc = runInNewContext('gc')
  const live = () => loadAddon().cpuLive()
  const collected = async () => {
    for (let i = 0; i < 4 || (live().engines > 0 && i < 400); i++) { gc(); await soon(5) }
    return process.memoryUsage().rss / 2 ** 20
  }
  const length = 20_000
  const model = addModel(1, length)
  const x = new Tensor('float32', new Float32Array(length), [1, length])
  const options = { executionProviders: ['cpu'], intraOpNumThreads: 1 }
  const opened = async (i) => {
    const session = await InferenceSession.create(i % 2 ? model : model.slice().buffer, options)
    const feeds = { [session.inputNames[0]]: x }
    await Promise.all(Array.from({ length: i % 4 }, () => session.run(feeds)))
    if (i % 5 === 0) await session.run({}).catch(() => {})
    if (i % 5 === 1) await InferenceSession.create(model, { ...options, preferredOutputLocation: { z: 'cpu' } }).catch(() => {})
    return session
  }
  const round = async (count) => {
    for (let i = 0; i < count; i++) {
      ${more}
      if (i % 50 === 49) await collected()
    }
    return collected()
  }
  await round(80)
  const before = await round(50)
  const after = await round(200)
  console.log(JSON.stringify({ grown: after - before, live: live() }))
`

const ways: Record<string, string> = {
  released: `
    const session = await opened(i)
    const running = i % 3 ? undefined : session.run({ [session.inputNames[0]]: x })
    await session.release()
    await running`,
  forgotten: 'await opened(i)',
}

t.test('200 sessions that come and go', async (t) => {
  const children = Object.entries(ways).map(async ([way, more]) => {
    // glibc gives threads arenas of their own, and what is free in them would hide a leak
    const ended = await runNode(['--input-type=module', '-e', program(more)], process.cwd(), 300_000, {
      MALLOC_ARENA_MAX: '1',
    })
    return { way, ...ended }
  })
  for (const { way, stdout, ...ended } of await Promise.all(children)) {
    t.same(ended, { code: 0, signal: null, stderr: '' }, way)
    const { grown, live } = JSON.parse(stdout) as { grown: number; live: object }
    t.same(live, { engines: 0, lanes: 0, values: 0 }, `${way}: what is live`)
    t.comment(`${way}: ${grown.toFixed(1)} MiB more`)
    t.ok(grown < 5, `${way}: ${grown.toFixed(1)} MiB more`)
  }
})
