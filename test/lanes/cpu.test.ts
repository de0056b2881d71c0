// What onnxruntime does on lanes that the fakes cannot show: runs that are ended, that fail, whose outputs depend on
// data, and models that are not as they say.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { doubled, lookUp, nonZero, passedThrough, foreignInput, foreignOutput } from '../support/models.js'
import { same } from '../support/same.js'
import { floats, ints, range } from '../support/values.js'
import { collect, until } from '../support/waiting.js'
import { merged } from '../support/groups.js'
import { cpuLive, leftovers, load, onnxruntime, rows, rowsPlan, wanted } from './rig.js'

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const open = (model: Uint8Array, options: EngineOptions = {}): Promise<Engine> =>
  Engine.load(model, merged(onnxruntime.options(rowsPlan(3, 64, { profiles: [] })), options))
const ones = (count: number): Tensor<'float32'> => Tensor.from(new Float32Array(count).fill(1))
const minutes = { computeMs: 600_000 }

t.test('a run that nobody waits for any more is ended', async (t) => {
  await onnxruntime.slowly(minutes, rowsPlan(), {}, async (engine) => {
    const controller = new AbortController()
    const calls = [{ signal: controller.signal }, { timeoutMs: 30 }].map((options) => engine.infer(rows(0), options))
    t.ok(await until(() => engine.stats().inFlight === 1))
    const reason = new Error('mine')
    controller.abort(reason)
    t.equal(await calls[0]?.catch((error: unknown) => error), reason)
    t.match(await failureOf(() => calls[1]), { code: 'ERR_TRT_TIMEOUT' })
    t.ok(await until(() => engine.stats().inFlight === 0), 'the lane is free again')
    t.match(engine.stats(), { completed: 0, failed: 0, cancelled: 2, waiting: 0 })
    for (let i = 0; i < 5; i++) await failureOf(() => engine.infer(rows(i), { timeoutMs: 1 + 4 * i }))
    t.ok(await until(() => engine.stats().inFlight === 0))
    t.match(engine.stats(), { completed: 0, failed: 0, cancelled: 7 })
  })
})

t.test('a lane that was ended runs on', async (t) => {
  const engines = await Promise.all(
    [1, 2].map((lanes) => load(onnxruntime, rowsPlan(3, 64, { computeMs: 300 }), { lanes })),
  )
  for (const engine of engines) {
    for (let i = 0; i < 3; i++) {
      const controller = new AbortController()
      const [aborted, other] = [engine.infer(rows(0), { signal: controller.signal }), engine.infer(rows(i))]
      const ended = aborted.catch((error: unknown) => error)
      t.ok(await until(() => engine.stats().inFlight > 0))
      controller.abort(new Error('mine'))
      t.match(await ended, { message: 'mine' })
      t.same((await other).data, wanted(rows(i).data))
    }
    await engine.close()
  }
})

t.test('a batch is ended once all of its requests are given up, and not before', async (t) => {
  const batching = { maxBatch: 4, maxDelayMs: 60_000 }
  await onnxruntime.slowly(minutes, rowsPlan(), { batching }, async (engine) => {
    const controllers = Array.from({ length: 4 }, () => new AbortController())
    const calls = controllers.map(({ signal }, i) => engine.infer(rows(i), { signal }).catch((error: unknown) => error))
    t.ok(await until(() => engine.stats().inFlight === 4))
    const last = controllers.pop()
    for (const controller of controllers) controller.abort(new Error('mine'))
    t.match(await Promise.all(calls.slice(0, 3)), Array(3).fill({ message: 'mine' }))
    t.equal(engine.stats().inFlight, 4, 'somebody waits')
    last?.abort(new Error('last'))
    t.match(await calls[3], { message: 'last' })
    t.ok(await until(() => engine.stats().inFlight === 0))
    t.match(engine.stats(), { completed: 0, failed: 0, cancelled: 4, batches: 1 })
  })
  await onnxruntime.slowly({ computeMs: 1000 }, rowsPlan(), { batching }, async (engine) => {
    const controller = new AbortController()
    const calls = [0, 1, 2, 3].map((i) => engine.infer(rows(i), i < 3 ? { signal: controller.signal } : {}))
    t.ok(await until(() => engine.stats().inFlight === 4))
    controller.abort(new Error('mine'))
    const settled = await Promise.allSettled(calls)
    t.same(settled.map(({ status }) => status), ['rejected', 'rejected', 'rejected', 'fulfilled']) // prettier-ignore
    t.same((await calls[3])?.data, wanted(rows(3).data), 'who still waited gets its result')
  })
})

