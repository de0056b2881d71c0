// Timing caches on the fakes of TensorRT 10 and 11, which measure each layer that the cache lacks.
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { withFileLock } from '../../lib/backend/file-lock.js'
import { Builder, type BuilderOptions } from '../../lib/index.js'
import { readTimingCache } from '../fake/timing.js'
import { ended, openLocks, said, scratchFile, skipPython } from '../file-lock/rig.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { chain, chainLayers, killOnTheWay, startBuilding } from './timing-cache-rig.js'
import { long, size } from '../support/tiers.js'
import { certain, until } from '../support/waiting.js'

const { fakes, families } = await useFakes()
const facts = {
  'TensorRT 10': { older: '10.14.2', missBit: 16, editableBit: 27 },
  'TensorRT 11': { older: '11.1.0', missBit: 15, editableBit: 26 },
}

for (const family of families) {
  const { name, fullName, path, control } = family
  await t.test(fullName, async (t) => {
    const version = family.version.join('.')
    const { older, missBit, editableBit } = facts[name]
    const builder = (timingCache: string, more: BuilderOptions = {}): Builder =>
      new Builder({ tensorrt: { library: path }, timingCache, ...more })
    const file = (t: Test): string => scratchFile(t, 'timing.cache')
    const layersIn = async (cache: string): Promise<readonly string[]> => readTimingCache(await readFile(cache)).layers
    /** A test that begins with fresh fakes and leaves nothing of TensorRT's, but plans that wait to be collected. */
    const test = (name: string, body: (t: Test) => Promise<void>): Promise<unknown> =>
      t.test(name, { timeout: 300_000 }, async (t) => {
        control.reset()
        await body(t)
        const left = (): number =>
          Object.entries(control.stats().live).reduce((sum, [kind, n]) => sum + (kind === 'hostMemories' ? 0 : n), 0)
        await until(() => left() === 0)
        const { misuse, traps } = control.stats()
        t.same(
          { left: left(), misuse, traps },
          { left: 0, misuse: {}, traps: [] },
          'all is freed, and nothing was misused',
        )
      })

    await test('the second build measures nothing', async (t) => {
      const cache = file(t)
      const { info: first } = await builder(cache).build(chain(4))
      const { info: second } = await builder(cache).build(chain(4))
      t.same(control.stats().timing, { hits: chainLayers, misses: chainLayers })
      t.ok(control.stats().live.hostMemories <= 2, 'but the plans, no memory of TensorRT stays')
      const size = (await readFile(cache)).length
      t.same(first.timingCache, { bytesBefore: 0, bytesAfter: size })
      t.same(second.timingCache, { bytesBefore: size, bytesAfter: size })
      const { layers, ...made } = readTimingCache(await readFile(cache))
      t.same(made, { version, device: 'sm_86' })
      t.equal(layers.length, chainLayers)
      t.same((await readdir(dirname(cache))).sort(), ['timing.cache', 'timing.cache.lock'], 'nothing else stays')
      t.same(
        (await new Builder({ tensorrt: { library: path } }).build(chain(4))).info.timingCache,
        undefined,
        'none was asked for',
      )
    })

    await test('builds that overlap keep what each of them measured', async (t) => {
      const cache = file(t)
      control.set({ buildStepMs: 20 })
      let inner: Promise<unknown> | undefined
      await builder(cache).build(chain(4), {
        onProgress: () => {
          control.set({ buildStepMs: 0 })
          inner ??= builder(cache).build(chain(5))
        },
      })
      await inner
      t.equal((await layersIn(cache)).length, 2 * chainLayers)
      control.reset()
      await builder(cache).build(chain(4))
      await builder(cache).build(chain(5))
      t.same(control.stats().timing, { hits: 2 * chainLayers, misses: 0 })
    })

    // processes share the file in the same way on both families
    const isFirst = family === families[0]
    if (long || isFirst)
      await test('processes that build at once leave one cache with all', async (t) => {
        const cache = file(t)
        const [processes, each] = [size(3, 4), size(4, 8)]
        const children = Array.from({ length: processes }, (_, i) =>
          startBuilding(cache, path, { from: 1 + i * each, to: 1 + (i + 1) * each, times: 2 }),
        )
        t.same(await Promise.all(children.map(ended)), Array(processes).fill(0))
        t.equal((await layersIn(cache)).length, processes * each * chainLayers)
        for (let width = 1; width <= processes * each; width++) await builder(cache).build(chain(width))
        t.same(control.stats().timing, { hits: processes * each * chainLayers, misses: 0 })
      })

    if (long || isFirst)
      await test('killed at any moment, the file is the old or the new one, whole', async (t) => {
        const cache = file(t)
        let known: readonly string[] = []
        const rounds = size(4, 100)
        const sizes = new Set<number>()
        for (let round = 0; round < rounds; round++) {
          const child = startBuilding(cache, path, { from: round * 50 + 1, to: round * 50 + 51, times: 1000 })
          await killOnTheWay(child, 2 + (round % 3), (round * 0.618) % 1)
          const now = existsSync(cache) ? await layersIn(cache) : []
          const lost = known.filter((layer) => !now.includes(layer))
          if (lost.length > 0 || now.length % chainLayers !== 0)
            t.fail(`round ${round}: ${now.length} entries, ${lost.length} lost`)
          sizes.add(now.length)
          known = now
        }
        t.equal(sizes.size, rounds, `${known.length / chainLayers} builds were saved in ${rounds} processes`)
        const names = (await readdir(dirname(cache))).sort()
        const rest = names.filter((name) => name !== 'timing.cache.tmp')
        t.same(
          rest,
          ['timing.cache', 'timing.cache.lock'],
          'at most one temporary file stays, which the next save takes',
        )
        await writeFile(`${cache}.tmp`, 'half of')
        await builder(cache).build(chain(9999))
        t.notOk(existsSync(`${cache}.tmp`))
        t.equal((await layersIn(cache)).length, known.length + chainLayers)
      })

    await test('what cannot be used is an error that names the file, which stays as it is', async (t) => {
      const cache = file(t)
      await builder(cache).build(chain(4))
      const whole = await readFile(cache)
      const flipped = Buffer.from(whole)
      flipped[whole.length >> 1] = (flipped[whole.length >> 1] ?? 0) ^ 1
      const damaged = [
        flipped,
        Buffer.from('something else'),
        Buffer.alloc(1),
        ...[1, 20, whole.length >> 1, whole.length - 1].map((n) => whole.subarray(0, n)),
      ]
      for (const bytes of damaged) {
        await writeFile(cache, bytes)
        const failure = await failureOf(() => builder(cache).build(chain(4)))
        t.match(failure, {
          code: 'ERR_TRT_TIMING_CACHE',
          details: { path: cache, library: `TensorRT ${version}`, reason: /damaged/ },
        })
        t.ok(failure.message.includes(cache))
        t.ok(bytes.equals(await readFile(cache)), `${bytes.length} bytes`)
      }
      await writeFile(cache, '')
      t.same(
        (await builder(cache).build(chain(4))).info.timingCache,
        { bytesBefore: 0, bytesAfter: whole.length },
        'an empty file is a new one',
      )
    })

    await test('a file of another TensorRT or GPU is refused, with both named', async (t) => {
      const cache = file(t)
      const make = async (env: Record<string, string>): Promise<void> => {
        await writeFile(cache, '')
        t.equal(await ended(startBuilding(cache, path, { from: 4, to: 5, times: 1 }, env)), 0)
      }
      await make({ FAKE_TRT_VERSION: older })
      t.equal(readTimingCache(await readFile(cache)).version, older)
      const ofOlder = await failureOf(() => builder(cache).build(chain(4)))
      t.match(ofOlder, { code: 'ERR_TRT_TIMING_CACHE' })
      t.match(ofOlder.message, new RegExp(`TensorRT ${version} cannot use the timing cache .*is of TensorRT ${older}`))
      await make({ FAKE_TRT_DEVICE: 'sm_90' })
      t.match(await failureOf(() => builder(cache).build(chain(4))), {
        code: 'ERR_TRT_TIMING_CACHE',
        message: /sm_90.*sm_86/,
      })
      t.equal(readTimingCache(await readFile(cache)).device, 'sm_90', 'and is not overwritten')
    })

    await test('a file that became another one during the build is not overwritten', async (t) => {
      const cache = file(t)
      control.set({ buildStepMs: 10 })
      const other = Buffer.from('ftrt-cache 9.9.9 sm_86 cbf29ce484222325\n')
      let put: Promise<void> | undefined
      const failure = await failureOf(() =>
        builder(cache).build(chain(4), { onProgress: () => void (put ??= writeFile(cache, other)) }),
      )
      await put
      t.match(failure, { code: 'ERR_TRT_TIMING_CACHE', message: /9\.9\.9/ })
      t.ok(other.equals(await readFile(cache)))
    })

    await test('the file is locked while it is read and merged, and only then', async (t) => {
      const cache = file(t)
      let letGo: () => void = () => {}
      let held: Promise<void> = Promise.resolve()
      await new Promise<void>((taken) => {
        held = withFileLock(cache, {}, () => new Promise((resolve) => ((letGo = resolve), taken())))
      })
      let settled = false
      const waiting = builder(cache)
        .build(chain(4))
        .finally(() => (settled = true))
      const abort = new AbortController()
      const aborted = builder(cache).build(chain(5), { signal: abort.signal })
      await certain(() => openLocks(cache) === 3) // we hold it, and both builds wait for it
      t.notOk(settled, 'it waits for the lock')
      t.same(control.stats().builds, [], 'before it builds anything')
      abort.abort(new Error('enough'))
      await t.rejects(aborted, { message: 'enough' }, 'unless it is told to stop')
      letGo()
      await held
      await waiting
      t.equal((await layersIn(cache)).length, chainLayers, 'only one of them was built')
      control.set({ buildStepMs: 100 })
      let during: Promise<unknown> | undefined
      const order: string[] = []
      const hold = async (): Promise<void> => {
        order.push('taken')
        await certain(() => openLocks(cache) === 2) // the build has come to its end, and waits to save
        order.push('let go')
      }
      await builder(cache).build(chain(4), { onProgress: () => void (during ??= withFileLock(cache, {}, hold)) })
      order.push('built')
      await during
      t.same(order, ['taken', 'let go', 'built'], 'during the build another had it, and was waited for')
    })

    await test('files that cannot be', async (t) => {
      const cache = file(t)
      t.match(await failureOf(() => builder(join(dirname(cache), 'no', 'cache')).build(chain(4))), {
        code: 'ERR_TRT_FILE',
        message: /No such file/,
      })
      await mkdir(cache)
      t.match(await failureOf(() => builder(cache).build(chain(4))), {
        code: 'ERR_TRT_FILE',
        message: /it is a folder/,
        details: { path: cache },
      })
      const linked = `${cache}.2`
      await writeFile(`${cache}.victim`, 'mine')
      await symlink(`${cache}.victim`, `${linked}.tmp`)
      await builder(linked).build(chain(4))
      t.equal(await readFile(`${cache}.victim`, 'utf8'), 'mine', 'a link of the temporary name is not followed')
    })

    await test('what fails in TensorRT leaves the file alone', async (t) => {
      const cache = file(t)
      await builder(cache).build(chain(4))
      const before = await readFile(cache)
      const rows: [method: string, nth: number, code: string][] = [
        ['createTimingCache', 1, 'ERR_TRT_TIMING_CACHE'],
        ['setTimingCache', 1, 'ERR_TRT_TIMING_CACHE'],
        ['buildSerializedNetwork', 1, 'ERR_TRT_BUILD'],
        ['createTimingCache', 2, 'ERR_TRT_TIMING_CACHE'],
        ['combine', 1, 'ERR_TRT_TIMING_CACHE'],
        ['VTimingCache.serialize', 1, 'ERR_TRT_BUILD'],
      ]
      for (const [method, nth, code] of rows) {
        control.reset()
        control.failNth(method, nth)
        t.match(await failureOf(() => builder(cache).build(chain(5))), { code }, `${method}, call ${nth}`)
        t.ok(before.equals(await readFile(cache)))
      }
    })

    await test('options reach their flags', async (t) => {
      const cache = file(t)
      const flags = (): number => control.stats().builds.at(-1)?.['flags'] ?? NaN
      await builder(cache).build(chain(4))
      t.equal(flags() & ((1 << missBit) | (1 << editableBit)), 0)
      const told = await failureOf(() => builder(cache, { timingCacheMiss: 'error' }).build(chain(5)))
      t.match(told, { code: 'ERR_TRT_BUILD', message: /no entry for/ })
      t.equal(flags() & (1 << missBit), 1 << missBit)
      await builder(cache, { timingCacheMiss: 'error', editableTimingCache: true }).build(chain(4))
      t.equal(flags() & (1 << editableBit), 1 << editableBit)
      t.same(control.stats().builds.at(-1)?.['setTimingCache'], 1, 'a mismatch is never ignored')
    })
  })
}

