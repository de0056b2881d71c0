// Counters of a queue that four threads share: they add up to the traffic, to the request, with executions that fail.
import { once } from 'node:events'
import t from 'tap'
import { Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { range } from '../support/values.js'
import { until } from '../support/waiting.js'
import { startWorker } from './children.js'
import { leftovers, load, rows, rowsPlan, type Runtime, runtimes } from './rig.js'

const threads = 4
const each = 2500

/**
 * For onnxruntime: values from a table of four, where a row's numbers point; the batch of one that points beyond it
 * fails.
 */
function tableModel(): Uint8Array {
  const g = new GraphBuilder({ name: 'table' })
  const at = g.node('Cast', [g.input('x', 'float32', ['N', 3])], { to: 7 })
  g.output(g.node('Gather', [g.constant('table', Tensor.from(Float32Array.of(1, 2, 3, 4))), at]), 'float32', ['N', 3])
  return writeModel(g.toModel())
}

/** An engine of which some batches fail: of the fakes every seventh. */
async function failingNowAndThen(runtime: Runtime): Promise<Engine> {
  const priorities = { levels: 3, policies: { 3: { maxQueue: 4 } } } as const
  const options: EngineOptions = { lanes: 2, batching: { maxBatch: 16, priorities }, maxQueue: 120 }
  if (runtime.fake === undefined) {
    return Engine.load(tableModel(), {
      backend: 'cpu',
      cpu: { threads: 1 },
      shapes: { x: range([1, 3], [4, 3], [64, 3]) },
      ...options,
    })
  }
  const engine = await load(runtime, rowsPlan(), { ...options, tensorrt: { cudaGraph: false } })
  for (let nth = 7; nth < threads * each; nth += 7) runtime.fake.control.failNth('enqueueV3', nth)
  return engine
}

/**
 * Waves of 50 requests of 1 to 4 rows, some of them with a priority, some with a queue timeout, others with a signal,
 * which is aborted at once or before the wave has ended, and some with values that a table has not.
 */
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
      const x = Tensor.zeros('float32', [rows, 3])
      if (below(50) === 0) x.data.fill(9)
      const options = { priority: 1 + below(3), ...(kind === 1 && { queueTimeoutMs: 0.001 * (1 + below(2) * below(500)) }), ...(kind === 2 && { signal: controller.signal }) }
      try {
        await engine.infer(x, options)
        tally.done++
        tally.rows += rows
      } catch (error) {
        const name = error === controller.signal.reason ? 'aborted' : error.code
        tally[name] = (tally[name] ?? 0) + 1
      }
    })
    const abort = () => controller.abort(new Error('mine'))
    left % 100 === 0 ? process.nextTick(abort) : setImmediate(abort) // before any result is heard of, or after
    await Promise.all(calls)
  }
  await engine.close()
  parentPort.postMessage(tally)
`

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    await using owner = await failingNowAndThen(runtime)
    const workers = Array.from({ length: threads }, (_, i) =>
      startWorker(program, runtime, { ...owner.share(), seed: 101 + i }),
    )
    const told = await Promise.all(workers.map((worker) => once(worker, 'message')))
    const tallies = told.map(([tally]) => tally as Record<string, number>)
    const sum = (name: string): number => tallies.reduce((total, tally) => total + (tally[name] ?? 0), 0)
    const total = (): number => {
      const { requests, failures } = owner.counters()
      return Object.values(failures).reduce((all: number, count: number) => all + count, requests)
    }
    t.ok(await until(() => total() === threads * each), `${total()} requests`)
    const { requests, rows, executions, failures, batchSizes } = owner.counters()
    t.match(failures, { rejected: sum('ERR_TRT_QUEUE_FULL'), queueTimeout: sum('ERR_TRT_QUEUE_TIMEOUT') })
    // one that was aborted may have had its result, or have failed, already, which nobody has heard of
    const { cancelledWaiting, cancelledRunning, failed } = failures
    const [done, aborted, unheard] = [sum('done'), sum('aborted'), failed - sum('ERR_TRT_EXECUTION')]
    t.equal(requests + cancelledWaiting + cancelledRunning + unheard, done + aborted)
    t.ok(unheard >= 0 && unheard <= aborted, `${failed} failed, ${unheard} of them unheard`)
    const names = ['ERR_TRT_EXECUTION', 'ERR_TRT_QUEUE_FULL', 'ERR_TRT_QUEUE_TIMEOUT', 'aborted', 'done']
    const met = new Set(tallies.flatMap(Object.keys).filter((name) => name !== 'rows' && sum(name) > 0))
    t.same([...met].sort(), names, 'of each kind some')
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

for (const runtime of runtimes) {
  await t.test(`${runtime.name}: who finds nothing under way finds all of it counted`, async (t) => {
    runtime.fake?.control.reset() // what was to fail and has not been called
    await using engine = await load(runtime, rowsPlan())
    let uncounted = 0
    for (let i = 0; i < 1000; i++) {
      const { completed } = engine.stats()
      const call = engine.infer(rows(i))
      // at once, and not when this thread hears of the result
      while (engine.stats().inFlight === 0 && engine.stats().completed === completed);
      while (engine.stats().inFlight > 0);
      if (engine.stats().completed !== completed + 1) uncounted++
      await call
    }
    t.equal(uncounted, 0)
  })
}

t.same(leftovers(), {})