t.test('a warmup, and a stream, that are cut short in minutes of work', async (t) => {
  await onnxruntime.slowly(minutes, rowsPlan(), { lanes: 2 }, async (engine) => {
    const signal = AbortSignal.timeout(50)
    await t.rejects(engine.warmup({ signal }), { name: 'TimeoutError' })
    t.ok(await until(() => engine.stats().inFlight + engine.stats().waiting === 0))
    const streaming = async (): Promise<void> => {
      for await (const y of engine.stream([rows(0), rows(1), rows(2)], { signal: AbortSignal.timeout(50) }))
        t.equal(y.size, 3)
    }
    await t.rejects(streaming(), { name: 'TimeoutError' })
    t.ok(await until(() => engine.stats().inFlight + engine.stats().waiting === 0))
    t.equal(engine.stats().failed, 0)
  })
})

t.test('a run that fails takes its batch along, and no other', async (t) => {
  await using alone = await open(lookUp())
  t.match(await failureOf(() => alone.infer(ints(1, 7))), {
    code: 'ERR_TRT_EXECUTION',
    message: /onnxruntime.*Gather/s,
  })
  t.throws(() => alone.inferSync(ints(-9)), { code: 'ERR_TRT_EXECUTION' })
  t.same((await alone.infer(ints(3, 0))).data, Float32Array.of(13, 10))
  t.match(alone.stats(), { completed: 1, failed: 2 })
  await using engine = await open(lookUp(), { batching: { maxBatch: 4, maxDelayMs: 60_000 } })
  const given = [0, 1, 2, 9, 3, 2, 1, 0]
  const settled = await Promise.allSettled(given.map((index) => engine.infer(ints(index))))
  const ends = settled.map((each) =>
    each.status === 'fulfilled' ? each.value.data[0] : (each.reason as { code: string }).code,
  )
  t.same(ends, [...Array<string>(4).fill('ERR_TRT_EXECUTION'), 13, 12, 11, 10])
  t.match(engine.stats(), { completed: 4, failed: 4, batches: 2 })
})

t.test('outputs whose size depends on data', async (t) => {
  await using engine = await open(nonZero(), { lanes: 2 })
  const inputs = [floats(0, 5, 0, 7), floats(0, 0), floats(1), ones(100_000), floats()]
  const where = (x: Tensor<'float32'>): bigint[] =>
    Array.from(x.data.keys()).flatMap((i) => (x.data[i] === 0 ? [] : [BigInt(i)]))
  for (const x of inputs) {
    for (const { y, z } of [await engine.infer({ x }), engine.inferSync({ x })]) {
      same(t, [y?.shape, y?.data], [[1, where(x).length], BigInt64Array.from(where(x))])
      same(t, [z?.shape, z?.data], [x.shape, x.data.map((value) => -value)])
    }
    t.same(Object.keys(await engine.infer({ x }, { outputs: ['z'] })), ['z'])
  }
  const y = Tensor.zeros('int64', [1, 2])
  t.equal((await engine.infer({ x: floats(0, 5, 0, 7) }, { into: { y } })).y, y)
  t.same(y.data, BigInt64Array.of(1n, 3n))
  t.match(await failureOf(() => engine.infer({ x: floats(1, 1, 1) }, { into: { y } })), { code: 'ERR_TRT_SHAPE' })
  const leased = engine.allocate('y', [1, 2])
  t.equal((await engine.infer({ x: floats(2, 2) }, { into: { y: leased } })).y, leased)
  t.same(leased.data, BigInt64Array.of(0n, 1n))
  await t.rejects(open(nonZero(), { batching: { maxBatch: 4 } }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /dynamic dimension 0 in every input and output, but 'y' is int64 \[1, -1\]/,
  })
})

