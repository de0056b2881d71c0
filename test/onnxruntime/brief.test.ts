// Runs that are over sooner than another thread hears of them: where they run, and that nobody sees the difference.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate as turn } from 'node:timers/promises'
import type { InferenceSession, Tensor } from 'onnxruntime-common'
import t, { type Test } from 'tap'
import type { Backend, Results } from '../../lib/backend/backend.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { BriefRuns } from '../../lib/onnxruntime/brief.js'
import * as ort from '../../lib/onnxruntime/entry.js'
import { identity } from '../support/models.js'

/**
 * A backend that says where it was asked, and takes as long as it is told to, by a clock of its own: on a lane too long
 * for a chain.
 */
function pretended(meanNs: number): {
  runs: BriefRuns
  places: string[]
  takes: { ms: number; onLaneMs: number }
  pause: (ms: number) => void
} {
  const places: string[] = []
  const takes = { ms: 0, onLaneMs: 5 }
  let now = 0
  let requests = 0
  const backend = {
    kind: 'cpu',
    run: async (_: unknown, __: unknown, finish: (results: Results) => unknown) => {
      places.push('lane')
      await turn()
      now += takes.onLaneMs
      requests++
      return finish([])
    },
    runSync: () => {
      places.push('here')
      now += takes.ms
      return []
    },
    calls: { counters: () => ({ requests, computeNs: requests * meanNs }) },
  } as unknown as Backend
  return { runs: BriefRuns.on(backend, () => now)!, places, takes, pause: (ms) => void (now += ms) }
}

const finish = (): string => 'done'

/** So many runs, one after another, and where each was. */
async function placesOf(
  { runs, places }: ReturnType<typeof pretended>,
  count: number,
  isSame = true,
  between?: () => void,
): Promise<Record<string, number>> {
  places.length = 0
  for (let i = 0; i < count; i++) {
    between?.()
    await runs.run([], isSame, finish)
  }
  return { lane: places.filter((place) => place === 'lane').length, here: places.filter((p) => p === 'here').length }
}

t.test('what takes little runs on the thread that asks, once a lane has told so', async (t) => {
  const brief = pretended(5_000)
  // no chain
  const apart = (): void => brief.pause(2)
  t.same(await placesOf(brief, 20, true, apart), { lane: 8, here: 12 })
  t.same(await placesOf(brief, 10, false, apart), { lane: 10, here: 0 }, 'other shapes tell nothing')
  t.same(await placesOf(brief, 9, true, apart), { lane: 8, here: 1 }, 'and it is asked anew')

  const long = pretended(100_000)
  t.same(await placesOf(long, 60), { lane: 60, here: 0 })
})

t.test('what begins to take long goes to a lane again', async (t) => {
  const brief = pretended(5_000)
  // no chain
  const apart = (): void => brief.pause(2)
  await placesOf(brief, 9, true, apart)
  brief.takes.ms = 1
  t.same(await placesOf(brief, 3, true, apart), { lane: 1, here: 2 }, 'two that are late are too many')
  brief.takes.ms = 0
  t.same(await placesOf(brief, 16, true, apart), { lane: 15, here: 1 }, 'then it takes twice as many to tell')
})

t.test('a turn of the event loop takes only so much, and a lane that works is not waited for', async (t) => {
  const brief = pretended(5_000)
  await placesOf(brief, 8)
  brief.takes.ms = 0.125
  brief.places.length = 0
  const all = Array.from({ length: 20 }, () => brief.runs.run([], true, finish))
  const here = brief.places.filter((place) => place === 'here').length
  t.equal(here, 4, 'of 20 at once')
  t.equal(brief.places.indexOf('lane'), here, 'no more once one is on a lane')
  t.same(await Promise.all(all), Array(20).fill('done'))
})

/** A step of a loop over tokens, of which `past` are known. */
const step = (past: number, tokens = 1): readonly Shaped[] => [{ shape: [1, tokens] }, { shape: [1, 4, past, 8] }]
interface Shaped {
  readonly shape: readonly number[]
}

t.test('runs that come one from another: after four on a lane they run where they are asked for', async (t) => {
  const chain = pretended(1e6)
  chain.takes.onLaneMs = 0
  const { runs, places, takes, pause } = chain
  let past = 0
  const walk = async (count: number, between?: () => void): Promise<string[]> => {
    places.length = 0
    for (let i = 0; i < count; i++) {
      await runs.run(step(past++) as never, false, finish)
      between?.()
    }
    return [...places]
  }
  const onLanes = (count: number): string[] => Array<string>(count).fill('lane')
  t.same(await walk(12), [...onLanes(4), ...Array<string>(8).fill('here')])
  t.same((await walk(2)).at(-1), 'here')

  await runs.run(step(0, 64) as never, false, finish)
  t.equal(places.at(-1), 'lane', 'a prompt is no step')
  past = 64
  t.same(await walk(9, () => pause(2)), onLanes(9), 'what comes later is of somebody else')
  t.equal((await walk(12)).at(-1), 'here')

  places.length = 0
  await Promise.all([1, 2, 3].map(() => runs.run(step(past) as never, false, finish)))
  t.ok(places.includes('lane'), 'some at once')

  await walk(12)
  takes.ms = 9
  t.same(await walk(2), ['here', 'here'])
  takes.ms = 0
  t.same(await walk(8), [...onLanes(7), 'here'], 'two that took long: on lanes for twice as many')

  const long = pretended(1e6)
  for (let i = 0; i < 12; i++) await long.runs.run(step(i) as never, false, finish)
  t.same(long.places, onLanes(12), 'more than four milliseconds')
})

