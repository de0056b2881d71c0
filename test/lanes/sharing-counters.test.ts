// Counters of a queue that four threads share: they add up to the traffic, to the request.
import { once } from 'node:events'
import t from 'tap'
import { until } from '../support/waiting.js'
import { startWorker } from './children.js'
import { leftovers, load, rowsPlan, runtimes } from './rig.js'

const threads = 4
const each = 2500

/** Waves of 50 requests of 1 to 4 rows, some of them with a priority, some with a queue timeout, others with a signal, which is aborted before the wave has ended. */
const program = `
  const engine = await Engine.attach(workerData, { queue: 'shared' })
  let state = workerData.seed
  const below = (n) => (state = (state * 48271) % 2147483647) % n
  const tally = { done: 0, rows: 0, aborted: 0 }
  for (let left = ${each}; left > 0; left -= 50) {
    const controller = new AbortController()
    const calls = Array.from({ length: 50 }, async () => {
      const kind = below(4)
      const rows = 1 + below(4)
      const options = { priority: 1 + below(3), ...(kind === 1 && { queueTimeoutMs: 0.001 * (1 + below(500)) }), ...(kind === 2 && { signal: controller.signal }) }
      try {
        await engine.infer(Tensor.zeros('float32', [rows, 3]), options)
        tally.done++
        tally.rows += rows
      } catch (error) {
        const name = error === controller.signal.reason ? 'aborted' : error.code
        tally[name] = (tally[name] ?? 0) + 1
      }
    })
    setImmediate(() => controller.abort(new Error('mine')))
    await Promise.all(calls)
  }
  await engine.close()
  parentPort.postMessage(tally)
`

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    await using owner = await load(runtime, rowsPlan(), { lanes: 2, batching: { maxBatch: 16, priorities: { levels: 3 } }, maxQueue: 120 })
    const workers = Array.from({ length: threads }, (_, i) => startWorker(program, runtime, { ...owner.share(), seed: 101 + i }))
    const told = await Promise.all(workers.map((worker) => once(worker, 'message')))
    const tallies = told.map(([tally]) => tally as Record<string, number>)
    const sum = (name: string): number => tallies.reduce((total, tally) => total + (tally[name] ?? 0), 0)
    const total = (): number => {
      const { requests, failures } = owner.counters()
      return Object.values(failures).reduce((all: number, count: number) => all + count, requests)
    }
    t.ok(await until(() => total() === threads * each), `${total()} requests`)
    const { requests, rows, executions, failures, batchSizes } = owner.counters()
    t.match(failures, { rejected: sum('ERR_TRT_QUEUE_FULL'), queueTimeout: sum('ERR_TRT_QUEUE_TIMEOUT'), failed: 0 })
    // one that was aborted may have had its result already, which nobody has heard of
    t.equal(requests + failures.cancelledWaiting + failures.cancelledRunning, sum('done') + sum('aborted'))
    t.ok(requests >= sum('done') && rows >= sum('rows'))
    t.equal(
      batchSizes.reduce((all, size) => all + size.executions, 0),
      executions,
    )
    t.equal(
      batchSizes.reduce((all, size) => all + size.requests, 0),
      requests,
    )
  })
}

t.same(leftovers(), {})