t.test('an output that is an input', async (t) => {
  const negative = (x: Tensor<'float32'>): Float32Array => x.data.map((value) => -value)
  await using engine = await open(passedThrough(), { lanes: 2 })
  for (const x of [rows(1), rows(2, 5000), rows(3, 0)]) {
    const leased = engine.allocate('x', x.shape) as Tensor<'float32'>
    leased.data.set(x.data)
    for (const results of [
      await engine.infer({ x }),
      engine.inferSync({ x }),
      await engine.infer({ x: leased }),
      engine.inferSync({ x: leased }),
    ]) {
      same(t, [results.x?.shape, results.x?.data], [x.shape, x.data])
      same(t, results.y?.data, negative(x))
      t.not((results.x?.data as NodeJS.TypedArray).buffer, leased.data.buffer, 'memory of its own')
    }
    same(t, (await engine.infer({ x }, { outputs: ['x'] })).x?.data, x.data, 'alone')
    const into = { x: Tensor.zeros('float32', x.shape) }
    t.equal((await engine.infer({ x: leased }, { into })).x, into.x)
    same(t, into.x.data, x.data)
  }
  t.match(await failureOf(() => engine.infer({ x: rows(1) }, { into: { x: Tensor.zeros('float32', [2, 3]) } })), {
    code: 'ERR_TRT_SHAPE',
  })
  const batching = { maxBatch: 8, holdUntil: 3, pad: true }
  await using merging = await open(passedThrough(), { batching })
  const inputs = [rows(1), rows(2, 3), rows(3, 2)]
  const into = { x: Tensor.zeros('float32', [2, 3]) }
  const results = await Promise.all(inputs.map((x, i) => merging.infer({ x }, i === 2 ? { into } : {})))
  same(t, results.map(({ x }) => x?.data), inputs.map(({ data }) => data)) // prettier-ignore
  same(t, results.map(({ y }) => y?.data), inputs.map(negative)) // prettier-ignore
  t.match(merging.stats(), { batches: 1 })
})

t.test('what onnxruntime made lives as long as its tensor', async (t) => {
  const many = ones(200_000)
  const engine = await open(nonZero())
  await collect()
  const before = cpuLive().values
  const kept = [await engine.infer({ x: many }), engine.inferSync({ x: many })]
  t.equal(cpuLive().values, before + 2, 'taken over without a copy')
  await engine.close()
  t.ok(kept.every(({ y }) => (y?.data as BigInt64Array).every((value, i) => value === BigInt(i))))
  kept.length = 0
  await collect()
  t.ok(await until(() => (globalThis.gc?.(), cpuLive().values <= before)), 'and freed with it')
})

t.test('nothing is something, too', async (t) => {
  const spec = rowsPlan(3, 64, {
    inputs: [{ name: 'x', shape: [-1, -1] }],
    outputs: [{ name: 'y', shape: [-1, -1] }],
    profiles: [],
  })
  await using engine = await load(onnxruntime, spec)
  for (const shape of [
    [0, 3],
    [2, 0],
    [0, 0],
  ]) {
    // prettier-ignore
    const x = Tensor.zeros('float32', shape)
    const into = { y: Tensor.zeros('float32', shape) }
    const leased = engine.allocate('x', shape)
    for (const y of [
      await engine.infer(x),
      engine.inferSync(x),
      await engine.infer(x, { into }),
      await engine.infer(leased),
    ])
      t.same([y.shape, y.data.length], [shape, 0])
  }
})

t.test('a model that is not as it says', async (t) => {
  await using engine = await open(doubled('N'))
  for (let i = 1; i < 4; i++) {
    const x = floats(...Array<number>(i).fill(i))
    for (const y of [await engine.infer(x), engine.inferSync(x)])
      t.same([y.shape, y.data], [[2 * i], new Float32Array(2 * i).fill(i)])
  }
  for (const name of ['N', 'M']) {
    await using merging = await open(doubled(name), { batching: { maxBatch: 4, maxDelayMs: 5 } })
    const failure = {
      code: 'ERR_TRT_EXECUTION',
      message: /'y' \[\d\] does not have one row for each.*cannot be batched/,
    }
    for (const x of [floats(1), floats(1, 2)]) t.match(await failureOf(() => merging.infer(x)), failure)
    const settled = await Promise.allSettled([merging.infer(floats(1)), merging.infer(floats(2))])
    t.same(settled.map(({ status }) => status), ['rejected', 'rejected']) // prettier-ignore
  }
})

