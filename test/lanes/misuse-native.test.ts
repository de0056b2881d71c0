// What nobody should do to an engine in the midst of its work, or to what is beneath it.
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import type { NativeEngine } from '../../lib/backend/native-types.js'
import { checkedAttachOptions } from '../../lib/engine/options.js'
import { Tensor } from '../../lib/index.js'
import { runChild } from './children.js'
import { packagedBinaries } from '../support/onnxruntime.js'
import { fanPlan, leftovers, load, planOf, runtimes } from './rig.js'

type Call = () => unknown

const { lanes } = checkedAttachOptions({ maxQueue: 9 })
const cpu = { path: '', package: packagedBinaries, threads: 1, optimization: 99, deterministic: 0, config: {} } as const

for (const runtime of runtimes) {
  const options = { ...lanes, tensorrt: runtime.fake?.path ?? '', device: 0 }
  const plan = planOf(runtime, fanPlan(2))
  const open = async (): Promise<NativeEngine> => {
    if (runtime.fake !== undefined) return loadAddon().openEngine(plan, options)
    return (await loadAddon().loadOnnx({ model: plan }, cpu)).open(lanes)
  }

  await t.test(runtime.name, async (t) => {
    await t.test('wrong calls of the native engine', async (t) => {
      const addon = loadAddon()
      const engine = await open()
      const data = new Float32Array(4)
      const things = [
        undefined,
        null,
        -1,
        0,
        1,
        2 ** 53,
        NaN,
        Infinity,
        'x',
        Symbol('s'),
        7n,
        {},
        [],
        () => 0,
        data,
        data.buffer,
        new DataView(new ArrayBuffer(16)),
        new Float64Array(9),
        engine,
      ]
      const methods = ['submit', 'runSync', 'cancel', 'allocate', 'stats', 'memory', 'share'] as const
      let threw = 0
      const attempt = (call: Call): void => {
        try {
          call()
        } catch (error) {
          threw++
          if (!(error instanceof Error)) throw error
        }
      }
      for (const name of methods) {
        const method = Reflect.get(engine, name) as (...args: unknown[]) => unknown
        if (name !== 'allocate') attempt(() => method())
        for (const a of things) {
          if (name === 'allocate' && typeof a === 'number' && a > 2 ** 40) continue
          attempt(() => method(a))
          for (const b of things) {
            attempt(() => method(a, b))
            if (name !== 'submit' && name !== 'runSync') continue
            for (const c of things) attempt(() => method(a, b, c))
            const first = name === 'submit' ? [1, -1] : [-1]
            for (const destinations of [a, [a], [b, a]]) attempt(() => method(...first, destinations, data))
          }
        }
        attempt(() => method(...Array<unknown>(5000).fill(data)))
      }
      t.ok(threw > 1000, `${threw} refused`)
      for (const wanted of [new Uint8Array(0), new Uint8Array(1), new Uint8Array(3), structuredClone(new Uint8Array(2))]) {
        if (wanted.length === 2) structuredClone(wanted.buffer, { transfer: [wanted.buffer] })
        const refused = { code: 'ERR_TRT_INVALID_ARGUMENT', message: /Expected 2 bytes for argument \d but received [013]/ }
        t.throws(() => engine.submit(1, wanted, undefined, data), refused)
        t.throws(() => engine.runSync(wanted, undefined, data), refused)
      }
      for (const call of [
        () => addon.openEngine(undefined as never, options),
        () => addon.openEngine(plan, undefined as never),
        () => addon.openEngine(plan, { ...options, lanes: 'two' as never }),
        () => addon.openEngine(plan, { ...options, tensorrt: 5 as never }),
        () => addon.openEngine(plan, { ...options, batching: { maxBatch: {}, pad: [{}] } as never }),
        () => addon.loadOnnx(undefined as never, undefined as never),
        () => addon.loadOnnx({ model: plan }, undefined as never),
        () => addon.loadOnnx({} as never, cpu),
        () => addon.loadOnnx({ model: data } as never, cpu),
        () => addon.loadOnnx({ path: 5 } as never, cpu),
        () => addon.loadOnnx({ model: plan }, { ...cpu, config: { 'session.intra_op.allow_spinning': 'x'.repeat(9999) } }),
        () => addon.attachEngine(undefined as never, options),
        () => addon.attachEngine('x', options),
        () => Promise.resolve(addon.joinEngine(undefined as never)),
        () => Promise.resolve(addon.joinEngine('x')),
        () => Promise.resolve(addon.connect(undefined as never, undefined as never, undefined as never, undefined as never)),
        () => Promise.resolve(addon.connect(new Float64Array(1), new Float64Array(1), new ArrayBuffer(1), () => {})),
        () => Promise.resolve(addon.subscribeLog('x' as never, 5 as never)),
        () => Promise.resolve(addon.subscribeLog(1, undefined as never)),
      ] as (() => Promise<unknown>)[]) {
        const result = await (async () => call())().catch((error: unknown) => error)
        t.ok(result instanceof Error, String(result))
      }
      const unsubscribe = addon.subscribeLog(1, () => {})
      unsubscribe()
      unsubscribe()
      await engine.close()
      await engine.close()
      for (const name of methods) attempt(() => (engine[name] as Call)())
      await using after = await load(runtime, fanPlan(2))
      t.same((await after.infer({ x: Tensor.from(Float32Array.of(1, 2, 3, 4)) }))['y1']?.data, Float32Array.of(2, 4, 6, 8))
    })

    await t.test('nothing is left', (t) => {
      t.same(leftovers(), {})
      t.end()
    })
  })
}

