// Tensors that stay on the device, over three runtimes: from engine to engine, named by into, leased, freed.
import { MessageChannel, Worker } from 'node:worker_threads'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import {
  type AnyTensor,
  DeviceTensor,
  Engine,
  type EngineOptions,
  type InferSyncOptions,
  Tensor,
} from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { range } from '../support/values.js'
import { collect, until } from '../support/waiting.js'
import { runChild } from './children.js'
import {
  driver,
  families,
  fanPlan,
  leftovers,
  load,
  onnxruntime,
  rows,
  rowsPlan,
  runtimes,
  type Spec,
  suiteFamilies,
  wanted,
} from './rig.js'

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>
process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const device = { location: 'device' } as const

/** What is no leak, by runtime: nothing of the tensors is left. */
const noneLeft = async (
  t: { equal(found: number, wanted: number, what: string): boolean },
  engine: Engine,
): Promise<void> => {
  await collect()
  t.equal(engine.memory().tensors, 0, 'no tensor is left on the device')
}

/** What a call ends with, whatever it is. */
const thrownBy = async (call: () => unknown): Promise<unknown> => {
  try {
    await call()
  } catch (error) {
    return error
  }
  return undefined
}

/** As the host has it. */
const onHost = async (tensor: DeviceTensor | undefined): Promise<Tensor['data'] | undefined> =>
  (await tensor?.toHost())?.data

/** y = the values that are not zero, as many as there are. */
const nonzeroPlan: Spec = {
  inputs: [{ name: 'x', shape: [-1] }],
  outputs: [{ name: 'y', dtype: 'int64', shape: [1, -1] }],
  ops: [{ type: 'nonzero', inputs: ['x'], output: 'y' }],
  profiles: [{ dims: { x: range([0], [8], [1000]) } }],
}

