// An engine that is dropped without close() is collected with all it had, and not before its work is done.
import t from 'tap'
import { families } from '../lanes/rig.js'
import type { FakeFamily } from '../native/fakes.js'
import { runChild } from '../lanes/children.js'

/**
 * Functions that drop engines in every state, and say how many are still there; `open` makes one, `slow` one whose
 * calls take a while.
 */
const program = `
  import { setFlagsFromString } from 'node:v8'; setFlagsFromString('--expose-gc')
  import { runInNewContext } from 'node:vm'
  const gc = runInNewContext('gc')
  const { signal } = new AbortController() // it outlives them all
  const states = {
    idle: async () => { const e = await open(); await e.infer(x) },
    'with limits': async () => { const e = await open({ signal }); await e.infer(x, { signal, timeoutMs: 60_000 }); await e.infer(7, { signal }).catch(() => {}) },
    streamed: async () => { const e = await open(); for await (const y of e.stream([x, x, x], { signal })); await e.warmup({ signal }) },
    'a stream that was left': async () => { const e = await open(); for await (const y of e.stream([x, x, x], { signal })) break },
    loading: async () => { begin() },
    'loading, with a call': async () => { begin({ signal }).infer(x, { signal }).catch(() => {}) },
    'a call that nobody awaits': async () => { (await slow()).infer(x) },
    'a call that was aborted': async () => { await (await slow()).infer(x, { timeoutMs: 1 }).catch(() => {}) },
    'a failed call': async () => { await (await open()).infer({ z: x }).catch(() => {}) },
    'an audit': async () => { await (await open()).layers({ signal }).catch(() => {}) },
  }
  for (const [state, drop] of Object.entries(states)) {
    await drop()
    let left
    for (let i = 0; i < 400 && (left = live()) !== '' || i === 0; i++) { gc(); await soon(10) }
    if (left !== '') console.log(state, left)
  }
  // whoever waits for a result gets it
  const pending = (async () => { const e = await slow(); return [e.infer(x), e.infer(x, { signal }), e.infer(x)] })()
  const calls = await pending // their engine is gone
  for (let i = 0; i < 5; i++) { gc(); await soon(5) }
  console.log((await Promise.all(calls)).map((y) => y.dtype).join())
`

const onFakes = ({ version }: FakeFamily): string => `
  const open = load, begin = (more) => new Engine(plan(), { ...options, ...more })
  const slow = async (more) => { const e = await load(more); driver.set({ computeMs: 40 }); setTimeout(() => driver.set({ computeMs: 0 }), 100); return e }
  const live = () => {
    const { streams, events, deviceAllocations, graphExecs } = driver.stats()
    const { hostMemories, ...objects } = (${version[0] === 10} ? trt10 : trt11).runtime.stats().live
    const left = Object.entries({ streams, events, deviceAllocations, graphExecs, ...objects }).filter(([, count]) => count > 0)
    return left.map((each) => each.join(' ')).join(', ')
  }
`
for (const family of families)
  await t.test(family.name, async (t) => {
    t.same(await runChild(onFakes(family) + program, family), {
      code: 0,
      signal: null,
      stdout: 'float32,float32,float32\n',
      stderr: '',
    })
  })

const onCpu = `
  import { createRequire, syncBuiltinESMExports } from 'node:module'
  import processes from 'node:child_process'
  import threads from 'node:worker_threads'
  let carriers = 0
  const counted = (carrier) => { carriers++; carrier.on('exit', () => carriers--); return carrier }
  const { fork } = processes
  processes.fork = (...args) => counted(fork(...args))
  threads.Worker = class extends Worker { constructor(...args) { super(...args); counted(this) } }
  syncBuiltinESMExports()
  const { identity, slow: slowModel } = await import(${JSON.stringify(new URL('../support/models.js', import.meta.url).href)})
  const begin = (more) => new Engine(identity('float32', [1, 3]), { backend: 'cpu', ...more })
  const open = async (more) => { const e = begin(more); await e.ready; return e }
  const slow = open
  const live = () => carriers === 0 ? '' : carriers + ' carriers'
`
await t.test('CPU, in a thread', async (t) => {
  t.same(await runChild(onCpu + program), { code: 0, signal: null, stdout: 'float32,float32,float32\n', stderr: '' })
})
await t.test('CPU, in a process', async (t) => {
  const inWorker = `worker(${JSON.stringify(onCpu + program)})`
  t.same(await runChild(inWorker), { code: 0, signal: null, stdout: 'float32,float32,float32\n', stderr: '' })
})