await t.test('an engine that is submitted to before anything is connected', async (t) => {
  const program = `
    const { loadAddon } = await import(${JSON.stringify(new URL('../../lib/backend/native.js', import.meta.url).href)})
    const e = await loadAddon().openEngine(plan(), { lanes: 1, profile: -1, slots: 2, maxQueue: 4, maxQueueBytes: 2 ** 28, device: 0, tensorrt: options.tensorrt })
    for (const call of [() => e.submit(1, -1, undefined, x.data), () => e.runSync(-1, undefined, x.data)]) try { call(); console.log('taken') } catch (error) { console.log(error.code) }
  `
  t.same(await runChild(program), { code: 0, signal: null, stdout: 'ERR_TRT_INVALID_ARGUMENT\nERR_TRT_INVALID_ARGUMENT\n', stderr: '' })
})

for (const runtime of runtimes) {
  await t.test(`${runtime.name}: prototypes that are tampered with when results arrive`, async (t) => {
    const program = `
    const e = await load({ lanes: 2 })
    const put = Object.defineProperty, own = Object.getOwnPropertyDescriptor, remove = Reflect.deleteProperty
    let caught = 0
    process.on('uncaughtException', () => caught++)
    process.on('unhandledRejection', () => caught++)
    const bad = () => { throw new RangeError('tampered') }
    let inside = false
    const again = () => { if (inside) return; inside = true; try { e.inferSync(x) } catch {} finally { inside = false } }
    const y = e.allocate('y', [1, 3])
    for (const [target, names] of [[Array.prototype, ['map', 'every', 'push', Symbol.iterator]], [Object.prototype, ['then']]])
      for (const name of names)
        for (const value of [{ value: bad, writable: true }, { get: bad, set: bad }, { get: again, set: again }]) {
          const settled = [call(e), e.infer(x, { into: { y } }), e.infer(x, { timeoutMs: 200 })].map((each) => each.catch(() => {}))
          const before = own(target, name)
          put(target, name, { configurable: true, ...value })
          try { call(e).catch(() => {}) } catch {}
          for (const end = Date.now() + 20; Date.now() < end; );
          await 0
          await new Promise((resolve) => setImmediate(resolve))
          before ? put(target, name, before) : remove(target, name)
          await soon(1)
          const one = await e.infer(new Tensor('float32', Float32Array.of(1, 2, 3), [1, 3]))
          if (String(one.data) !== '3,5,7') console.log('wrong', String(name))
        }
    await e.close()
    console.log('done')
    process.exit(0)
  `
    t.same(await runChild(program, runtime), { code: 0, signal: null, stdout: 'done\n', stderr: '' })
  })

  await t.test(`${runtime.name}: results nobody waits for, engines nobody closes`, async (t) => {
    const program = `
    const { setFlagsFromString } = await import('node:v8'); setFlagsFromString('--expose-gc')
    const gc = (await import('node:vm')).runInNewContext('gc')
    for (let i = 0; i < 20; i++) { const e = await load({ lanes: 2 }); call(e); if (i % 3) await call(e) }
    for (let i = 0; i < 3000 && liveEngines() > 1; i++) { await soon(10); gc() }
    console.log(liveEngines() <= 1)
  `
    t.same(await runChild(program, runtime), { code: 0, signal: null, stdout: 'true\n', stderr: '' })
  })
}