for (const runtime of runtimes) {
  const isGpu = runtime.backend === 'tensorrt'
  await t.test(runtime.name, async (t) => {
    const loaded = (spec: Spec, options: EngineOptions = {}): Promise<Engine> => load(runtime, spec, options)

    await t.test('a chain of three engines moves no byte through the host', async (t) => {
      await using first = await loaded(rowsPlan())
      await using second = await loaded(rowsPlan())
      await using third = await loaded(rowsPlan())
      for (const count of [1, 7, 64]) {
        const x = rows(count, count)
        const before = driver.stats()
        using a = await first.infer(x, device)
        t.equal(first.memory().tensors, x.byteLength)
        using b = await second.infer(a, device)
        const y = await third.infer(b)
        t.same(y.data, wanted(wanted(wanted(x.data))))
        t.same(
          [a.shape, b.dtype, b.device, b.location, b.size, b.byteLength],
          [[count, 3], 'float32', isGpu ? 0 : -1, 'device', 3 * count, x.byteLength],
        )
        if (!isGpu) continue
        const { bytesHtoD, bytesDtoH, bytesDtoD } = driver.stats()
        t.same(
          [bytesHtoD - before.bytesHtoD, bytesDtoH - before.bytesDtoH, bytesDtoD - before.bytesDtoD],
          [x.byteLength, x.byteLength, 4 * x.byteLength],
          'the first input in, the last output out; between two engines there are two copies on the device',
        )
      }
      t.equal(
        first.stats().bytesCopied + second.stats().bytesCopied + third.stats().bytesCopied,
        (1 + 7 + 64) * 12,
        'and none by the CPU',
      )
      await noneLeft(t, first)
    })

    if (isGpu)
      await t.test(
        'memory that is kept for later tensors goes back before a request hears that there is none',
        async (t) => {
          const columns = 2 ** 16
          await using engine = await loaded(rowsPlan(columns, 8))
          const one = rows(1, 1, columns)
          t.same((await engine.infer(one)).data.length, columns)
          const tensors = await Promise.all(Array.from({ length: 16 }, () => engine.upload(one)))
          for (const tensor of tensors) tensor.dispose()
          t.equal(engine.memory().tensorsKept, 16 * one.byteLength)
          driver.set({ memory: driver.stats().deviceBytes + one.byteLength })
          const eight = rows(2, 8, columns)
          const failure = await thrownBy(async () => {
            const { data } = await engine.infer(eight)
            t.ok(
              Buffer.from(
                (data as NodeJS.TypedArray).buffer,
                (data as NodeJS.TypedArray).byteOffset,
                (data as NodeJS.TypedArray).byteLength,
              ).equals(Buffer.from(wanted(eight.data).buffer)),
            )
          })
          driver.set({ memory: 2 ** 33 })
          t.equal(failure, undefined)
          t.equal(engine.memory().tensorsKept, 0)
        },
      )

    await t.test('inferSync, stream, and large tensors do the same', async (t) => {
      for (const columns of [3, 40_000]) {
        await using engine = await loaded(rowsPlan(columns, 8))
        const x = rows(2, 4, columns)
        using a = engine.inferSync(x, device)
        using b = engine.inferSync({ x: a }, device)['y'] as DeviceTensor
        t.ok(
          Buffer.from(((await b.toHost()).data as NodeJS.TypedArray).buffer).equals(
            Buffer.from(wanted(wanted(x.data)).buffer),
          ),
        )
        t.ok(
          Buffer.from((engine.inferSync(b).data as NodeJS.TypedArray).buffer).equals(
            Buffer.from(wanted(wanted(wanted(x.data))).buffer),
          ),
        )
        let count = 0
        for await (const result of engine.stream([a, x, b, a, x], device)) {
          t.ok(DeviceTensor.is(result))
          count += result.shape[0] ?? 0
          result.dispose()
        }
        t.equal(count, 20)
        for await (const result of engine.stream([b])) t.equal(result.byteLength, x.byteLength)
      }
      t.same(leftovers(), {})
    })

    await t.test('requests merge: rows go to their place, from the device and from the host', async (t) => {
      for (const pad of [false, true]) {
        await using engine = await loaded(rowsPlan(), { batching: { maxBatch: 16, maxDelayMs: 5, pad } })
        for (let round = 0; round < 6; round++) {
          const given = Array.from({ length: 5 }, (_, i) => rows(round * 10 + i, 1 + (i % 3)))
          const there = await Promise.all(given.map(async (x, i) => (i % 2 === 0 ? engine.upload(x) : x)))
          const results = await Promise.all(
            there.map((x, i) => (i % 3 === 0 ? engine.infer(x) : engine.infer(x, device))),
          )
          for (const [i, result] of results.entries()) {
            const y = result.location === 'device' ? await result.toHost() : result
            t.same([y.shape, y.data], [given[i]?.shape, wanted(given[i]?.data as Float32Array)], `${round}: ${i}`)
          }
          for (const tensor of [...there, ...results]) if (tensor.location === 'device') tensor.dispose()
        }
        t.ok(engine.stats().batches < 30, `${engine.stats().batches} batches of 30 requests`)
        await noneLeft(t, engine)
      }
    })

    await t.test('several outputs: all, those that were asked for, each in its place', async (t) => {
      await using engine = await loaded(fanPlan(3))
      const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
      const all = await engine.infer({ x }, device)
      t.same(await onHost(all['y2']), [3, 6, 9, 12])
      const some = await engine.infer({ x }, { outputs: ['y1'], location: 'device' })
      t.same([Object.keys(some), await onHost(some.y1)], [['y1'], [2, 4, 6, 8]])
      const mixed = await engine.infer({ x }, { outputs: ['y0', 'y2'], location: { y2: 'device' } })
      t.same(
        [mixed.y0.data, await onHost(mixed.y2)],
        [
          [1, 2, 3, 4],
          [3, 6, 9, 12],
        ],
      )
      const one = await engine.infer(x, { outputs: ['y1'], location: { y1: 'device' } })
      t.same(await onHost(one), [2, 4, 6, 8])
      for (const tensor of [...Object.values(all), some.y1, mixed.y2, one]) tensor.dispose()
      await noneLeft(t, engine)
    })

    await t.test('sizes that depend on the data, and none at all', async (t) => {
      await using engine = await loaded(nonzeroPlan)
      for (const [values, where] of [
        [
          [0, 5, 0, 7],
          [1n, 3n],
        ],
        [[0, 0], []],
        [[], []],
      ] as const) {
        // prettier-ignore
        using y = await engine.infer(new Tensor('float32', Float32Array.from(values), [values.length]), device)
        t.same([y.shape, [...((await onHost(y)) as BigInt64Array)]], [[1, where.length], where])
      }
      using empty = await engine.upload(new Tensor('float32', new Float32Array(0), [0]))
      t.same([empty.size, (await engine.infer(empty)).shape], [0, [1, 0]])
    })

    await t.test('into names a tensor on the device', async (t) => {
      await using engine = await loaded(rowsPlan())
      using target = await engine.upload(Tensor.zeros('float32', [2, 3]))
      for (const seed of [1, 2]) {
        const { y } = await engine.infer({ x: rows(seed, 2) }, { into: { y: target }, location: 'device' })
        t.equal(y, target)
        t.same(await onHost(target), wanted(rows(seed, 2).data))
        t.equal(engine.inferSync(rows(seed, 2), { into: { y: target }, location: 'device' }), target)
      }
      const fails = async (code: string, message: RegExp, call: () => unknown): Promise<void> => {
        t.match(await failureOf(call), { code, message })
      }
      const x = rows(1, 2)
      await fails('ERR_TRT_INVALID_ARGUMENT', /a Tensor on the host for into "y".*location: 'device'/, () =>
        engine.infer({ x }, { into: { y: target } }),
      )
      await fails('ERR_TRT_INVALID_ARGUMENT', /a DeviceTensor for into "y" but received a Tensor/, () =>
        engine.infer({ x }, { into: { y: rows(1, 2) }, location: 'device' }),
      )
      await fails('ERR_TRT_INVALID_ARGUMENT', /memory of its own/, () =>
        engine.infer(target, { into: { y: target }, location: 'device' }),
      )
      await fails('ERR_TRT_SHAPE', /24 bytes.*36/, () =>
        engine.infer({ x: rows(1, 3) }, { into: { y: target }, location: 'device' }),
      )
      await fails('ERR_TRT_INVALID_ARGUMENT', /location/, () => engine.infer(x, { location: 'gpu-buffer' as 'device' }))
      await fails('ERR_TRT_INVALID_ARGUMENT', /an output/, () => engine.infer(x, { location: { z: 'device' } }))
      t.same(await onHost(target), wanted(rows(2, 2).data), 'none of them wrote')
      const after = await engine.infer(x)
      t.same([after.location, after.data], ['host', wanted(x.data)], 'and none left something for the next')
    })

    await t.test('what a refused call asked for is not done by the next one', async (t) => {
      await using engine = await loaded(fanPlan(2))
      const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
      const disposed = await engine.upload(x)
      disposed.dispose()
      using y0 = await engine.upload(Tensor.zeros('float32', [4]))
      const pinned = engine.allocate('y0', [4]).as('float32')
      pinned.data.fill(7)
      const refused: readonly (readonly [string, AnyTensor, object])[] = [
        ['an output that stays', disposed, device],
        ['a target on the device', disposed, { into: { y0 }, location: { y0: 'device' } }],
        ['a target in pinned memory', disposed, { into: { y0: pinned } }],
        ['a second target that is disposed', x, { into: { y0, y1: disposed }, location: 'device' }],
      ]
      const call = async (
        method: 'infer' | 'inferSync',
        given: AnyTensor,
        options: InferSyncOptions = {},
      ): Promise<Record<string, AnyTensor>> =>
        method === 'infer' ? engine.infer({ x: given }, options) : engine.inferSync({ x: given }, options)
      for (const [what, given, options] of refused) {
        for (const method of ['infer', 'inferSync'] as const) {
          t.match(
            await failureOf(() => call(method, given, options)),
            { code: 'ERR_TRT_DISPOSED' },
            `${method}: ${what}`,
          )
          const { y0: first, y1: second } = await call(method, x)
          t.match(first, { location: 'host', data: Float32Array.of(1, 2, 3, 4) }, `${method} after ${what}`)
          t.match(second, { location: 'host', data: Float32Array.of(2, 4, 6, 8) }, `${method} after ${what}`)
          t.same(
            [await onHost(y0), pinned.data],
            [new Float32Array(4), new Float32Array(4).fill(7)],
            `${what}: its owner's memory is as it was`,
          )
        }
      }
      const { y0: written } = await engine.infer({ x }, { into: { y0 }, location: { y0: 'device' } })
      t.equal(written, y0, 'and free')
      t.same(await onHost(y0), x.data)
    })

    await t.test('what is disposed is gone, twice without harm', async (t) => {
      await using engine = await loaded(rowsPlan())
      const a = await engine.infer(rows(1), device)
      t.notOk(a.disposed)
      a.dispose()
      a.dispose()
      t.ok(a.disposed)
      t.same(a.shape, [1, 3])
      for (const call of [
        () => a.toHost(),
        () => engine.infer(a),
        () => engine.inferSync(a),
        () => engine.infer(rows(1), { into: { y: a }, location: 'device' }),
      ])
        t.match(await failureOf(call), {
          code: 'ERR_TRT_DISPOSED',
          message: /float32 tensor of shape \[1, 3\] on a device was disposed/,
        })
      await noneLeft(t, engine)
      {
        using b = await engine.infer(rows(1), device)
        t.ok(engine.memory().tensors === 12 && !b.disposed)
      }
      t.equal(engine.memory().tensors, 0, 'at the end of using')
    })

    await t.test('disposed while in flight: it is freed after the last use', async (t) => {
      await runtime.slowly({ computeMs: 20 }, rowsPlan(), {}, async (engine) => {
        const a = await engine.upload(rows(3, 4))
        const calls = [engine.infer(a), engine.infer(a, device), engine.infer(a)] as const
        const copy = a.toHost()
        a.dispose()
        t.equal(engine.memory().tensors >= 48, true, 'it is still there')
        const [y, z] = await Promise.all(calls)
        t.same(
          [y.data, await onHost(z), (await copy).data],
          [wanted(rows(3, 4).data), wanted(rows(3, 4).data), rows(3, 4).data],
        )
        z.dispose()
        t.ok(await until(() => engine.memory().tensors === 0))
      })
    })

    await t.test('one that is written is nobody else’s; any number may read', async (t) => {
      // a device computes until the driver's clock runs again; a CPU takes long enough for calls that are made at once
      const delay = isGpu ? { computeMs: 1, clock: 'manual' as const } : { computeMs: 100 }
      await runtime.slowly(delay, rowsPlan(), { lanes: 2 }, async (engine) => {
        using a = await engine.upload(rows(3))
        using b = await engine.upload(rows(4))
        const writing = engine.infer(a, { into: { y: b }, location: 'device' })
        const refused = [
          () => engine.infer(b),
          () => b.toHost(),
          () => engine.infer(rows(1), { into: { y: b }, location: 'device' }),
          () => engine.infer(rows(1), { into: { y: a }, location: 'device' }), // a is read
        ]
        const codes = (await Promise.all(refused.map(failureOf))).map(({ code }) => code)
        t.same(codes, Array(refused.length).fill('ERR_TRT_BUFFER_IN_USE'))
        const readers = [engine.infer(a), engine.infer(a)] as const
        if (isGpu) driver.set({ clock: 'real' })
        const reading = await Promise.all([...readers, writing])
        t.same([reading[1].data, await onHost(b)], [wanted(rows(3).data), wanted(rows(3).data)])
        t.same((await engine.infer(b)).data, wanted(wanted(rows(3).data)), 'afterwards it is free')
      })
    })

    await t.test('the collector frees what is dropped', async (t) => {
      await using engine = await loaded(rowsPlan(1024))
      for (let i = 0; i < 50; i++) await engine.infer(rows(i, 4, 1024), device)
      t.ok(
        await until(() => (globalThis.gc?.(), engine.memory().tensors === 0), 20_000),
        `${engine.memory().tensors} bytes are left`,
      )
      const { tensorsKept } = engine.memory()
      if (isGpu) t.ok(tensorsKept > 0 && tensorsKept <= 50 * 16384, 'for the next ones')
      else t.equal(tensorsKept, 0)
    })

    await t.test('a closed engine’s tensors go on until they are disposed; then all is freed', async (t) => {
      t.same(leftovers(), {}, 'before')
      const engine = await loaded(rowsPlan())
      const a = await engine.infer(rows(5, 2), device)
      const b = await engine.infer(rows(6, 2), device)
      b.dispose()
      await engine.close()
      if (isGpu) t.equal(driver.stats().deviceBytes, 512, 'the kept one went with the engine')
      t.same(await onHost(a), wanted(rows(5, 2).data))
      await using another = await loaded(rowsPlan())
      t.same((await another.infer(a)).data, wanted(wanted(rows(5, 2).data)))
      await another.close()
      a.dispose()
      t.same(leftovers(), {}, 'after')
    })

    await t.test('uploads: a copy of what was there at the call', async (t) => {
      await using engine = await loaded(rowsPlan())
      const x = rows(7, 2)
      const uploading = engine.upload(x)
      x.data.fill(0)
      using a = await uploading
      t.same(await onHost(a), rows(7, 2).data)
      const pinned = engine.allocate('x', [2, 3]).as('float32')
      pinned.data.set(rows(8, 2).data)
      using b = await engine.upload(pinned)
      t.same((await engine.infer(b)).data, wanted(rows(8, 2).data))
      t.same((await engine.infer(pinned)).data, wanted(rows(8, 2).data), 'it is free again')
      t.match(await failureOf(() => engine.upload(a as never)), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /a DeviceTensor: await its toHost/,
      })
      t.match(await failureOf(() => engine.upload(Float32Array.of(1) as never)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
      const reason = new Error('enough')
      t.equal(await thrownBy(() => engine.upload(x, { signal: AbortSignal.abort(reason) })), reason)
      t.equal(await thrownBy(() => a.toHost({ signal: AbortSignal.abort(reason) })), reason)
      const abort = new AbortController()
      const copy = thrownBy(() => a.toHost({ signal: abort.signal }))
      abort.abort(reason)
      t.equal(await copy, reason)
    })

    await t.test('wrong data types and shapes are told as of any tensor', async (t) => {
      await using engine = await loaded(rowsPlan())
      using longs = await engine.upload(new Tensor('int32', new Int32Array(3), [1, 3]))
      using wide = await engine.upload(Tensor.zeros('float32', [1, 4]))
      t.match(await failureOf(() => engine.infer(longs)), {
        code: 'ERR_TRT_DTYPE',
        message: /float32 for input "x" but received int32/,
      })
      t.match(await failureOf(() => engine.infer(wide)), { code: 'ERR_TRT_SHAPE', message: /received \[1, 4\]/ })
      t.match(await failureOf(() => longs.as('float32')), { code: 'ERR_TRT_DTYPE' })
      t.equal(longs.as('int32'), longs)
    })

    await t.test('a call before the engine is ready holds the tensor', async (t) => {
      await using engine = await loaded(rowsPlan())
      using a = await engine.upload(rows(9))
      const second = await engine.upload(rows(9))
      await using late = new Engine(runtime.model(rowsPlan()), runtime.options(rowsPlan()))
      const results = [late.infer(a), late.infer(second)]
      second.dispose()
      for (const result of await Promise.all(results)) t.same(result.data, wanted(rows(9).data))
      a.dispose()
      await noneLeft(t, engine)
    })

    await t.test('it cannot be cloned, and says what to do', async (t) => {
      await using engine = await loaded(rowsPlan())
      using a = await engine.infer(rows(1), device)
      const refused = {
        name: 'DataCloneError',
        message: /DeviceTensor, which stays on its device and in its thread: await its toHost\(\), and send that/,
      }
      t.match(await thrownBy(() => structuredClone(a)), refused)
      const { port1, port2 } = new MessageChannel()
      t.match(await thrownBy(() => port1.postMessage({ a })), refused)
      port1.close()
      port2.close()
      t.match(await failureOf(() => Reflect.construct(DeviceTensor, [])), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /infer.*upload/,
      })
      t.match(await failureOf(() => Tensor.from(a as never)), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /await its toHost/,
      })
      t.same(
        [DeviceTensor.is(a), Tensor.is(a), DeviceTensor.is(Object.assign({}, a)), DeviceTensor.is(null)],
        [true, false, false, false],
      )
      t.match(await failureOf(() => engine.infer(Object.assign({ location: 'device' }, a) as never)), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
      })
    })

    await t.test('in a worker', async (t) => {
      await using engine = await loaded(rowsPlan())
      const at = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)
      const worker = new Worker(
        `const { parentPort, workerData } = require('node:worker_threads')
         ;(async () => {
           const { Engine, Tensor } = await import(${at('../../lib/index.js')})
           const engine = await Engine.attach(workerData)
           const a = await engine.infer(new Tensor('float32', Float32Array.of(1, 2, 3), [1, 3]), { location: 'device' })
           const kept = await engine.infer(a, { location: 'device' })
           const y = await engine.infer(kept)
           a.dispose()
           await engine.close()
           parentPort.postMessage(y.data) // and kept is left to the end of the worker
         })()`,
        { eval: true, workerData: engine.share() },
      )
      const exit = new Promise((resolve) => worker.once('exit', resolve))
      const data = await new Promise<Float32Array>((resolve, reject) => {
        worker.once('message', resolve).once('error', reject)
      })
      t.same(data, wanted(wanted(wanted(Float32Array.of(1, 2, 3)))))
      await exit
      t.ok(await until(() => engine.memory().tensors === 0), 'the worker’s tensors went with it')
    })
  })
  t.same(leftovers(), {}, `${runtime.name}: nothing is left`)
}

