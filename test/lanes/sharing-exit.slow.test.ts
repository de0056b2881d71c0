// A process that ends while front-ends in several threads work with one queue.
import t from 'tap'
import { long } from '../support/tiers.js'
import { runChild } from './children.js'
import { families, onnxruntime } from './rig.js'

/** In CI two of these are on each of the runtimes, in long runs all. */
const ends = [
  'call(owner); process.exit(0)',
  'process.exit(0)',
  'for (let i = 0; i < 9; i++) call(owner); await soon(5); process.exit(0)',
  'owner.close(); process.exit(0)',
  'await owner.close(); process.exit(0)',
  'await owner.close(); for (const worker of workers) worker.terminate()',
  'call(owner); for (const worker of workers) worker.unref()',
]

for (const [nth, runtime] of [families[0], onnxruntime].entries()) {
  await t.test(`${runtime.name}: a process that exits`, async (t) => {
    const program = `
    const owner = await load({ batching: { maxBatch: 4, maxDelayMs: 1 } }, { computeMs: 2 })
    const inner = \`
      const engine = await Engine.attach(workerData, { queue: 'shared' })
      parentPort.postMessage(0)
      for (;;) await Promise.all(Array.from({ length: 10 }, () => call(engine)))
    \`
    const workers = [0, 1].map(() => new Worker(new URL('data:text/javascript,' + encodeURIComponent(prelude + inner)), { workerData: owner.share() }))
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))))
  `
    for (const end of ends.filter((_, i) => long || i % 4 === nth))
      t.same(await runChild(`${program}\n${end}`, runtime), { code: 0, signal: null, stdout: '', stderr: '' }, end)
  })
}
