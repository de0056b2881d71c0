// attach() with queue: 'shared': threads that are ended, while their requests wait and amid work; the others go on.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Engine } from '../../lib/index.js'
import { size } from '../support/tiers.js'
import { until } from '../support/waiting.js'
import { startWorker } from './children.js'
import { driver, leftovers, load, rowsPlan, runtimes, wanted } from './rig.js'
import { full, joining, message, row, shared } from './sharing-rig.js'

t.setTimeout(600_000) // a sanitizer makes it take minutes
process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

for (const runtime of runtimes) {
  const engines = (): number => runtime.live().engines
  const lanes = (): number => runtime.live().lanes

  await t.test(runtime.name, async (t) => {
    for (const [what, program] of [
      ['', 'for (let i = 0; i < 7; i++) engine.infer(row(i)); parentPort.postMessage(0)'],
      [
        ' from allocated tensors to others',
        "for (let i = 0; i < 7; i++) engine.infer({ x: engine.allocate('x', [1, 3]) }, { into: { y: engine.allocate('y', [1, 3]) } }); parentPort.postMessage(0)",
      ],
    ] as const) {
      await t.test(`a worker is terminated while its requests wait${what}`, async (t) => {
        await using owner = await load(runtime, rowsPlan(), full())
        const other = joining(program, runtime, owner)
        const calls = Array.from({ length: 3 }, (_, i) => owner.infer(row(i)))
        await message(other)
        for (let i = 3; i < 6; i++) calls.push(owner.infer(row(i)))
        t.equal(owner.stats().waiting, 13)
        await other.terminate()
        t.match(owner.stats(), { waiting: 6, cancelled: 7 }, 'they are taken out')
        t.equal(owner.memory().queued, 6 * 12)
        for (let i = 6; i < 16; i++) calls.push(owner.infer(row(i)))
        for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(row(i).data))
        t.match(owner.stats(), { waiting: 0, batches: 1, completed: 16 })
      })
    }

    for (const [what, program] of [
      [
        'with work under way',
        'parentPort.postMessage(0); for (;;) await Promise.all(Array.from({ length: 20 }, (_, i) => engine.infer(row(i))))',
      ],
      [
        'with tensors that stay',
        "parentPort.postMessage(0); globalThis.kept = []; for (let i = 0; ; i++) { kept.push(await engine.infer(row(i), { location: 'device' })); engine.infer(kept.at(-1)) }",
      ],
      [
        'in inferSync',
        "parentPort.postMessage(0); for (let i = 0; ; i++) { if (!right(i, engine.inferSync(row(i)))) throw new Error('wrong'); await soon(0) }",
      ],
      [
        'attaching and closing',
        "parentPort.postMessage(0); for (let i = 0; ; i++) { const e = await Engine.attach(workerData, { queue: 'shared' }); e.infer(row(i)).catch(() => {}); e.close() }",
      ],
    ] as const) {
      await t.test(`a worker is terminated ${what}`, async (t) => {
        await using owner = await load(runtime, rowsPlan(), { lanes: 2, batching: { maxBatch: 8, maxDelayMs: 1 } })
        driver.set({ computeMs: 1 })
        for (let round = 0; round < size(1, 10); round++) {
          const other = joining(program, runtime, owner)
          await message(other)
          const calls = Array.from({ length: 20 }, (_, i) => owner.infer(row(round * 5 + i)))
          await sleep((round * 7) % 23)
          await other.terminate()
          for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(row(round * 5 + i).data))
          t.same((await owner.infer(row(round))).data, wanted(row(round).data), 'the others go on')
          t.ok(await until(() => owner.stats().waiting + owner.stats().inFlight === 0), 'nothing of it is left')
        }
        driver.set({ computeMs: 0 })
      })
    }

    await t.test('the owner’s thread ends amid work, and its queue goes on', async (t) => {
      const program = `
        const owner = await load({ lanes: 2, batching: { maxBatch: 8, maxDelayMs: 1 } })
        parentPort.postMessage(owner.share())
        for (;;) await Promise.all(Array.from({ length: 20 }, () => call(owner)))
      `
      for (let round = 0; round < size(1, 10); round++) {
        const other = startWorker(program, runtime)
        const token = (await message(other)) as ReturnType<Engine['share']>
        const engine = await Engine.attach(token, shared)
        const calls = Array.from({ length: 30 }, (_, i) => engine.infer(row(i)))
        await other.terminate()
        for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(row(i).data))
        t.same((await engine.infer(row(5))).data, wanted(row(5).data))
        t.ok(lanes() >= 2)
        t.equal(engines(), 1, 'the owner’s, whose thread has ended')
        await engine.close()
        t.same([lanes(), engines()], [0, 0])
      }
    })

    await t.test('nothing is left', async (t) => {
      await until(() => Object.keys(leftovers()).length === 0)
      t.same(leftovers(), {})
    })
  })
}
