// What TensorRT-RTX compiles for an engine, kept beside its plan; on the fake of it.
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Builder, Engine, EngineCache, type EngineOptions, onLog, Tensor } from '../../lib/index.js'
import { withFileLock } from '../../lib/backend/file-lock.js'
import { useFakes } from '../native/fakes.js'
import { temporaryFolder } from '../support/folders.js'
import { addModel } from '../support/models.js'
import { merged } from '../support/groups.js'
import { startNode } from './rig.js'

const { driver, rtx, leftovers } = await useFakes()
/** A GPU that TensorRT-RTX runs on. */
const gpu = { computeCapability: '8.6', deviceName: 'Fake GPU' }
driver.set(gpu)
const { control } = rtx
const jit = (): ReturnType<typeof control.stats>['jit'] => control.stats().jit
const x = new Tensor('float32', Float32Array.of(1, 2, 3, 4), [1, 4])

/** Loads, runs where it is told to, closes: how often was compiled for it. */
async function compilesOf(options: EngineOptions, { runs = 1 } = {}): Promise<number> {
  const before = jit().compiles
  await using engine = await Engine.load(addModel(7), merged({ tensorrt: { library: rtx.path }, lanes: 2 }, options))
  for (let i = 0; i < runs; i++) {
    const { data } = await engine.infer(x)
    if (data.join() !== '8,3,4,5') throw new Error(`a wrong answer: ${data.join()}`)
  }
  return jit().compiles - before
}

/** The lines of the log at level warning or worse while the body ran. */
async function logOf(body: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = []
  const end = onLog(({ text }) => lines.push(text))
  try {
    await body()
  } finally {
    end()
  }
  return lines.filter((line) => line.startsWith('node-tensorrt: '))
}

async function runtimeCaches(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.runtime')).map((name) => join(folder, name))
}

/** A folder with an engine that was loaded once, and the path of what was compiled for it. */
async function loadedOnce(
  t: Parameters<typeof temporaryFolder>[0],
  options: EngineOptions = {},
): Promise<{ cache: string; kept: string }> {
  const cache = temporaryFolder(t)
  await compilesOf({ cache, ...options })
  const [kept, ...more] = await runtimeCaches(cache)
  if (kept === undefined || more.length > 0) throw new Error(`${more.length} files too many, or one too few`)
  return { cache, kept }
}

/** A test after which nothing is left in the fakes, and nothing was done wrong to them. */
function test(name: string, body: (t: Test) => Promise<void>): void {
  void t.test(name, async (t) => {
    await body(t)
    t.same(leftovers([rtx]), {}, 'nothing is left')
    control.reset()
    driver.reset()
    driver.set(gpu)
  })
}

test('compiled once for all lanes, and not at all by the next load, in another process either', async (t) => {
  const cache = temporaryFolder(t)
  t.same([await compilesOf({ cache }), await compilesOf({ cache }), await compilesOf({ cache, lanes: 4 })], [1, 0, 0])
  t.equal((await runtimeCaches(cache)).length, 1)
  const other = startNode(
    cache,
    `
    driver.set(${JSON.stringify(gpu)})
    const engine = await Engine.load(addModel(7), { tensorrt: { library: fakes.rtx17 }, cache: ${JSON.stringify(cache)} })
    const { data } = await engine.infer(new Tensor('float32', Float32Array.of(1, 2, 3, 4), [1, 4]))
    await engine.close()
    say({ data: Array.from(data), ...rtx17.runtime.stats().jit, builds: rtx17.runtime.stats().builds.length })
  `,
  )
  t.same(await other.next(), { data: [8, 3, 4, 5], compiles: 0, withGraphs: 2, builds: 0 })
})

test('its own CUDA graphs, unless they are turned off', async (t) => {
  const cache = temporaryFolder(t)
  for (const cudaGraph of [true, false]) {
    const before = jit().withGraphs
    await compilesOf({ cache, tensorrt: { cudaGraph } }, { runs: 6 })
    t.equal(jit().withGraphs - before, cudaGraph ? 4 : 0, 'one for each slot')
  }
  t.notOk(driver.stats().calls['cuStreamBeginCapture_v2'], 'and none of ours')
})

