// loadTest: an open loop whose latencies count from the schedule, on an engine that answers by a clock that the test
// holds.
import t from 'tap'
import {
  type LoadTest,
  loadTest,
  loadTestChart,
  type LoadTestOptions,
  type LoadTestProgress,
} from '../../../lib/benchmark/index.js'
import { arrivals } from '../../../lib/benchmark/load/arrivals.js'
import { runLoadTest } from '../../../lib/benchmark/load/load-test.js'
import { TensorRTError } from '../../../lib/errors.js'
import { failureOf } from '../../support/errors.js'
import { parsedMarkup } from '../../support/markup.js'
import { VirtualClock, VirtualEngine } from './virtual.js'

const plain = { rows: new Map([[1, 1]]), priorities: undefined, seed: 1 }
const short = { warmUpMs: 0, durationMs: 1000 } as const

function rig(serviceMs = 5): {
  engine: VirtualEngine
  clock: VirtualClock
  measure: (options: LoadTestOptions) => Promise<LoadTest>
} {
  const clock = new VirtualClock()
  const engine = new VirtualEngine(clock, serviceMs)
  return { engine, clock, measure: (options) => clock.run(runLoadTest(engine, { ...short, ...options }, clock)) }
}

/** What each request of the schedule waits for at one server: the recurrence of Lindley. */
function served(rate: number, serviceMs: number): number[] {
  let free = 0
  return [...arrivals(plain, rate, 1000)].map(({ atMs }) => {
    free = Math.max(free, atMs) + serviceMs
    return free - atMs
  })
}

const rank = (values: readonly number[], percent: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[
    Math.max(
      0,
      sorted.length - 1 - Math.trunc(Math.fround(Math.fround(1 - Math.fround(percent / 100)) * sorted.length)),
    )
  ]!
}

t.test('latency is that of a queue at these arrivals, by rate', async (t) => {
  const { measure, engine } = rig()
  const test = await measure({ rates: [150, 50, 20] })
  t.match(test, { kind: 'load-test', runtime: 'a server of the tests', backend: 'cpu', aloneMs: 5, skipped: [] })
  t.same(test.points.map(({ rate }) => rate), [20, 50, 150], 'the lowest first') // prettier-ignore
  for (const point of test.points) {
    const expected = served(point.rate, 5)
    t.equal(point.requests, expected.length)
    t.equal(point.completed, expected.length)
    t.equal(point.offered, expected.length)
    t.equal(point.executions, expected.length)
    t.equal(point.meanBatch, 1)
    for (const percent of [50, 95, 99])
      t.ok(
        Math.abs(point.latency!.percentiles[percent]! - rank(expected, percent)) < 1e-6,
        `${point.rate}/s p${percent}`,
      )
    t.match(point, {
      failures: {},
      unfinished: 0,
      unsent: 0,
      late: { requests: 0, maxMs: 0 },
      overloaded: false,
      priorities: [],
    })
  }
  t.equal(engine.asked.length, 1 + test.points.reduce((sum, { requests }) => sum + requests, 0), 'one of the warm-up')
  t.ok(Object.isFrozen(test.points[0]?.latency))
  t.same(JSON.parse(JSON.stringify(test)), test, 'plain data')
})

t.test(
  'a busy event loop hides nothing: latency counts from when a request was due, and late ones are told',
  async (t) => {
    const { measure, engine, clock } = rig(1)
    // the third request of the schedule holds up the thread for 300 ms: those that are due then are sent after it
    engine.failing = (_, index) => {
      if (index === 3) clock.hold(300)
      return undefined
    }
    const { points } = await measure({ rates: [100] })
    const [point] = points
    const due = [...arrivals(plain, 100, 1000)].map(({ atMs }) => atMs)
    const behind = due.filter((at) => at > due[2]! && at < due[2]! + 299)
    t.ok(behind.length > 10)
    t.ok(Math.abs(point!.late.requests - behind.length) <= 1, `${point!.late.requests} of ${behind.length}`)
    t.ok(Math.abs(point!.late.maxMs - (due[2]! + 300 - behind[0]!)) < 1e-6)
    t.ok(point!.latency!.max >= 300, `${point!.latency!.max} ms`)
    t.equal(point!.requests, due.length, 'they are sent all the same')
  },
)