t.test('only where there are lanes of the CPU', async (t) => {
  for (const lack of [{ kind: 'tensorrt' }, { runSync: undefined }, { calls: undefined }])
    t.equal(BriefRuns.on({ kind: 'cpu', runSync: () => [], calls: {}, ...lack } as unknown as Backend), undefined)
})

/** A session whose runs are brief by now. */
async function settled(t: Test, model: Uint8Array, feeds: () => InferenceSession.FeedsType): Promise<InferenceSession> {
  const session = await ort.InferenceSession.create(model, { executionProviders: ['cpu'] })
  t.teardown(() => session.release())
  for (let i = 0; i < 40; i++) await session.run(feeds())
  return session
}

const vector = (...numbers: number[]): Tensor => new ort.Tensor('float32', Float32Array.from(numbers), [numbers.length])

t.test('memory may be written at once, and results keep what they were', async (t) => {
  const session = await settled(t, identity('float32', ['N']), () => ({ x: vector(1, 2) }))
  const x = vector(0, 0)
  const kept: unknown[] = []
  const runs = Array.from({ length: 100 }, (_, i) => {
    ;(x.data as Float32Array).fill(i)
    return session.run({ x }).then(({ y }) => kept.push(y?.data))
  })
  ;(x.data as Float32Array).fill(-1)
  await Promise.all(runs)
  const values = kept.map((data) => [...(data as Float32Array)]).sort(([a = 0], [b = 0]) => a - b)
  t.same(
    values,
    Array.from({ length: 100 }, (_, i) => [i, i]),
  )
})

t.test('timers come between runs that are awaited one after another', async (t) => {
  const session = await settled(t, identity('float32', ['N']), () => ({ x: vector(1, 2) }))
  let isOver = false
  setTimeout(() => (isOver = true), 1)
  let count = 0
  for (; !isOver && count < 1e6; count++) await session.run({ x: vector(1, 2) })
  t.ok(isOver, `after ${count} runs`)
})

t.test('after a form that is known, each other is looked at', async (t) => {
  const session = await settled(t, identity('float32', ['N']), () => ({ x: vector(1, 2) }))
  const gone = vector(1, 2)
  structuredClone((gone.data as Float32Array).buffer, { transfer: [(gone.data as Float32Array).buffer as ArrayBuffer] })
  const like = { type: 'float32', location: 'cpu', dims: [2], data: Float32Array.of(1, 2) }
  const wrong: Readonly<Record<string, unknown>> = {
    'another type': new ort.Tensor('int32', Int32Array.of(1, 2), [2]),
    'another rank': new ort.Tensor('float32', Float32Array.of(1, 2), [1, 2]),
    'another array': { ...like, data: Int32Array.of(1, 2) },
    'too few': { ...like, data: Float32Array.of(1) },
    'too many': { ...like, data: Float32Array.of(1, 2, 3) },
    'no array': { ...like, data: new DataView(new ArrayBuffer(8)) },
    'no location': { ...like, location: undefined },
    'on a GPU': { ...like, location: 'gpu-buffer' },
    'no dims': { ...like, dims: 2 },
    'no tensor': 2,
    nothing: null,
    detached: gone,
  }
  for (const [what, x] of Object.entries(wrong)) {
    await t.rejects(session.run({ x } as never), what)
    t.same((await session.run({ x: vector(3, 4) }))['y']?.data, Float32Array.of(3, 4), `after ${what}`)
  }
  t.same((await session.run({ x: like as never }))['y']?.data, Float32Array.of(1, 2), 'what looks like a tensor')
  t.same((await session.run({ x: vector(1, 2, 3) }))['y']?.data, Float32Array.of(1, 2, 3), 'another size')
  await t.rejects(session.run({ other: vector(1) }), /missing/)
})

t.test('results that are inputs again stay what they were', async (t) => {
  const g = new GraphBuilder({ name: 'sum' })
  const [first, second] = [g.input('a', 'float32', ['N']), g.input('b', 'float32', ['N'])]
  g.output(g.node('Add', [first, second], {}, { output: 'sum' }), 'float32', ['N'])
  const session = await settled(t, writeModel(g.toModel()), () => ({ a: vector(1, 2), b: vector(1, 1) }))
  const size = 100_000
  let a: Tensor = new ort.Tensor('float32', new Float32Array(size), [size])
  const one = new ort.Tensor('float32', new Float32Array(size).fill(1), [size])
  const all = [a]
  for (let i = 0; i < 12; i++) {
    const running = session.run({ a, b: one })
    if (i === 5) (a.data as Float32Array).fill(0) // it was read by then
    a = (await running)['sum'] as Tensor
    all.push(a)
  }
  t.same(
    all.map(({ data }) => [data[0], data[size - 1]]),
    Array.from({ length: 13 }, (_, i) => (i === 5 ? [0, 0] : [i, i])),
  )
})

t.test('who listens to inferences is told of each', async (t) => {
  const session = await settled(t, identity('float32', ['N']), () => ({ x: vector(1, 2) }))
  let told = 0
  const count = (): unknown => told++
  subscribe('node-tensorrt:infer', count)
  for (let i = 0; i < 5; i++) await session.run({ x: vector(1, 2) })
  unsubscribe('node-tensorrt:infer', count)
  t.equal(told, 5)
})