test('what is compiled while it runs is kept when it is closed, what was not changed is left alone', async (t) => {
  const cache = temporaryFolder(t)
  await compilesOf({ cache }, { runs: 0 })
  const [kept = ''] = await runtimeCaches(cache)
  const before = await readFile(kept)
  const { ino } = await stat(kept)
  await compilesOf({ cache }, { runs: 0 })
  t.equal((await stat(kept)).ino, ino, 'nothing new')
  await compilesOf({ cache }, { runs: 1 })
  t.ok((await readFile(kept)).length > before.length)
  const now = await stat(kept)
  await compilesOf({ cache }, { runs: 2 })
  t.equal((await stat(kept)).ino, now.ino)
  t.same(
    (await readdir(cache)).filter((name) => name.endsWith('.tmp')),
    [],
  )
})

test('a process that ends without close() has what its lanes needed', async (t) => {
  const cache = temporaryFolder(t)
  const engine = await Engine.load(addModel(7), { tensorrt: { library: rtx.path }, cache })
  while ((await runtimeCaches(cache)).length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  t.equal(await compilesOf({ cache }), 0)
  await engine.close()
})

test('damage is told in the log, and replaced', async (t) => {
  const { cache, kept } = await loadedOnce(t)
  const whole = await readFile(kept)
  const flipped = (at: number): Buffer => {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return bytes
  }
  const damages: [string, () => Promise<unknown>][] = [
    ['a bit in its middle', () => writeFile(kept, flipped(whole.length - 20))],
    ['a bit of its hash', () => writeFile(kept, flipped(40))],
    ['truncated', () => truncate(kept, whole.length - 1)],
    ['empty', () => truncate(kept, 0)],
    ['something else', () => writeFile(kept, 'something else')],
    ['a folder', () => rm(kept).then(() => mkdir(kept))],
  ]
  for (const [what, damage] of damages) {
    await damage()
    let compiles = 0
    const lines = await logOf(async () => (compiles = await compilesOf({ cache })))
    t.equal(compiles, 1, what)
    t.match(lines[0], /what TensorRT-RTX compiled cannot be read: .*\.runtime/, what)
    if (what === 'a folder') continue // which nobody replaces by a file
    t.equal(lines.length, 1, what)
    t.ok(whole.equals(await readFile(kept)), `${what}: replaced`)
    t.equal(await compilesOf({ cache }), 0, what)
  }
})

test('TensorRT refuses what another version, GPU or driver compiled: told in the log, and replaced', async (t) => {
  const { cache } = await loadedOnce(t)
  control.set({ device: 'sm_120' })
  let compiles = 0
  const lines = await logOf(async () => (compiles = await compilesOf({ cache })))
  t.equal(compiles, 1)
  t.match(lines, [/TensorRT-RTX 1\.7\.1: deserialize of the runtime cache .* failed.*another version or GPU/])
  t.equal(lines.length, 1)
  t.equal(await compilesOf({ cache }), 0)
})

test('who closes an engine does not wait long for whoever has its entry', async (t) => {
  const cache = temporaryFolder(t)
  await compilesOf({ cache }, { runs: 0 })
  const [entry] = await new EngineCache({ folder: cache }).entries()
  const [kept = ''] = await runtimeCaches(cache)
  const before = await readFile(kept)
  const lines = await logOf(() => withFileLock(entry?.path ?? '', {}, () => compilesOf({ cache }, { runs: 1 })))
  t.match(lines, [/cannot be kept: .*500/], 'half a second')
  t.ok(before.equals(await readFile(kept)), 'so it was not kept')
})

test('each GPU has its own beside the one plan', async (t) => {
  const { cache } = await loadedOnce(t)
  driver.set({ deviceName: 'Other GPU' })
  t.same([await compilesOf({ cache }), await compilesOf({ cache })], [1, 0])
  t.equal((await runtimeCaches(cache)).length, 2)
  driver.set(gpu)
  t.equal(await compilesOf({ cache }), 0)
  t.equal((await new EngineCache({ folder: cache }).entries()).length, 1)
})

test('it counts with its entry, and goes with it', async (t) => {
  const { cache, kept } = await loadedOnce(t)
  const engines = new EngineCache({ folder: cache })
  const [entry] = await engines.entries()
  const { path = '', bytes = 0 } = entry ?? {}
  t.equal(bytes, (await stat(path)).size + (await stat(kept)).size)
  await engines.clear()
  t.same(await runtimeCaches(cache), [])

  // a second entry pushes the first one out once what was compiled for it comes along
  await compilesOf({ cache })
  const maxBytes = bytes * 2 - 1
  await compilesOf({ cache: { folder: cache, maxBytes }, tensorrt: { builder: { workspace: '1MiB' } } })
  const left = await engines.entries()
  t.same([left.length, left[0]?.key === entry?.key], [1, false])
  t.equal((await runtimeCaches(cache)).length, 1)

  // alone too large
  await engines.clear()
  const small = { folder: cache, maxBytes: bytes - 100 }
  let compiles: number[] = []
  const lines = await logOf(
    async () =>
      (compiles = [await compilesOf({ cache: small }, { runs: 0 }), await compilesOf({ cache: small }, { runs: 0 })]),
  )
  t.same(compiles, [1, 1])
  t.match(lines[0], /cannot be kept: .*larger than the cache may be/)
  t.equal((await engines.entries()).length, 1, 'the plan stays')
})

test('what belongs to no plan any more is swept, and nothing is kept for an entry that is gone', async (t) => {
  const { cache, kept } = await loadedOnce(t)
  await writeFile(join(cache, `${'0'.repeat(64)}.0123456789abcdef.runtime`), '')
  await writeFile(join(cache, `.${'0'.repeat(64)}.plan.runtime.tmp`), '')
  await new EngineCache({ folder: cache }).plan(addModel(8), { builder: { tensorrt: { library: rtx.path } } })
  t.same(await runtimeCaches(cache), [kept])
  t.same(
    (await readdir(cache)).filter((name) => name.endsWith('.tmp')),
    [],
  )

  const engine = await Engine.load(addModel(9), { tensorrt: { library: rtx.path }, cache })
  while ((await runtimeCaches(cache)).length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
  await new EngineCache({ folder: cache }).clear()
  await engine.infer(x)
  const lines = await logOf(() => engine.close())
  t.match(lines, [/cannot be kept: .*not there any more/])
  t.same(await runtimeCaches(cache), [])
})

test('without a cache lanes share what was compiled, and nothing is written', async (t) => {
  const folder = temporaryFolder(t)
  process.env['NODE_TENSORRT_CACHE'] = folder
  t.equal(await compilesOf({ cache: false, lanes: 3 }), 1)
  await using builder = new Builder({ tensorrt: { library: rtx.path } })
  const { bytes } = await builder.build(addModel(7))
  const before = jit().compiles
  await using engine = await Engine.load(bytes, { tensorrt: { library: rtx.path }, lanes: 3 })
  t.same((await engine.infer(x)).data, Float32Array.of(8, 3, 4, 5))
  t.equal(jit().compiles - before, 1)
  t.same(await readdir(folder), [])
  await engine.close()
})

test('what fails of it is no error', async (t) => {
  // of two engines whose lane has a context for each slot
  for (const [rule, compiles, told] of [
    ['createRuntimeConfig', 4, /createRuntimeConfig failed/],
    ['createRuntimeCache', 4, /createRuntimeCache failed/],
    ['setRuntimeCache', 4, /setRuntimeCache failed/],
    ['setCudaGraphStrategy', 1, /setCudaGraphStrategy failed/],
    ['VRuntimeCache.serialize', 1, /serialize of the runtime cache failed/],
  ] as const) {
    const cache = temporaryFolder(t)
    control.failNth(rule, 1, true)
    let found = 0
    const lines = await logOf(async () => (found = await compilesOf({ cache })))
    t.equal(found, compiles, rule)
    t.match(lines[0], told)
    control.reset()
  }
  const cache = temporaryFolder(t)
  control.failNth('createExecutionContextWithRuntimeConfig', 1)
  await t.rejects(Engine.load(addModel(7), { tensorrt: { library: rtx.path }, cache }), { code: 'ERR_TRT_EXECUTION' })
  t.equal(await compilesOf({ cache }), 1)
})

test('closing keeps all under way: twice, while it is saved, and where the load is aborted', async (t) => {
  const cache = temporaryFolder(t)
  const engine = await Engine.load(addModel(7), { tensorrt: { library: rtx.path }, cache })
  await Promise.all([engine.close(), engine.close()])
  t.equal((await runtimeCaches(cache)).length, 1)
  const abort = new AbortController()
  control.set({ compileMs: 50 })
  const cut = new Engine(addModel(8), { tensorrt: { library: rtx.path }, cache, signal: abort.signal })
  while (control.stats().live.engines === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  abort.abort(new Error('enough'))
  await t.rejects(cut.ready, { message: 'enough' })
  await cut.close()
})
