// A model with dynamic inputs on TensorRT, where nobody said a range: engines for the shapes that come, on the fakes.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { covers, extrapolated, rangeText, widened } from '../../lib/onnxruntime/ranges.js'
import { Tensor } from '../../lib/onnxruntime/entry.js'
import { temporaryFolder } from '../support/folders.js'
import { identity, oneNode, reshapeModel, twoInTwoOut } from '../support/models.js'
import { range } from '../support/values.js'
import { builds, control, floats, leftovers, opened, openedBy, tensorrt, until } from './rig.js'
import { saidBy } from './said.js'

/** The model of two inputs [N, 3], whose rows have to be as many: else no engine can be built. */
const pair = (a: number, b = a): any => ({ a: floats(a, 3), b: floats(b, 3) })

t.test('ranges: what lies in them, how they grow, and go on', async (t) => {
  const sizes = (x: number[], s: number[] = [1]): Map<string, number[]> => new Map([['x', x], ['s', s]]) // prettier-ignore
  const one = widened(undefined, [sizes([2, 3])])
  t.same(one, { x: range([2, 3], [2, 3], [2, 3]), s: range([1], [1], [1]) })
  const two = widened(one, [sizes([4, 3], [-1]), sizes([1, 3], [5])])
  t.same(two, { x: range([1, 3], [4, 3], [4, 3]), s: range([-1], [-1], [5]) }, 'the best are of one run')
  t.ok(covers(two, sizes([3, 3], [0])))
  for (const beyond of [sizes([5, 3]), sizes([0, 3]), sizes([1, 3], [6]), sizes([1]), sizes([1, 3, 1])])
    t.notOk(covers(two, beyond))
  t.equal(rangeText(two), 'x 1x3 to 4x3, s -1 to 5')
  t.equal(rangeText(one), 'x 2x3, s 1')
  t.same(extrapolated(one, two, ['x']), { x: range([1, 3], [4, 3], [8, 3]), s: range([-1], [-1], [5]) })
  t.equal(extrapolated(one, widened(one, [sizes([1, 3])]), ['x']), undefined, 'it grew to smaller ones alone')
  const mask = widened(undefined, [new Map([['mask', [1, 11]], ['past', [1, 10]]])]) // prettier-ignore
  const longer = widened(mask, [new Map([['mask', [1, 12]], ['past', [1, 11]]])]) // prettier-ignore
  const further = extrapolated(mask, longer, ['mask', 'past'])
  t.same([further?.['mask']?.max, further?.['past']?.max], [[1, 23], [1, 22]], 'in a straight line') // prettier-ignore
})

t.test(
  'an engine for the first shapes, a larger one for what lies beyond, the same for the next session',
  async (t) => {
    const folder = temporaryFolder(t)
    const model = identity('float32', ['N', 2])
    const before = builds()
    const lines = await saidBy(async () => {
      const session = await openedBy(t, model, { executionProviders: [tensorrt(t, {}, folder)], logId: 'grows' })
      t.equal(session.provider, 'tensorrt')
      t.same(session.inputMetadata, [{ name: 'x', isTensor: true, type: 'float32', shape: ['N', 2] }])
      t.same([session.inputNames, session.outputNames], [['x'], ['y']])
      t.equal(builds(), before, 'nothing is built before shapes come')
      for (const [rows, built] of [[4, 1], [4, 1], [2, 2], [3, 2], [6, 3], [2, 3]] as const) {
      const { y } = await session.run({ x: floats(rows, 2) })
      t.same([y.dims, y.data, builds() - before], [[rows, 2], floats(rows, 2).data, built], `${rows} rows`)
    } // prettier-ignore
      await until(() => control.stats().live.engines === 1) // those before it are closed
      await session.release()
    })
    const line = (text: string): RegExp =>
      new RegExp(`^node-tensorrt: the session "grows" built an engine in \\d+\\.\\d s for ${text}; trt_profile_min`)
    t.match(lines, [line('x 4x2'), line('x 2x2 to 4x2'), line('x 2x2 to 12x2')])
    t.equal(lines.length, 3, 'a line for each build')

    const again = await saidBy(async () => {
      const session = await openedBy(t, model, { executionProviders: [tensorrt(t, {}, folder)] })
      t.equal(session.provider, 'tensorrt')
      t.same(session.inputMetadata, [{ name: 'x', isTensor: true, type: 'float32', shape: ['N', 2] }])
      for (const rows of [2, 10]) t.same((await session.run({ x: floats(rows, 2) })).y.dims, [rows, 2])
      t.equal(builds() - before, 3, 'it begins with the range, and its engine')
      await session.run({ x: floats(1, 2) })
      t.equal(builds() - before, 4)
      await session.release()
    })
    t.equal(again.length, 1)
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.range.json'))
    for (const damage of ['{', '{"x":{"min":[1]}}', '{"z":{"min":[1],"opt":[1],"max":[1]}}', '[]']) {
      writeFileSync(join(folder, file), damage)
      const session = await opened(t, model, tensorrt(t, {}, folder))
      t.same((await session.run({ x: floats(4, 2) })).y.dims, [4, 2], `a file of ${damage} is as none`)
      await session.release()
    }
    t.equal(builds() - before, 4, 'the engine of the first shapes is in the cache')
    const other = await opened(t, model, tensorrt(t, { trt_builder_optimization_level: 2 }, folder))
    await other.run({ x: floats(4, 2) })
    t.equal(builds() - before, 5, 'other options have a range of their own')
  },
)

