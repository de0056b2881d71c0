// Priorities, queue policies, preferred sizes, and counters. `holdUntil` decides what waits together: no test is about
// a duration.
import t from 'tap'
import { Cut } from '../../lib/base/cancellation.js'
import { runWithCut, warmUpWithCut } from '../../lib/engine.js'
import { type BatchingOptions, Engine, type EngineCounters, type EngineOptions, type Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { until } from '../support/waiting.js'
import { driver, leftovers, load, rows, rowsPlan, rtx, runtimes, wanted } from './rig.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const batching = (more: Partial<BatchingOptions>): EngineOptions => ({ batching: { maxBatch: 1, ...more } })
const sizes = ({ batchSizes }: EngineCounters): [rows: number, executions: number][] =>
  batchSizes.map(({ rows, executions }) => [rows, executions])
const ended = ({ requests, failures }: EngineCounters): number =>
  Object.values(failures).reduce((sum: number, n: number) => sum + n, requests)
/** Nothing leaves before the engine closes. */
const held = (more: Partial<BatchingOptions> = {}): EngineOptions => batching({ holdUntil: 1000, ...more })

for (const runtime of [...runtimes, rtx]) {
  await t.test(runtime.name, async (t) => {
    await t.test('7 rows with preferred 4 and 8 leave as 4, and 3 wait', async (t) => {
      const engine = await load(
        runtime,
        rowsPlan(),
        batching({ maxBatch: 16, preferred: [4, 8], maxDelayMs: 60_000, holdUntil: 7 }),
      )
      const calls = Array.from({ length: 7 }, (_, i) => engine.infer(rows(i)))
      for (const [i, y] of (await Promise.all(calls.slice(0, 4))).entries()) t.same(y.data, wanted(rows(i).data))
      t.match(engine.stats(), { waiting: 3, batches: 1 })
      const closing = engine.close()
      t.equal((await Promise.all(calls)).length, 7)
      await closing
    })

    await t.test('levels leave in their order, and requests of a level in theirs', async (t) => {
      await using engine = await load(
        runtime,
        rowsPlan(),
        batching({ priorities: { levels: 3 }, preserveOrder: true, holdUntil: 6 }),
      )
      const order: number[] = []
      const levels = [undefined, 2, 1, 3, 2, 1]
      await Promise.all(
        levels.map(async (priority, i) => engine.infer(rows(i), { priority }).then(() => order.push(i))),
      )
      t.same(order, [2, 5, 1, 4, 0, 3])
    })

    await t.test('a level that the engine has not is refused', async (t) => {
      await using plain = await load(runtime, rowsPlan())
      await using engine = await load(runtime, rowsPlan(), batching({ priorities: { levels: 3 } }))
      const code = 'ERR_TRT_INVALID_ARGUMENT'
      t.match(await failureOf(() => engine.infer(rows(0), { priority: 4 })), {
        code,
        message: /a level from 1 to 3 for priority/,
      })
      t.match(await failureOf(() => plain.infer(rows(0), { priority: 2 })), {
        code,
        message: /Expected 1, .* for priority/,
      })
      for (const priority of [0, 101, 1.5, NaN])
        t.match(await failureOf(() => engine.infer(rows(0), { priority })), {
          code,
          message: /a level from 1 to 100 for priority/,
        })
      for (const queueTimeoutMs of [0, -1, 1e-4, NaN, Infinity])
        t.match(await failureOf(() => engine.infer(rows(0), { queueTimeoutMs })), {
          code,
          message: /for queueTimeoutMs/,
        })
      t.same((await plain.infer(rows(1), { priority: 1 })).data, wanted(rows(1).data))
      for await (const y of engine.stream([rows(2)], { priority: 1, queueTimeoutMs: 60_000 }))
        t.same(y.data, wanted(rows(2).data))
      await t.rejects(engine.stream([rows(2)], { priority: 4 }).next(), { code })
    })

    await t.test('a queue timeout rejects; that of a call only shortens', async (t) => {
      const engine = await load(
        runtime,
        rowsPlan(),
        held({ priorities: { levels: 2, policies: { 1: { queueTimeoutMs: 5 } } } }),
      )
      const calls = [{ priority: 1 }, { priority: 1, queueTimeoutMs: 600_000 }, { queueTimeoutMs: 0.5 }]
      const waiting = engine.infer(rows(3))
      for (const options of calls)
        t.match(await failureOf(() => engine.infer(rows(0), options)), { code: 'ERR_TRT_QUEUE_TIMEOUT' })
      t.match(engine.counters(), { requests: 0, executions: 0, failures: { queueTimeout: 3 } })
      const closing = engine.close()
      t.same((await waiting).data, wanted(rows(3).data))
      await closing
    })

    await t.test('what warms up is held to no policy', async (t) => {
      const queue = { maxQueue: 1, queueTimeoutMs: 0.001 }
      await using engine = await load(runtime, rowsPlan(), batching({ queue, holdUntil: 3 }))
      const runs = [0, 1, 2].map((i) => warmUpWithCut(engine, rows(i), undefined, new Cut()))
      for (const [i, y] of (await Promise.all(runs)).entries()) t.same((y as Tensor).data, wanted(rows(i).data))
      await engine.warmup()
      t.match(engine.counters().failures, { queueTimeout: 0, rejected: 0 })
    })

    await t.test('a queue timeout delays', async (t) => {
      const policies = { 1: { queueTimeoutMs: 0.001, onQueueTimeout: 'delay' } } as const
      const options = batching({ priorities: { levels: 2, default: 1, policies }, preserveOrder: true, holdUntil: 3 })
      await using engine = await load(runtime, rowsPlan(), options)
      const results = await Promise.all([0, 1, 2].map((i) => engine.infer(rows(i))))
      results.forEach((y, i) => t.same(y.data, wanted(rows(i).data)))
      t.match(engine.counters(), { requests: 3, failures: { queueTimeout: 0 } })
    })

    await t.test('a level is full, and the other is not', async (t) => {
      const engine = await load(
        runtime,
        rowsPlan(),
        held({ priorities: { levels: 2, policies: { 2: { maxQueue: 2 } } } }),
      )
      const calls = [1, 2, 2, 1].map((priority, i) => engine.infer(rows(i), { priority }))
      t.match(await failureOf(() => engine.infer(rows(9))), { code: 'ERR_TRT_QUEUE_FULL' })
      t.match(engine.counters().failures, { rejected: 1 })
      const closing = engine.close()
      t.equal((await Promise.all(calls)).length, 4)
      await closing
    })

    await t.test('cut: what waits leaves the queue, and is rejected with the reason', async (t) => {
      const engine = await load(runtime, rowsPlan(), held())
      const cuts = [new Cut(), new Cut(), new Cut()]
      const calls = cuts.map((cut, i) =>
        runWithCut(engine, { x: rows(i) }, undefined, cut).catch((error: unknown) => error),
      )
      const reason = new Error('mine')
      cuts[1]?.happen(reason)
      t.equal(await calls[1], reason)
      t.match(engine.counters().failures, { cancelledWaiting: 1, cancelledRunning: 0 })
      const closing = engine.close()
      t.match(await calls[0], { y: { shape: [1, 3] } })
      t.match(await calls[2], { y: { shape: [1, 3] } })
      cuts[2]?.happen(reason)
      await closing
      const late = new Cut()
      late.happen(reason)
      t.equal(await runWithCut(engine, { x: rows(0) }, undefined, late).catch((error: unknown) => error), reason)
      t.match(await failureOf(() => runWithCut(engine, { x: rows(0) }, undefined, new Cut())), {
        code: 'ERR_TRT_CLOSED',
      })
    })

    await t.test('what was given up while it ran is counted as such', async (t) => {
      const computeMs = runtime.fake ? 1 : 600_000 // the clock of the fakes stands, and onnxruntime is told to end
      await runtime.slowly({ computeMs, clock: 'manual' }, rowsPlan(), {}, async (engine) => {
        const cut = new Cut()
        const call = runWithCut(engine, { x: rows(0) }, undefined, cut).catch((error: unknown) => error)
        t.ok(await until(() => engine.stats().inFlight === 1))
        cut.happen('mine')
        t.equal(await call, 'mine')
        driver.set({ clock: 'real', computeMs: 0 })
        t.ok(await until(() => engine.counters().failures.cancelledRunning === 1))
      })
    })

    await t.test('counters: requests, rows and batches by size', async (t) => {
      await using engine = await load(runtime, rowsPlan(), batching({ maxBatch: 4, holdUntil: 3 }))
      await Promise.all([1, 2, 3].map((count, i) => engine.infer(rows(i, count))))
      await engine.infer(rows(0), { signal: AbortSignal.abort() }).catch(() => {})
      const counters = engine.counters()
      t.match(counters, { requests: 3, rows: 6, executions: 2 })
      t.same(sizes(counters), [[3, 2]])
      t.equal(ended(counters), 3)
      const [size] = counters.batchSizes
      t.match(size, { requests: 3 })
      t.ok(counters.computeNs >= (size?.computeNs ?? Infinity), 'a sum over requests is not below one over executions')
      t.same(engine.counters(), counters, 'nothing happened between two reads')
    })

    await t.test('levels of a shared queue', async (t) => {
      await using owner = await load(
        runtime,
        rowsPlan(),
        batching({ priorities: { levels: 2 }, preserveOrder: true, holdUntil: 4 }),
      )
      await using guest = await Engine.attach(owner.share(), { queue: 'shared' })
      const calls = [
        owner.infer(rows(0)),
        guest.infer(rows(1)),
        owner.infer(rows(2), { priority: 1 }),
        guest.infer(rows(3), { priority: 1 }),
      ]
      for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(rows(i).data))
      t.match(await failureOf(() => guest.infer(rows(0), { priority: 3 })), {
        message: /a level from 1 to 2 for priority/,
      })
      t.same(guest.counters(), owner.counters())
      t.equal(owner.counters().requests, 4)
    })
  })
}

t.same(leftovers(rtx), {})
