// Real models that come and go leave nothing: no live object, and in the long run no memory.
import t from 'tap'
import { realModels } from '../engine/models.js'
import { long, size } from '../support/tiers.js'
import { runChild } from './children.js'
import { onnxruntime } from './rig.js'

const kept = `
  const { setFlagsFromString } = await import('node:v8'); setFlagsFromString('--expose-gc')
  setFlagsFromString('--semi-space-growth-factor=1') // V8 would enlarge its young generation sooner or later, which is no leak
  const gc = (await import('node:vm')).runInNewContext('gc')
  const settle = async () => { for (let i = 0; i < 4; i++) { gc(); await soon(5) } }
  const rss = async () => { await settle(); return process.memoryUsage().rss / 2 ** 20 }
  const { shapes, ...bare } = options
  const picture = Tensor.zeros('float32', [1, 3, 48, 192])
`

/** glibc gives threads arenas of their own, and what is free in sixteen of them would hide a leak. */
const oneArena = { MALLOC_ARENA_MAX: '1' }

t.test('load and close', async (t) => {
  const program = `
    ${kept}
    const cycle = async (i) => {
      const e = await Engine.load(${JSON.stringify(realModels.classifier)}, { ...bare, lanes: 1 + i % 3, ...(i % 4 === 1 && { batching: { maxBatch: 4 } }) })
      await Promise.all(Array.from({ length: 1 + i % 5 }, () => e.infer(picture)))
      e.inferSync(picture)
      const attached = i % 3 === 0 ? await Engine.attach(e.share()) : undefined
      if (i % 2) await e.infer(picture, { timeoutMs: 1 }).catch(() => {})
      await e.close()
      await attached?.infer(picture)
      await attached?.close()
    }
    for (let i = 0; i < ${size(24, 200)}; i++) await cycle(i)
    const before = await rss()
    for (let i = 0; i < ${size(20, 200)}; i++) await cycle(i)
    const after = await rss()
    console.log(JSON.stringify({ grown: after - before, live: addonOf().cpuLive() }))
  `
  const { stdout, ...ended } = await runChild(program, onnxruntime, 1_200_000, oneArena)
  t.same(ended, { code: 0, signal: null, stderr: '' })
  const { grown, live } = JSON.parse(stdout) as { grown: number; live: object }
  t.same(live, { engines: 0, lanes: 0, values: 0 })
  t.comment(`${grown.toFixed(1)} MiB more`)
  // a shorter run shows no more than how the allocator feels
  if (long) t.ok(grown < 5, `${grown} MiB more`)
})

t.test('results that onnxruntime made', async (t) => {
  const models = JSON.stringify(new URL('onnx-models.js', import.meta.url).href)
  const program = `
    ${kept}
    const { nonZero } = await import(${models})
    const e = await Engine.load(nonZero(), { ...bare, lanes: 2 })
    const ones = (count) => Tensor.from(new Float32Array(count).fill(1))
    const run = async (count) => {
      for (let i = 0; i < count; i += 10) {
        await Promise.all(Array.from({ length: 9 }, (_, k) => e.infer({ x: ones(1 + (k * 7919) % 50_000) })))
        e.inferSync({ x: ones(40_000) })
        if (i % 100 === 0) await settle()
      }
    }
    await run(${size(1000, 20_000)})
    const before = await rss()
    await run(${size(1000, 20_000)})
    const after = await rss()
    await e.close()
    for (let i = 0; i < 1000 && addonOf().cpuLive().values > 0; i++) await settle()
    console.log(JSON.stringify({ grown: after - before, live: addonOf().cpuLive() }))
  `
  const { stdout, ...ended } = await runChild(program, onnxruntime, 1_200_000)
  t.same(ended, { code: 0, signal: null, stderr: '' })
  const { grown, live } = JSON.parse(stdout) as { grown: number; live: object }
  t.same(live, { engines: 0, lanes: 0, values: 0 })
  if (long) t.ok(grown < 5, `${grown} MiB more`)
})
