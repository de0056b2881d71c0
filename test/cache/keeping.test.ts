// What is kept, for how long, and what becomes of damage; on the fakes.
import diagnostics from 'node:diagnostics_channel'
import { chmod, chown, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os, { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type CacheMessage, type CachedPlan, Engine, EngineCache, Plan } from '../../lib/index.js'
import { withFileLock } from '../../lib/backend/file-lock.js'
import { isPlan, readPlan } from '../../lib/plan/read.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { nobody, temporaryFolder, withoutRoot } from '../support/folders.js'
import { addModel } from '../support/models.js'
import { filesIn, refuseDamage } from './rig.js'

const { fakes, trt10 } = await useFakes()
const builder = { tensorrt: { library: fakes.trt10 } }
const builds = (): number => trt10.runtime.stats().builds.length
const ask = (cache: EngineCache, first: number): Promise<CachedPlan> => cache.plan(addModel(first, 1000), { builder })

/** What the process was warned of while the body ran. */
async function warningsOf(body: () => Promise<unknown>): Promise<(Error & { code?: string })[]> {
  const warnings: Error[] = []
  const listener = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', listener)
  try {
    await body()
    await sleep(5)
  } finally {
    process.off('warning', listener)
  }
  return warnings.filter(({ name }) => name === 'TensorRTWarning')
}

t.test('a plan comes back as it was built, and a channel tells of it', async (t) => {
  const folder = join(temporaryFolder(t), 'deep', 'cache')
  const told: CacheMessage[] = []
  const listener = (message: unknown): unknown => told.push(message as CacheMessage)
  diagnostics.subscribe('node-tensorrt:cache', listener)
  t.teardown(() => diagnostics.unsubscribe('node-tensorrt:cache', listener))
  await using cache = new EngineCache({ folder })
  t.same(await cache.entries(), [], 'no folder is no entries')
  const begun = performance.now()
  const built = await ask(cache, 1)
  const loaded = await ask(new EngineCache({ folder }), 1)
  const elapsed = performance.now() - begun
  t.same([built.hit, loaded.hit], [false, true])
  t.ok(Buffer.from(built.plan.bytes).equals(loaded.plan.bytes))
  t.same(
    JSON.parse(JSON.stringify(loaded.plan.info)),
    JSON.parse(JSON.stringify(built.plan.info)),
    'with all that is known of it',
  )
  const [entry] = await cache.entries()
  t.same(
    { ...entry, usedAt: 0 },
    { key: told[0]?.key, path: join(folder, `${told[0]?.key ?? ''}.plan`), bytes: built.plan.bytes.length, usedAt: 0 },
  )
  t.same(
    told.map(({ key, hit, path }) => [key, hit, path]),
    [false, true].map((hit) => [entry?.key, hit, entry?.path]),
  )
  const both = told.reduce((sum, { ms }) => sum + ms, 0)
  t.ok(told.every(({ ms }) => ms > 0) && both <= elapsed, `parts of what it took: ${both} of ${elapsed} ms`)
  t.equal(((await Plan.load(entry?.path ?? '')).info.inputs ?? []).length, 1, 'an entry is a plan like any other')
})

t.test('a damaged entry is found, removed and built again, with a warning', async (t) => {
  const folder = temporaryFolder(t)
  const cache = new EngineCache({ folder })
  const { plan } = await ask(cache, 1)
  const [entry] = await cache.entries()
  const path = entry?.path ?? ''
  const flip = async (at: number): Promise<void> => {
    const bytes = await readFile(path)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    await writeFile(path, bytes)
  }
  const damages: [string, () => Promise<unknown>][] = [
    ['a bit of its middle', () => flip(plan.bytes.length >> 1)],
    ['the last bit', () => flip(plan.bytes.length - 1)],
    ['truncated', () => truncate(path, plan.bytes.length - 1)],
    ['empty', () => truncate(path, 0)],
    ['something else', () => writeFile(path, 'something else')],
    ['no sidecar', () => rm(`${path}.json`)],
    ['a damaged sidecar', () => truncate(`${path}.json`, 20)],
    [
      'a sidecar of another plan',
      async () =>
        writeFile(`${path}.json`, (await readFile(`${path}.json`, 'utf8')).replace(/[0-9a-f]{64}/, 'f'.repeat(64))),
    ],
  ]
  for (const [what, damage] of damages) {
    await damage()
    const before = builds()
    const warnings = await warningsOf(async () => {
      const again = await ask(cache, 1)
      t.equal(again.hit, false, what)
      t.ok(Buffer.from(again.plan.bytes).equals(plan.bytes))
    })
    t.equal(builds(), before + 1)
    t.match(warnings, [{ code: 'TRT_CACHE_DAMAGED', message: /built again: .*\.plan/ }], what)
    t.equal((await ask(cache, 1)).hit, true, 'whole again')
  }
  await rm(path)
  t.same(await warningsOf(async () => t.equal((await ask(cache, 1)).hit, false)), [], 'a removed one is just not there')
  t.equal(await refuseDamage(folder), 1)
})

t.test('the least recently used go first, and no more than have to', async (t) => {
  const folder = temporaryFolder(t)
  const size = (await ask(new EngineCache({ folder }), 0)).plan.bytes.length
  await rm(folder, { recursive: true })
  const cache = new EngineCache({ folder, maxBytes: size * 3 + 100 })
  const there = async (): Promise<boolean[]> => {
    const keys = new Set((await cache.entries()).map(({ key }) => key))
    return keyOf.map((key) => keys.has(key))
  }
  const keyOf: string[] = []
  diagnostics.subscribe('node-tensorrt:cache', remember)
  t.teardown(() => diagnostics.unsubscribe('node-tensorrt:cache', remember))
  function remember(message: unknown): void {
    const { key, hit } = message as CacheMessage
    if (!hit) keyOf.push(key)
  }
  /** As if everything had happened a second earlier than it did. */
  const age = async (): Promise<void> => {
    for (const { path, usedAt } of await cache.entries())
      await utimes(`${path}.json`, usedAt, new Date(usedAt.getTime() - 1000))
  }
  for (const first of [1, 2, 3]) {
    await ask(cache, first)
    await age()
  }
  t.same(await there(), [true, true, true])
  t.equal((await ask(cache, 1)).hit, true)
  await age()
  await ask(cache, 4)
  t.same(await there(), [true, false, true, true], 'the second was not used since')
  await age()
  await ask(cache, 5)
  t.same(await there(), [true, false, false, true, true])
  const { plans, sidecars, temporaries } = await filesIn(folder)
  t.same([plans.length, sidecars.length, temporaries.length], [3, 3, 0], 'nothing of the others is left')

  await t.test('but not what is in use', async (t) => {
    await age()
    const [oldest] = await cache.entries()
    await withFileLock(oldest?.path ?? '', {}, () => ask(cache, 6))
    const left = await cache.entries()
    t.ok(
      left.some(({ key }) => key === oldest?.key),
      'somebody builds or reads it',
    )
    t.equal(left.length, 3)
  })

  await t.test('a plan larger than all of it is given, and not kept', async (t) => {
    const before = (await cache.entries()).map(({ key }) => key)
    for (let i = 0; i < 2; i++) {
      const warnings = await warningsOf(async () => {
        const { plan, hit } = await cache.plan(addModel(1, 10_000), { builder })
        t.ok(!hit && plan.bytes.length > cache.maxBytes)
      })
      t.match(warnings, [
        { code: 'TRT_CACHE_TOO_SMALL', message: /\d+ bytes is not kept: the engine cache .* may have \d+/ },
      ])
    }
    t.same(
      (await cache.entries()).map(({ key }) => key),
      before,
    )
  })

  await t.test('several caches that evict at once do no harm', async (t) => {
    const caches = Array.from({ length: 4 }, () => new EngineCache({ folder, maxBytes: size * 3 + 100 }))
    await Promise.all(caches.flatMap((each, i) => Array.from({ length: 5 }, (_, j) => ask(each, 100 + i * 5 + j))))
    t.equal(await refuseDamage(folder), 3)
  })

  const gone = { signal: AbortSignal.abort(new Error('not any more')) }
  await t.rejects(cache.clear(gone), { message: 'not any more' })
  await t.rejects(cache.entries(gone), { message: 'not any more' })
  await t.rejects(cache.clear({ signals: 1 } as never), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.equal((await cache.entries({ signal: new AbortController().signal })).length, 3)
  const half = new AbortController()
  const clearing = cache.clear({ signal: half.signal })
  half.abort(new Error('enough'))
  await t.rejects(clearing, { message: 'enough' })
  t.ok((await cache.entries()).length > 0)
  await cache.clear()
  t.same(await cache.entries(), [])
  const after = await filesIn(folder)
  t.same(after, { plans: [], sidecars: [], temporaries: [], others: [] })
})

t.test('what a saver that died left there is swept', async (t) => {
  const folder = temporaryFolder(t)
  const cache = new EngineCache({ folder })
  await ask(cache, 1)
  const [name = ''] = (await filesIn(folder)).plans
  await writeFile(join(folder, `.${name}.01234567.tmp`), 'half')
  await writeFile(join(folder, `.${'a'.repeat(64)}.plan.01234567.tmp`), 'half')
  await writeFile(join(folder, `${'b'.repeat(64)}.plan.json`), '{}')
  await writeFile(join(folder, 'notes.txt'), 'not ours')
  await ask(cache, 2)
  const { plans, sidecars, temporaries, others } = await filesIn(folder)
  t.same([plans.length, sidecars.length, temporaries, others], [2, 2, [], ['notes.txt']])
})

t.test('a folder that cannot be used is an error that names the way out', async (t) => {
  const folder = temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  const before = builds()
  for (const place of [join(folder, 'file'), join(folder, 'file', 'below'), '/proc/cache', '/sys/cache']) {
    const failure = await failureOf(() => ask(new EngineCache({ folder: place }), 1))
    t.match(
      failure,
      { code: 'ERR_TRT_FILE', message: /^The engine cache .* cannot be used: .*(option cache|cache: false).*/ },
      place,
    )
    t.match(failure.message, place)
  }
  t.equal(builds(), before, 'nothing was built in vain')
})

t.test('loads entries of a folder that can only be read, and rejects new ones', async (t) => {
  const folder = join(temporaryFolder(t), 'readonly')
  await ask(new EngineCache({ folder }), 1)
  if (process.getuid?.() === 0) {
    await chmod(dirname(folder), 0o755)
    for (const path of [folder, ...(await readdir(folder)).map((name) => join(folder, name))])
      await chown(path, nobody, nobody)
  }
  await chmod(folder, 0o500)
  t.teardown(() => chmod(folder, 0o700))
  await withoutRoot(async () => {
    t.equal((await ask(new EngineCache({ folder }), 1)).hit, true)
    t.match(await failureOf(() => ask(new EngineCache({ folder }), 2)), {
      code: 'ERR_TRT_FILE',
      message: /EACCES|Permission denied/,
    })
  })
})

t.test('where it is unless somebody says so', async (t) => {
  const { NODE_TENSORRT_CACHE: named, XDG_CACHE_HOME: xdg } = process.env
  t.teardown(() => {
    process.env['NODE_TENSORRT_CACHE'] = named
    if (xdg !== undefined) process.env['XDG_CACHE_HOME'] = xdg
    else delete process.env['XDG_CACHE_HOME']
  })
  process.env['NODE_TENSORRT_CACHE'] = '/from/environment'
  process.env['XDG_CACHE_HOME'] = '/xdg'
  t.equal(new EngineCache({ folder: '/given' }).folder, '/given')
  t.equal(new EngineCache().folder, '/from/environment')
  process.env['NODE_TENSORRT_CACHE'] = ''
  t.equal(new EngineCache().folder, '/xdg/node-tensorrt/engines')
  process.env['XDG_CACHE_HOME'] = 'relative'
  t.equal(new EngineCache().folder, join(homedir(), '.cache/node-tensorrt/engines'))
  t.equal(new EngineCache().maxBytes, 10 * 1024 ** 3)
  t.equal(new EngineCache({ maxBytes: '2GiB' }).maxBytes, 2 * 1024 ** 3)
})

t.test('misuse', async (t) => {
  const code = 'ERR_TRT_INVALID_ARGUMENT'
  t.throws(() => new EngineCache({ folder: '' }), { code, message: /a path or a file: URL for folder/ })
  t.throws(() => new EngineCache({ maxBytes: 0 }), { code, message: /maxBytes/ })
  t.throws(() => new EngineCache({ maxbytes: 1 } as never), { code, message: /did you mean maxBytes/ })
  const cache = new EngineCache({ folder: temporaryFolder(t) })
  const rows: [unknown[], RegExp][] = [
    [[1], /source but received number 1/],
    [[addModel(), { builder: { workspce: 1 } }], /did you mean workspace/],
    [[addModel(), { builder: 1 }], /an object for the options of Builder/],
    [[addModel(), { shape: {} }], /did you mean shapes/],
    [[addModel(), { onProgress: 1 }], /a function for onProgress/],
    [[addModel(), { signal: 1 }], /an AbortSignal for signal/],
  ]
  for (const [args, message] of rows)
    t.match(await failureOf(() => cache.plan(...(args as [never]))), { code, message })
  t.match(await failureOf(() => cache.plan('/no/such.onnx', { builder })), {
    code: 'ERR_TRT_FILE',
    message: /no\/such\.onnx/,
  })
  t.match(await failureOf(() => cache.plan('/dev/zero', { builder })), {
    code: 'ERR_TRT_FILE',
    message: /not an ordinary file/,
  })
  t.match(await failureOf(() => cache.plan(addModel().subarray(0, 60), { builder })), { code: 'ERR_TRT_ONNX_PARSE' })
  t.match(await failureOf(() => cache.plan(addModel(1, 4, 'weights.bin'), { builder })), {
    code: 'ERR_TRT_ONNX_PARSE',
    message: /"weights.bin".*give the path/,
  })
  t.same(await cache.entries(), [], 'a failure is not kept')
  await cache.close()
  await cache.close()
  t.match(await failureOf(() => cache.plan(addModel(), { builder })), { code: 'ERR_TRT_CLOSED' })
})

t.test('an entry that is used meanwhile is opened by its path all the same', async (t) => {
  const cache = new EngineCache({ folder: temporaryFolder(t) })
  const { path = '' } = await ask(cache, 1)
  const read = await readPlan(path, { keep: 'open', hash: true })
  if (!isPlan(read) || read.file === undefined) throw new Error('no plan')
  const [before] = await cache.entries()
  await sleep(5)
  t.equal((await ask(cache, 1)).hit, true)
  const [after] = await cache.entries()
  t.ok(after!.usedAt > before!.usedAt, 'it was used now')
  await read.file.refuseChanged()
  t.equal(read.size, after!.bytes, 'and nobody wrote to it')
  await read.file.close()
})

t.test('a folder that everybody may write to, or that is of somebody else, is refused: plans are code', async (t) => {
  const folder = temporaryFolder(t)
  const cache = new EngineCache({ folder })
  await ask(cache, 1)
  for (const mode of [0o777, 0o1777, 0o703]) {
    await chmod(folder, mode)
    const before = builds()
    for (const first of [1, 2])
      t.match(await failureOf(() => ask(cache, first)), {
        code: 'ERR_TRT_FILE',
        message: /everybody can write to it.*chmod o-w.*cache: false/,
      })
    t.equal(builds(), before)
  }
  for (const mode of [0o700, 0o755, 0o775]) {
    await chmod(folder, mode)
    t.equal((await ask(cache, 1)).hit, true)
  }
  const own = process.getuid
  t.teardown(() => (process.getuid = own!))
  process.getuid = () => 54321
  if ((await stat(folder)).uid === 0) {
    t.equal((await ask(cache, 1)).hit, true, "root's is trusted")
    await chown(folder, 12345, 12345)
  }
  t.match(await failureOf(() => ask(cache, 1)), { code: 'ERR_TRT_FILE', message: /belongs to another user/ })
})

t.test('a user without a home: what needs no cache works, what needs one is told how to name it', async (t) => {
  const home = os.homedir
  const [cacheHome, named] = [process.env['XDG_CACHE_HOME'], process.env['NODE_TENSORRT_CACHE']]
  t.teardown(() => {
    Object.assign(os, { homedir: home })
    syncBuiltinESMExports()
    if (cacheHome !== undefined) process.env['XDG_CACHE_HOME'] = cacheHome
    if (named !== undefined) process.env['NODE_TENSORRT_CACHE'] = named
  })
  delete process.env['XDG_CACHE_HOME']
  delete process.env['NODE_TENSORRT_CACHE']
  Object.assign(os, {
    homedir: () => {
      throw Object.assign(new Error('A system error occurred: uv_os_homedir returned ENOENT'), {
        code: 'ERR_SYSTEM_ERROR',
      })
    },
  })
  syncBuiltinESMExports()
  const remedy = { code: 'ERR_TRT_FILE', message: /no folder: HOME is not set.*NODE_TENSORRT_CACHE.*cache: false/ }
  t.match(await failureOf(() => new EngineCache()), remedy)
  const { plan } = await ask(new EngineCache({ folder: temporaryFolder(t) }), 1)
  await using engine = await Engine.load(plan, { tensorrt: { library: fakes.trt10 } })
  t.equal(engine.backend, 'tensorrt')
  await using onCpu = await Engine.load(addModel(1), { backend: 'cpu' })
  t.equal(onCpu.backend, 'cpu')
  t.match(
    await failureOf(() => Engine.load(addModel(1), { backend: 'tensorrt', tensorrt: { library: fakes.trt10 } })),
    remedy,
  )
  const folder = temporaryFolder(t)
  await plan.save(join(folder, 'x.plan'))
  t.same((await readdir(folder)).sort(), ['.x.plan.lock', 'x.plan', 'x.plan.json'], 'its lock lies beside a plan')
})
