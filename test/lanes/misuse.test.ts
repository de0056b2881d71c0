// What nobody should do to an engine: it answers with a typed error, or with the right result, and goes on.
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { Engine, Tensor, type TensorRecord, TensorRTError } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { runChild } from './children.js'
import { driven, families, fanPlan, leftovers, load, planOf, rows, rowsPlan, wanted } from './rig.js'

type Call = () => unknown

const resizable = (bytes: number): ArrayBuffer & { resize(bytes: number): void } =>
  new (ArrayBuffer as unknown as new (bytes: number, options: object) => ArrayBuffer & { resize(bytes: number): void })(bytes, {
    maxByteLength: bytes * 4,
  })
const detach = ({ data }: Tensor): void => void structuredClone(data.buffer, { transfer: [data.buffer as ArrayBuffer] })

/** Runs while something is not as it should be, and puts it right again. */
function tampered(target: object, name: PropertyKey, value: PropertyDescriptor, body: () => unknown): unknown {
  const before = Object.getOwnPropertyDescriptor(target, name)
  Object.defineProperty(target, name, { configurable: true, ...value })
  try {
    return body()
  } catch (error) {
    return error
  } finally {
    if (before === undefined) Reflect.deleteProperty(target, name)
    else Object.defineProperty(target, name, before)
  }
}

