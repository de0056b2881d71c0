// Host memory: how many bytes may wait. What is page-locked: pinned-memory.test.ts.
import t from 'tap'
import { failureOf } from '../support/errors.js'
import { until } from '../support/waiting.js'
import { driver, leftovers, rows, rowsPlan, runtimes, wanted } from './rig.js'

for (const runtime of runtimes) {
  await t.test(`${runtime.name}: a queue that is full of bytes`, async (t) => {
    const bytes = 3 * 12 // of three requests
    await runtime.slowly(
      { blockMs: runtime.backend === 'tensorrt' ? 600_000 : 500 },
      rowsPlan(),
      { maxQueueBytes: bytes },
      async (engine) => {
        const running = [engine.infer(rows(0))]
        t.ok(await until(() => engine.stats().inFlight === 1))
        const leased = engine.allocate('x', [1, 3])
        const waiting = [1, 2, 3].map((i) => engine.infer(rows(i)))
        t.equal(engine.memory().queued, bytes)
        const failure = await failureOf(() => engine.infer(rows(4)))
        t.match(failure, {
          code: 'ERR_TRT_QUEUE_FULL',
          message: /36 bytes wait, maxQueueBytes is 36, the request has 12/,
        })
        const more = engine.infer(leased) // it does not count
        if (runtime.backend === 'tensorrt') driver.set({ blockMs: 0 })
        const results = await Promise.all([...running, ...waiting])
        results.forEach((y, i) => t.same(y.data, wanted(rows(i).data)))
        await more
        t.match(engine.stats(), { completed: 5, waiting: 0, inFlight: 0 })
        t.equal(engine.memory().queued, 0)
        t.equal(
          (await failureOf(() => engine.infer(rows(5, 4)))).code,
          'ERR_TRT_QUEUE_FULL',
          'and one that is too large by itself',
        )
        t.same((await engine.infer(rows(6, 3))).data, wanted(rows(6, 3).data))
        t.same(engine.inferSync(rows(7, 4)).data, wanted(rows(7, 4).data), 'what waits in no queue is not measured')
      },
    )
  })
}

t.same(leftovers(), {})
