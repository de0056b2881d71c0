// Nothing grows: not with engines that come and go, not with inferences.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { runChild } from './children.js'
import { driver, families, fanPlan, leftovers, load, onnxruntime, rows, rowsPlan, runtimes, wanted } from './rig.js'
import { size } from '../support/tiers.js'
import { collect } from '../support/waiting.js'

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>

for (const runtime of runtimes) {
  await t.test(`${runtime.name}: engines that come and go`, async (t) => {
    for (let i = 0; i < size(20, 200); i++) {
      const graphs = runtime.backend === 'tensorrt' ? { tensorrt: { cudaGraph: i % 5 > 0 } } : {}
      const engine = await load(runtime, i % 2 ? rowsPlan() : fanPlan(3, [1, 3]), { lanes: 1 + (i % 3), ...graphs })
      if (i % 7) await Promise.all(Array.from({ length: 1 + (i % 9) }, () => engine.infer({ x: rows(i) })))
      if (i % 3 === 0) engine.inferSync({ x: rows(i) })
      await engine.close()
      if (i % 10 === 0) t.same(leftovers(), {})
    }
    t.same(leftovers(), {})
  })
}

for (const runtime of [families[0], onnxruntime]) {
  await t.test(`${runtime.name}: inferences`, async (t) => {
    // without tap, which remembers
    const count = size(runtime.backend === 'cpu' ? 40_000 : 20_000, 1_000_000)
    const program = `
    const { setFlagsFromString } = await import('node:v8'); setFlagsFromString('--expose-gc')
    setFlagsFromString('--semi-space-growth-factor=1') // V8 would enlarge its young generation sooner or later, which is no leak
    const gc = (await import('node:vm')).runInNewContext('gc')
    driver.set({ inline: 1 })
    const e = await load({ lanes: 2 })
    const pinned = e.allocate('x', [1, 3])
    const run = async (count) => {
      for (let i = 0; i < count; i += 20) {
        await Promise.all(Array.from({ length: 18 }, (_, k) => e.infer(x, k % 6 ? undefined : { timeoutMs: 10_000 })))
        await e.infer(pinned)
        e.inferSync({ x })
        if (i % 1000 === 0) await e.infer(Tensor.zeros('float32', [1, 4])).catch(() => {})
      }
      for (let i = 0; i < 3; i++) { gc(); await soon(5) }
      return process.memoryUsage().rss / 2 ** 20
    }
    await run(20_000)
    const before = await run(2000)
    const after = await run(${count})
    console.log(after - before)
    await e.close()
  `
    const { stdout, ...ended } = await runChild(program, runtime, 600_000)
    t.same(ended, { code: 0, signal: null, stderr: '' })
    t.ok(Number(stdout) < 5, `${stdout.trim()} MiB more`)
  })
}

await t.test('large results come and go', async (t) => {
  const columns = 200_000
  for (const runtime of runtimes) {
    await using engine = await load(runtime, rowsPlan(columns, 4))
    let most = 0
    for (let i = 0; i < 30; i++) {
      const y = await engine.infer(rows(i, 1, columns))
      if (i % 20 === 0)
        t.ok(
          Buffer.from((y.data as NodeJS.TypedArray).buffer).equals(
            Buffer.from(wanted(rows(i, 1, columns).data).buffer),
          ),
        )
      if (i % 10 === 9) await collect()
      most = Math.max(most, engine.memory().pinned)
    }
    await collect()
    t.ok(engine.memory().pinned < most, `${engine.memory().pinned} of ${most} bytes are still held`)
    t.ok(driver.stats().pinnedBytes < 300 * 2 ** 20)
  }
  t.same(leftovers(), {})
})