for (const family of families) {
  await t.test(family.name, async (t) => {
    const x = (value: number): Tensor<'float32'> => new Tensor('float32', Float32Array.of(value, value, value), [1, 3])

    await t.test('getters that call the engine', async (t) => {
      const engine = await load(family, rowsPlan())
      const inner: Promise<unknown>[] = []
      const reentrant = { get x() { inner.push(engine.infer({ x: rows(7, 5) })); engine.inferSync(rows(8, 2)); return x(4) } } // prettier-ignore
      t.same((await engine.infer(reentrant))['y']?.data, Float32Array.of(9, 9, 9))
      t.same(engine.inferSync(reentrant)['y']?.data, Float32Array.of(9, 9, 9))
      const options = { get outputs() { inner.push(engine.infer(rows(3))); return ['y'] } } // prettier-ignore
      t.same((await engine.infer({ x: x(1) }, options))['y']?.data, Float32Array.of(3, 3, 3))
      for (const each of inner) await each
      const pinned = engine.allocate('y', [1, 3])
      const into: { y: Tensor } = { get y() { engine.inferSync({ x: x(1) }, { into: { y: pinned } }); return pinned } } // prettier-ignore
      const given: Record<string, Tensor> = { x: x(5) }
      const placed: TensorRecord = await engine.infer(given, { into })
      t.equal(placed['y'], pinned)
      t.same(pinned.data, Float32Array.of(11, 11, 11))
      let closing: Promise<void> | undefined
      const closer = { get x() { closing = engine.close(); return x(4) } } // prettier-ignore
      t.equal((await failureOf(() => engine.infer(closer))).code, 'ERR_TRT_CLOSED')
      t.throws(() => engine.inferSync(closer), { code: 'ERR_TRT_CLOSED' })
      await closing
    })

    await t.test('wrong this', async (t) => {
      await using engine = await load(family, rowsPlan())
      const methods = Object.getOwnPropertyNames(Engine.prototype).filter((name) => name !== 'constructor')
      for (const name of methods) {
        const found: { value?: unknown; get?: unknown } = Object.getOwnPropertyDescriptor(Engine.prototype, name) ?? {}
        const method = (found.value ?? found.get) as (...args: unknown[]) => unknown
        for (const self of [undefined, {}, Object.create(engine) as object, new Proxy(engine, {}), Engine.prototype]) {
          const result = await (async (): Promise<unknown> => {
            const given = method.call(
              self,
              name === 'allocate' ? 'x' : name === 'warmup' || name === 'audit' ? undefined : name === 'stream' ? [x(1)] : x(1),
              name === 'allocate' ? [1, 3] : undefined,
            )
            return name === 'stream' ? (given as AsyncGenerator).next() : given
          })().catch((error: unknown) => error)
          t.ok(result instanceof TypeError, `${name} on ${self === undefined ? 'nothing' : 'another thing'}`)
        }
      }
      const infer = Reflect.get(engine, 'infer') as (...args: unknown[]) => unknown
      t.ok((await (infer.call(engine, x(1)) as Promise<Tensor>)).size === 3)
    })

    await t.test('detached, resized and shared buffers', async (t) => {
      await using engine = await load(family, rowsPlan())
      const gone = x(1)
      detach(gone)
      const buffer = resizable(12)
      const shrinking = new Tensor('float32', new Float32Array(buffer), [1, 3])
      const tracking = new Tensor('float32', new Float32Array(resizable(12)), [1, 3])
      t.same((await engine.infer(shrinking)).data, Float32Array.of(1, 1, 1))
      buffer.resize(4)
      ;(tracking.data.buffer as unknown as { resize(n: number): void }).resize(24)
      for (const bad of [gone, shrinking, tracking]) {
        for (const call of [
          () => engine.infer(bad),
          () => engine.inferSync(bad),
          () => engine.infer(x(1), { into: { y: bad } }),
          () => engine.inferSync(x(1), { into: { y: bad } }),
        ])
          t.equal((await failureOf(call)).code, 'ERR_TRT_DETACHED')
      }
      const shared = new Tensor('float32', new Float32Array(new SharedArrayBuffer(12)), [1, 3])
      shared.data.fill(3)
      const results = await Promise.allSettled([engine.infer(shared), engine.infer(x(1), { into: { y: shared } })])
      for (const result of results) {
        if (result.status === 'fulfilled') t.same(result.value.data.length, 3)
        else t.ok(result.reason instanceof TensorRTError, String(result.reason))
      }
      t.same(
        results.map(({ status }) => status),
        ['fulfilled', 'fulfilled'],
        'shared memory is memory',
      )
      t.same(shared.data, Float32Array.of(3, 3, 3))
    })

    await t.test('an output whose buffer goes away in mid-flight', async (t) => {
      await using engine = await load(family, rowsPlan())
      await driven({ computeMs: 20 }, async () => {
        const y = x(0)
        const call = engine.infer(x(1), { into: { y } })
        const other = engine.infer(x(2))
        detach(y)
        t.equal((await failureOf(() => call)).code, 'ERR_TRT_DETACHED')
        t.same((await other).data, Float32Array.of(5, 5, 5))
        const pinned = engine.allocate('x', [1, 3])
        const flying = engine.infer(pinned)
        detach(pinned) // Node copies external memory instead
        t.equal(pinned.data.length, 3, 'pinned memory does not go away')
        t.equal((await flying).size, 3)
      })
    })

    await t.test('an input that is overwritten after the call', async (t) => {
      await using engine = await load(family, rowsPlan())
      await driven({ computeMs: 10 }, async () => {
        const input = x(1)
        const call = engine.infer(input)
        input.data.fill(99)
        t.same((await call).data, Float32Array.of(3, 3, 3))
      })
    })

    await t.test('outputs that overlap', async (t) => {
      await using engine = await load(family, fanPlan(2))
      const input = Tensor.from(Float32Array.of(1, 2, 3, 4))
      const memory = new ArrayBuffer(64)
      const at = (offset: number): Tensor => new Tensor('float32', new Float32Array(memory, offset, 4), [4])
      const same = at(0)
      const pinned = engine.allocate('y0', [4])
      const view = (tensor: Tensor): Tensor => new Tensor('float32', new Float32Array(tensor.data.buffer, 0, 4), [4])
      const table: [Record<string, Tensor>, Tensor][] = [
        [{ y0: same, y1: same }, input],
        [{ y0: at(0), y1: at(12) }, input],
        [{ y0: at(16), y1: at(4) }, input],
        [{ y0: pinned, y1: pinned }, input],
        [{ y0: pinned, y1: view(pinned) }, input],
        [{ y0: input }, input],
        [{ y1: at(4) }, at(16)],
        [{ y0: pinned }, pinned],
        [{ y0: view(pinned) }, pinned],
      ]
      for (const [into, x] of table) {
        for (const call of [() => engine.infer({ x }, { into }), () => engine.inferSync({ x }, { into })]) {
          const { code } = await failureOf(call)
          t.ok(['ERR_TRT_INVALID_ARGUMENT', 'ERR_TRT_BUFFER_IN_USE'].includes(code), code)
        }
      }
      const results = await engine.infer({ x: at(0) }, { into: { y0: at(16), y1: at(32) } })
      t.same(results['y1']?.data, new Float32Array(4), 'side by side is well')
      t.same((await engine.infer({ x: input }, { into: { y0: pinned } }))['y0']?.data, input.data, 'and nothing stays leased')
    })

    await t.test('tampered prototypes', async (t) => {
      await using engine = await load(family, rowsPlan(), { lanes: 2 })
      const throwing = (): never => {
        throw new RangeError('tampered')
      }
      const reenter = (): unknown => {
        engine.inferSync(rows(5, 4))
        return undefined
      }
      const right = wanted(x(2).data)
      const targets: [object, PropertyKey[]][] = [
        [Array.prototype, ['map', 'forEach', 'push', 'every', 'reduce', Symbol.iterator, '0', '1']],
        [Promise.prototype, ['then', 'finally']],
        [Object.prototype, ['then', 'signal', 'into', 'outputs', 'get']],
        [Object.getPrototypeOf(Float32Array.prototype) as object, ['slice', 'subarray', 'set', 'byteLength']],
        [AbortSignal.prototype, ['aborted', 'addEventListener']],
      ]
      for (const [target, names] of targets) {
        for (const name of names) {
          for (const bad of [throwing, reenter]) {
            for (const value of [
              { value: bad, writable: true },
              { get: bad, set: bad },
            ]) {
              const sync = tampered(target, name, value, () => {
                const y = engine.inferSync(x(2))
                return Array.from({ length: 3 }, (_, i) => y.data[i] === right[i])
              })
              t.ok(sync instanceof Error || (Array.isArray(sync) && sync.every(Boolean)), `an error, or the right result: ${String(name)}`)
            }
          }
          const y = await engine.infer(x(2))
          t.same(y.data, right, `right again after ${String(name)}`)
        }
      }
      t.same(engine.inferSync(rows(1, 3)).data, wanted(rows(1, 3).data))
    })

    await t.test('names that mean something to JavaScript', async (t) => {
      const names = ['__proto__', 'constructor', 'toString', 'then', '0', ' ', 'ü💥', '-1']
      await using engine = await load(family, {
        inputs: names.map((name) => ({ name, shape: [1] })),
        outputs: names.map((name) => ({ name: `${name}!`, shape: [1] })).concat({ name: 'hasOwnProperty', shape: [1] }),
        ops: [
          ...names.map((name) => ({ type: 'neg', inputs: [name], output: `${name}!` })),
          { type: 'neg', inputs: ['then'], output: 'hasOwnProperty' },
        ],
      })
      const inputs = Object.fromEntries(names.map((name, i) => [name, Tensor.from(Float32Array.of(i))]))
      for (const results of [await engine.infer(inputs), engine.inferSync(inputs)]) {
        names.forEach((name, i) => t.equal(results[`${name}!`]?.data[0], -i))
        t.equal(results['hasOwnProperty']?.data[0], -3)
      }
      t.equal(engine.allocate('__proto__', [1]).size, 1)
      await using proto = await load(family, {
        inputs: [{ name: '__proto__', shape: [2] }],
        outputs: [{ name: 'then', shape: [2] }],
        ops: [{ type: 'neg', inputs: ['__proto__'], output: 'then' }],
      })
      const two = Tensor.from(Float32Array.of(1, 2))
      t.same((await proto.infer(two)).data, Float32Array.of(-1, -2))
      t.same((await proto.infer({ ['__proto__']: two }))['then']?.data, Float32Array.of(-1, -2))
      t.equal((await failureOf(() => proto.infer({ __proto__: two }))).code, 'ERR_TRT_MISSING_INPUT', 'a prototype is no input')
      t.equal(proto.inputs['__proto__']?.name, '__proto__')
      for (const name of ['__proto__', 'constructor']) {
        t.equal((await failureOf(() => proto.infer(two, { outputs: [name] }))).code, 'ERR_TRT_INVALID_ARGUMENT')
        t.equal((await failureOf(() => proto.infer(two, { into: { [name]: two } }))).code, 'ERR_TRT_INVALID_ARGUMENT')
      }
    })

    await t.test('names that JavaScript would put in another order', async (t) => {
      await using engine = await load(family, {
        inputs: ['b', '7', 'a', '0'].map((name) => ({ name, shape: [1] })),
        outputs: ['z', '9', '3'].map((name) => ({ name, shape: [1] })),
        ops: [
          { type: 'sub', inputs: ['b', '7'], output: 'z' },
          { type: 'sub', inputs: ['a', '0'], output: '9' },
          { type: 'identity', inputs: ['0'], output: '3' },
        ],
      })
      const one = (value: number): Tensor<'float32'> => Tensor.from(Float32Array.of(value))
      const inputs = { b: one(10), '7': one(3), a: one(100), '0': one(1) }
      const values = (results: TensorRecord): unknown[] => Object.entries(results).map(([name, { data }]) => [name, data[0]])
      const right = [['3', 1], ['9', 99], ['z', 7]] // prettier-ignore
      t.same(values(await engine.infer(inputs)), right)
      t.same(values(engine.inferSync(inputs)), right)
      t.same(values(await engine.infer(inputs, { outputs: ['9'] })), [['9', 99]])
      const nine = one(0)
      t.equal(engine.inferSync(inputs, { into: { '9': nine } })['9'], nine)
      t.equal(nine.data[0], 99)
    })

    await t.test('signals that are none', async (t) => {
      await using engine = await load(family, rowsPlan())
      const signals = [Object.create(AbortSignal.prototype), AbortSignal.prototype, { aborted: false }] as AbortSignal[]
      for (const signal of signals) {
        t.equal((await failureOf(() => engine.infer(x(1), { signal }))).code, 'ERR_TRT_INVALID_ARGUMENT')
        t.equal((await failureOf(() => engine.warmup({ signal }))).code, 'ERR_TRT_INVALID_ARGUMENT')
        t.equal((await failureOf(() => Engine.load(planOf(family, rowsPlan()), { signal }))).code, 'ERR_TRT_INVALID_ARGUMENT')
      }
      const proxy = await engine.infer(x(1), { signal: new Proxy(new AbortController().signal, {}) }).catch((error: unknown) => error)
      t.ok(proxy instanceof Tensor || proxy instanceof TensorRTError, String(proxy))
    })

    await t.test('wrong calls of the native engine', async (t) => {
      const addon = loadAddon()
      const plan = planOf(family, fanPlan(2))
      const options = {
        lanes: 1,
        profile: -1,
        highPriority: 0,
        graphs: 1,
        slots: 2,
        maxQueue: 9,
        tensorrt: family.path,
        device: 0,
      } as const
      const engine = await addon.openEngine(plan, options)
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
      const methods = ['submit', 'runSync', 'cancel', 'setTarget', 'allocate', 'stats', 'memory', 'share'] as const
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
            if (name === 'submit' || name === 'runSync') for (const c of things) attempt(() => method(a, b, c))
          }
        }
        attempt(() => method(...Array<unknown>(5000).fill(data)))
      }
      t.ok(threw > 1000, `${threw} refused`)
      for (const call of [
        () => addon.openEngine(undefined as never, options),
        () => addon.openEngine(plan, undefined as never),
        () => addon.openEngine(plan, { ...options, lanes: 'two' as never }),
        () => addon.openEngine(plan, { ...options, tensorrt: 5 as never }),
        () => addon.openEngine(plan, { ...options, batching: { maxBatch: {}, pad: [{}] } as never }),
        () => addon.attachEngine(undefined as never, options),
        () => addon.attachEngine('x', options),
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
      await using after = await load(family, fanPlan(2))
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
    const e = await loadAddon().openEngine(plan(), { lanes: 1, profile: -1, slots: 2, maxQueue: 4, device: 0, tensorrt: options.tensorrt })
    for (const call of [() => e.submit(1, -1, x.data), () => e.runSync(-1, x.data)]) try { call(); console.log('taken') } catch (error) { console.log(error.code) }
  `
  t.same(await runChild(program), { code: 0, signal: null, stdout: 'ERR_TRT_INVALID_ARGUMENT\nERR_TRT_INVALID_ARGUMENT\n', stderr: '' })
})

await t.test('prototypes that are tampered with when results arrive', async (t) => {
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
  t.same(await runChild(program), { code: 0, signal: null, stdout: 'done\n', stderr: '' })
})

await t.test('results nobody waits for, engines nobody closes', async (t) => {
  const program = `
    const { setFlagsFromString } = await import('node:v8'); setFlagsFromString('--expose-gc')
    const gc = (await import('node:vm')).runInNewContext('gc')
    for (let i = 0; i < 20; i++) { const e = await load({ lanes: 2 }); call(e); if (i % 3) await call(e) }
    for (let i = 0; i < 3000 && trt10.runtime.stats().live.engines > 1; i++) { await soon(10); gc() }
    console.log(trt10.runtime.stats().live.engines <= 1)
  `
  t.same(await runChild(program), { code: 0, signal: null, stdout: 'true\n', stderr: '' })
})
