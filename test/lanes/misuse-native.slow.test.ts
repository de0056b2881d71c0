// What nobody should do to an engine in the midst of its work, or to what is beneath it.
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { connect, lastTicket, writeCall } from '../../lib/backend/completions.js'
import type { NativeEngine } from '../../lib/backend/native-types.js'
import { checkedAttachOptions } from '../../lib/engine/options.js'
import { Tensor } from '../../lib/index.js'
import { until } from '../support/waiting.js'
import { runChild } from './children.js'
import { packagedBinaries } from '../support/onnxruntime.js'
import { fanPlan, leftovers, load, planOf, runtimes } from './rig.js'

type Call = () => unknown

const { lanes } = checkedAttachOptions({ maxQueue: 9 })
/** Nothing leaves before two requests wait. */
const { lanes: held } = checkedAttachOptions({ batching: { maxBatch: 1, holdUntil: 2 } })

/** What lib/ never gives. */
const wrong = [
  undefined,
  null,
  -1,
  0,
  1.5,
  NaN,
  2 ** 53,
  'x',
  Symbol('s'),
  7n,
  {},
  [],
  () => 0,
  new ArrayBuffer(8),
  new DataView(new ArrayBuffer(8)),
]
const cpu = { path: '', package: packagedBinaries, threads: 1, optimization: 99, deterministic: 0, config: {} } as const

/**
 * Calls past lib/, with what that writes into the shared array before a call, rank and dimensions too; gives the
 * ticket.
 */
const submitter =
  (engine: NativeEngine) =>
  (x: Float32Array, priority = 0, queueTimeoutMs = 0, [length, ...dims]: readonly number[] = [1, 4]): number => {
    writeCall(
      [{ shape: { length, [Symbol.iterator]: () => dims.values() } }] as unknown as Parameters<typeof writeCall>[0],
      {
        priority,
        queueTimeoutMs,
      },
    )
    engine.submit(2 ** 40, -1, undefined, x)
    return lastTicket()
  }

const invalid = (message: RegExp): { code: string; message: RegExp } => ({ code: 'ERR_TRT_INVALID_ARGUMENT', message })

