// What is page-locked while many large requests run: for each family of the fakes in a process of its own, since
// results of an engine before may still hold its memory.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { passesWith } from '../support/again.js'
import { collect, until } from '../support/waiting.js'
import { driver, families, type FakeRuntime, leftovers, load, rows, rowsPlan, suiteFamilies, wanted } from './rig.js'

/** Which family this process is for. */
const variable = 'TRT_TEST_FAMILY'
const family: FakeRuntime = families.find(({ name }) => name === process.env[variable]) ?? families[0]

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>

await t.test(`${family.name}: many large requests at once take a fixed amount of pinned memory`, async (t) => {
  const columns = 150_528 // 602,112 bytes
  await collect()
  t.ok(driver.stats().pinnedBytes <= 32 * 2 ** 20, 'no more than what the pool keeps')
  driver.reset()
  await using engine = await load(family, rowsPlan(columns, 4))
  const asked = driver.stats().calls['cuMemHostAlloc'] ?? 0
  const x = rows(1, 1, columns)
  const calls = Array.from({ length: 128 }, () => engine.infer(x))
  const results = await Promise.all(calls)
  const right = Buffer.from(wanted(x.data).buffer)
  t.ok(
    results.every(({ data }) =>
      Buffer.from(
        (data as NodeJS.TypedArray).buffer,
        (data as NodeJS.TypedArray).byteOffset,
        (data as NodeJS.TypedArray).byteLength,
      ).equals(right),
    ),
  )
  const { peakPinnedBytes, pageableCopies, calls: after } = driver.stats()
  t.ok(peakPinnedBytes <= 64 * 2 ** 20, `${peakPinnedBytes} bytes at most`)
  t.equal(pageableCopies, 0)
  t.ok((after['cuMemHostAlloc'] ?? 0) - asked <= 16, `page-locked ${(after['cuMemHostAlloc'] ?? 0) - asked} times`)
  t.ok(engine.stats().bytesCopied <= 2 * 128 * x.byteLength)
})

await t.test(
  `${family.name}: pinned memory is freed on no thread of JavaScript's, and allocate() waits for nobody who frees`,
  async (t) => {
    const shape = [64, 150_528] // 38.5 MB, more than is kept for later
    await using engine = await load(family, rowsPlan(150_528))
    driver.reset()
    const freed = (): number => driver.stats().calls['cuMemFreeHost'] ?? 0
    driver.set({ holdFrees: 1 })
    engine.allocate('x', shape)
    t.ok(await until(() => (globalThis.gc?.(), freed() > 0)), 'what was collected is freed')
    t.equal(driver.stats().pinnedFreesOnMain, 0)
    t.ok(driver.stats().heldFrees > 0, 'which takes its time')
    engine.allocate('x', shape) // both at once are more than the pool has
    t.ok(driver.stats().heldFrees > 0, 'and lasts when there is memory again')
    driver.set({ holdFrees: 0 })
    t.ok(await until(() => (globalThis.gc?.(), freed() > 1 && driver.stats().pinnedBytes <= 64 * 2 ** 20)))
    t.equal(driver.stats().pinnedFreesOnMain, 0)
  },
)

await t.test(
  `${family.name}: where nothing can be page-locked, tensors go to the device and back all the same`,
  async (t) => {
    await using engine = await load(family, rowsPlan(400_000))
    const x = rows(1, 1, 400_000)
    driver.failNth('cuMemHostAlloc', 1, 304, 'sticky')
    using there = await engine.upload(x)
    const back = await there.toHost()
    t.ok(Buffer.from(back.data.buffer, back.data.byteOffset, back.byteLength).equals(Buffer.from(x.data.buffer)))
    t.throws(() => engine.allocate('x', [40, 400_000]), {
      code: 'ERR_TRT_CUDA',
      message: /cuMemHostAlloc failed: CUDA_ERROR_OPERATING_SYSTEM/,
    })
    driver.reset() // ordinary memory was copied, as leftovers() counts
  },
)
t.same(leftovers(), {})

for (const { name } of process.env[variable] === undefined ? suiteFamilies.slice(1) : [])
  await t.test(`${name}, in a process of its own`, (t) => passesWith(t, new URL(import.meta.url), { [variable]: name }))
