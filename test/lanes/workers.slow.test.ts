// Engines in worker_threads, many at once. workers-ended.slow.test.ts has threads that are ended at any moment.
import t from 'tap'
import { startWorker } from './children.js'
import { leftovers, load, rows, rowsPlan, runtimes, wanted } from './rig.js'
import { size } from '../support/tiers.js'
import { until } from '../support/waiting.js'

const many = size(4, 8)

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    await t.test(`${many} in parallel`, async (t) => {
      const program = `
        const e = await load({ lanes: 2 })
        for (let round = 0; round < 5; round++) {
          const results = await Promise.all(Array.from({ length: 40 }, (_, i) => e.infer(new Tensor('float32', Float32Array.of(i, -i, round), [1, 3]))))
          for (const [i, y] of results.entries()) {
            const [a, b, c] = y.data
            if (a !== 2 * i + 1 || b !== Math.max(0, 1 - 2 * i) || c !== 2 * round + 1) throw new Error('wrong: ' + y.data)
          }
        }
        await e.close()
      `
      await using engine = await load(runtime, rowsPlan())
      const ends = Array.from({ length: many }, () => {
        const worker = startWorker(program, runtime)
        return new Promise((resolve) => worker.once('error', resolve).once('exit', resolve))
      })
      for (let i = 0; i < 20; i++) t.same((await engine.infer(rows(i))).data, wanted(rows(i).data))
      t.same(await Promise.all(ends), Array(many).fill(0))
    })

    await t.test('nothing is left', async (t) => {
      await until(() => Object.keys(leftovers()).length === 0)
      t.same(leftovers(), {})
    })
  })
}
