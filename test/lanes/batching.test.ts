// Dynamic batching: what merges, when a batch leaves, and who fails.
import t from 'tap'
import { type EngineOptions, Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { range } from '../support/values.js'
import { until } from '../support/waiting.js'
import { constantPlan, fanPlan, leftovers, load, rows, rowsPlan, runtimes, type Spec, wanted } from './rig.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const batching = (more: Partial<NonNullable<EngineOptions['batching']>> = {}): EngineOptions => ({
  batching: { maxBatch: 16, ...more },
})

/** y = sum over the middle dimension, so that requests of different lengths do not merge. */
const lengths: Spec = {
  inputs: [{ name: 'x', shape: [-1, -1] }],
  outputs: [{ name: 'y', shape: [-1, -1] }],
  ops: [{ type: 'neg', inputs: ['x'], output: 'y' }],
  profiles: [{ dims: { x: range([1, 1], [4, 3], [64, 16]) } }],
}

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    await t.test('64 single requests with maxBatch 16 are 4 batches', async (t) => {
      await using engine = await load(runtime, rowsPlan(), batching({ maxDelayMs: 60_000 }))
      const results = await Promise.all(Array.from({ length: 64 }, (_, i) => engine.infer(rows(i))))
      results.forEach((y, i) => t.same([y.shape, y.data], [[1, 3], wanted(rows(i).data)]))
      t.match(engine.stats(), { completed: 64, batches: 4, bytesCopied: 64 * 12 })
    })

    await t.test('requests of several rows; none is split', async (t) => {
      const counts = [5, 5, 5, 5, 1, 16, 7, 9, 3]
      await using engine = await load(runtime, rowsPlan(), batching({ holdUntil: counts.length }))
      const results = await Promise.all(counts.map((count, i) => engine.infer(rows(i, count))))
      results.forEach((y, i) => t.same([y.shape, y.data], [[counts[i], 3], wanted(rows(i, counts[i]).data)]))
      t.equal(engine.stats().completed, 9)
      t.ok(engine.stats().batches <= 5, `${engine.stats().batches} batches`)
    })

    await t.test('other dimensions decide who may merge', async (t) => {
      await using engine = await load(runtime, lengths, batching({ maxDelayMs: 60_000, preferred: [8] }))
      const inputs = Array.from({ length: 24 }, (_, i) => rows(i, 1, 1 + (i % 3)))
      const results = await Promise.all(inputs.map((x) => engine.infer(x)))
      results.forEach((y, i) => t.same([y.shape, y.data], [inputs[i]?.shape, inputs[i]?.data.map((value) => -value)]))
      t.equal(engine.stats().batches, 3)
    })

    await t.test('a bad request fails alone', async (t) => {
      await using engine = await load(runtime, rowsPlan(), batching({ maxDelayMs: 60_000, preferred: [7] }))
      const pinned = engine.allocate('y', [4, 3])
      const calls = [
        engine.infer(rows(0)),
        engine.infer(Tensor.zeros('float32', [1, 4])),
        engine.infer(rows(2)),
        engine.infer(rows(3, 2), { into: { y: pinned } }),
        engine.infer(rows(4, 17)),
        engine.infer(rows(5, 3)),
      ]
      const settled = await Promise.allSettled(calls)
      t.same(
        settled.map((each) =>
          each.status === 'rejected' ? (each.reason as { code: string }).code : each.value.shape[0],
        ),
        [1, 'ERR_TRT_SHAPE', 1, 'ERR_TRT_SHAPE', 'ERR_TRT_SHAPE', 3],
      )
      for (const [i, count] of [
        [0, 1],
        [2, 1],
        [5, 3],
      ] as const)
        t.same((await calls[i])?.data, wanted(rows(i, count).data))
      t.equal(engine.stats().batches, 1)
    })

    await t.test('a batch of one leaves after maxDelayMs; with 0 at once', async (t) => {
      await using slow = await load(runtime, rowsPlan(), batching({ maxDelayMs: 5 }))
      await using slower = await load(runtime, rowsPlan(), batching({ maxDelayMs: 60_000 }))
      await using fast = await load(runtime, rowsPlan(), batching())
      const waiting = slower.infer(rows(2))
      t.same((await slow.infer(rows(1))).data, wanted(rows(1).data))
      t.same((await fast.infer(rows(1))).data, wanted(rows(1).data))
      t.match([slow, fast].map((engine) => engine.stats().batches), [1, 1]) // prettier-ignore
      t.match(slower.stats(), { waiting: 1, batches: 0 }, 'its time has not come')
      await slower.close()
      t.same((await waiting).data, wanted(rows(2).data))
    })

    await t.test('a preferred size leaves without waiting', async (t) => {
      const options = batching({ maxDelayMs: 60_000, preferred: [4, 8] })
      await using engine = await load(runtime, rowsPlan(), options)
      await using other = await load(runtime, rowsPlan(), options)
      let waited = false
      const alone = other.infer(rows(0)).then(() => (waited = true))
      await Promise.all([0, 1, 2, 3].map((i) => engine.infer(rows(i))))
      await Promise.all([engine.infer(rows(0, 3)), engine.infer(rows(1, 5))])
      t.match(engine.stats(), { completed: 6, batches: 2 })
      t.notOk(waited, 'another size waits')
      await other.close()
      await alone
    })

    await t.test('padded batches', async (t) => {
      for (const pad of [true, [4, 16]]) {
        await using engine = await load(runtime, rowsPlan(), batching({ maxDelayMs: 3, pad }))
        for (const [round, size] of [3, 4, 1, 5, 16, 2, 7].entries()) {
          const results = await Promise.all(Array.from({ length: size }, (_, i) => engine.infer(rows(round * 19 + i))))
          results.forEach((y, i) => t.same([y.shape, y.data], [[1, 3], wanted(rows(round * 19 + i).data)]))
        }
        const { bytesCopied } = engine.stats()
        // a batch that left while the next request was written leaves that one's rows where the CPU has to gather them
        if (engine.counters().executions === 7) t.equal(bytesCopied, 38 * 12, 'what only fills up is not copied')
        else t.ok(bytesCopied >= 38 * 12 && bytesCopied <= 2 * 38 * 12, `${bytesCopied} bytes`)
      }
    })

    await t.test('aborted and timed out requests leave the batch', async (t) => {
      await using engine = await load(runtime, rowsPlan(), batching({ maxDelayMs: 60_000 }))
      const controller = new AbortController()
      const calls = Array.from({ length: 6 }, (_, i) =>
        engine.infer(rows(i, 1 + (i % 3)), i % 2 ? { signal: controller.signal } : {}),
      )
      const late = engine.infer(rows(9), { timeoutMs: 10 })
      t.equal(engine.stats().waiting, 7)
      controller.abort()
      t.match(engine.stats(), { waiting: 4, cancelled: 3 })
      const settling = Promise.allSettled(calls)
      t.equal((await failureOf(() => late)).code, 'ERR_TRT_TIMEOUT')
      t.match(engine.stats(), { waiting: 3, cancelled: 4 })
      const last = await engine.infer(rows(8, 10)) // with the six rows that wait it is a full batch
      t.same(last.data, wanted(rows(8, 10).data))
      t.same((await settling).map(({ status }) => status[0]), ['f', 'r', 'f', 'r', 'f', 'r']) // prettier-ignore
      for (const i of [0, 2, 4]) t.same((await calls[i])?.data, wanted(rows(i, 1 + (i % 3)).data))
      t.match(engine.stats(), { waiting: 0, completed: 4, cancelled: 4, batches: 1 })
      // all of a batch
      const alone = engine.infer(rows(1), { timeoutMs: 5 })
      t.equal((await failureOf(() => alone)).code, 'ERR_TRT_TIMEOUT')
      t.match(engine.stats(), { waiting: 0, cancelled: 5, batches: 1 })
      t.same((await engine.infer(rows(2, 16))).data, wanted(rows(2, 16).data))
    })

    await t.test('tensors of allocate() among ordinary ones', async (t) => {
      await using engine = await load(runtime, rowsPlan(), batching({ maxDelayMs: 15 }))
      const given = Array.from({ length: 12 }, (_, i) => {
        if (i % 3 !== 1) return rows(i, 2)
        const tensor = engine.allocate('x', [2, 3]) as Tensor<'float32'>
        tensor.data.set(rows(i, 2).data)
        return tensor
      })
      const y = engine.allocate('y', [2, 3])
      const results = await Promise.all(given.map((x, i) => engine.infer(x, i === 7 ? { into: { y } } : {})))
      results.forEach((result, i) => t.same(result.data, wanted(rows(i, 2).data)))
      t.equal(results[7], y)
      const { bytesCopied } = engine.stats()
      // beside ordinary ones the CPU has to put theirs, too, where all lie together
      const gathered = runtime.backend === 'cpu' ? 4 * 24 : 0
      if (engine.counters().executions === 2) t.equal(bytesCopied, 8 * 24 + gathered)
      else t.ok(bytesCopied >= 8 * 24 && bytesCopied <= 2 * 8 * 24 + gathered, `${bytesCopied} bytes, in more batches`)
    })

    await t.test('several inputs and outputs merge row by row', async (t) => {
      const spec: Spec = {
        inputs: [
          { name: 'a', shape: [-1, 2] },
          { name: 'b', dtype: 'int32', shape: [-1] },
        ],
        outputs: [
          { name: 'y', shape: [-1, 2] },
          { name: 'z', dtype: 'int32', shape: [-1] },
        ],
        ops: [
          { type: 'neg', inputs: ['a'], output: 'y' },
          { type: 'identity', inputs: ['b'], output: 'z' },
        ],
        profiles: [{ dims: { a: range([1, 2], [4, 2], [16, 2]), b: range([1], [4], [16]) } }],
      }
      await using engine = await load(runtime, spec, batching({ maxDelayMs: 60_000, preferred: [7] }))
      const calls = Array.from({ length: 5 }, (_, i) => ({
        a: rows(i, 1 + (i % 2), 2),
        b: Tensor.from(Int32Array.from({ length: 1 + (i % 2) }, () => i)),
      }))
      const results = await Promise.all(
        calls.map((inputs) => {
          const outputs: string[] = inputs.b.size === 2 ? ['z'] : ['y', 'z']
          return engine.infer(inputs, { outputs })
        }),
      )
      results.forEach(({ y, z }, i) => {
        t.same(z?.data, calls[i]?.b.data)
        if (i % 2) t.equal(y, undefined)
        else
          t.same(
            y?.data,
            calls[i]?.a.data.map((value) => -value),
          )
      })
      t.equal(engine.stats().batches, 1)
      const uneven = { a: rows(0, 2, 2), b: Tensor.from(Int32Array.of(1)) }
      t.match(await failureOf(() => engine.infer(uneven)), { code: 'ERR_TRT_SHAPE', message: /same number of rows/ })
    })

    await t.test('inferSync and close while requests wait', async (t) => {
      const engine = await load(runtime, rowsPlan(), batching({ maxDelayMs: 60_000 }))
      await using other = await load(runtime, rowsPlan(), batching({ maxDelayMs: 60_000 }))
      let waited = false
      const alone = other.infer(rows(0)).then(() => (waited = true))
      const waiting = [0, 1, 2].map((i) => engine.infer(rows(i)))
      t.same(engine.inferSync(rows(7, 4)).data, wanted(rows(7, 4).data), 'it does not wait for a batch')
      t.equal(engine.stats().waiting, 3)
      await engine.close()
      for (const [i, y] of waiting.entries()) t.same((await y).data, wanted(rows(i).data))
      t.notOk(waited, 'what waits leaves at once')
      await other.close()
      await alone
    })

    await t.test('lanes share a queue of batches', async (t) => {
      await runtime.slowly(
        { computeMs: 2 },
        rowsPlan(),
        { lanes: 3, ...batching({ maxBatch: 4, holdUntil: 120 }) },
        async (engine) => {
          const results = await Promise.all(Array.from({ length: 120 }, (_, i) => engine.infer(rows(i))))
          results.forEach((y, i) => t.same(y.data, wanted(rows(i).data)))
          t.equal(engine.stats().completed, 120)
          t.equal(engine.stats().batches, 30)
          t.ok(await until(() => engine.stats().inFlight === 0))
        },
      )
    })

    await t.test('models that cannot be batched', async (t) => {
      const refusals: [Spec, EngineOptions, RegExp][] = [
        [fanPlan(1), batching(), /dynamic dimension 0 in every input and output, but 'x' is float32 \[4\]/],
        [rowsPlan(3, 8), batching(), /maxBatch is 16, but no optimization profile takes more than 8 rows of 'x'/],
        [constantPlan, batching(), /Batching needs an input/],
      ]
      for (const [spec, options, message] of refusals)
        t.match(await failureOf(() => load(runtime, spec, options)), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
    })

    await t.test('nothing is left', (t) => {
      t.same(leftovers(), {})
      t.end()
    })
  })
}
