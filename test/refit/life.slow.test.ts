// Refitters that come, go, are forgotten, or are at work when their process or thread ends.
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Engine, Refitter } from '../../lib/index.js'
import { controlFakes } from '../fake/control.js'
import { runChild } from '../lanes/children.js'
import { failureOf } from '../support/errors.js'
import { watchEventLoop } from '../support/event-loop.js'
import { collect, until } from '../support/waiting.js'
import { computed, fakes, families, input, leftovers, onnxOf, planOf, weightsOf } from './models.js'

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>

const [old, fresh] = [weightsOf(1), weightsOf(2)]

for (const family of families) {
  const { path: tensorrt, control } = family
  const open = (stripped = false): Refitter =>
    new Refitter(planOf(family, old, { stripped }), { tensorrt: { library: tensorrt } })

  await t.test(family.name, async (t) => {
    await t.test('come and go', async (t) => {
      for (let i = 0; i < 30; i++) {
        const refitter = open(i % 2 === 0)
        if (i % 3 > 0) await refitter.setFromOnnx(onnxOf(fresh))
        if (i % 3 > 1) await refitter.refit()
        await refitter.close()
        if (i % 10 === 9) t.same(leftovers(), {})
      }
    })

    await t.test('forgotten ones are freed', async (t) => {
      const forget = async (): Promise<void> => {
        for (let i = 0; i < 8; i++) await open().weights()
      }
      await forget()
      const end = Date.now() + 60_000
      while (Object.keys(leftovers()).length > 0 && Date.now() < end) await collect()
      t.same(leftovers(), {})
    })

    await t.test('a refit under way: abort rejects at once, close waits for it', async (t) => {
      control.set({ buildStepMs: 600 })
      const refitter = open()
      await refitter.set('scale', fresh.scale)
      const abort = new AbortController()
      const calls = (): number => control.stats().calls['VRefitter.refitCudaEngine'] ?? 0
      const before = calls()
      const plan = refitter.refit({ signal: abort.signal })
      plan.catch(() => {})
      t.ok(await until(() => calls() > before), 'TensorRT is at it')
      abort.abort(new Error('enough'))
      await t.rejects(plan as Promise<unknown> as Promise<void>, { message: 'enough' })
      t.equal(control.stats().live.refitters, 1, 'while TensorRT is still at it')
      await refitter.close()
      t.equal(control.stats().live.refitters, 0, 'which is waited for')
      control.set({ buildStepMs: 0 })
      t.same(leftovers(), {})
    })

    await t.test('the event loop goes on meanwhile', async (t) => {
      control.set({ buildStepMs: 100 })
      await using refitter = open()
      const { ticks } = await watchEventLoop(() => refitter.refit())
      control.set({ buildStepMs: 0 })
      t.ok(ticks >= 5, `${ticks} ticks of a timer`)
    })
  })
}

await t.test('older versions', async (t) => {
  for (const version of ['10.0.1', '10.13.2']) {
    // a library of its own, since each is asked for its version once
    const folder = join(t.testdir(), version)
    await mkdir(folder)
    await cp(fakes.trt10, folder, { recursive: true })
    process.env['FAKE_TRT_VERSION'] = version
    const family = {
      version: version.split('.').map(Number),
      path: folder,
      control: controlFakes({ ...fakes, trt10: folder }).trt10.runtime,
    }
    await using refitter = new Refitter(planOf(family, old, { stripped: true }), { tensorrt: { library: folder } })
    await refitter.setFromOnnx(onnxOf(fresh))
    delete process.env['FAKE_TRT_VERSION']
    t.match(await failureOf(() => refitter.refit({ refittable: true })), {
      code: 'ERR_TRT_UNSUPPORTED',
      message: `SerializationFlag::kINCLUDE_REFIT needs TensorRT 10.14; this is TensorRT ${version}`,
    })
    t.equal(family.control.stats().calls['VRefitter.refitCudaEngine'], undefined, 'said before the engine is changed')
    await using engine = await Engine.load((await refitter.refit()).bytes, { tensorrt: { library: folder } })
    t.same(Array.from((await engine.infer(input)).data as Float32Array), computed(fresh))
    const { misuse, traps } = family.control.stats()
    t.same({ misuse, traps }, { misuse: {}, traps: [] })
  }
})

const family = families[0]
const bytes = (data: Uint8Array): string => `Buffer.from('${Buffer.from(data).toString('base64')}', 'base64')`
const begin = `
  const { Refitter } = await import(${JSON.stringify(new URL('../../lib/index.js', import.meta.url).href)})
  const open = () => new Refitter(${bytes(planOf(family, old, { stripped: true }))}, options)
  const model = ${bytes(onnxOf(fresh))}
`
const underWay = `
  trt10.runtime.set({ buildStepMs: 100 })
  const r = open(); await r.setFromOnnx(model); r.refit().catch(() => {}); await soon(20)
`
const inWorker = (program: string): string => `
  const w = worker(${JSON.stringify(`${begin}${program}\nparentPort.postMessage(0); setInterval(() => {}, 1000)`)})
`
const ends: [what: string, program: string, wanted: object][] = [
  ['a return, with one that is open', 'const r = open(); await r.weights()', { code: 0 }],
  ['a return, loading', 'open().weights().then((all) => console.log(all.length))', { code: 0, stdout: '3\n' }],
  [
    'a return, refitting',
    `${underWay} r.refit().then((plan) => console.log(plan.bytes.length > 0))`,
    { code: 0, stdout: 'true\n' },
  ],
  ['exit(), loading', 'open().weights().catch(() => {}); process.exit(3)', { code: 3 }],
  ['exit(), refitting', `${underWay} process.exit(3)`, { code: 3 }],
  ['exit(), closing', `${underWay} r.close(); process.exit(3)`, { code: 3 }],
  [
    'a throw, refitting',
    `${underWay} setImmediate(() => { throw new Error('mine') })`,
    { code: 1, stderr: /Error: mine/ },
  ],
  ['exit(), a worker refitting', `${inWorker(underWay)} w.on('message', () => process.exit(3))`, { code: 3 }],
  [
    'a worker terminated while it refits: all is freed',
    `${inWorker(underWay)} w.on('message', async () => { await w.terminate(); console.log(JSON.stringify(trt10.runtime.stats().live)) })`,
    { code: 0, stdout: /"refitters":0/ },
  ],
]
await t.test('ends', async (t) => {
  for (const [what, program, wanted] of ends) {
    const ended = await runChild(`${begin}\n${program}`)
    t.match(ended, { stderr: '', ...wanted }, what)
    if (!('stderr' in wanted)) t.equal(ended.stderr, '', what)
  }
})

t.test('nothing is left, and nothing was done wrong', (t) => {
  t.same(leftovers(), {})
  t.end()
})
