// The cache with the real builder of TensorRT-RTX, on the CPU: EngineCache needs no GPU.
import { readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Builder, EngineCache } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { watchEventLoop } from '../support/event-loop.js'
import { temporaryFolder } from '../support/folders.js'
import { addModel } from '../support/models.js'
import { modelsToBuild } from '../support/real-models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { size } from '../support/tiers.js'
import { hashOfChunks, refuseDamage } from './rig.js'

t.test('real models', { skip: skipWithoutRtx }, async (t) => {
  const folder = temporaryFolder(t)
  await using cache = new EngineCache({ folder })
  for (const { name, source, shapes } of modelsToBuild.slice(1)) {
    await t.test(name, async (t) => {
      const model = await source()
      const told = { built: 0, loaded: 0 }
      const built = await cache.plan(model, { shapes, onProgress: () => (told.built++, undefined) })
      const loaded = await cache.plan(model, { shapes, onProgress: () => (told.loaded++, undefined) })
      t.same([built.hit, loaded.hit], [false, true])
      t.ok(told.built > 20, `${told.built} steps of the build`)
      t.equal(told.loaded, 0, 'TensorRT was not asked again')
      t.ok(Buffer.from(built.plan.bytes).equals(loaded.plan.bytes))
      t.match(loaded.plan.info.library, /^TensorRT-RTX 1\.7\./)
    })
  }
  t.equal(await refuseDamage(folder), modelsToBuild.length - 1)
})

t.test('weights in other files', { skip: skipWithoutRtx }, async (t) => {
  const folder = temporaryFolder(t)
  const at = (...names: string[]): string => join(folder, ...names)
  await using cache = new EngineCache({ folder: at('cache') })
  const weights = (...values: number[]): Promise<void> => writeFile(at('weights.bin'), Float32Array.from(values))
  await writeFile(at('model.onnx'), addModel(1, 4, 'weights.bin'))
  await weights(1, 2, 3, 4)
  t.equal((await cache.plan(at('model.onnx'))).hit, false)
  t.equal((await cache.plan(at('model.onnx'))).hit, true)
  await weights(1, 2, 3, 5)
  const other = await cache.plan(at('model.onnx'))
  t.equal(other.hit, false, 'another number')
  const direct = await new Builder().build(at('model.onnx'))
  t.equal(other.plan.bytes.length, direct.bytes.length)

  await t.test('through links, as the caches of model hubs have them', async (t) => {
    await mkdir(at('snapshot'))
    await symlink(at('model.onnx'), at('snapshot', 'model.onnx'))
    t.match(
      await failureOf(() => cache.plan(at('snapshot', 'model.onnx'))),
      { code: 'ERR_TRT_FILE', message: /snapshot\/weights\.bin/ },
      'it is looked for beside the link',
    )
    await symlink(at('weights.bin'), at('snapshot', 'weights.bin'))
    t.equal((await cache.plan(at('snapshot', 'model.onnx'))).hit, true)
  })

  await t.test('not fetched by Git LFS', async (t) => {
    await rename(at('weights.bin'), at('kept.bin'))
    await writeFile(at('weights.bin'), 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 16\n')
    t.match(await failureOf(() => cache.plan(at('model.onnx'))), {
      code: 'ERR_TRT_FILE',
      message: /weights\.bin: it is a Git LFS pointer/,
    })
    await rename(at('kept.bin'), at('weights.bin'))
  })

  await t.test('missing', async (t) => {
    await rename(at('weights.bin'), at('gone.bin'))
    t.match(await failureOf(() => cache.plan(at('model.onnx'))), {
      code: 'ERR_TRT_FILE',
      message: /Cannot read .*weights\.bin/,
    })
    t.match(await failureOf(async () => cache.plan(await readFile(at('model.onnx')))), {
      code: 'ERR_TRT_ONNX_PARSE',
      message: /give the path/,
    })
  })
})

t.test(
  'a model that changes while it is built is an error, and nothing is kept',
  { skip: skipWithoutRtx },
  async (t) => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'model.onnx')
    await writeFile(path, addModel(1, 1000))
    await using cache = new EngineCache({ folder: join(folder, 'cache') })
    let changing: Promise<void> | undefined
    const failure = await failureOf(() =>
      cache.plan(path, { onProgress: () => void (changing ??= writeFile(path, addModel(2, 1001))) }),
    )
    await changing
    t.match(failure, { code: 'ERR_TRT_FILE', message: /model\.onnx was changed while an engine was built from it/ })
    t.same(await cache.entries(), [])
    t.equal((await cache.plan(path)).hit, false)
    await rm(path)
    t.equal((await readdir(join(folder, 'cache'))).filter((name) => name.endsWith('.plan')).length, 1)
  },
)

t.test('hashing a large model does not hold up the event loop', { skip: skipWithoutRtx }, async (t) => {
  const folder = temporaryFolder(t)
  const megabytes = size(100, 500)
  const path = join(folder, 'model.onnx')
  await writeFile(path, addModel(1, 4, 'weights.bin'))
  const weights = Buffer.alloc(megabytes * 2 ** 20, 1)
  await writeFile(join(folder, 'weights.bin'), weights)
  const { digestModel } = await import('../../lib/cache/digest.js')
  let external: readonly string[] = []
  const {
    ticks,
    longest,
    total: ms,
  } = await watchEventLoop(async () => ({ external } = await digestModel(path, undefined)))
  t.same(external, [hashOfChunks(weights)])
  t.comment(`${megabytes} MB in ${Math.round(ms)} ms, the longest turn ${longest.toFixed(1)} ms`)
  t.ok(ticks > 10, `${ticks} ticks of a timer: it is hashed in parts`)
  const abort = new AbortController()
  const aborted = digestModel(path, abort.signal)
  abort.abort(new Error('enough'))
  await t.rejects(aborted, { message: 'enough' })
})