t.test('what fails is counted by its code, and is no latency', async (t) => {
  const { measure, engine } = rig(1)
  const errors = [
    new TensorRTError('ERR_TRT_TIMEOUT', 'late'),
    Object.assign(new Error('no'), { code: 'ERR_TRT_OUT_OF_MEMORY' }),
    new Error('plain'),
  ]
  engine.failing = (_, index) => (index === 0 ? undefined : errors[index - 1])
  const [point] = (await measure({ rates: [100] })).points
  t.same(point?.failures, { ERR_TRT_OUT_OF_MEMORY: 1, ERR_TRT_TIMEOUT: 1, ERR_UNKNOWN: 1 })
  t.equal(point!.completed, point!.requests - 3)
  t.equal(point?.overloaded, false, 'three of a hundred')
  const all = rig(1)
  all.engine.failing = (_, index) => (index === 0 ? undefined : errors[0])
  const [none] = (await all.measure({ rates: [100] })).points
  t.match(none, {
    completed: 0,
    achieved: 0,
    meanBatch: 0,
    overloaded: true,
    failures: { ERR_TRT_TIMEOUT: none!.requests },
  })
  t.notOk('latency' in none!, 'there is none')
})

t.test('a rate that is too much ends: by refusals, by the time after the schedule, by what is under way', async (t) => {
  const full = rig()
  full.engine.maxQueue = 8
  const refused = await full.measure({ rates: [100, 400, 500] })
  t.same(refused.points.map(({ overloaded }) => overloaded), [false, true]) // prettier-ignore
  t.same(refused.skipped, [500])
  const [, point] = refused.points
  t.equal(point!.completed + point!.failures['ERR_TRT_QUEUE_FULL']!, point!.requests)
  t.ok(point!.failures['ERR_TRT_QUEUE_FULL']! > 150)

  const long = rig()
  const late = (await long.measure({ rates: [1000], graceMs: 200 })).points[0]!
  t.ok(late.overloaded)
  const [first] = arrivals(plain, 1000, 1000)
  t.equal(late.completed, Math.floor((1200 - first!.atMs) / 5), 'what 1,200 ms have room for')
  t.equal(late.completed + late.unfinished, late.requests)
  t.ok(Math.abs(late.achieved - 200) < 1, 'by the time that it took')
  t.equal(long.clock.now() <= 1210, true)

  const many = (await rig().measure({ rates: [1000], maxInFlight: 50 })).points[0]!
  t.ok(many.unsent > 500)
  t.equal(many.requests + many.unsent, [...arrivals(plain, 1000, 1000)].length)
  t.equal(many.unfinished, 0, 'what was sent has its time')
  t.ok(many.overloaded)
})

t.test('without rates: from what a closed loop takes up to the first that is too much', async (t) => {
  const { measure } = rig()
  const test = await measure({})
  t.equal(test.capacity, 200, 'requests of 5 ms')
  t.same(
    test.points.slice(0, 7).map(({ rate }) => rate),
    [10, 20, 40, 80, 120, 160, 200],
  )
  t.same(
    test.points.map(({ overloaded }) => overloaded),
    [...test.points.slice(1).map(() => false), true],
  )
})

t.test('rows, priorities and timeouts are those of the requests', async (t) => {
  const { measure, engine } = rig(1)
  const test = await measure({
    rates: [200],
    rows: { 1: 1, 4: 1 },
    priorities: { 1: 1, 3: 3 },
    queueTimeoutMs: 40,
    percentiles: [50],
  })
  const expected = [
    ...arrivals(
      {
        rows: new Map([
          [1, 1],
          [4, 1],
        ]),
        priorities: new Map([
          [1, 1],
          [3, 3],
        ]),
        seed: 1,
      },
      200,
      1000,
    ),
  ]
  const sent = engine.asked.slice(-expected.length)
  t.same(
    sent.map(({ rows, priority, queueTimeoutMs }) => ({ rows, priority, queueTimeoutMs })),
    expected.map(({ rows, priority }) => ({ rows, priority, queueTimeoutMs: 40 })),
  )
  const [point] = test.points
  t.same(point?.priorities.map(({ priority }) => priority), [1, 3]) // prettier-ignore
  t.equal(point!.priorities.reduce((sum, { requests }) => sum + requests, 0), point!.requests) // prettier-ignore
  t.equal(point!.meanBatch, expected.reduce((sum, { rows }) => sum + rows, 0) / expected.length) // prettier-ignore
  t.same(Object.keys(point!.priorities[0]!.latency!.percentiles), ['50'])
  t.match(test.settings, {
    rows: { 1: 1, 4: 1 },
    priorities: { 1: 1, 3: 3 },
    queueTimeoutMs: 40,
    shapes: { x: [1, 2] },
  })
})

t.test('a model of fixed rows has those', async (t) => {
  const { measure, engine } = rig(1)
  const [x] = Object.values(engine.inputs)
  engine.inputs = { x: { ...x!, shape: [3, 2] } }
  t.same((await measure({ rates: [10] })).settings.rows, { 3: 1 })
  t.match(await failureOf(() => measure({ rows: { 1: 1 } })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /Expected 3 alone/,
  })
  engine.inputs = { x: { ...x!, shape: [-1, -1] } }
  t.match(await failureOf(() => measure({})), { code: 'ERR_TRT_SHAPES_REQUIRED', message: /"x" \[-1, -1\]/ })
  t.same((await measure({ rates: [10], shapes: { x: [9, 7] } })).settings.shapes, { x: [1, 7] })
})

