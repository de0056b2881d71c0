// engine.benchmark() on the fakes of TensorRT 10, 11 and RTX, whose device takes the time that it is told, and on
// onnxruntime.
import t from 'tap'
import type { Benchmark, BenchmarkOptions, BenchmarkProgress } from '../../lib/benchmark/index.js'
import { Engine, Tensor } from '../../lib/index.js'
import { fakePlan } from '../fake/plan.js'
import { runChild } from '../lanes/children.js'
import { driver, driven, families, leftovers, load, onnxruntime, rowsPlan, runtimes, wanted } from '../lanes/rig.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { size } from '../support/tiers.js'
import { range } from '../support/values.js'
import { same } from '../support/same.js'
import { until } from '../support/waiting.js'

type Tap = Pick<typeof t, 'equal' | 'match' | 'notOk' | 'ok' | 'rejects' | 'same' | 'notMatch' | 'pass'>

/** As short as can be: three queries, and nothing besides. */
const short: BenchmarkOptions = { warmUpMs: 0, durationMs: 0, iterations: 3, endToEnd: false }

for (const runtime of runtimes) {
  const onGpu = runtime.backend === 'tensorrt'
  await t.test(runtime.name, async (t) => {
    const scene = (name: string, body: (t: Tap) => Promise<void>): Promise<unknown> =>
      t.test(name, async (t) => {
        driver.reset()
        runtime.fake?.control.reset()
        await body(t)
        t.same(leftovers(), {}, 'nothing is left, and nothing was done wrong')
      })

    await scene('everything that is asked for, and nothing else', async (t) => {
      await using engine = await load(runtime, rowsPlan())
      const told: BenchmarkProgress[] = []
      const all = await engine.benchmark({
        warmUpMs: 20,
        durationMs: 300,
        iterations: 5,
        layers: onGpu,
        outputs: true,
        percentiles: [50, 99.9],
        onProgress: (progress: BenchmarkProgress) => void told.push(progress),
      })
      t.match(all, {
        kind: 'benchmark',
        backend: runtime.backend,
        runtime: /\d+\.\d+/,
        device: { index: onGpu ? 0 : -1 },
      })
      if (onGpu) t.equal(all.device.name, 'Fake GPU 0')
      t.same(all.settings.shapes, { x: [4, 3] }, 'the best shape of the first profile')
      t.match(all.settings, {
        streams: 1,
        depth: onGpu ? 2 : 1,
        transfers: onGpu,
        endToEnd: true,
        javascript: true,
        percentiles: [50, 99.9],
      })
      t.notOk('outputs' in all.settings || 'inputs' in all.settings)
      t.ok(all.queries >= 5 && all.trace.length === all.queries)
      t.ok(
        all.trace.some(({ startComputeMs }) => startComputeMs >= 20 + 300),
        'until a computation begins after both times, as with trtexec',
      )
      t.same([all.wallMs, all.warmUp.ms], [all.trace.at(-1)!.endD2hMs - all.trace[0]!.startH2dMs, 20])
      t.same(Object.keys(all.latency.percentiles).sort(), ['50', '99.9'])
      t.same(
        all.trace.filter(({ startComputeMs }) => startComputeMs < 20),
        [],
        'no query of the warm-up is in the trace',
      )
      if (all.endToEnd === undefined || all.javascript === undefined) throw new Error('not measured')
      t.ok(all.endToEnd.queries >= 5 && all.javascript.infer.queries >= 5)
      const { addsMs, addsRangeMs, infer } = all.javascript
      t.equal(addsMs, addsRangeMs[0] > 0 ? infer.median - all.endToEnd.median : undefined)
      t.ok(addsRangeMs[0] <= addsRangeMs[1])
      // the first two and the third are asked after by a clock: which of them are seen depends on how busy the machine
      // is
      const phases = new Set(told.map(({ phase }) => phase))
      const [seen, surely] = [['warm-up', 'measure', 'end-to-end'], onGpu ? ['javascript', 'layers'] : ['javascript']]
      t.same([...phases].filter((phase) => !seen.includes(phase)), surely) // prettier-ignore
      for (const each of phases) {
        const steps = told.filter(({ phase }) => phase === each)
        // what was asked for; what follows the queries has a third of their time
        const least = { 'warm-up': 20, measure: 300 }[each as string] ?? 20 + 300 / 3
        t.same(new Set(steps.map(({ totalMs }) => totalMs)), new Set([least]), each)
        const elapsed = steps.map(({ elapsedMs }) => elapsedMs)
        t.same(
          elapsed,
          elapsed.toSorted((a, b) => a - b),
          `${each}: it goes on`,
        )
      }
      const y = all.outputs?.['y']
      const x = (await import('../../lib/benchmark/random.js')).randomTensor({ dtype: 'float32' }, [4, 3], 1)
      t.same(y?.data, wanted(x.data as Float32Array), 'the outputs are those of the inputs that it made')
      t.equal(all.layers?.count, onGpu ? 2 : undefined)
      t.ok(Object.isFrozen(all) && Object.isFrozen(all.trace) && Object.isFrozen(all.settings.shapes))
      const { outputs, ...plain } = all
      t.ok(outputs)
      same(t, JSON.parse(JSON.stringify(plain)), plain, 'JSON keeps it')

      const least = await engine.benchmark({ ...short, warmUpMs: 0 })
      t.ok(least.queries >= 3)
      t.same(least.warmUp, { queries: 0, ms: 0 })
      for (const key of ['endToEnd', 'javascript', 'layers', 'outputs', 'model']) t.notOk(key in least, key)
    })

    await scene('shapes and inputs', async (t) => {
      await using engine = await load(
        runtime,
        rowsPlan(3, 64, {
          profiles: [{ dims: { x: range([1, 3], [4, 3], [8, 3]) } }, { dims: { x: range([9, 3], [12, 3], [64, 3]) } }],
        }),
      )
      const shapesOf = async (options: BenchmarkOptions) =>
        (await engine.benchmark({ ...short, ...options })).settings.shapes
      t.same(await shapesOf({ profile: 1 }), { x: [12, 3] })
      t.same(await shapesOf({ profile: 1, shapes: { x: [64, 3] } }), { x: [64, 3] })
      const x = Tensor.from(Float32Array.of(1, -2, 3), [1, 3])
      const given = await engine.benchmark({ ...short, inputs: { x }, outputs: true, streams: 2 })
      t.same(given.outputs?.['y']?.data, wanted(x.data))
      t.same(given.settings.shapes, { x: [1, 3] })
      const refused = async (options: BenchmarkOptions) =>
        await failureOf(() => engine.benchmark({ ...short, ...options }))
      t.match(await refused({ shapes: { x: [65, 3] } }), { code: 'ERR_TRT_SHAPE' })
      t.match(await refused({ shapes: { x: [4, 4] } }), { code: 'ERR_TRT_SHAPE' })
      t.match(await refused({ shapes: { y: [4, 3] } }), { code: 'ERR_TRT_UNKNOWN_INPUT' })
      t.match(await refused({ inputs: { y: x } }), { code: 'ERR_TRT_UNKNOWN_INPUT' })
      t.match(await refused({ inputs: { x: Tensor.zeros('int32', [1, 3]) } }), { code: 'ERR_TRT_DTYPE' })
      t.match(await refused({ inputs: { x }, shapes: { x: [1, 3] } }), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /either a Tensor or a shape/,
      })
      t.match(await refused({ profile: 2 }), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /one of the engine's 2 optimization profiles/,
      })
      if (onGpu)
        t.match(await refused({ profile: 1, shapes: { x: [4, 3] } }), {
          code: 'ERR_TRT_SHAPE',
          message: /profile 1: it takes/,
        })
    })

    await scene('options that are none', async (t) => {
      await using engine = await load(runtime, rowsPlan())
      const wrong: Record<string, unknown>[] = [
        { streams: 0 },
        { streams: 65 },
        { depth: 3 },
        { threads: 1 },
        { warmUpMs: -1 },
        { durationMs: Infinity },
        { durationMs: 86_400_001 },
        { iterations: 0 },
        { iterations: 1.5 },
        { percentiles: [-1] },
        { percentiles: [101] },
        { percentiles: [90, 90] },
        { percentiles: 90 },
        { inputs: { x: [1, 2, 3] } },
        { endToEnd: false, javascript: true },
        { onProgress: 'no' },
        { warmUp: 200 },
      ]
      for (const options of wrong)
        t.match(
          await failureOf(() => engine.benchmark(options)),
          { code: 'ERR_TRT_INVALID_ARGUMENT' },
          JSON.stringify(options),
        )
      t.match(await failureOf(() => engine.benchmark({ shapes: { x: [1.5, 3] } })), {
        code: /ERR_TRT_(SHAPE|INVALID_ARGUMENT)/,
      })
    })

    await scene('streams, threads, graphs, waiting: all of them measure', async (t) => {
      await using engine = await load(runtime, rowsPlan())
      const ways: BenchmarkOptions[] = [
        { streams: 3 },
        { streams: 3, threads: true },
        { depth: 1 },
        { transfers: false },
        { idleMs: 1 },
        { warmUpMs: 5 },
      ]
      const gpuOnly: BenchmarkOptions[] = [
        { cudaGraph: true },
        { cudaGraph: true, depth: 1, transfers: false },
        { spinWait: true, streams: 2, threads: true, cudaGraph: true },
        { sleepMs: 5 },
      ]
      for (const way of [...ways, ...(onGpu ? gpuOnly : [])]) {
        const { queries, trace, warnings, outputs, warmUp } = await engine.benchmark({
          ...short,
          ...way,
          outputs: true,
        })
        const label = JSON.stringify(way)
        t.ok(queries >= 3 * (way.streams ?? 1), label)
        t.notMatch(warnings, [{ code: 'no-graph' }], label)
        t.equal(
          warnings.some(({ code }) => code === 'several-streams'),
          (way.streams ?? 1) > 1,
          label,
        )
        t.same(warmUp.ms, way.warmUpMs ?? 0)
        t.equal(outputs?.['y']?.size, 12, label)
        const none =
          onGpu && way.transfers !== false ? [] : trace.filter(({ h2dMs, d2hMs }) => h2dMs !== 0 || d2hMs !== 0)
        t.same(none, [], label)
      }
      if (onGpu) return
      for (const way of [{ cudaGraph: true }, { spinWait: true }, { layers: true }])
        t.match(await failureOf(() => engine.benchmark({ ...short, ...way })), {
          code: 'ERR_TRT_UNSUPPORTED',
          message: /needs the TensorRT backend/,
        })
    })

    await scene('an abort ends it at once, and close() waits for what runs', async (t) => {
      await runtime.slowly({ computeMs: 5 }, rowsPlan(), {}, async (engine) => {
        await t.rejects(engine.benchmark({ signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
        const abort = new AbortController()
        let told = 0
        const running = engine.benchmark({
          durationMs: 3_000_000,
          signal: abort.signal,
          onProgress: () => ((told += 1), undefined),
        })
        t.ok(await until(() => told > 1), 'it runs')
        abort.abort(new Error('enough'))
        await t.rejects(running, { message: 'enough' })
        await t.rejects(
          engine.benchmark({
            onProgress: () => {
              throw new Error('the listener')
            },
          }),
          { message: 'the listener' },
        )
        const last = engine.benchmark(short)
        await engine.close()
        t.ok((await last).queries >= 3, 'one that runs when the engine closes ends')
        t.match(await failureOf(() => engine.benchmark()), { code: 'ERR_TRT_CLOSED' })
      })
    })

    await scene('each of its parts runs to its end though the engine closes meanwhile', async (t) => {
      const engine = await load(runtime, rowsPlan())
      const last = engine.benchmark({ warmUpMs: 0, durationMs: 0, iterations: 3, layers: onGpu, outputs: true })
      let closed = false
      const closing = engine.close().then(() => (closed = true))
      const { javascript, layers } = await last.finally(() => t.notOk(closed, 'close() waits for all of it'))
      t.ok(javascript !== undefined && javascript.infer.queries >= 3)
      t.equal(layers?.count, onGpu ? 2 : undefined)
      t.match(await failureOf(() => engine.infer(Tensor.zeros('float32', [1, 3]))), { code: 'ERR_TRT_CLOSED' })
      await closing
    })

    await scene('it does not disturb inferences', async (t) => {
      await using engine = await load(runtime, rowsPlan(), { lanes: 2 })
      const x = Tensor.from(Float32Array.of(1, -2, 3), [1, 3])
      const measuring = engine.benchmark({
        warmUpMs: 10,
        durationMs: 100,
        streams: 2,
        threads: true,
        javascript: false,
      })
      for (let i = 0; i < 50; i++) t.same((await engine.infer({ x }))['y']?.data, wanted(x.data))
      t.ok((await measuring).queries >= 20, 'trtexec’s ten of each stream')
      t.equal(engine.stats().completed, 50, 'queries are no inferences')
    })
  })
}

for (const family of families) {
  await t.test(`${family.name}: what only a GPU has`, async (t) => {
    const scene = (name: string, body: (t: Tap) => Promise<void>): Promise<unknown> =>
      t.test(name, async (t) => {
        driver.reset()
        family.control.reset()
        await body(t)
        driver.reset()
        t.same(leftovers(), {}, 'nothing is left, and nothing was done wrong')
      })
    const medians = ({ copyIn, compute, copyOut, latency }: Benchmark) =>
      [copyIn, compute, copyOut, latency].map(({ median }) => median)

    await scene("stages take the device's time, by its own clock", async (t) => {
      await driven({ copyMs: 2, computeMs: 7, clock: 'virtual' }, async () => {
        await using engine = await load(family, rowsPlan())
        for (const way of [{}, { depth: 1 as const }, { cudaGraph: true }, { streams: 2, threads: true }]) {
          const measured = await engine.benchmark({ ...way, warmUpMs: 100, durationMs: 700, endToEnd: false })
          t.same(medians(measured), [2, 7, 2, 11], JSON.stringify(way))
          t.same([measured.compute.cv, measured.latency.min, measured.latency.max], [0, 11, 11])
          // computations of a stream follow on each other, so that of 800 ms no more than 14 begin in the first hundred
          const streams = measured.settings.streams
          t.ok(
            measured.warmUp.queries <= 15 * streams && measured.queries >= 98 * streams,
            `${measured.warmUp.queries} and ${measured.queries}`,
          )
          t.ok(measured.trace.every(({ startComputeMs }) => startComputeMs >= 100))
          t.ok(
            measured.wallMs >= 690 && measured.throughput <= (1000 / 7) * streams * 1.02,
            `${measured.throughput} per second`,
          )
        }
        const bare = await engine.benchmark({ warmUpMs: 0, durationMs: 70, transfers: false, endToEnd: false })
        t.same(medians(bare), [0, 7, 0, 7])
        // one after the other without a gap: each begins when the one before it ends
        t.same(
          bare.trace.slice(0, 3).map(({ startComputeMs }, i) => startComputeMs - i * 7),
          Array(3).fill(bare.trace[0]?.startComputeMs),
        )
        t.equal(bare.wallMs, bare.queries * 7)
        t.equal(bare.throughput, 1000 / 7)
      })
    })

    await scene('a device that takes its time is waited for, and the host enqueues ahead', async (t) => {
      await driven({ computeMs: 4, copyMs: 1 }, async () => {
        await using engine = await load(family, rowsPlan())
        const measured = await engine.benchmark({ warmUpMs: 10, durationMs: 60, iterations: 1 })
        t.ok(measured.compute.min >= 3.9 && measured.copyIn.min >= 0.9 && measured.copyOut.min >= 0.9)
        t.ok(measured.endToEnd !== undefined && measured.endToEnd.min >= 5.9, 'alone, a query waits for all three')
        t.ok(measured.javascript !== undefined && measured.javascript.infer.min >= 5.9)
      })
      // far apart: the fake's millisecond is longer where others have the processor
      await driven({ blockMs: 40, computeMs: 1 }, async () => {
        await using engine = await load(family, rowsPlan())
        const { enqueue, warnings } = await engine.benchmark({ warmUpMs: 0, durationMs: 200, endToEnd: false })
        t.ok(enqueue.min >= 39)
        t.match(warnings[0], { code: 'enqueue-bound' })
      })
      await driven({ computeMs: 1, copyMs: 6, clock: 'virtual' }, async () => {
        await using engine = await load(family, rowsPlan())
        const { warnings } = await engine.benchmark({ warmUpMs: 0, durationMs: 100, endToEnd: false })
        t.same(
          warnings.map(({ code }) => code).filter((code) => code.startsWith('copy')),
          ['copy-in-bound', 'copy-out-bound'],
        )
      })
    })

    await scene('inputs that the CPU reads, and outputs whose size depends on the data', async (t) => {
      await using reshaping = await load(family, {
        inputs: [
          { name: 'x', shape: [2, 6] },
          { name: 'to', shape: [2], dtype: 'int64', host: true },
        ],
        outputs: [{ name: 'y', shape: [-1, -1] }],
        ops: [{ type: 'reshape', inputs: ['x', 'to'], output: 'y' }],
        profiles: [{ values: { to: range([1, 1], [3, 4], [12, 12]) } }],
      })
      const shaped = await reshaping.benchmark({
        ...short,
        outputs: true,
        endToEnd: true,
        cudaGraph: true,
        layers: true,
      })
      t.same(shaped.outputs?.['y']?.shape, [3, 4], 'the values that the profile says are best')
      t.match(shaped.warnings.at(-1), { code: 'no-graph', message: /the CPU reads or writes/ })
      const to = new Tensor('int64', BigInt64Array.of(6n, 2n), [2])
      t.same((await reshaping.benchmark({ ...short, outputs: true, inputs: { to } })).outputs?.['y']?.shape, [6, 2])
      t.notOk('values' in (reshaping.inputs['to'] ?? {}), 'which is nothing that an engine tells')
      await using dependent = await load(family, {
        inputs: [{ name: 'x', shape: [8] }],
        outputs: [{ name: 'y', shape: [1, -1], dtype: 'int64' }],
        ops: [{ type: 'nonzero', inputs: ['x'], output: 'y' }],
      })
      const x = Tensor.from(Float32Array.of(1, 0, 0, 2, 3, 0, 0, 4))
      const found = await dependent.benchmark({ ...short, inputs: { x }, outputs: true, cudaGraph: true, streams: 2 })
      t.same(found.outputs?.['y']?.data, BigInt64Array.of(0n, 3n, 4n, 7n))
      t.match(found.warnings.at(-1), { code: 'no-graph', message: /depends on the data/ })
    })

    await scene('a capture that is refused is a warning, and it runs without', async (t) => {
      await using engine = await load(family, rowsPlan())
      for (const [name, code] of [
        ['cuStreamBeginCapture_v2', 900],
        ['cuStreamEndCapture', 901],
        ['cuGraphInstantiateWithFlags', 801],
        ['cuGraphLaunch', 1],
      ] as const) {
        driver.failNth(name, 1, code)
        const { warnings, queries } = await engine.benchmark({ ...short, cudaGraph: true })
        t.match(warnings.at(-1), { code: 'no-graph', message: /ran without a CUDA graph: cu\w+ failed/ }, name)
        t.ok(queries >= 3)
        driver.reset()
      }
      family.control.failNth('enqueueV3', 3) // after one for each slot comes the first capture
      t.match((await engine.benchmark({ ...short, cudaGraph: true })).warnings.at(-1), { code: 'no-graph' })
    })

    await scene('whatever call fails, it ends with an error of ours, and leaves nothing behind', async (t) => {
      await using engine = await load(family, rowsPlan())
      const before = driver.stats()
      const runtime = family.control.stats().calls
      const run = async (): Promise<string> =>
        engine
          .benchmark({
            ...short,
            iterations: 1,
            endToEnd: true,
            javascript: false,
            streams: 2,
            threads: true,
            cudaGraph: true,
            sleepMs: 1,
          })
          .then(
            ({ queries }) => (queries >= 2 ? 'done' : `${queries} queries`),
            (error: unknown) => String((error as { code: unknown }).code),
          )
      t.equal(await run(), 'done')
      const made = (after: Record<string, number>, from: Record<string, number>) =>
        Object.entries(after).map(([name, count]) => [name, count - (from[name] ?? 0)] as const)
      const methods = made(family.control.stats().calls, runtime).map((call) => [family.control, ...call] as const)
      // what is not given back because giving back failed is nobody's to free
      const functions = made(driver.stats().calls, before.calls)
        .filter(([name]) => !/Free|Destroy/.test(name))
        .map((call) => [driver, ...call] as const)
      const ends: string[] = []
      for (const [library, name, count] of [...methods, ...functions]) {
        for (let nth = 1; nth <= Math.min(count, size(2, 20)); nth++) {
          if (library === driver) driver.failNth(name, nth, 2)
          else family.control.failNth(name, nth)
          const end = await run()
          if (!/^(done|ERR_TRT_(EXECUTION|OUT_OF_MEMORY|CUDA|SHAPE))$/.test(end)) ends.push(`${name} ${nth}: ${end}`)
          driver.reset()
          family.control.reset()
          const { deviceAllocations, streams, events, graphs, graphExecs } = driver.stats()
          const now = [deviceAllocations, streams, events, graphs, graphExecs, family.control.stats().live.contexts]
          const then = [before.deviceAllocations, before.streams, before.events, 0, 0, 1]
          if (now.join() !== then.join()) ends.push(`${name} ${nth}: left ${now.join()}, and there were ${then.join()}`)
        }
      }
      t.ok(methods.length > 5 && functions.length > 12, `${methods.length} methods and ${functions.length} functions`)
      t.same(ends, [])
    })

    await scene('whoever sleeps before the start is woken by an abort and by a failure', async (t) => {
      const minute = 60_000
      for (const way of ['abort', 'failure']) {
        const engine = await load(family, rowsPlan())
        const abort = new AbortController()
        const before = driver.stats().enqueues
        // two slots, once each, then the start: what fails is the first query, behind it
        if (way === 'failure') driver.failNth('cuEventRecord', 4, 1)
        const running = engine.benchmark({ sleepMs: minute, signal: abort.signal }).catch((error: unknown) => error)
        if (way === 'abort') {
          t.ok(await until(() => driver.stats().enqueues >= before + 3), 'a query is behind the start')
          abort.abort(new Error('enough'))
        }
        let closed = false
        const closing = engine.close().then(() => (closed = true))
        t.ok(await until(() => closed, minute / 2), `${way}: what close() waits for has ended`)
        t.match(await running, way === 'abort' ? { message: 'enough' } : { code: 'ERR_TRT_CUDA' })
        await closing
        driver.reset()
      }
    })

    await scene('layers, at the shapes that were measured', async (t) => {
      await using engine = await load(family, {
        ...rowsPlan(),
        ops: [
          { type: 'scale', inputs: ['x'], output: 'scaled', attributes: { scale: 2, offset: 1, ms: 3 } },
          { type: 'relu', inputs: ['scaled'], output: 'y', attributes: { ms: '1,1,1,5' } },
        ],
        verbosity: 'detailed',
      })
      const { layers } = await engine.benchmark({
        ...short,
        iterations: 4,
        layers: true,
        shapes: { x: [9, 3] },
      })
      t.match(layers, { count: 2, iterations: 4, totalMs: 5, shapes: { x: [9, 3] }, warnings: [] })
      // by hand: 12 ms and 8 ms of 20
      t.same(layers?.layers, [
        { name: 'scaled', type: 'scale', precision: 'float32', averageMs: 3, medianMs: 3, timeShare: 0.6 },
        { name: 'y', type: 'relu', precision: 'float32', averageMs: 2, medianMs: 1, timeShare: 0.4 },
      ])
      t.ok(Array.isArray((JSON.parse(layers?.document ?? '') as { Layers: unknown }).Layers))
    })

    await scene('memory is charged to the engine, and its limit holds', async (t) => {
      // two slots take 786 432
      await using engine = await load(family, rowsPlan(12288, 8), { tensorrt: { memoryLimit: 1_000_000 } })
      const held = engine.memory().device
      t.equal((await engine.benchmark(short)).queries, 3)
      t.match(await failureOf(() => engine.benchmark({ ...short, streams: 2 })), { code: 'ERR_TRT_OUT_OF_MEMORY' })
      t.equal(engine.memory().device, held)
    })
  })
}

t.test('TensorRT-RTX captures graphs itself', async (t) => {
  const { rtx } = await useFakes()
  const engine = await Engine.load(fakePlan({ ...rowsPlan(), version: rtx.version }), {
    tensorrt: { library: rtx.path, cudaGraph: false },
  })
  const before = rtx.control.stats().jit.withGraphs
  const measured = await engine.benchmark({ ...short, cudaGraph: true, outputs: true })
  t.same(
    measured.warnings.filter(({ code }) => code === 'no-graph'),
    [],
  )
  t.equal(rtx.control.stats().jit.withGraphs, before + 1)
  t.equal(driver.stats().graphExecs, 0)
  await engine.close()
})

t.test('a shape that nobody says', async (t) => {
  const engine = await load(onnxruntime, { ...rowsPlan(), profiles: [] })
  t.match(await failureOf(() => engine.benchmark(short)), {
    code: 'ERR_TRT_SHAPES_REQUIRED',
    message: /"x" is dynamic, .*: give one in shapes/,
  })
  t.equal((await engine.benchmark({ ...short, shapes: { x: [2, 3] } })).queries, 3)
  await engine.close()
})

t.test('a GPU that is lost meanwhile is an error, and so is each call after it', async (t) => {
  const program = `
    driver.set({ computeMs: 1 })
    const engine = await load()
    const running = engine.benchmark({ durationMs: 60000 })
    await soon(50)
    driver.set({ lost: 700 })
    const codes = []
    for (const call of [() => running, () => engine.benchmark()]) await call().catch((error) => codes.push(error.code))
    await engine.close()
    console.log(codes.join())`
  const ended = await runChild(program)
  t.equal(ended.stdout.trim(), 'ERR_TRT_DEVICE_LOST,ERR_TRT_DEVICE_LOST', ended.stderr)
})

for (const runtime of [families[0], onnxruntime]) {
  t.test(`the end of the process does not wait for a benchmark on ${runtime.name}`, async (t) => {
    const program = `
      const engine = await load()
      engine.benchmark({ durationMs: 600000, streams: 2, threads: true })
      await soon(100)
      process.exit(7)`
    const ended = await runChild(program, runtime)
    t.match({ code: ended.code, signal: ended.signal }, { code: 7, signal: null }, ended.stderr)
  })
}