for (const runtime of runtimes) {
  const options = { ...lanes, tensorrt: runtime.fake?.path ?? '', device: 0 }
  const plan = planOf(runtime, fanPlan(2))
  const open = async (session = lanes): Promise<NativeEngine> => {
    connect()
    if (runtime.fake !== undefined) return loadAddon().openEngine(plan, { ...options, ...session })
    return (await loadAddon().loadOnnx({ model: plan }, cpu)).open(session)
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
      for (const wanted of [
        new Uint8Array(0),
        new Uint8Array(1),
        new Uint8Array(3),
        structuredClone(new Uint8Array(2)),
      ]) {
        if (wanted.length === 2) structuredClone(wanted.buffer, { transfer: [wanted.buffer] })
        const refused = {
          code: 'ERR_TRT_INVALID_ARGUMENT',
          message: /Expected 2 bytes for argument \d but received [013]/,
        }
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
        () =>
          addon.loadOnnx({ model: plan }, { ...cpu, config: { 'session.intra_op.allow_spinning': 'x'.repeat(9999) } }),
        () => addon.attachEngine(undefined as never, options),
        () => addon.attachEngine('x', options),
        () => Promise.resolve(addon.joinEngine(undefined as never)),
        () => Promise.resolve(addon.joinEngine('x')),
        () =>
          Promise.resolve(
            addon.connect(undefined as never, undefined as never, undefined as never, undefined as never),
          ),
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
      t.same(
        (await after.infer({ x: Tensor.from(Float32Array.of(1, 2, 3, 4)) }))['y1']?.data,
        Float32Array.of(2, 4, 6, 8),
      )
    })

    await t.test("onReleased: wrong memory, wrong callbacks, and memory that is nobody's", async (t) => {
      const engine = await open()
      const never = (): void => void t.fail('nothing was leased')
      const onReleased = Reflect.get(engine, 'onReleased') as (...args: unknown[]) => unknown
      const memory = [
        ...wrong,
        new Float32Array(2),
        new Uint8ClampedArray(2),
        new BigInt64Array(1),
        Buffer.alloc(0).buffer,
      ]
      for (const given of memory) t.throws(() => onReleased(given, never), invalid(/Expected a Uint8Array for memory/))
      const block = new Uint8Array(engine.allocate(64))
      for (const callback of wrong.filter((each) => typeof each !== 'function'))
        for (const bytes of [block, new Uint8Array(4)])
          t.throws(() => onReleased(bytes, callback), invalid(/a function/))
      t.throws(() => onReleased(), invalid(/a Uint8Array/))
      t.throws(() => onReleased(block), invalid(/a function/))
      const gone = new Uint8Array(8)
      structuredClone(gone, { transfer: [gone.buffer] })
      for (const bytes of [
        block,
        block.subarray(5, 9),
        block.subarray(64),
        new Uint8Array(0),
        new Uint8Array(9),
        gone,
        Buffer.from('text'),
      ])
        t.equal(onReleased(bytes, never), false)
      t.equal(
        Reflect.apply(onReleased, undefined, [block, never, 5, {}]),
        false,
        'this does not matter, nor what is too much',
      )
      await engine.close()
      t.equal(onReleased(block, never), false, 'of a closed engine, too')
      t.throws(() => onReleased(5, never), invalid(/a Uint8Array/))
    })

    await t.test('onReleased: callbacks that close the engine, submit to it, and wait once more', async (t) => {
      const engine = await open(held)
      const bytes = new Uint8Array(engine.allocate(16))
      const x = new Float32Array(bytes.buffer)
      const submit = submitter(engine)
      const called: string[] = []
      const onReleased = (name: string, then: () => void): boolean =>
        engine.onReleased(bytes, () => {
          called.push(name)
          then()
        })
      let closed: Promise<unknown> | undefined
      submit(x)
      const submits = onReleased('submits', () => {
        submit(x)
        if (!onReleased('waits again', () => {})) called.push('waits again') // it was over at once
        closed = engine.close()
      })
      t.ok(submits)
      t.throws(() => submit(x), { code: 'ERR_TRT_BUFFER_IN_USE' })
      submit(new Float32Array(4))
      t.ok(await until(() => called.length === 2))
      t.same(called, ['submits', 'waits again'])
      await closed
      t.equal(
        onReleased('never', () => {}),
        false,
      )
    })

    await t.test('the numbers before the shapes: priority and queue timeout; afterwards the ticket', async (t) => {
      const engine = await open()
      const submit = submitter(engine)
      const x = new Float32Array(4)
      const tickets = new Set<number>()
      for (let i = 0; i < 3; i++) tickets.add(submit(x))
      t.equal(tickets.size, 3)
      t.ok([...tickets].every((ticket) => Number.isSafeInteger(ticket) && ticket > 0))
      for (const level of [-1, -1e-9, NaN, Infinity, -Infinity, 2 ** 20 + 1, 2 ** 53, 1e308])
        t.throws(() => submit(x, level), invalid(/^Expected a priority$/), `level ${level}`)
      for (const level of [2, 3, 2 ** 20])
        t.throws(() => submit(x, level), invalid(/a priority from 1 to 1 but received/), `level ${level}`)
      for (const milliseconds of [-2, -1e-9, NaN, Infinity, -Infinity, 1e12 + 1, 1e308])
        t.throws(() => submit(x, 0, milliseconds), invalid(/milliseconds of a queue timeout/), `${milliseconds} ms`)
      for (const rank of [-1, NaN, Infinity, 9, 1e308])
        t.throws(() => submit(x, 0, 0, [rank, 4]), invalid(/the rank of input 0/), `rank ${rank}`)
      for (const dim of [-1, NaN, Infinity, 2 ** 53, 1e308])
        t.throws(() => submit(x, 0, 0, [1, dim]), invalid(/the dimensions of input 0/), `dimension ${dim}`)
      for (const dim of [0, 3, 2 ** 40, 2 ** 53 - 1])
        t.throws(() => submit(x, 0, 0, [1, dim]), Error, `dimension ${dim}`)
      // what is refused leaves the numbers as they are, and no request
      const { waiting, inFlight } = engine.stats()
      t.ok(waiting + inFlight <= 3)
      for (const [level, milliseconds] of [
        [0.5, 0],
        [1, 1e12],
        [1.9, 1e-9],
        [0, 5e-324],
      ] as const)
        t.ok(submit(x, level, milliseconds) > 0, `level ${level}, ${milliseconds} ms`)
      for (const ticket of [...tickets, 0, 1, 2 ** 25, 2 ** 53 - 1, 0.5]) engine.cancel(ticket)
      for (const ticket of [-1, NaN, 2 ** 53, Infinity, 'x' as never, undefined as never])
        t.throws(() => engine.cancel(ticket), invalid(/whole number|a number/))
      await engine.close()
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
    const e = await loadAddon().openEngine(plan(), { lanes: 1, profile: -1, slots: 2, maxQueue: 4, maxQueueBytes: 2 ** 28, device: 0, tensorrt: options.tensorrt.library })
    for (const call of [() => e.submit(1, -1, undefined, x.data), () => e.runSync(-1, undefined, x.data)]) try { call(); console.log('taken') } catch (error) { console.log(error.code) }
  `
  t.same(await runChild(program), {
    code: 0,
    signal: null,
    stdout: 'ERR_TRT_INVALID_ARGUMENT\nERR_TRT_INVALID_ARGUMENT\n',
    stderr: '',
  })
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