t.test('an abort ends it, and nothing is under way then', async (t) => {
  for (const phase of ['warm-up', 'capacity', 'load'] as const) {
    const { measure, engine, clock } = rig()
    const controller = new AbortController()
    const onProgress = (told: LoadTestProgress): void => {
      if (told.phase === phase) controller.abort(new Error('enough'))
    }
    await t.rejects(measure({ warmUpMs: 50, onProgress, signal: controller.signal }), { message: 'enough' }, phase)
    const asked = engine.asked.length
    await clock.run(clock.until(clock.now() + 1000, undefined))
    t.equal(engine.asked.length, asked)
  }
  const thrown = rig()
  await t.rejects(
    thrown.measure({
      rates: [50],
      onProgress: ({ phase }) => {
        if (phase === 'load') throw new Error('told')
      },
    }),
    { message: 'told' },
  )
  await t.rejects(loadTest(rig().engine, { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
  const broken = rig()
  broken.engine.failing = () => new TensorRTError('ERR_TRT_SHAPE', 'no such shape')
  t.match(
    await failureOf(() => broken.measure({ rates: [50] })),
    { code: 'ERR_TRT_SHAPE' },
    'before anything is measured',
  )
})

t.test('what cannot be', async (t) => {
  const { engine } = rig()
  for (const [options, message] of [
    [{ rates: [] }, /at least one rate/],
    [{ rates: [0] }, /requests a second, above 0/],
    [{ rates: [1, 1] }, /each once/],
    [{ rates: [1e6], durationMs: 60_000 }, /at most 166666 for so long/],
    [{ rates: 100 }, /for rates but received number 100/],
    [{ durationMs: 0 }, /milliseconds from 1/],
    [{ graceMs: -1 }, /milliseconds from 0/],
    [{ rows: { 0: 1 } }, /whole number from 1 .* a key of rows .* "0"/],
    [{ rows: {} }, /weights by numbers of rows/],
    [{ priorities: { 1: 0 } }, /a weight above 0 for priorities\[1\]/],
    [{ priorities: { 101: 1 } }, /from 1 to 100/],
    [{ queueTimeoutMs: 0 }, /milliseconds above 0/],
    [{ seed: 1.5 }, /an integer/],
    [{ percentiles: [101] }, /percentiles from 0 to 100/],
    [{ shapes: { x: 3 } }, /an array of sizes/],
    [{ maxInFlight: 0 }, /an integer from 1/],
    [{ rate: 5 }, /did you mean rates/],
  ] as const)
    t.match(await failureOf(() => loadTest(engine, options as never)), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
  t.match(await failureOf(() => loadTest(engine, { shapes: { y: [1] } })), { code: 'ERR_TRT_UNKNOWN_INPUT' })
  t.match(await failureOf(() => loadTest('model.onnx' as never)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /an Engine/,
  })
  t.same(engine.asked, [])
})

t.test('the drawing', async (t) => {
  const { measure } = rig()
  const plainTest = await measure({ rates: [50, 100, 400] })
  const name = 'no <batching> & more'
  const drawing = loadTestChart(
    [
      { name, test: plainTest },
      { name: 'other', test: plainTest },
    ],
    { title: 'a "title"' },
  )
  parsedMarkup(drawing)
  t.match(drawing, /p99 latency, ms \(dashed: median\)[^]*mean batch, rows[^]*offered load, requests per second/)
  t.match(drawing, />0<[^]*overloaded/, 'the axis of latencies begins at 0')
  t.equal(drawing.match(/class="point over"><title>/g)?.length, 4, 'the overloaded one, of two lines in two panels')
  t.notMatch(drawing, name, 'text is escaped')
  const levels = await measure({ rates: [50, 100], priorities: { 1: 1, 2: 1 } })
  t.match(loadTestChart([{ name: 'one', test: levels }]), /priority 1: p99[^]*priority 2: p99/)
  t.equal(loadTestChart([{ name: 'one', test: levels }]), loadTestChart([{ name: 'one', test: levels }]))
  const refused = (curves: unknown, options?: unknown) =>
    failureOf(() => loadTestChart(curves as never, options as never))
  t.match(await refused([]), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await refused([plainTest]), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /\{ name, test \}/ })
  t.match(await refused([{ name: '', test: plainTest }]), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await refused([{ name: 'x', test: plainTest }], { titel: 'x' }), { message: /did you mean title/ })
})
