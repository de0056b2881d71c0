// What makes a plan stale, and what does not; on the fakes.
import { copyFile, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { type BuilderOptions, type CachedBuildOptions, EngineCache, type ModelSource } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { useFakes } from '../native/fakes.js'
import { temporaryFolder } from '../support/folders.js'
import { addModel, oneNode } from '../support/models.js'
import { range } from '../support/values.js'
import { startNode } from './rig.js'

const { fakes, driver, families } = await useFakes()

for (const { name, path, control } of families) {
  await t.test(name, async (t) => {
    /** Whether the cache has it; TensorRT's own count of builds has to agree. */
    const hits = async (cache: EngineCache, model: ModelSource, more: CachedBuildOptions = {}): Promise<boolean> => {
      const before = control.stats().builds.length
      const { hit } = await cache.plan(model, { ...more, builder: { tensorrt: { library: path }, ...more.builder } })
      const built = control.stats().builds.length - before
      if (built !== (hit ? 0 : 1)) throw new Error(`hit ${hit}, but ${built} builds`)
      return hit
    }

    await t.test('the model is known by its bytes, not by its name', async (t) => {
      const folder = temporaryFolder(t)
      const at = (name: string): string => join(folder, name)
      const cache = new EngineCache({ folder: at('cache') })
      await writeFile(at('one.onnx'), addModel(1))
      t.equal(await hits(cache, at('one.onnx')), false)
      t.equal(await hits(cache, at('one.onnx')), true)
      await utimes(at('one.onnx'), 1, 1)
      t.equal(await hits(cache, at('one.onnx')), true, 'another time')
      await copyFile(at('one.onnx'), at('copy.onnx'))
      t.equal(await hits(cache, pathToFileURL(at('copy.onnx'))), true, 'a copy, by its URL')
      await symlink(at('one.onnx'), at('link.onnx'))
      t.equal(await hits(cache, at('link.onnx')), true, 'a link')
      await rename(at('one.onnx'), at('renamed.onnx'))
      t.equal(await hits(cache, at('renamed.onnx')), true, 'another name')
      t.equal(await hits(cache, addModel(1)), true, 'its bytes')
      t.equal(await hits(cache, Uint8Array.from(addModel(1)).buffer), true, 'and their buffer')
      const other = addModel(2)
      t.equal(other.length, addModel(1).length)
      await writeFile(at('renamed.onnx'), other)
      t.equal(await hits(cache, at('renamed.onnx')), false, 'one number of a weight')
      t.equal((await cache.entries()).length, 2)
    })

    await t.test('each option and each shape', async (t) => {
      const cache = new EngineCache({ folder: temporaryFolder(t) })
      const model = oneNode('Relu', ['N', 4])
      const small = { x: range([1, 4], [2, 4], [4, 4]) }
      const large = { x: range([8, 4], [8, 4], [16, 4]) }
      const variants: [string, CachedBuildOptions][] = [
        ['a profile', { shapes: small }],
        ['another min', { shapes: { x: range([2, 4], [2, 4], [4, 4]) } }],
        ['another opt', { shapes: { x: range([1, 4], [3, 4], [4, 4]) } }],
        ['another max', { shapes: { x: range([1, 4], [2, 4], [5, 4]) } }],
        ['two profiles', { shapes: [small, large] }],
        ['their order', { shapes: [large, small] }],
        ['workspace', { shapes: small, builder: { workspace: '1MiB' } }],
        ['another workspace', { shapes: small, builder: { workspace: '2MiB' } }],
        ['level', { shapes: small, builder: { optimizationLevel: 1 } }],
        ['no TF32', { shapes: small, builder: { tf32: false } }],
        ['level and no TF32', { shapes: small, builder: { optimizationLevel: 1, tf32: false } }],
      ]
      for (const [what, options] of variants) t.equal(await hits(cache, model, options), false, what)
      for (const [what, options] of variants) t.equal(await hits(cache, model, options), true, `${what}, again`)
      t.equal((await cache.entries()).length, variants.length)

      const file = join(path, `libnvinfer.so.${path === fakes.trt10 ? 10 : 11}`)
      const same: [string, CachedBuildOptions][] = [
        ['an array of one profile', { shapes: [small] }],
        ['bytes for MiB', { shapes: small, builder: { workspace: 2 ** 20 } }],
        ['a listener', { shapes: small, onProgress: () => {} }],
        ['the order of options', { shapes: small, builder: { tf32: false, optimizationLevel: 1 } }],
        [
          'the library by its file',
          { shapes: small, builder: { tensorrt: { library: file } } satisfies BuilderOptions },
        ],
      ]
      for (const [what, options] of same) t.equal(await hits(cache, model, options), true, what)
    })

    await t.test('the GPU', async (t) => {
      t.teardown(() => driver.set({ deviceName: 'Fake GPU' }))
      const cache = new EngineCache({ folder: temporaryFolder(t) })
      t.equal(await hits(cache, addModel()), false)
      driver.set({ deviceName: 'Another GPU' })
      t.equal(await hits(cache, addModel()), false, 'of another name')
      driver.set({ deviceName: 'Fake GPU' })
      t.equal(await hits(cache, addModel()), true)
    })

    await t.test('the inputs of a profile may come in any order', async (t) => {
      const cache = new EngineCache({ folder: temporaryFolder(t) })
      const graph = new GraphBuilder({ name: 'two' })
      const [a, b] = [graph.input('a', 'float32', ['N']), graph.input('b', 'float32', ['N'])]
      graph.output(graph.node('Add', [a, b]), 'float32', ['N'])
      const model = writeModel(graph.toModel())
      t.equal(await hits(cache, model, { shapes: { a: [3], b: [3] } }), false)
      t.equal(await hits(cache, model, { shapes: { b: [3], a: [3] } }), true)
    })
  })
}

await t.test('another version, and another major one', async (t) => {
  const folder = temporaryFolder(t)
  const ask = (version: string): Promise<unknown> =>
    startNode(folder, "say((await cache.plan(oneNode('Relu'), { builder })).hit)", { FAKE_TRT_VERSION: version }).next()
  t.same([await ask('10.14.1'), await ask('10.15.0'), await ask('10.14.1')], [false, false, true])
  const cache = new EngineCache({ folder })
  t.equal((await cache.plan(oneNode('Relu'), { builder: { tensorrt: { library: fakes.trt11 } } })).hit, false)
  t.equal((await cache.entries()).length, 3)
})
