// Engines in worker_threads that are ended at any moment: other threads go on, and nothing is left.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startWorker } from './children.js'
import { driver, leftovers, load, rows, rowsPlan, runtimes, wanted } from './rig.js'
import { size } from '../support/tiers.js'
import { until } from '../support/waiting.js'

/** What a worker is at when it is told to go; it says so when it begins. */
const moments: [what: string, program: string][] = [
  ['loading', "parentPort.postMessage(0); for (;;) { const e = await load({ lanes: 2 }); e.close() }"],
  ['in flight', "const e = await load({ lanes: 2 }); parentPort.postMessage(0); for (;;) await Promise.all(Array.from({ length: 20 }, () => call(e)))"],
  ['in inferSync', "const e = await load(); parentPort.postMessage(0); for (;;) { e.inferSync(x); await soon(0) }"],
  ['closing', "for (let i = 0; ; i++) { const e = await load(); const calls = Array.from({ length: 20 }, () => call(e)); if (i === 0) parentPort.postMessage(0); await e.close(); await Promise.all(calls) }"],
  ['waiting for a batch', "const e = await load({ batching: { maxBatch: 64, maxDelayMs: 30_000 } }); call(e); call(e); parentPort.postMessage(0)"],
  ['with a queue', "const e = await load(); for (let i = 0; i < 3000; i++) call(e); parentPort.postMessage(0); setInterval(() => {}, 1000)"],
  ['with large results and allocated tensors', "const e = await load(); globalThis.kept = []; parentPort.postMessage(0); for (;;) { kept.push(e.allocate('x', [64, 3])); await e.infer(kept.at(-1)); if (kept.length > 50) kept = [] }"],
  ['listening to the log', "onLog(() => {}, 'verbose'); parentPort.postMessage(0); for (;;) { await Engine.load(plan().subarray(0, -9), options).catch(() => {}); await (await load()).close() }"],
] // prettier-ignore

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    for (const [what, program] of moments) {
      await t.test(`terminated while ${what}`, async (t) => {
        await using engine = await load(runtime, rowsPlan())
        driver.set({ computeMs: 1 })
        for (let round = 0; round < size(1, 10); round++) {
          const worker = startWorker(program, runtime)
          await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
          await sleep((3 + round * 7) % 23)
          await worker.terminate()
          t.same((await engine.infer(rows(round))).data, wanted(rows(round).data), 'the others go on')
        }
        driver.set({ computeMs: 0 })
      })
    }

    await t.test('nothing is left', async (t) => {
      await until(() => Object.keys(leftovers()).length === 0)
      t.same(leftovers(), {})
    })
  })
}
