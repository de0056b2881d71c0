// Engine.load('model.onnx') with its cache; on the fakes.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type BuildProgress, Engine, EngineCache, type EngineOptions, Tensor } from '../../lib/index.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { merged } from '../support/groups.js'
import { addModel } from '../support/models.js'

const { fakes, driver, families, trt10 } = await useFakes()

for (const { name, path, control } of families) {
  await t.test(name, async (t) => {
    const builds = (): number => control.stats().builds.length
    /** Loads it, runs it, and says how many builds there were. */
    const run = async (model: string | Uint8Array, options: EngineOptions): Promise<number> => {
      const before = builds()
      await using engine = await Engine.load(model, merged({ tensorrt: { library: path } }, options))
      const y = await engine.infer(new Tensor('float32', Float32Array.of(1, 2, 3, 4), [1, 4]))
      t.same(y.data, Float32Array.of(1 + 7, 3, 4, 5))
      return builds() - before
    }

    await t.test('builds once, in the folder that it is told', async (t) => {
      const folder = temporaryFolder(t)
      const model = join(folder, 'model.onnx')
      await writeFile(model, addModel(7))
      const one = join(folder, 'one')
      const two = join(folder, 'two')
      t.same([await run(model, { cache: one }), await run(model, { cache: one })], [1, 0])
      t.equal(await run(addModel(7), { cache: one }), 0, 'from its bytes too')
      t.equal(await run(model, { cache: { folder: two, maxBytes: '1GiB' } }), 1)
      t.equal(await run(model, { cache: two }), 0)
      t.equal(await run(model, { cache: one, tensorrt: { builder: { workspace: '1MiB' } } }), 1, 'with other options')
      t.equal(await run(model, { cache: one, tensorrt: { builder: { workspace: '1MiB' } } }), 0)
      const built = control.stats().builds.length
      const { plan, hit } = await new EngineCache({ folder: one }).plan(model, {
        builder: { tensorrt: { library: path }, workspace: '1MiB' },
      })
      t.ok(hit, 'the same cache as EngineCache')
      t.equal(control.stats().builds.length, built)
      t.equal(plan.info.library?.startsWith(name), true)
    })

    await t.test('by default too, and not where it is told', async (t) => {
      t.same(
        [await run(addModel(7), {}), await run(addModel(7), {}), await run(addModel(7), { cache: true })],
        [1, 0, 0],
      )
      t.same([await run(addModel(7), { cache: false }), await run(addModel(7), { cache: false })], [1, 1])
    })

    await t.test('without its weights, which come from the model each time', async (t) => {
      const folder = temporaryFolder(t)
      const model = join(folder, 'model.onnx')
      await writeFile(model, addModel(7))
      for (const source of [model, addModel(7)])
        for (const cache of [folder, false] as const)
          await run(source, { cache, tensorrt: { builder: { stripWeights: true } } })
      t.equal((await new EngineCache({ folder }).entries()).length, 1)
    })

    await t.test('tells of its progress', async (t) => {
      const folder = temporaryFolder(t)
      for (const [cache, isBuilt] of [
        [folder, true],
        [folder, false],
        [false, true],
      ] as const) {
        const steps: BuildProgress[] = []
        await run(addModel(7), { cache, onProgress: (step) => steps.push(step) })
        t.equal(steps.length > 5, isBuilt)
      }
      const failing = Engine.load(addModel(8), {
        tensorrt: { library: path },
        cache: folder,
        onProgress: () => {
          throw new Error('from the listener')
        },
      })
      await t.rejects(failing, { message: 'from the listener' })
    })

    await t.test('an aborted load leaves nothing behind, and closing waits for it', async (t) => {
      const folder = temporaryFolder(t)
      control.set({ buildStepMs: 500 })
      for (const cache of [folder, false] as const) {
        const abort = new AbortController()
        const before = builds()
        const engine = new Engine(addModel(7), { tensorrt: { library: path }, cache, signal: abort.signal })
        while (builds() === before) await new Promise((resolve) => setTimeout(resolve, 2))
        abort.abort(new Error('enough'))
        await t.rejects(engine.ready, { message: 'enough' })
        t.equal(control.stats().live.builders, 1, 'while TensorRT is still at its step')
        await engine.close()
        t.equal(control.stats().live.builders, 0)
      }
      control.set({ buildStepMs: 0 })
      t.same(await new EngineCache({ folder }).entries(), [])
      t.equal(await run(addModel(7), { cache: folder }), 1)
    })

    await t.test('nothing is left', (t) => {
      const { live, misuse, traps } = control.stats()
      t.same({ ...live, hostMemories: 0 }, Object.fromEntries(Object.keys(live).map((what) => [what, 0])))
      t.same([misuse, traps], [{}, []])
      t.equal(driver.stats().streams, 0)
      t.end()
    })
  })
}

t.test('options', async (t) => {
  const code = 'ERR_TRT_INVALID_ARGUMENT'
  const rows: [object, RegExp][] = [
    [{ cache: 1 }, /true, false, a folder, or \{ folder, maxBytes \} for cache but received number 1/],
    [{ cache: '' }, /a path or a file: URL for cache/],
    [{ cache: { dir: '/x' } }, /Unknown option "dir" for the engine cache/],
    [{ cache: { maxBytes: 'all' } }, /maxBytes/],
    [{ tensorrt: { builder: 1 } }, /an object of options for tensorrt\.builder/],
    [{ tensorrt: { builder: { workspace: -1 } } }, /workspace/],
    [{ tensorrt: { builder: { device: 1 } } }, /Unknown option "device" for Builder/],
    [{ tensorrt: { builder: { tensorrt: {} } } }, /tensorrt\.builder\.tensorrt/],
    [{ onProgress: 'yes' }, /a function for onProgress/],
  ]
  for (const [options, message] of rows) t.throws(() => new Engine(addModel(), options), { code, message })
  for (const option of ['inputFormats', 'outputFormats'])
    for (const formats of [['hwc8'], ['chw', 'chw32']] as const) {
      const message = new RegExp(
        `^Expected formats: \\['chw'\\] in ${option} of 'x' but received .*${formats.at(-1)}.*row-major`,
      )
      t.throws(() => new Engine(addModel(), { tensorrt: { builder: { [option]: { x: { formats } } } } }), {
        code: 'ERR_TRT_UNSUPPORTED',
        message,
      })
    }
  const { plan } = await new EngineCache({ folder: temporaryFolder(t) }).plan(addModel(), {
    builder: { tensorrt: { library: fakes.trt10 } },
  })
  const failure = await failureOf(() => Engine.load(plan.bytes, { tensorrt: { library: fakes.trt10, builder: {} } }))
  t.match(failure, { code, message: /it is built already/ })
  await using engine = await Engine.load(plan.bytes, { tensorrt: { library: fakes.trt10 }, cache: '/proc/nowhere' })
  t.equal(engine.backend, 'tensorrt', 'a plan needs no cache')
})

t.test('a cache that cannot be used is an error, and no build', async (t) => {
  const before = trt10.runtime.stats().builds.length
  const failure = await failureOf(() =>
    Engine.load(addModel(), { tensorrt: { library: fakes.trt10 }, cache: '/proc/nowhere' }),
  )
  t.match(failure, { code: 'ERR_TRT_FILE', message: /The engine cache \/proc\/nowhere cannot be used.*cache: false/ })
  t.equal(trt10.runtime.stats().builds.length, before)
})
