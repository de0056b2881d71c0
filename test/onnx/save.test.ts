import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { clearField, equals } from '@bufbuild/protobuf'
import * as ort from 'onnxruntime-node'
import t from 'tap'
import {
  externalFiles,
  GraphBuilder,
  loadExternalData,
  inspectModel,
  readModel,
  saveModel,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import type { ModelProto } from '../../lib/onnx/index.js'
import { ModelProtoSchema, TensorProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { saveWithin } from '../../lib/onnx/save.js'
import { Tensor } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { realModels } from '../support/real-models.js'
import { randomFloats } from '../support/values.js'
import { run } from './helpers.js'

const folder = temporaryFolder(t)

/** y = x · w + b, with w of 512 × 600 (above 1 MiB), b of 600 in a list of floats, and a scalar. */
function model(seed = 1): ModelProto {
  const g = new GraphBuilder({ name: 'saved' })
  const w = g.constant('w', new Tensor('float32', randomFloats([512, 600], seed), [512, 600]))
  const b = g.constant('b', new Tensor('float32', new Float32Array(600), [600]))
  const product = g.node('MatMul', [g.input('x', 'float32', [1, 512]), w])
  const sum = g.node('Add', [product, b])
  g.output(
    g.node('Mul', [sum, g.constant('two', new Tensor('float32', Float32Array.of(2), []))], {}, { output: 'y' }),
    'float32',
    [1, 600],
  )
  const made = g.toModel()
  const bias = made.graph?.initializer.find(({ name }) => name === 'b')
  if (bias) clearField(bias, TensorProtoSchema.field.rawData)
  Object.assign(bias ?? {}, { floatData: Array.from(randomFloats([600], seed + 1)) })
  return made
}

const feeds = { x: { data: randomFloats([1, 512], 3), shape: [1, 512] } }

/** What onnxruntime computes with a model that it opens by its path. */
async function runFile(
  path: string,
  input: { name: string; data: Float32Array; shape: readonly number[] },
): Promise<Record<string, unknown>> {
  const session = await ort.InferenceSession.create(path, { intraOpNumThreads: 1, logSeverityLevel: 3 })
  const results = await session.run({ [input.name]: new ort.Tensor('float32', input.data, input.shape) })
  await session.release()
  return Object.fromEntries(Object.entries(results).map(([name, { data, dims }]) => [name, { data, shape: dims }]))
}
const input = { name: 'x', ...feeds.x }

t.test('in one file', async (t) => {
  const path = join(folder, 'one.onnx')
  const made = model()
  await saveModel(made, pathToFileURL(path))
  t.same(await readFile(path), Buffer.from(writeModel(made)))
  t.same(await runFile(path, input), await run(writeModel(made), feeds))
  t.same(
    (await readdir(folder)).filter((name) => name.includes('one')),
    ['one.onnx'],
  )
})

t.test('weights in a file of their own', async (t) => {
  const path = join(folder, 'two.onnx')
  const made = model()
  const copy = parseModel(writeModel(made))
  await saveModel(made, path, { externalData: true })
  t.ok(equals(ModelProtoSchema, made, copy), 'the model stays as it was')
  t.ok((await stat(path)).size < 1024)
  t.same(await runFile(path, input), await run(writeModel(made), feeds), 'onnxruntime reads both')

  const read = await readModel(path)
  t.same(externalFiles(read), ['two.onnx.data'])
  const places = read.graph?.initializer.map(({ name, externalData }) => [
    name,
    Object.fromEntries(externalData.map(({ key, value }) => [key, value])),
  ])
  t.same(places, [
    ['w', { location: 'two.onnx.data', offset: '0', length: '1228800' }],
    ['b', { location: 'two.onnx.data', offset: '1228800', length: '2400' }],
    ['two', {}],
  ])
  await loadExternalData(read, folder)
  t.same(await run(writeModel(read), feeds), await run(writeModel(made), feeds))
})

t.test('large tensors begin where a page begins', async (t) => {
  const g = new GraphBuilder({ name: 'aligned' })
  const sizes = [300, 2 ** 18, 333, 2 ** 18 + 1]
  const weights = sizes.map((size, i) => g.constant(`w${i}`, new Tensor('float32', randomFloats([size], i), [size])))
  g.output(g.node('Concat', weights, { axis: 0 }, { output: 'y' }), 'float32', ['N'])
  const made = g.toModel()
  const path = join(folder, 'aligned.onnx')
  await saveModel(made, path, { externalData: true })
  const read = await readModel(path)
  const offsets = read.graph?.initializer.map(({ externalData }) =>
    Number(externalData.find(({ key }) => key === 'offset')?.value),
  )
  t.same(
    offsets,
    [0, 4096, 4096 + 2 ** 20, 2 * 4096 + 2 ** 20].map((offset, i) =>
      i === 3 ? Math.ceil((4096 + 2 ** 20 + 333 * 4) / 4096) * 4096 : offset,
    ),
  )
  await loadExternalData(read, folder)
  t.ok(equals(ModelProtoSchema, read, made))
})

t.test('a model that is replaced, again and again', async (t) => {
  const own = join(folder, 'replaced')
  await mkdir(own)
  const path = join(own, 'm.onnx')
  await writeFile(join(own, 'm.onnx.other.data'), 'somebody else')
  for (const seed of [1, 2, 3]) {
    await saveModel(model(seed), path, { externalData: true })
    t.same(await runFile(path, input), await run(writeModel(model(seed)), feeds))
    t.equal((await readdir(own)).length, 3, 'model, weights, and what is not of it')
  }
  await saveModel(model(4), path)
  t.same((await readdir(own)).sort(), ['m.onnx', 'm.onnx.other.data'])
  t.same(await runFile(path, input), await run(writeModel(model(4)), feeds))

  await writeFile(`${path}.data`, 'of something else')
  await saveModel(model(5), path, { externalData: true })
  t.equal(await readFile(`${path}.data`, 'utf8'), 'of something else', 'a file that no model here named stays')
  t.same(await runFile(path, input), await run(writeModel(model(5)), feeds))

  await Promise.all([6, 7].map((seed) => saveModel(model(seed), path, { externalData: true })))
  const found = JSON.stringify(await runFile(path, input))
  const wanted = await Promise.all(
    [6, 7].map(async (seed) => JSON.stringify(await run(writeModel(model(seed)), feeds))),
  )
  t.ok(wanted.includes(found), 'of two that save at once, one is there, whole')
})

t.test('what is too large for one file', async (t) => {
  const path = join(folder, 'limit.onnx')
  const made = model()
  const size = writeModel(made).length
  await saveWithin(size + 100, made, path)
  t.same(externalFiles(await readModel(path)), [])
  await saveWithin(size - 100, made, path)
  t.same(externalFiles(await readModel(path)), ['limit.onnx.data'], "'auto'")
  t.same(await runFile(path, input), await run(writeModel(made), feeds))
  await t.rejects(
    saveWithin(size - 100, made, path, { externalData: false }),
    failure('ERR_TRT_INVALID_ARGUMENT', /save it with externalData/),
  )
  await t.rejects(
    saveWithin(10, made, join(folder, 'never.onnx'), { externalData: true }),
    failure('ERR_TRT_INVALID_ARGUMENT', /protobuf takes 10/),
  )
  t.notOk(
    (await readdir(folder)).some((name) => name.startsWith('never') || name.startsWith('.')),
    'nothing is left behind',
  )
  t.same(await runFile(path, input), await run(writeModel(made), feeds), 'what was there stays')
})

t.test('abort, and what cannot be saved', async (t) => {
  const path = join(folder, 'aborted.onnx')
  const reason = new Error('enough')
  await t.rejects(saveModel(model(), path, { signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  const saving = saveModel(model(), path, { externalData: true, signal: controller.signal })
  setImmediate(() => controller.abort(reason))
  await t.rejects(saving, reason)
  t.notOk((await readdir(folder)).some((name) => name.includes('aborted')))

  await t.rejects(
    saveModel(model(), join(folder, 'no', 'such.onnx')),
    failure('ERR_TRT_FILE', /Cannot save the model as/),
  )
  await t.rejects(saveModel(model(), folder), failure('ERR_TRT_FILE', /a folder/))
  await t.rejects(
    saveModel(model(), path, { externalData: 'never' as never }),
    failure('ERR_TRT_INVALID_ARGUMENT', /true, false or 'auto' for externalData/),
  )
  await t.rejects(
    saveModel(model(), path, { external: true } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /Unknown option "external"/),
  )
  const unloaded = model()
  Object.assign(unloaded.graph?.initializer[0] ?? {}, { dataLocation: 1 })
  await t.rejects(
    saveModel(unloaded, path),
    failure('ERR_TRT_INVALID_ARGUMENT', /tensor "w" are in another file: call loadExternalData\(\)/),
  )
  const wrong = model()
  Object.assign(wrong.graph?.initializer[1] ?? {}, { floatData: [1] })
  await t.rejects(saveModel(wrong, path, { externalData: true }), failure('ERR_TRT_ONNX_PARSE', /"b" of shape \[600\]/))
  t.notOk((await readdir(folder)).some((name) => name.includes('aborted')))
})

t.test('a real model', async (t) => {
  const made = await readModel(realModels.classifier)
  const path = join(folder, 'classifier.onnx')
  await saveModel(made, path, { externalData: true })
  const shape = [1, 3, 48, 192]
  const feed = { name: inspectModel(made).inputs[0]?.name as string, data: randomFloats(shape, 7), shape }
  t.same(await runFile(path, feed), await runFile(realModels.classifier, feed))
})
