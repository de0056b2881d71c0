// What nobody should do to an engine: it answers with a typed error, or with the right result, and goes on.
import t from 'tap'
import { Engine, Tensor, type TensorRecord, TensorRTError } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { detach } from '../support/values.js'
import { fanPlan, leftovers, load, planOf, rows, rowsPlan, runtimes, wanted } from './rig.js'

const resizable = (bytes: number): ArrayBuffer & { resize(bytes: number): void } =>
  new (ArrayBuffer as unknown as new (bytes: number, options: object) => ArrayBuffer & { resize(bytes: number): void })(
    bytes,
    {
      maxByteLength: bytes * 4,
    },
  )
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

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    const x = (value: number): Tensor<'float32'> => new Tensor('float32', Float32Array.of(value, value, value), [1, 3])

    await t.test('getters that call the engine', async (t) => {
      const engine = await load(runtime, rowsPlan())
      const inner: Promise<unknown>[] = []
      const reentrant = {
        get x() {
          inner.push(engine.infer({ x: rows(7, 5) }))
          engine.inferSync(rows(8, 2))
          return x(4)
        },
      }
      t.same((await engine.infer(reentrant))['y']?.data, Float32Array.of(9, 9, 9))
      t.same(engine.inferSync(reentrant)['y']?.data, Float32Array.of(9, 9, 9))
      const options = { get outputs() { inner.push(engine.infer(rows(3))); return ['y'] } } // prettier-ignore
      t.same((await engine.infer({ x: x(1) }, options))['y']?.data, Float32Array.of(3, 3, 3))
      for (const each of inner) await each
      const pinned = engine.allocate('y', [1, 3])
      const into: { y: Tensor } = {
        get y() {
          engine.inferSync({ x: x(1) }, { into: { y: pinned } })
          return pinned
        },
      }
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
      await using engine = await load(runtime, rowsPlan())
      const methods = Object.getOwnPropertyNames(Engine.prototype).filter((name) => name !== 'constructor')
      for (const name of methods) {
        const found: { value?: unknown; get?: unknown } = Object.getOwnPropertyDescriptor(Engine.prototype, name) ?? {}
        const method = (found.value ?? found.get) as (...args: unknown[]) => unknown
        for (const self of [undefined, {}, Object.create(engine) as object, new Proxy(engine, {}), Engine.prototype]) {
          const result = await (async (): Promise<unknown> => {
            const given = method.call(
              self,
              name === 'allocate'
                ? 'x'
                : ['warmup', 'layers', 'benchmark'].includes(name)
                  ? undefined
                  : name === 'stream'
                    ? [x(1)]
                    : x(1),
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
      await using engine = await load(runtime, rowsPlan())
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
      await runtime.slowly({ computeMs: 20 }, rowsPlan(), {}, async (engine) => {
        const y = x(0)
        const call = engine.infer(x(1), { into: { y } })
        const other = engine.infer(x(2))
        detach(y)
        t.equal((await failureOf(() => call)).code, 'ERR_TRT_DETACHED')
        t.same((await other).data, Float32Array.of(5, 5, 5))
        const pinned = engine.allocate('x', [1, 3])
        const flying = engine.infer(pinned)
        try {
          detach(pinned) // Node 20 copies external memory instead
        } catch (error) {
          t.match(error, { name: 'DataCloneError' }, 'later ones refuse')
        }
        t.equal(pinned.data.length, 3, 'pinned memory does not go away')
        t.equal((await flying).size, 3)
      })
    })

    await t.test('an input that is overwritten after the call', async (t) => {
      await runtime.slowly({ computeMs: 10 }, rowsPlan(), {}, async (engine) => {
        const input = x(1)
        const call = engine.infer(input)
        input.data.fill(99)
        t.same((await call).data, Float32Array.of(3, 3, 3))
      })
    })

    await t.test('outputs that overlap', async (t) => {
      await using engine = await load(runtime, fanPlan(2))
      const input = Tensor.from(Float32Array.of(1, 2, 3, 4))
      const memory = new ArrayBuffer(64)
      const at = (offset: number): Tensor => new Tensor('float32', new Float32Array(memory, offset, 4), [4])
      const same = at(0)
      const pinned = engine.allocate('y0', [4])
      const view = (tensor: Tensor): Tensor =>
        new Tensor('float32', new Float32Array((tensor.data as NodeJS.TypedArray).buffer, 0, 4), [4])
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
      t.same(
        (await engine.infer({ x: input }, { into: { y0: pinned } }))['y0']?.data,
        input.data,
        'and nothing stays leased',
      )
    })

    await t.test('tampered prototypes', async (t) => {
      await using engine = await load(runtime, rowsPlan(), { lanes: 2 })
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
              t.ok(
                sync instanceof Error || (Array.isArray(sync) && sync.every(Boolean)),
                `an error, or the right result: ${String(name)}`,
              )
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
      await using engine = await load(runtime, {
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
      await using proto = await load(runtime, {
        inputs: [{ name: '__proto__', shape: [2] }],
        outputs: [{ name: 'then', shape: [2] }],
        ops: [{ type: 'neg', inputs: ['__proto__'], output: 'then' }],
      })
      const two = Tensor.from(Float32Array.of(1, 2))
      t.same((await proto.infer(two)).data, Float32Array.of(-1, -2))
      t.same((await proto.infer({ ['__proto__']: two }))['then']?.data, Float32Array.of(-1, -2))
      t.equal(
        (await failureOf(() => proto.infer({ __proto__: two }))).code,
        'ERR_TRT_MISSING_INPUT',
        'a prototype is no input',
      )
      t.equal(proto.inputs['__proto__']?.name, '__proto__')
      for (const name of ['__proto__', 'constructor']) {
        t.equal((await failureOf(() => proto.infer(two, { outputs: [name] }))).code, 'ERR_TRT_INVALID_ARGUMENT')
        t.equal((await failureOf(() => proto.infer(two, { into: { [name]: two } }))).code, 'ERR_TRT_INVALID_ARGUMENT')
      }
    })

    await t.test('names that JavaScript would put in another order', async (t) => {
      await using engine = await load(runtime, {
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
      const values = (results: TensorRecord): unknown[] =>
        Object.entries(results).map(([name, { data }]) => [name, data[0]])
      const right = [['3', 1], ['9', 99], ['z', 7]] // prettier-ignore
      t.same(values(await engine.infer(inputs)), right)
      t.same(values(engine.inferSync(inputs)), right)
      t.same(values(await engine.infer(inputs, { outputs: ['9'] })), [['9', 99]])
      const nine = one(0)
      t.equal(engine.inferSync(inputs, { into: { '9': nine } })['9'], nine)
      t.equal(nine.data[0], 99)
    })

    await t.test('signals that are none', async (t) => {
      await using engine = await load(runtime, rowsPlan())
      const signals = [Object.create(AbortSignal.prototype), AbortSignal.prototype, { aborted: false }] as AbortSignal[]
      for (const signal of signals) {
        t.equal((await failureOf(() => engine.infer(x(1), { signal }))).code, 'ERR_TRT_INVALID_ARGUMENT')
        t.equal((await failureOf(() => engine.warmup({ signal }))).code, 'ERR_TRT_INVALID_ARGUMENT')
        t.equal(
          (await failureOf(() => Engine.load(planOf(runtime, rowsPlan()), { ...runtime.options(rowsPlan()), signal })))
            .code,
          'ERR_TRT_INVALID_ARGUMENT',
        )
      }
      const proxy = await engine
        .infer(x(1), { signal: new Proxy(new AbortController().signal, {}) })
        .catch((error: unknown) => error)
      t.ok(proxy instanceof Tensor || proxy instanceof TensorRTError, String(proxy))
    })

    await t.test('nothing is left', (t) => {
      t.same(leftovers(), {})
      t.end()
    })
  })
}
