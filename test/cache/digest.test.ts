// What the engine cache knows models by.
import { appendFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { digestFiles, digestModel, refuseChanged } from '../../lib/cache/digest.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { addModel } from '../support/models.js'
import { Random } from '../support/random.js'
import { hashOfChunks } from './rig.js'

t.test('files of any length, by the hash of their chunks', async (t) => {
  const folder = temporaryFolder(t)
  const mib = 2 ** 20
  const random = new Random(9)
  for (const length of [0, 1, mib - 1, mib, mib + 1, 3 * mib, 3 * mib + 77]) {
    const path = join(folder, `${length}`)
    const bytes = random.bytes(length)
    await writeFile(path, bytes)
    t.equal((await digestFiles([path], undefined)).get(path), hashOfChunks(bytes), `${length} bytes`)
  }
})

t.test('a model is the same in a file and in memory, and its files are named with what they were', async (t) => {
  const path = join(temporaryFolder(t), 'model.onnx')
  const bytes = addModel(3, 700_000)
  await writeFile(path, bytes)
  const inFile = await digestModel(path, undefined)
  t.same(await digestModel(bytes, undefined), { ...inFile, files: [] })
  t.equal(inFile.model, hashOfChunks(bytes))
  t.same(
    inFile.files.map((file) => file.path),
    [path],
  )
  await refuseChanged(inFile.files)
  const { atime, mtime } = await stat(path)
  await appendFile(path, 'x')
  await utimes(path, atime, mtime)
  t.match(await failureOf(() => refuseChanged(inFile.files)), {
    code: 'ERR_TRT_FILE',
    message: /changed while an engine was built from it/,
  })
})

t.test('one that changes while it is read', async (t) => {
  const path = join(temporaryFolder(t), 'model.onnx')
  await writeFile(path, addModel(1))
  const addon = loadAddon()
  const inspectModel = addon.inspectModel.bind(addon)
  t.teardown(() => Object.assign(addon, { inspectModel }))
  // it is hashed by then
  addon.inspectModel = async (source) => {
    await writeFile(path, addModel(2))
    return inspectModel(source)
  }
  t.match(await failureOf(() => digestModel(path, undefined)), {
    code: 'ERR_TRT_FILE',
    message: /model\.onnx was changed while it was read: load it again/,
  })
})

t.test('an abort ends it between two chunks', async (t) => {
  const path = join(temporaryFolder(t), 'large')
  await writeFile(path, Buffer.alloc(2 ** 26))
  const controller = new AbortController()
  const digest = digestFiles([path], controller.signal)
  setTimeout(() => controller.abort(new Error('enough')), 1)
  await t.rejects(digest, { message: 'enough' })
  await t.rejects(digestModel(addModel(), AbortSignal.abort(new Error('before'))), { message: 'before' })
})
