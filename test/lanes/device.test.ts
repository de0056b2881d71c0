// What lanes do on a GPU alone: copies, graphs, profiles by number, streams, and what the driver counts of it.
import assert from 'node:assert/strict'
import t from 'tap'
import type { EngineOptions } from '../../lib/index.js'
import { Engine, onLog, Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { range } from '../support/values.js'
import { until } from '../support/waiting.js'
import { driven, driver, fanPlan, leftovers, load, rows, rowsPlan, suiteFamilies, wanted } from './rig.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const batching = (more: Partial<NonNullable<EngineOptions['batching']>> = {}): EngineOptions => ({
  batching: { maxBatch: 16, ...more },
})

for (const family of suiteFamilies) {
  await t.test(family.name, async (t) => {
    await t.test('lanes do not wait for each other when an enqueue blocks', async (t) => {
      await using engine = await load(family, rowsPlan(), { lanes: 4 })
      await engine.warmup({ iterations: 1 })
      const entered = (): number => family.control.stats().calls['VExecutionContext.enqueueV3'] ?? 0
      const [before, done] = [entered(), engine.stats().completed]
      await driven({ blockMs: 600_000 }, async () => {
        const calls = Array.from({ length: 4 }, (_, i) => engine.infer(rows(i)))
        t.ok(await until(() => entered() - before === 4), 'all four are in it before the first has left it')
        t.equal(engine.stats().completed, done)
        driver.set({ blockMs: 0 })
        for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(rows(i).data))
      })
    })

    await t.test('outputs that nobody wants are not copied back', async (t) => {
      await using engine = await load(family, fanPlan(5))
      const x = Tensor.from(Float32Array.of(1, 2, 3, 4))
      const before = driver.stats().bytesDtoH
      await engine.infer({ x }, { outputs: ['y3', 'y0', 'y3'] })
      t.equal(driver.stats().bytesDtoH - before, 32)
      await using many = await load(family, fanPlan(70))
      const beforeMany = driver.stats().bytesDtoH
      await many.infer({ x }, { outputs: ['y3', 'y65'] })
      t.equal(driver.stats().bytesDtoH - beforeMany, 32)
    })

    await t.test('warmup captures graphs; cudaGraph: false has none', async (t) => {
      for (const cudaGraph of ['auto', true, false] as const) {
        await using engine = await load(family, rowsPlan(), { tensorrt: { cudaGraph }, lanes: 2 })
        const before = driver.stats()
        await engine.warmup()
        const { graphExecs } = driver.stats()
        if (cudaGraph === false) t.equal(graphExecs - before.graphExecs, 0)
        else t.ok(graphExecs - before.graphExecs >= 1, `${graphExecs} graphs`)
        const launched = driver.stats().graphLaunches
        for (let i = 0; i < 8; i++) t.same((await engine.infer(rows(i, 4))).data, wanted(rows(i, 4).data))
        t.equal(driver.stats().graphLaunches > launched, cudaGraph !== false)
      }
    })

    await t.test(
      'a graph that cannot be captured: a line of the log says so, and that shape runs without',
      async (t) => {
        const lines: string[] = []
        const silence = onLog(
          ({ level, text }) => /without a CUDA graph/.test(text) && lines.push(`${level}: ${text}`),
          'verbose',
        )
        t.teardown(silence)
        await using engine = await load(family, rowsPlan())
        driver.failNth('cuGraphInstantiateWithFlags', 1, 2)
        const { graphLaunches } = driver.stats()
        // until the context has been made, on a thread of its own
        const end = Date.now() + 60_000
        for (let i = 0; lines.length === 0 && Date.now() < end; i++)
          assert.deepEqual((await engine.infer(rows(i, 4))).data, wanted(rows(i, 4).data))
        for (let i = 0; i < 6; i++) t.same((await engine.infer(rows(i, 4))).data, wanted(rows(i, 4).data))
        t.equal(driver.stats().graphLaunches, graphLaunches)
        t.equal(lines.length, 1)
        t.match(lines[0], /^info: node-tensorrt: 'x' \[4, 3\] runs without a CUDA graph: .*cuGraphInstantiate/)
      },
    )

    await t.test('a profile by number, and one that is not there', async (t) => {
      const two = rowsPlan(3, 4, {
        profiles: [{ dims: { x: range([1, 3], [2, 3], [4, 3]) } }, { dims: { x: range([2, 3], [8, 3], [16, 3]) } }],
      })
      await using second = await load(family, two, { tensorrt: { profile: 1 } })
      t.same((await second.infer(rows(1, 12))).data, wanted(rows(1, 12).data))
      t.equal((await failureOf(() => second.infer(rows(1, 1)))).code, 'ERR_TRT_SHAPE', 'the other profile takes it')
      await using auto = await load(family, two)
      for (const count of [1, 16, 3, 2])
        t.same((await auto.infer(rows(count, count))).data, wanted(rows(count, count).data))
      t.match(await failureOf(() => load(family, two, { tensorrt: { profile: 2 } })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /profile below 2 but received 2/,
      })
    })

    await t.test('priority', async (t) => {
      for (const priority of ['high', 'normal'] as const) {
        await using engine = await load(family, rowsPlan(), { tensorrt: { priority } })
        t.same((await engine.infer(rows(5))).data, wanted(rows(5).data))
      }
    })

    await t.test("stats are the device's times, by its own clock; memory is plausible", async (t) => {
      await using engine = await load(family, rowsPlan(1024))
      const begun = performance.now()
      await driven({ computeMs: 4, copyMs: 1, clock: 'virtual' }, async () => {
        await Promise.all(Array.from({ length: 10 }, (_, i) => engine.infer(rows(i, 2, 1024))))
      })
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
      const always = (ms: number) => ({ count: 10, p50: ms, p99: ms })
      t.match({ computeMs, copyInMs, copyOutMs }, { computeMs: always(4), copyInMs: always(1), copyOutMs: always(1) })
      // by the host's clock: a part of all that it took
      t.ok(
        queueMs.p50 > 0 && queueMs.p50 <= queueMs.p99 && queueMs.p99 < elapsed,
        `queue ${queueMs.p50} to ${queueMs.p99} ms`,
      )
      t.equal(queueMs.count, 10)
      const { device, pinned, pinnedKept } = engine.memory()
      t.ok(device >= 2 * 8192 && device <= driver.stats().deviceBytes + 8192, `device ${device}`)
      t.ok(
        pinnedKept >= 8192 && pinned + pinnedKept <= driver.stats().pinnedBytes,
        `pinned ${pinned}, kept ${pinnedKept}`,
      )
    })

    await t.test('memoryLimit: what would need more is rejected, and the engine works on', async (t) => {
      // of input and output; both slots of the lane have room for two rows each, and none for eight
      const row = 2 * 4 * 8192
      const memoryLimit = 7.5 * row
      const given = (count: number): Tensor<'float32'> => rows(1, count, 8192)
      await using engine = await load(family, rowsPlan(8192), { tensorrt: { memoryLimit } })
      for (let round = 0; round < 2; round++) {
        for (const count of [1, 2, 1, 2, 2, 2])
          t.same((await engine.infer(given(count))).data, wanted(given(count).data))
        t.match(await failureOf(() => engine.infer(given(8))), {
          code: 'ERR_TRT_OUT_OF_MEMORY',
          message: new RegExp(
            `may hold ${memoryLimit} bytes of device memory \\(memoryLimit\\), holds \\d+ and would need \\d+`,
          ),
        })
        t.ok(engine.memory().device > 0 && engine.memory().device <= memoryLimit, `${engine.memory().device} bytes`)
      }
      t.same((await engine.infer(given(2))).data, wanted(given(2).data))
      await using attached = await Engine.attach(engine.share())
      t.match(await failureOf(() => attached.infer(given(7))), { code: 'ERR_TRT_OUT_OF_MEMORY' })
    })

    await t.test('a batch is one enqueue, one copy in and one out', async (t) => {
      await using engine = await load(family, rowsPlan(), batching({ maxDelayMs: 60_000 }))
      const before = driver.stats()
      await Promise.all(Array.from({ length: 64 }, (_, i) => engine.infer(rows(i))))
      const after = driver.stats()
      for (const what of ['executions', 'copiesHtoD', 'copiesDtoH'] as const)
        t.equal(after[what] - before[what], 4, what)
    })

    await t.test('an enqueue that fails takes its batch along, and no other', async (t) => {
      await using engine = await load(family, rowsPlan(), batching({ maxBatch: 4, maxDelayMs: 60_000 }))
      family.control.failNth('enqueueV3', 1)
      const settled = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => engine.infer(rows(i))))
      t.same(
        settled.map(({ status }) => status),
        [...Array<string>(4).fill('rejected'), ...Array<string>(4).fill('fulfilled')],
      )
      t.match(engine.stats(), { completed: 4, failed: 4, batches: 2 })
    })

    await t.test('padded batches meet graphs', async (t) => {
      await using engine = await load(family, rowsPlan(), batching({ maxDelayMs: 3, pad: true }))
      const before = driver.stats()
      const end = Date.now() + 60_000
      let sent = 0
      // until the contexts have been made, on a thread of their own
      for (let round = 0; driver.stats().graphLaunches - before.graphLaunches < 4 && Date.now() < end; round++) {
        const size = 3 + (round % 2)
        const results = await Promise.all(Array.from({ length: size }, (_, i) => engine.infer(rows(round * 9 + i))))
        results.forEach((y, i) => assert.deepEqual(y.data, wanted(rows(round * 9 + i).data)))
        sent += size
      }
      const after = driver.stats()
      t.ok(after.graphLaunches - before.graphLaunches >= 4, `${after.graphLaunches - before.graphLaunches} launches`)
      t.ok(after.graphExecs - before.graphExecs <= 2, `${after.graphExecs - before.graphExecs} graphs`)
      t.ok(after.bytesHtoD - before.bytesHtoD <= sent * 12, 'what only fills up is not copied')
    })

    await t.test('nothing is left', (t) => {
      t.same(leftovers(), {})
      t.end()
    })
  })
}
