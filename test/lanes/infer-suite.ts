// infer, inferSync, stream, warmup, outputs, into, allocate and the counters of an engine, on lanes: the cases that
// each runtime runs.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { bytesOf, range } from '../support/values.js'
import { collect, until } from '../support/waiting.js'
import { constantPlan, driver, fanPlan, leftovers, load, planOf, rows, rowsPlan, type Runtime, wanted } from './rig.js'

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

/** Runs all cases on a runtime. */
export async function testInfer(t: Test, runtime: Runtime): Promise<void> {
  await t.test('1, 2 and 8 lanes, eight at once, bit-equal to one after another', async (t) => {
    const inputs = Array.from({ length: 64 }, (_, i) => rows(i, 1 + (i % 5)))
    await using serial = await load(runtime, rowsPlan())
    const expected: Buffer[] = []
    for (const input of inputs) expected.push(bytesOf(await serial.infer(input)))
    for (const lanes of [1, 2, 8]) {
      await runtime.slowly({ computeMs: 0.2 }, rowsPlan(), { lanes }, async (engine) => {
        const results: Buffer[] = []
        let next = 0
        const worker = async (): Promise<void> => {
          while (next < inputs.length) {
            const i = next++
            results[i] = bytesOf(await engine.infer(inputs[i] as Tensor))
          }
        }
        await Promise.all(Array.from({ length: 8 }, worker))
        t.same(results, expected, `${lanes} lanes`)
        t.match(engine.stats(), { completed: 64, failed: 0, waiting: 0, inFlight: 0, batches: 64 })
      })
    }
    t.same(expected[3], Buffer.from(wanted(rows(3, 4).data).buffer))
  })

  await t.test('a queue that is full', async (t) => {
    // the lane is held up in enqueue, so that it takes nothing more
    await runtime.slowly(
      { blockMs: runtime.backend === 'tensorrt' ? 600_000 : 500 },
      rowsPlan(),
      { maxQueue: 3 },
      async (engine) => {
        const running = [engine.infer(rows(0))]
        t.ok(await until(() => engine.stats().inFlight === 1))
        const waiting = [1, 2, 3].map((i) => engine.infer(rows(i)))
        t.equal(engine.stats().waiting, 3)
        const failure = await failureOf(() => engine.infer(rows(4)))
        t.match(failure, { code: 'ERR_TRT_QUEUE_FULL', message: /3 requests wait, maxQueue is 3/ })
        if (runtime.backend === 'tensorrt') driver.set({ blockMs: 0 })
        const results = await Promise.all([...running, ...waiting])
        results.forEach((y, i) => t.same(y.data, wanted(rows(i).data)))
        t.match(engine.stats(), { completed: 4, cancelled: 0, waiting: 0, inFlight: 0 })
      },
    )
  })

  await t.test('abort and timeout, of what waits and of what runs', async (t) => {
    await runtime.slowly(
      { blockMs: runtime.backend === 'tensorrt' ? 600_000 : 1000 },
      rowsPlan(),
      {},
      async (engine) => {
        const controller = new AbortController()
        const running = engine.infer(rows(0), { signal: controller.signal })
        t.ok(await until(() => engine.stats().inFlight === 1))
        const queued = engine.infer(rows(2), { signal: controller.signal })
        const late = engine.infer(rows(3), { timeoutMs: 5 })
        t.match(await failureOf(() => late), { code: 'ERR_TRT_TIMEOUT', message: /5 ms/ })
        t.match(engine.stats(), { inFlight: 1, waiting: 1, cancelled: 1 }, 'it left the queue')
        const last = engine.infer(rows(4))
        const reason = new Error('mine')
        controller.abort(reason)
        // a CPU may have taken away what runs by now
        const gone = runtime.backend === 'tensorrt' ? [2] : [2, 3]
        t.ok(gone.includes(engine.stats().cancelled), 'the queued one left at once')
        t.equal(await running.catch((error: unknown) => error), reason)
        t.equal(await queued.catch((error: unknown) => error), reason)
        t.equal(engine.stats().completed, 0, 'none of them waited for the end')
        if (runtime.backend === 'tensorrt') driver.set({ blockMs: 0 })
        t.same((await last).data, wanted(rows(4).data))
        // a GPU lets what runs come to its end, a CPU is taken away from it
        const ended = runtime.backend === 'tensorrt' ? { completed: 2, cancelled: 2 } : { completed: 1, cancelled: 3 }
        t.ok(await until(() => engine.stats().inFlight === 0), 'what was given up may end after what came later')
        t.match(engine.stats(), { ...ended, failed: 0, waiting: 0, inFlight: 0 })
        await t.rejects(engine.infer(rows(0), { signal: AbortSignal.abort(new Error('before')) }), {
          message: 'before',
        })
      },
    )
  })

  await t.test('only some outputs', async (t) => {
    await using engine = await load(runtime, fanPlan(5))
    const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
    const some = await engine.infer({ x }, { outputs: ['y3', 'y0', 'y3'] })
    t.same(Object.keys(some), ['y0', 'y3'])
    t.same([some['y0']?.data, some['y3']?.data], [x.data, Float32Array.of(4, 8, 12, 16)])
    t.same(Object.keys(engine.inferSync({ x }, { outputs: ['y4'] })), ['y4'])
    for (const outputs of [[], ['y5'], ['x'], 'y0', [0], ['__proto__']])
      t.equal(
        (await failureOf(() => engine.infer({ x }, { outputs: outputs as string[] }))).code,
        'ERR_TRT_INVALID_ARGUMENT',
      )
    const into = { y1: Tensor.zeros('float32', [4]) }
    const message = /Expected one of the outputs that are wanted \(y0, y2\) for a name in into but received string "y1"/
    for (const call of [
      () => engine.infer({ x }, { outputs: ['y0', 'y2'], into }),
      () => engine.inferSync({ x }, { outputs: ['y0', 'y2'], into }),
    ])
      t.match(await failureOf(call), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
    t.same(
      (await engine.infer({ x }, { outputs: ['y0', 'y1'], into }))['y1'],
      into.y1,
      'and one that is wanted is written',
    )
  })

  await t.test('a place for an output that was not declared, or is not wanted, is refused by its name', async (t) => {
    const spec = fanPlan(3)
    const outputs = { y0: 'float32', y2: 'float32' } as const
    await using declared = await Engine.load(runtime.model(spec), { ...runtime.options(spec), outputs })
    const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
    const into = { y1: Tensor.zeros('float32', [4]) }
    const said = (what: string): object => ({
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: new RegExp(
        `^Expected one of the outputs that are wanted \\(y0, y2\\) for a name in ${what} but received string "y1"`,
      ),
    })
    // types refuse all of these, JavaScript does not
    for (const options of [{ into }, { outputs: ['y0', 'y2'], into }] as object[])
      for (const call of [() => declared.infer({ x }, options), () => declared.inferSync({ x }, options)])
        t.match(await failureOf(call), said('into'))
    for (const place of ['host', 'device'])
      for (const options of [
        { location: { y1: place } },
        { outputs: ['y0', 'y2'], location: { y0: 'host', y1: place } },
      ] as object[])
        for (const call of [() => declared.infer({ x }, options), () => declared.inferSync({ x }, options)])
          t.match(await failureOf(call), said('location'))
    t.same(into.y1.data, new Float32Array(4))
    const named = { outputs: ['y1'], into } as object
    t.same(
      Object.keys(await declared.infer({ x }, named)),
      ['y1'],
      'one that is asked for by name may be told its place',
    )
    t.same(into.y1.data, Float32Array.of(2, 4, 6, 8))
  })

  await t.test('only some of more outputs than a number has bits', async (t) => {
    for (const count of [53, 54, 64, 70]) {
      await using fan = await load(runtime, fanPlan(count))
      const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
      const wrong: string[] = []
      const wants = async (indices: readonly number[]): Promise<void> => {
        const outputs = indices.map((i) => `y${i}`)
        const right = JSON.stringify(indices.map((i) => [`y${i}`, Array.from(x.data, (value) => value * (i + 1))]))
        for (const results of [await fan.infer({ x }, { outputs }), fan.inferSync({ x }, { outputs })]) {
          const found = Object.entries(results).map(([name, { data }]) => [name, Array.from(data as Float32Array)])
          if (JSON.stringify(found) !== right) wrong.push(`${outputs.join()}: ${JSON.stringify(found)}`)
        }
      }
      for (const indices of [
        [0],
        [1, 52],
        [count - 1],
        [0, 31, 32, count - 1],
        Array.from({ length: count }, (_, i) => i),
      ])
        await wants(indices)
      for (let i = 0; i < count; i++) await wants([i])
      t.same(wrong, [], `each choice of ${count} outputs`)
      const into = { [`y${count - 1}`]: Tensor.zeros('float32', [4]) }
      const written = await fan.infer({ x }, { outputs: ['y2', `y${count - 1}`], into })
      t.same(Object.keys(written), ['y2', `y${count - 1}`])
      t.same(into[`y${count - 1}`]?.data[3], 4 * count)
    }
  })

  await t.test('into tensors that are given, ordinary and allocated', async (t) => {
    await using engine = await load(runtime, fanPlan(3))
    const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
    const ordinary = Tensor.zeros('float32', [4])
    const pinned = engine.allocate('y1', [4]) as Tensor<'float32'>
    for (const run of [
      (): Promise<Record<string, Tensor>> => engine.infer({ x }, { into: { y0: ordinary, y1: pinned } }),
      (): Record<string, Tensor> => engine.inferSync({ x }, { into: { y0: ordinary, y1: pinned } }),
    ]) {
      ordinary.data.fill(0)
      pinned.data.fill(0)
      const results = await run()
      t.equal(results['y0'], ordinary)
      t.equal(results['y1'], pinned)
      t.same(
        [ordinary.data, pinned.data, results['y2']?.data],
        [x.data, Float32Array.of(2, 4, 6, 8), Float32Array.of(3, 6, 9, 12)],
      )
    }
    const wrong: [object, string][] = [
      [{ y0: Tensor.zeros('float32', [5]) }, 'ERR_TRT_SHAPE'],
      [{ y0: Tensor.zeros('int32', [4]) }, 'ERR_TRT_DTYPE'],
      [{ x: ordinary }, 'ERR_TRT_INVALID_ARGUMENT'],
      [{ y0: new Float32Array(4) }, 'ERR_TRT_INVALID_ARGUMENT'],
      [ordinary, 'ERR_TRT_INVALID_ARGUMENT'],
      [{ y0: pinned, y1: pinned }, 'ERR_TRT_INVALID_ARGUMENT'],
    ]
    for (const [into, code] of wrong) {
      t.equal((await failureOf(() => engine.infer({ x }, { into }))).code, code)
      t.equal((await failureOf(() => engine.inferSync({ x }, { into }))).code, code)
    }
    pinned.data.fill(-1)
    const after = await engine.infer({ x })
    t.same(after['y0']?.data, x.data, 'nothing of a refused call is left')
    t.same(pinned.data, Float32Array.of(-1, -1, -1, -1))
  })

  await t.test('into a tensor of a dynamic output that has another size fails alone', async (t) => {
    await runtime.slowly({ computeMs: 20 }, rowsPlan(), {}, async (engine) => {
      const pinned = engine.allocate('y', [4, 3])
      for (const y of [pinned, Tensor.zeros('float32', [4, 3])]) {
        const first = engine.infer(rows(0))
        const bad = engine.infer(rows(1, 2), { into: { y } })
        const others = [2, 3, 4, 5].map((i) => engine.infer(rows(i)))
        t.equal((await failureOf(() => bad)).code, 'ERR_TRT_SHAPE')
        t.same((await first).data, wanted(rows(0).data))
        for (const [i, other] of others.entries()) t.same((await other).data, wanted(rows(i + 2).data))
        t.equal((await failureOf(() => engine.inferSync(rows(1, 2), { into: { y } }))).code, 'ERR_TRT_SHAPE')
        t.equal(await engine.infer(rows(7, 4), { into: { y } }), y)
        t.same(y.data, wanted(rows(7, 4).data))
      }
    })
  })

  await t.test('allocate: nothing copied, one use at a time, freed with its tensor', async (t) => {
    await using engine = await load(runtime, rowsPlan(1024))
    const x = engine.allocate('x', [4, 1024]) as Tensor<'float32'>
    const y = engine.allocate('y', [4, 1024])
    x.data.set(rows(1, 4, 1024).data)
    t.equal(await engine.infer({ x }, { into: { y } }).then((results) => results['y']), y)
    t.same(y.data, wanted(x.data))
    t.equal(engine.stats().bytesCopied, 0)
    await engine.infer(rows(2, 4, 1024))
    t.equal(engine.stats().bytesCopied, 16384, 'an ordinary tensor is copied once')
    await runtime.slowly({ computeMs: 100 }, rowsPlan(1024), {}, async (engine) => {
      const using = engine.infer(x, { into: { y } })
      const calls = [
        () => engine.infer(x),
        () => engine.infer(rows(3, 4, 1024), { into: { y } }),
        () => engine.inferSync(x),
        () => engine.infer(new Tensor('float32', x.data.subarray(0, 1024), [1, 1024])),
      ]
      // all of them at once: between two awaits the inference might end
      for (const { code } of await Promise.all(calls.map(failureOf))) t.equal(code, 'ERR_TRT_BUFFER_IN_USE')
      await using
    })
    t.same((await engine.infer(x)).data, wanted(x.data), 'and again after that')
    t.equal((await failureOf(() => engine.infer(x, { into: { y: x } }))).code, 'ERR_TRT_INVALID_ARGUMENT')
    t.same((await engine.infer(x)).data, wanted(x.data), 'nothing is leased by a call that was refused')
    t.equal((await failureOf(() => engine.allocate('z', [1]))).code, 'ERR_TRT_INVALID_ARGUMENT')
    t.equal((await failureOf(() => engine.allocate('x', [4, 5]))).code, 'ERR_TRT_SHAPE')
    t.equal((await failureOf(() => engine.allocate('x', [-4, 1024]))).code, 'ERR_TRT_SHAPE')
    t.equal(engine.allocate('x', [0, 1024]).data.length, 0)

    const used = (): number => engine.memory().pinned
    await collect()
    const before = used()
    ;(() => {
      for (let i = 0; i < 8; i++) engine.allocate('x', [64, 1024])
    })()
    t.ok(used() >= before + 8 * 64 * 4096)
    await collect()
    t.ok(used() <= before, 'all eight are free again')
  })

  await t.test('an aborted call keeps its leased memory until the run is done', async (t) => {
    // a device computes until it is told otherwise; onnxruntime ends by itself what nobody waits for
    const delay = runtime.backend === 'tensorrt' ? { computeMs: 1, clock: 'manual' as const } : { computeMs: 1000 }
    await runtime.slowly(delay, rowsPlan(), {}, async (engine) => {
      const x = engine.allocate('x', [1, 3]) as Tensor<'float32'>
      await t.rejects(engine.infer(x, { timeoutMs: 5 }), { code: 'ERR_TRT_TIMEOUT' })
      if (runtime.backend === 'tensorrt') {
        t.equal((await failureOf(() => engine.infer(x))).code, 'ERR_TRT_BUFFER_IN_USE')
        driver.set({ clock: 'real' })
      }
      t.ok(await until(() => engine.stats().inFlight === 0))
      x.data.fill(2)
      t.same((await engine.infer(x)).data, Float32Array.of(5, 5, 5))
    })
  })

  await t.test('inferSync, alone and among others', async (t) => {
    await using engine = await load(runtime, rowsPlan(), { lanes: 2 })
    t.same(engine.inferSync(rows(1)).data, wanted(rows(1).data))
    t.same(engine.inferSync({ x: rows(2) })['y']?.data, wanted(rows(2).data))
    await runtime.slowly({ computeMs: 5 }, rowsPlan(), { lanes: 2 }, async (engine) => {
      const others = Array.from({ length: 12 }, (_, i) => engine.infer(rows(i)))
      for (let i = 20; i < 26; i++) t.same(engine.inferSync(rows(i)).data, wanted(rows(i).data))
      for (const [i, other] of others.entries()) t.same((await other).data, wanted(rows(i).data))
    })
    t.throws(() => engine.inferSync(rows(1), { signal: AbortSignal.timeout(1) } as object), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
    })
    t.throws(() => engine.inferSync({ z: rows(1) }), { code: 'ERR_TRT_UNKNOWN_INPUT' })
    const young = new Engine(planOf(runtime, rowsPlan()), runtime.options(rowsPlan()))
    t.throws(() => young.inferSync(rows(1)), { code: 'ERR_TRT_NOT_READY' })
    await young.close()
    t.throws(() => young.inferSync(rows(1)), { code: 'ERR_TRT_CLOSED' })
  })

  await t.test('stream: in order, as many in flight as asked', async (t) => {
    await using engine = await load(runtime, rowsPlan(), { lanes: 2 })
    let given = 0
    let most = 0
    let taken = 0
    const source = async function* () {
      for (; given < 30;) {
        await Promise.resolve()
        yield rows(given++)
        most = Math.max(most, given - taken)
      }
    }
    for await (const y of engine.stream(source(), { inFlight: 5 })) {
      t.same(y.data, wanted(rows(taken).data))
      taken++
    }
    t.equal(taken, 30)
    t.ok(most <= 6, `${most} at once`)
    const records = []
    for await (const { y } of engine.stream([{ x: rows(1) }, { x: rows(2, 3) }])) records.push(y?.shape)
    t.same(records, [
      [1, 3],
      [3, 3],
    ])
  })

  await t.test('stream: errors, an early end, an abort', async (t) => {
    await using engine = await load(runtime, rowsPlan())
    const seen: number[] = []
    const run = async (source: Iterable<Tensor> | AsyncIterable<Tensor>, options?: object): Promise<void> => {
      seen.length = 0
      for await (const y of engine.stream(source, options)) seen.push(y.size)
    }
    t.equal(
      (await failureOf(() => run([rows(0), rows(1), Tensor.zeros('float32', [1, 4]), rows(3)], { inFlight: 1 }))).code,
      'ERR_TRT_SHAPE',
    )
    t.same(seen, [3, 3])
    const broken = async function* () {
      yield rows(0)
      yield await Promise.reject(new RangeError('mine'))
    }
    await t.rejects(run(broken()), new RangeError('mine'))
    for (const options of [{ inFlight: 0 }, { inFlight: 1.5 }, { inflight: 1 }, { signal: 1 }])
      t.equal((await failureOf(() => run([rows(0)], options))).code, 'ERR_TRT_INVALID_ARGUMENT')
    let ended = false
    const endless = function* () {
      try {
        for (;;) yield rows(1)
      } finally {
        ended = true
      }
    }
    for await (const y of engine.stream(endless())) if (y.size === 3) break
    t.ok(ended, 'the source is told')
    t.ok(await until(() => engine.stats().waiting + engine.stats().inFlight === 0), 'and nothing is left running')
    await runtime.slowly({ computeMs: 20 }, rowsPlan(), {}, async (engine) => {
      const cut = async (): Promise<void> => {
        for await (const y of engine.stream(endless(), { signal: AbortSignal.timeout(50) })) t.equal(y.size, 3)
      }
      await t.rejects(cut(), { name: 'TimeoutError' })
      t.ok(await until(() => engine.stats().inFlight === 0))
    })
  })

  await t.test('warmup', async (t) => {
    await using engine = await load(runtime, rowsPlan(), { lanes: 2 })
    await engine.warmup()
    t.ok(engine.stats().completed >= 2, 'each lane has run')
    for (let i = 0; i < 8; i++) t.same((await engine.infer(rows(i, 4))).data, wanted(rows(i, 4).data))
    for (const options of [{ iterations: 0 }, { iterations: 'x' }, { iterations: 10_001 }, { iteration: 1 }])
      t.equal((await failureOf(() => engine.warmup(options as object))).code, 'ERR_TRT_INVALID_ARGUMENT')
    await using small = await load(runtime, rowsPlan(), { maxQueue: 1, lanes: 3, batching: { maxBatch: 8 } })
    await small.warmup()
    let streamed = 0
    for await (const y of small.stream(Array.from({ length: 20 }, (_, i) => rows(i)))) streamed += y.shape[0] ?? 0
    t.equal(streamed, 20, 'neither warmup nor stream overflows a small queue')
    await t.rejects(engine.warmup({ signal: AbortSignal.abort(new Error('no')) }), { message: 'no' })
  })

  await t.test('several ranges of shapes: what none of them takes is refused', async (t) => {
    const two = rowsPlan(3, 4, {
      profiles: [{ dims: { x: range([1, 3], [2, 3], [4, 3]) } }, { dims: { x: range([6, 3], [8, 3], [16, 3]) } }],
    })
    await using engine = await load(runtime, two)
    t.same(
      engine.inputs['x']?.profiles,
      two.profiles?.map(({ dims }) => dims?.['x']),
    )
    for (const count of [1, 16, 3, 6])
      t.same((await engine.infer(rows(count, count))).data, wanted(rows(count, count).data))
    for (const count of [5, 17, 0])
      for (const call of [() => engine.infer(rows(1, count)), () => engine.inferSync(rows(1, count))])
        t.equal((await failureOf(call)).code, 'ERR_TRT_SHAPE', `${count} rows`)
  })

  await t.test('stats and memory are plausible', async (t) => {
    await runtime.slowly({ computeMs: 4 }, rowsPlan(1024), {}, async (engine) => {
      const begun = performance.now()
      await Promise.all(Array.from({ length: 10 }, (_, i) => engine.infer(rows(i, 2, 1024))))
      const elapsed = performance.now() - begun
      const { queueMs, computeMs, copyInMs, copyOutMs, ...counts } = engine.stats()
      t.same(counts, {
        waiting: 0,
        inFlight: 0,
        completed: 10,
        failed: 0,
        cancelled: 0,
        batches: 10,
        bytesCopied: 10 * 8192,
      })
      t.ok(computeMs.p50 > 0 && computeMs.p50 < elapsed, `compute ${computeMs.p50} ms`)
      t.ok(queueMs.p99 >= queueMs.p50 && queueMs.p99 > computeMs.p50, `queue ${queueMs.p50} to ${queueMs.p99} ms`)
      t.equal(queueMs.count, 10)
      const copies = [copyInMs, copyOutMs].map(({ count }) => count > 0)
      t.same(copies, Array(2).fill(runtime.backend === 'tensorrt'), 'on the CPU there is nowhere to copy to')
      const { pinned, pinnedKept } = engine.memory()
      t.ok(pinned + pinnedKept >= 8192, `in use ${pinned}, kept ${pinnedKept}`)
      await engine.close()
      t.match(engine.stats(), { ...counts, computeMs: { count: computeMs.count } }, 'what it came to')
      t.equal(engine.counters().requests, 10)
      t.same(new Set(Object.values(engine.memory())), new Set([0]))
      t.throws(() => engine.share(), { code: 'ERR_TRT_CLOSED' })
      t.throws(() => engine.allocate('x', [1, 1024]), { code: 'ERR_TRT_CLOSED' })
    })
  })

  await t.test('large outputs are external, and right long after the engine is gone', async (t) => {
    const columns = 100_000
    const engine = await load(runtime, rowsPlan(columns, 4))
    const kept = []
    for (let i = 0; i < 6; i++) kept.push(await engine.infer(rows(i, 1, columns)))
    kept.push(engine.inferSync(rows(6, 1, columns)))
    await engine.close()
    await collect()
    await using other = await load(runtime, rowsPlan(columns, 4))
    for (let i = 10; i < 16; i++) await other.infer(rows(i, 1, columns))
    kept.forEach((y, i) =>
      t.same(bytesOf(y).equals(bytesOf(new Tensor('float32', wanted(rows(i, 1, columns).data), [1, columns]))), true),
    )
    const pinned = other.memory().pinned
    t.ok(pinned >= 7 * columns * 4, `they are pinned memory: ${pinned}`)
    kept.length = 0
    await collect()
    t.ok(other.memory().pinned < pinned, 'and go back to the pool')
  })

  await t.test('many outputs, many inputs, none', async (t) => {
    await using fan = await load(runtime, fanPlan(60))
    const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
    for (const results of [await fan.infer({ x }), fan.inferSync({ x })]) {
      t.equal(Object.keys(results).length, 60)
      t.ok(
        Object.values(results).every((y, i) =>
          (y.data as Float32Array).every((value, k) => value === (i + 1) * (k + 1)),
        ),
      )
    }
    const names = Array.from({ length: 40 }, (_, i) => `x${i}`)
    await using many = await load(runtime, {
      inputs: names.map((name) => ({ name, shape: [2] })),
      outputs: [{ name: 'y', shape: [80] }],
      ops: [{ type: 'concat', inputs: names, output: 'y' }],
    })
    const inputs = Object.fromEntries(names.map((name, i) => [name, Tensor.from(Float32Array.of(i, -i))]).reverse())
    const all = Float32Array.from(names.flatMap((_, i) => [i, -i]))
    t.same((await many.infer(inputs))['y']?.data, all)
    t.same(many.inferSync(inputs)['y']?.data, all)
    await using none = await load(runtime, constantPlan)
    t.same((await none.infer({}))['y']?.data, Float32Array.of(-3, 4))
    t.same(none.inferSync({})['y']?.data, Float32Array.of(-3, 4))
    t.equal((await failureOf(() => none.infer(x))).code, 'ERR_TRT_INVALID_ARGUMENT')
  })

  await t.test('nothing is left', (t) => {
    t.same(leftovers(), {})
    t.end()
  })
}