t.test('without a cache, and with a model that needs no range', async (t) => {
  const folder = temporaryFolder(t)
  const off = tensorrt(t, { trt_engine_cache_enable: false }, folder)
  const before = builds()
  for (let i = 0; i < 2; i++) await (await opened(t, identity(), off)).run({ x: floats(2) })
  t.equal(builds() - before, 2)
  t.same(readdirSync(folder), [])
  const session = await opened(t, oneNode('Relu'), tensorrt(t))
  t.equal(builds() - before, 3, 'it is built when it is opened')
  t.same((await session.run({ x: floats(1, 4) })).y, undefined)
})

t.test('runs wait for one engine at a time; what is in the range goes on meanwhile', async (t) => {
  const session = await opened(t, identity(), tensorrt(t))
  const before = builds()
  const sizes = [3, 5, 3, 4]
  const first = await Promise.all(sizes.map((size) => session.run({ x: floats(size) })))
  t.same(
    first.map(({ y }) => y.dims[0]),
    sizes,
  )
  t.equal(builds() - before, 1, 'one engine for all that came at once')
  control.set({ buildStepMs: 20 })
  const data = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  const waiting = session.run({ x: new Tensor('float32', data, [8]) })
  data.fill(0)
  await until(() => builds() - before === 2)
  const late = [9, 2].map((size) => session.run({ x: floats(size) }))
  const meanwhile = await Promise.race([session.run({ x: floats(4) }), waiting])
  t.same(meanwhile.y.dims, [4], 'in the range of the engine before')
  t.same((await waiting).y.data, Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), 'its data is what it was when it was called')
  control.set({ buildStepMs: 0 })
  t.same(
    (await Promise.all(late)).map(({ y }) => y.dims[0]),
    [9, 2],
  )
  t.equal(builds() - before, 3, 'those that came during a build have the next one together')
  await until(() => control.stats().live.engines === 1)
})

t.test('a loop that adds one at a time has an engine for each of the first steps, and not for all', async (t) => {
  const session = await opened(t, identity(), tensorrt(t))
  const before = builds()
  for (let size = 5; size <= 64; size++) t.equal((await session.run({ x: floats(size) })).y.dims[0], size)
  t.equal(builds() - before, 6, 'engines for 60 sizes')

  const other = await opened(t, identity('float32', ['M']), tensorrt(t))
  for (const size of [5, 6]) await other.run({ x: floats(size) })
  control.failNth('buildSerializedNetwork', 1)
  const start = builds()
  for (const [size, built] of [[7, 2], [8, 3], [9, 4]] as const) {
    await other.run({ x: floats(size) })
    t.equal(builds() - start, built, 'no room beyond what comes where the model takes none')
  } // prettier-ignore
})

t.test('mistakes are told before anything is built', async (t) => {
  const session = await opened(t, twoInTwoOut(), tensorrt(t), 'cpu')
  const before = builds()
  const wrong: [object, string][] = [
    [{ a: floats(2, 3) }, 'ERR_TRT_MISSING_INPUT'],
    [{ a: floats(2, 3), b: floats(2, 4) }, 'ERR_TRT_SHAPE'],
    [{ a: floats(2, 3), b: floats(6) }, 'ERR_TRT_SHAPE'],
    [{ a: floats(2, 3), b: new Tensor('int32', [1, 2, 3], [1, 3]) }, 'ERR_TRT_DTYPE'],
  ]
  for (const [feeds, code] of wrong)
    await t.rejects(session.run(feeds), code.endsWith('INPUT') ? { name: 'Error' } : { name: 'Error', code })
  t.equal(builds(), before)
})