for (const runtime of [families[0], onnxruntime]) {
  for (const end of ['', 'process.exit()']) {
    await t.test(
      `${runtime.name}: a process ends with tensors that nobody disposed${end && ', by exit()'}`,
      async (t) => {
        const program = `
        const there = { location: 'device' }
        const [e, f] = [await load(), await load()]
        globalThis.kept = [await e.infer(x, there), await f.upload(x)]
        await f.close()
        globalThis.pending = [kept[0].toHost(), e.infer(kept[1], there), e.upload(x)]
        ${end}`
        t.same(await runChild(program, runtime), { code: 0, signal: null, stdout: '', stderr: '' })
      },
    )
  }
}

await t.test('a tensor of another device', async (t) => {
  driver.set({ devices: 2 })
  await using first = await load(families[0], rowsPlan())
  await using cpu = await load(onnxruntime, rowsPlan())
  using here = await first.infer(rows(1), device)
  using there = await cpu.infer(rows(1), device)
  t.match(await failureOf(() => cpu.infer(here)), {
    code: 'ERR_TRT_DEVICE',
    message:
      /^Expected a tensor on the host or on the CPU for input 'x' but received one on GPU 0: await its toHost\(\), and give that$/,
  })
  t.match(await failureOf(() => first.infer(there)), {
    code: 'ERR_TRT_DEVICE',
    message: /on GPU 0 for input 'x' but received one on the CPU/,
  })
  t.match(await failureOf(() => first.infer(rows(1), { into: { y: there }, location: 'device' })), {
    code: 'ERR_TRT_DEVICE',
    message: /output 'y'/,
  })
})

for (const family of suiteFamilies) {
  await t.test(`${family.name}: a shape tensor is given on the host`, async (t) => {
    const spec: Spec = {
      inputs: [{ name: 'x', shape: [12] }, { name: 's', dtype: 'int64', shape: [2], host: true }], // prettier-ignore
      outputs: [{ name: 'y', shape: [-1, -1] }],
      ops: [{ type: 'reshape', inputs: ['x', 's'], output: 'y' }],
      profiles: [{ values: { s: { min: [1, 1], opt: [3, 4], max: [12, 12] } } }],
    }
    await using engine = await load(family, spec)
    const shape = new Tensor('int64', BigInt64Array.of(2n, 6n), [2])
    using x = await engine.upload(Tensor.zeros('float32', [12]))
    using s = await engine.upload(shape)
    using y = (await engine.infer({ x, s: shape }, device))['y'] as DeviceTensor
    t.same(y.shape, [2, 6])
    t.match(await failureOf(() => engine.infer({ x, s })), {
      code: 'ERR_TRT_DEVICE',
      message: /a tensor on the host for input 's', whose values the CPU reads/,
    })
  })
}

t.same(leftovers(), {})