t.test('an editable cache needs TensorRT 10.8', async (t) => {
  const cache = scratchFile(t, 'timing.cache')
  const child = startBuilding(
    cache,
    fakes.trt10,
    { from: 4, to: 5, times: 1, options: { editableTimingCache: true } },
    { FAKE_TRT_VERSION: '10.7.0' },
  )
  t.match(
    await said(child),
    /ERR_TRT_UNSUPPORTED .*kEDITABLE_TIMING_CACHE needs TensorRT 10\.8; this is TensorRT 10\.7\.0/,
  )
  t.notOk(existsSync(cache))
})

t.test('options that cannot be', async (t) => {
  const rows: [object, RegExp][] = [
    [{ timingCache: '' }, /a path or a file: URL for timingCache/],
    [{ timingCache: true }, /a path or a file: URL for timingCache/],
    [{ timingCache: 'x', timingCacheMiss: 'ignore' }, /'measure' or 'error' for timingCacheMiss/],
    [{ timingCache: 'x', editableTimingCache: 1 }, /true or false for editableTimingCache/],
    [{ timingCacheMiss: 'error' }, /timingCacheMiss: "error" says how .* give timingCache/],
    [{ timingCache: 'x', disableTimingCache: true }, /timingCache cannot go with disableTimingCache/],
    [{ editableTimingCache: true }, /editableTimingCache: true says how .* give timingCache/],
  ]
  for (const [options, message] of rows) {
    t.match(await failureOf(() => new Builder(options)), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
  }
})

t.test('who locks as trtexec does is waited for', { skip: skipPython }, async (t) => {
  const { startPython } = await import('../file-lock/rig.js')
  const cache = scratchFile(t, 'timing.cache')
  const python = startPython('fcntl.lockf(fd, fcntl.LOCK_EX)\nprint("held", flush=True)\nsys.stdin.readline()', cache)
  await said(python)
  let settled = false
  const build = new Builder({ tensorrt: { library: fakes.trt10 }, timingCache: cache })
    .build(chain(4))
    .finally(() => (settled = true))
  await certain(() => openLocks(cache) === 1)
  t.notOk(settled)
  python.stdin?.write('unlock\n')
  t.equal((await build).info.layers, chainLayers)
})