t.test('a build that fails rejects the runs that needed it, and no others', async (t) => {
  const session = await opened(t, twoInTwoOut(), tensorrt(t))
  const outcomes = await Promise.allSettled(
    [pair(2), pair(2, 4), pair(3), pair(2, 4)].map((feeds) => session.run(feeds)),
  )
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  t.match(outcomes[1], { reason: { name: 'Error', code: 'ERR_TRT_BUILD' } })
  t.same((await session.run(pair(5))).sum.dims, [5, 3], 'it goes on')
  control.failNth('buildSerializedNetwork', 1)
  await t.rejects(session.run(pair(1)), { name: 'Error', code: 'ERR_TRT_BUILD' })
  t.same((await session.run(pair(1))).sum.dims, [1, 3], 'and tries again')
})

t.test('where the CPU is asked for, too, it runs what TensorRT has no engine for', async (t) => {
  control.failNth('buildSerializedNetwork', 1)
  const lines = await saidBy(async () => {
    const session = await openedBy(t, identity(), { executionProviders: [tensorrt(t), 'cpu'] })
    t.equal(session.provider, 'tensorrt')
    t.same((await session.run({ x: floats(2) })).y.data, floats(2).data)
    t.equal(session.provider, 'cpu')
    const before = builds()
    await session.run({ x: floats(2) })
    t.equal(builds(), before, 'the same sizes are not tried again')
    await session.run({ x: floats(3) })
    t.equal(session.provider, 'tensorrt', 'others are')
  })
  t.match(lines, [
    /^node-tensorrt: a session runs on cpu what its engine on tensorrt is not for: .*told to fail/,
    /built/,
  ])
  t.equal(lines.length, 2)

  const session = await opened(t, twoInTwoOut(), tensorrt(t), 'cpu')
  await session.run(pair(2))
  const before = builds()
  for (const rows of [3, 4, 5, 6, 7]) {
    control.failNth('buildSerializedNetwork', 1)
    t.same((await session.run(pair(rows))).sum.dims, [rows, 3])
  }
  t.equal(builds() - before, 3, 'three that fail one after the other are enough')
  t.same((await session.run(pair(2))).sum.dims, [2, 3])
  t.equal(session.provider, 'tensorrt')
  control.failNth('buildSerializedNetwork', 100)
  const refusing = await opened(t, twoInTwoOut(), tensorrt(t), 'cpu')
  await t.rejects(refusing.run(pair(2, 4)), { name: 'Error' }, 'what neither takes')
})

t.test('values that decide shapes have ranges as shapes do', async (t) => {
  const session = await opened(t, reshapeModel(), tensorrt(t))
  const [output = ''] = session.outputNames
  const before = builds()
  for (const [dims, built] of [[[4, 6], 1], [[8, 3], 2], [[6, 4], 2]] as const) {
    const shape = new Tensor('int64', BigInt64Array.from(dims, BigInt), [2])
    t.same((await session.run({ x: floats(4, 6), shape }))[output].dims, dims)
    t.equal(builds() - before, built)
  } // prettier-ignore
  const told = control.stats().builds.at(-1)
  t.same(
    [0, 1].flatMap((i) => [0, 2].map((which) => told?.[`values.0.shape.${which}.${i}`])),
    [4, 8, 3, 6],
  )
})

t.test('release ends what runs, rejects what waits, and cuts the build short', async (t) => {
  const session = await opened(t, identity(), tensorrt(t))
  await session.run({ x: floats(2) })
  control.set({ buildStepMs: 50 })
  const before = builds()
  const over = { name: 'Error', code: 'ERR_TRT_CLOSED', message: 'Session already disposed.' }
  const waiting = [session.run({ x: floats(3) })]
  await until(() => builds() > before)
  waiting.push(session.run({ x: floats(4) }))
  const running = session.run({ x: floats(2) })
  const rejected = Promise.all(waiting.map((run) => t.rejects(run, over)))
  await session.release()
  await rejected
  t.same((await running).y.dims, [2])
  control.set({ buildStepMs: 0 })
  await t.rejects(session.run({ x: floats(2) }), over)
  await t.rejects(session.release(), over)
  t.equal(builds() - before, 1)
})

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
