// The audit of an engine on the fakes: they tell times and types that the plan says.
import { join } from 'node:path'
import t from 'tap'
import { Builder, Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { slowestLayers } from '../../lib/cli/output/layers.js'
import { failureOf } from '../support/errors.js'
import { runChild } from '../lanes/children.js'
import { driver, driven, families, leftovers, load, rowsPlan, type Spec, wanted } from '../lanes/rig.js'
import { temporaryFolder } from '../support/folders.js'
import { oneNode } from '../support/models.js'
import { size } from '../support/tiers.js'
import { range } from '../support/values.js'
import { until } from '../support/waiting.js'

type Tap = Pick<typeof t, 'teardown' | 'equal' | 'match' | 'notOk' | 'ok' | 'rejects' | 'same'>

/** float32 → half → float32, each step with its own time. */
const mixed = (more: Partial<Spec> = {}): Spec => ({
  inputs: [{ name: 'x', shape: [-1, 4] }],
  outputs: [{ name: 'y', shape: [-1, 4] }],
  ops: [
    { type: 'cast', inputs: ['x'], output: 'half', attributes: { to: 'float16', ms: 0.25 } },
    { type: 'relu', inputs: ['half'], output: 'relu', attributes: { ms: '1,2,6' } },
    { type: 'sqrt', inputs: ['relu'], output: 'sqrt', attributes: { ms: 0.5 } },
    { type: 'cast', inputs: ['sqrt'], output: 'y', attributes: { to: 'float32', ms: 0.25 } },
  ],
  profiles: [{ dims: { x: range([1, 4], [3, 4], [8, 4]) } }, { dims: { x: range([9, 4], [12, 4], [16, 4]) } }],
  verbosity: 'detailed',
  ...more,
})

for (const family of families) {
  await t.test(family.name, async (t) => {
    const scene = (name: string, body: (t: Tap) => Promise<void>): Promise<unknown> =>
      t.test(name, async (t) => {
        driver.reset()
        family.control.reset()
        await body(t)
        t.same(leftovers(), {}, 'nothing is left, and nothing was done wrong')
      })

    await scene('layers, precisions and times, as the plan has them', async (t) => {
      await using engine = await load(family, mixed())
      const audit = await engine.layers({ iterations: 3, expect: ['fp16', 'int8'] })
      t.equal(audit.count, 4)
      // by hand: relu 3 ms on average, of 4 ms in all; the half-precision layers are those with a half input
      t.same(audit.precisions, [
        { precision: 'float16', layers: 3, timeShare: 3.75 / 4 },
        { precision: 'float32', layers: 1, timeShare: 0.25 / 4 },
      ])
      t.equal(audit.totalMs, 4)
      t.same(
        slowestLayers(audit).map(({ name, medianMs, averageMs }) => [name, medianMs, averageMs]),
        [
          ['relu', 2, 3],
          ['sqrt', 0.5, 0.5],
          ['half', 0.25, 0.25],
          ['y', 0.25, 0.25],
        ],
      )
      t.equal(slowestLayers(audit)[0]?.type, 'relu')
      t.same(audit.warnings, ['Asked for int8: 0 of 4 layers'])
      t.same(audit.shapes, { x: [3, 4] }, 'the best shape of the first profile')
      t.notOk('limited' in audit)
      const { calls } = family.control.stats()
      t.equal(calls['VExecutionContext.enqueueV3'], 5, 'two that are not timed, and three that are')
      t.same((await engine.layers({ profile: 1, iterations: 1 })).shapes, { x: [12, 4] }, 'or of another')
    })

    await scene('an even number of executions, and one', async (t) => {
      await using engine = await load(family, mixed())
      const medianOf = async (iterations: number) =>
        (await engine.layers({ iterations })).layers.find(({ name }) => name === 'relu')
      t.match(await medianOf(2), { medianMs: 1.5, averageMs: 1.5 })
      // each audit has a context of its own, which begins anew
      t.match(await medianOf(1), { medianMs: 1, averageMs: 1 })
      t.match(await medianOf(6), { medianMs: 2, averageMs: 3 })
    })

    await scene('without detailed verbosity the audit says what it lacks, and has times all the same', async (t) => {
      await using names = await load(family, mixed({ verbosity: 'layer_names_only' }))
      const audit = await names.layers({ iterations: 3, expect: 'fp16' })
      t.match(audit.limited, /'layer_names_only'/)
      t.match(audit.warnings, [/^Asked for fp16: whether it is there cannot be told/])
      t.same(audit.precisions, [{ precision: 'unknown', layers: 4, timeShare: 1 }])
      t.equal(slowestLayers(audit)[0]?.name, 'relu')
      await using none = await load(family, mixed({ verbosity: 'none' }))
      const least = await none.layers({ iterations: 3 })
      t.match(least.limited, /'none'/)
      t.same(
        [least.count, slowestLayers(least)[0]?.name, slowestLayers(least)[0]?.averageMs],
        [4, '1', 3],
        'a layer has its index for a name',
      )
    })

    await scene('layers that the profiler and the inspector call by different names', async (t) => {
      const [first, ...others] = mixed().ops
      if (first === undefined) throw new Error('no operation')
      const renamed = { ...first, attributes: { ...first.attributes, reported: 'merged' } }
      await using engine = await load(family, mixed({ ops: [renamed, ...others] }))
      const audit = await engine.layers({ iterations: 3 })
      t.match(audit.warnings, [/^1 timed layers are not among those that the inspector lists, such as 'merged'/])
      t.same(audit.precisions[1], { precision: 'unknown', layers: 0, timeShare: 0.0625 })
    })

    await scene('inputs that the CPU reads, and outputs whose size depends on the data', async (t) => {
      await using reshaping = await load(family, {
        inputs: [
          { name: 'x', shape: [2, 6] },
          { name: 'to', shape: [2], dtype: 'int64', host: true },
        ],
        outputs: [{ name: 'y', shape: [-1, -1] }],
        ops: [{ type: 'reshape', inputs: ['x', 'to'], output: 'y', attributes: { ms: 2 } }],
        profiles: [{ values: { to: range([1, 1], [3, 4], [12, 12]) } }],
        verbosity: 'detailed',
      })
      t.equal(
        (await reshaping.layers({ iterations: 2 })).totalMs,
        2,
        'zeros would be no shape: the profile says which values are good',
      )
      await using dependent = await load(family, {
        inputs: [{ name: 'x', shape: [8] }],
        outputs: [{ name: 'y', shape: [1, -1], dtype: 'int64' }],
        ops: [{ type: 'nonzero', inputs: ['x'], output: 'y', attributes: { ms: 2 } }],
        verbosity: 'detailed',
      })
      t.equal((await dependent.layers({ iterations: 2 })).count, 1)
    })

    await scene('beside inferences, which it does not disturb', async (t) => {
      await using engine = await load(family, { ...rowsPlan(), verbosity: 'detailed' })
      const values = Float32Array.of(1, -2, 3)
      const audits = Array.from({ length: size(3, 12) }, () => engine.layers({ iterations: 20 }))
      let right = 0
      for (let i = 0; i < size(50, 500); i++) {
        const y = await engine.infer(new Tensor('float32', values, [1, 3]))
        if (Buffer.from((y.data as NodeJS.TypedArray).buffer).equals(Buffer.from(wanted(values).buffer))) right++
      }
      t.equal(right, size(50, 500))
      for (const audit of await Promise.all(audits)) t.equal(audit.count, 2)
      t.equal(engine.stats().completed, size(50, 500), 'audits are no inferences')
    })

    await scene('abort: at once, and close() waits until nothing runs', async (t) => {
      await driven({ computeMs: 20 }, async () => {
        const engine = await load(family, mixed())
        await t.rejects(engine.layers({ signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
        const abort = new AbortController()
        const running = engine.layers({ iterations: 1000, signal: abort.signal })
        t.ok(await until(() => (family.control.stats().calls['VExecutionContext.enqueueV3'] ?? 0) > 2), 'it runs')
        abort.abort(new Error('enough'))
        await t.rejects(running, { message: 'enough' })
        t.ok((family.control.stats().calls['VExecutionContext.enqueueV3'] ?? 0) < 500, 'long before its end')
        const last = engine.layers({ iterations: 2 })
        await engine.close()
        t.equal((await last).iterations, 2, 'one that runs when the engine closes ends')
        t.equal(family.control.stats().live.engines, 0, 'and nothing of the aborted one is left')
        t.match(await failureOf(() => engine.layers()), { code: 'ERR_TRT_CLOSED' })
      })
    })

    await scene('faults: each is an error, the engine goes on, and all memory comes back', async (t) => {
      await using engine = await load(family, mixed())
      const rows: [string, RegExp, string?][] = [
        ['createExecutionContext', /could not create an execution context: .*told to fail/],
        [
          'setInputShape',
          /refused 'x' \[3, 4\] with optimization profile 0: it takes 'x' \[1, 4\] to \[8, 4\]/,
          'ERR_TRT_SHAPE',
        ],
        [
          'inferShapes',
          /refused 'x' \[3, 4\] with optimization profile 0: it takes 'x' \[1, 4\] to \[8, 4\]/,
          'ERR_TRT_SHAPE',
        ],
        ['setTensorAddress', /setTensorAddress failed/],
        ['createEngineInspector', /could not create an engine inspector/],
        ['VEngineInspector.setExecutionContext', /setExecutionContext of the engine inspector failed/],
        ['enqueueV3', /enqueueV3 failed/],
      ]
      for (const [method, message, code = 'ERR_TRT_EXECUTION'] of rows) {
        family.control.reset()
        family.control.failNth(method, 1)
        const failure = await failureOf(() => engine.layers({ iterations: 1 }))
        t.match(failure, { code, message }, method)
      }
      family.control.reset()
      family.control.failNth('VExecutionContext.enqueueV3', 4)
      t.match(
        await failureOf(() => engine.layers({ iterations: 5 })),
        { code: 'ERR_TRT_EXECUTION' },
        'while it is timed',
      )
      family.control.reset()
      family.control.failNth('getEngineInformation', 1)
      t.match(
        (await engine.layers()).warnings,
        [/precision of 4 of 4 layers/],
        'without a document precisions are unknown',
      )
      for (const name of ['cuMemAlloc_v2', 'cuStreamCreateWithPriority', 'cuMemcpyHtoDAsync_v2']) {
        driver.reset()
        driver.failNth(name, 1, 2)
        t.match(await failureOf(() => engine.layers()), { code: /ERR_TRT_(OUT_OF_MEMORY|CUDA|EXECUTION)/ }, name)
      }
      driver.reset()
      t.match(await failureOf(() => engine.layers({ profile: 2 })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /2 optimization profiles: .* no profile 2/,
      })
      t.match(await failureOf(() => engine.layers({ iterations: -1 })), { code: 'ERR_TRT_INVALID_ARGUMENT' })
      t.equal((await engine.layers()).count, 4, 'and then it works')
    })

    await scene(
      'whatever call fails, an audit ends, with an error of ours or without the document, and leaves nothing behind',
      async (t) => {
        await using engine = await load(family, mixed())
        const before = driver.stats()
        const runtime = family.control.stats().calls
        await engine.layers({ iterations: 2 })
        const made = (after: Record<string, number>, from: Record<string, number>) =>
          Object.entries(after).map(([name, count]) => [name, count - (from[name] ?? 0)] as const)
        const methods = made(family.control.stats().calls, runtime).map((call) => [family.control, ...call] as const)
        // what is not given back because giving back failed is nobody's to free
        const frees = /Free|Destroy/
        const functions = made(driver.stats().calls, before.calls)
          .filter(([name]) => !frees.test(name))
          .map((call) => [driver, ...call] as const)
        const ends: string[] = []
        for (const [library, name, count] of [...methods, ...functions]) {
          for (let nth = 1; nth <= Math.min(count, size(3, 20)); nth++) {
            if (library === driver) driver.failNth(name, nth, 2)
            else family.control.failNth(name, nth)
            const end = await engine.layers({ iterations: 2 }).then(
              ({ count: layers }) => (layers === 4 ? 'done' : `${layers} layers`),
              (error: unknown) => String((error as { code: unknown }).code),
            )
            if (!/^(done|ERR_TRT_(EXECUTION|OUT_OF_MEMORY|CUDA|SHAPE))$/.test(end)) ends.push(`${name} ${nth}: ${end}`)
            driver.reset()
            family.control.reset()
            const { deviceAllocations, streams, events } = driver.stats()
            const now = [
              deviceAllocations,
              streams,
              events,
              family.control.stats().live.contexts,
              family.control.stats().live.inspectors,
            ]
            const then = [before.deviceAllocations, before.streams, before.events, 1, 0]
            if (now.join() !== then.join())
              ends.push(`${name} ${nth}: left ${now.join()}, and there were ${then.join()}`)
          }
        }
        t.ok(methods.length > 8 && functions.length > 6, `${methods.length} methods and ${functions.length} functions`)
        t.same(ends, [])
        t.equal((await engine.layers()).count, 4)
      },
    )

    await scene('what the plan was built for is expected, unless something else is', async (t) => {
      const graph = new GraphBuilder({ name: 'layers' })
      const x = graph.input('x', 'float32', ['N', 4])
      const strong = family.name.endsWith('11')
      // 10 takes a flag, which this fake's layers ignore; from 11 on the network itself has to have the type
      const inner = strong ? graph.node('Cast', [graph.node('Cast', [x], { to: 10 })], { to: 1 }) : x
      graph.output(graph.node('Relu', [inner]), 'float32', ['N', 4])
      await using builder = new Builder({
        tensorrt: { library: family.path },
        precision: 'fp16',
        profilingVerbosity: 'detailed',
      })
      const plan = await builder.build(writeModel(graph.toModel()), {
        shapes: { x: { min: [1, 4], opt: [2, 4], max: [4, 4] } },
      })
      const folder = temporaryFolder(t)
      const path = join(folder, 'model.plan')
      await plan.save(path)
      for (const source of [plan, path]) {
        await using engine = await Engine.load(source, { tensorrt: { library: family.path } })
        const { precisions, warnings } = await engine.layers({ iterations: 1 })
        t.equal(
          precisions.some(({ precision }) => precision === 'float16'),
          strong,
        )
        t.same(warnings, strong ? [] : ['Asked for fp16: 0 of 1 layers'])
        t.same((await engine.layers({ iterations: 1, expect: [] })).warnings, [])
      }
      await using bare = await Engine.load(plan.bytes, { tensorrt: { library: family.path } })
      t.same((await bare.layers({ iterations: 1 })).warnings, [], 'bytes alone tell nothing')
    })

    await scene('the network audit here too', async (t) => {
      const graph = new GraphBuilder({ name: 'layers' })
      const x = graph.input('x', 'float32', ['N', 4])
      const half = graph.node('Relu', [graph.node('Cast', [x], { to: 10 })])
      graph.output(
        graph.node('ArgMax', [graph.node('Softmax', [half], { axis: 1 })], { axis: 1, keepdims: 1 }),
        'int64',
        ['N', 1],
      )
      await using builder = new Builder({ tensorrt: { library: family.path } })
      const audit = await builder.parse(writeModel(graph.toModel()))
      t.same(audit.layerTypes, { activation: 1, cast: 1, softmax: 1, topk: 1 })
      t.same(audit.outputTypes, { float16: 3, int64: 1 })
      t.same(audit.inputs, [{ name: 'x', dtype: 'float32', shape: [-1, 4], dimensionNames: ['N', ''] }])
      t.equal(family.control.stats().calls['VBuilder.buildSerializedNetwork'], undefined, 'nothing was built')
    })
  })
}

t.test('the first 10.x, whose profiles tell values of 32 bits', async (t) => {
  const plan = {
    version: [10, 0, 1],
    inputs: [
      { name: 'x', shape: [2, 6] },
      { name: 'to', shape: [2], dtype: 'int32', host: true },
    ],
    outputs: [{ name: 'y', shape: [-1, -1] }],
    ops: [{ type: 'reshape', inputs: ['x', 'to'], output: 'y', attributes: { ms: 2 } }],
    profiles: [{ values: { to: range([1, 1], [3, 4], [12, 12]) } }],
    verbosity: 'detailed',
  }
  const program = `
    const engine = await Engine.load(fakePlan(${JSON.stringify(plan)}), options)
    const { totalMs, precisions } = await engine.layers()
    // those of min, opt and max when it was loaded, and the best ones for the audit
    const { calls, traps } = trt10.runtime.stats()
    await engine.close()
    console.log(JSON.stringify({ totalMs, precisions, narrow: calls['VCudaEngine.getProfileTensorValues'], traps }))`
  process.env['FAKE_TRT_VERSION'] = '10.0.1'
  const ended = await runChild(program)
  delete process.env['FAKE_TRT_VERSION']
  const told: unknown = JSON.parse(ended.stdout || JSON.stringify(ended.stderr))
  t.same(told, { totalMs: 2, precisions: [{ precision: 'float32', layers: 1, timeShare: 1 }], narrow: 4, traps: [] })
})

t.test('the end of the process does not wait for an audit', async (t) => {
  const program = `
    driver.set({ computeMs: 5 })
    const engine = await load()
    engine.layers({ iterations: 1000 })
    await soon(50)
    process.exit(7)`
  const ended = await runChild(program)
  t.match({ code: ended.code, signal: ended.signal }, { code: 7, signal: null }, ended.stderr)
})

t.test('before it is ready, and on the CPU', async (t) => {
  const cpu = await Engine.load(oneNode('Relu'), { backend: 'cpu' })
  t.match(await failureOf(() => cpu.layers()), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /layers\(\) needs the TensorRT backend/,
  })
  await cpu.close()
  const missing = new Engine('/no/such/file.plan')
  t.match(await failureOf(() => missing.layers()), { code: 'ERR_TRT_FILE' })
})