t.test('telemetry is turned off on this thread, before the library may read it, and left as it was set', async (t) => {
  const name = 'ORT_DISABLE_TELEMETRY'
  const before = process.env[name]
  t.teardown(() => (before === undefined ? Reflect.deleteProperty(process.env, name) : (process.env[name] = before)))
  for (const [given, found] of [
    [undefined, '1'],
    ['0', '0'],
  ] as const) {
    if (given === undefined) Reflect.deleteProperty(process.env, name)
    else process.env[name] = given
    await using engine = await open(doubled('M'))
    t.same([process.env[name], engine.backend], [found, 'cpu'])
  }
})

t.test('a data type that no Tensor has', async (t) => {
  await using engine = await open(foreignOutput())
  t.same(Object.keys(engine.outputs), ['y'], 'what no Tensor can hold is left out')
  t.same(
    (await engine.infer({ x: floats(3) }, { outputs: ['y'] }))['y']?.data,
    Float32Array.of(-3),
    'and can be left alone',
  )
  const output = { code: 'ERR_TRT_DTYPE', message: /The output "s" .* of type float8e5m2.*outputs: \["y"\]/ }
  for (const call of [() => engine.infer({ x: floats(3) }), () => engine.inferSync({ x: floats(3) })])
    t.match(await failureOf(call), output)
  const s = { code: 'ERR_TRT_DTYPE', message: /The input "s" .* of type float8e5m2/ }
  t.match(await failureOf(() => open(foreignInput())), s)
})

t.test('options of a GPU beside the CPU', async (t) => {
  const given: EngineOptions[] = [
    { tensorrt: { cudaGraph: true } },
    { tensorrt: { cudaGraph: false } },
    { tensorrt: { profile: 0 } },
    { tensorrt: { priority: 'high' } },
    { tensorrt: { device: 0 } },
    { tensorrt: { library: '/opt' } },
    { tensorrt: { builder: {} } },
    { tensorrt: { weights: nonZero() } },
  ]
  for (const options of given) {
    await using engine = await open(nonZero(), options)
    const [name] = Object.keys(options.tensorrt ?? {})
    t.equal(engine.backendReason, `Of the options, tensorrt.${name} does not count here`)
  }
  await using engine = await open(nonZero())
  t.match(await failureOf(() => engine.layers()), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /this engine runs on the CPU/,
  })
  const token = engine.share()
  for (const tensorrt of [{ cudaGraph: true }, { profile: 0 }, { profile: 9 }, { priority: 'high' }] as const) {
    await using other = await Engine.attach(token, { tensorrt })
    const [name] = Object.keys(tensorrt)
    t.equal(other.backendReason, `Of the options, tensorrt.${name} does not count here`)
  }
})

t.test('shapes are held against the model', async (t) => {
  const bad: [profiles: object[], code: string][] = [
    [[{ z: range([1], [1], [1]) }], 'ERR_TRT_UNKNOWN_INPUT'],
    [[{ x: range([1], [2], [4]) }], 'ERR_TRT_SHAPE'],
    [[{ x: range([1, 4], [2, 4], [4, 4]) }], 'ERR_TRT_SHAPE'],
    [[{ x: range([4, 3], [2, 3], [8, 3]) }], 'ERR_TRT_SHAPE'],
  ]
  for (const [shapes, code] of bad)
    t.equal(
      (await failureOf(() => load(onnxruntime, rowsPlan(), { shapes } as EngineOptions))).code,
      code,
      JSON.stringify(shapes),
    )
  await using engine = await load(onnxruntime, rowsPlan(), { shapes: { x: [2, 3] } })
  t.same((await engine.infer(rows(1, 2))).data, wanted(rows(1, 2).data))
  t.match(await failureOf(() => engine.infer(rows(1, 3))), { code: 'ERR_TRT_SHAPE', message: /\[3, 3\]/ })
})

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
