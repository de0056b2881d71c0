import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { create, fromBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import t from 'tap'
import { TensorRTError } from '../../lib/errors.js'
import { ModelProtoSchema } from '../../lib/onnx/onnx_pb.js'
import {
  checkModel,
  convertPrecision,
  copyModel,
  drawModel,
  externalFiles,
  GraphBuilder,
  GraphEditor,
  inferTypes,
  loadExternalData,
  inspectModel,
  modelSize,
  readModel,
  saveModel,
  withOpset,
  withPostprocessing,
  withPreprocessing,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { failure } from '../support/errors.js'
import { randomFloats } from '../support/values.js'

function smallModel(): Uint8Array<ArrayBuffer> {
  const g = new GraphBuilder({ name: 'small' })
  g.output(g.node('Elu', [g.input('x', 'float32', ['N', 2])], { alpha: 2 }, { output: 'y' }), 'float32', ['N', 2])
  return writeModel(g.toModel())
}

t.test('a model from bytes, buffers, paths and URLs', async (t) => {
  const bytes = smallModel()
  const path = join(t.testdir(), 'small.onnx')
  await writeFile(path, bytes)
  for (const source of [bytes, bytes.buffer, Buffer.from(bytes), path, pathToFileURL(path)]) {
    t.equal(inspectModel(await readModel(source)).name, 'small')
  }
  t.match(
    await readModel('/nowhere/a.onnx').catch((e: unknown) => e),
    failure('ERR_TRT_FILE', /\/nowhere\/a\.onnx: there is no folder \/nowhere$/),
  )
  t.match(
    await readModel(5 as never).catch((e: unknown) => e),
    failure('ERR_TRT_INVALID_ARGUMENT', /for model but received number 5/),
  )
})

t.test('bytes that are no model', async (t) => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  const other = new BinaryWriter().tag(1, WireType.Varint).int64(8).finish()
  for (const bytes of [
    new Uint8Array(),
    png,
    Buffer.from('not a model'),
    Buffer.alloc(100),
    Buffer.alloc(100, 255),
    other,
  ]) {
    t.throws(() => parseModel(bytes, 'that.onnx'), failure('ERR_TRT_ONNX_PARSE', /Cannot parse that\.onnx as ONNX: /))
  }
  const withoutOpsets = { irVersion: 8n, graph: { name: 'g' } }
  t.throws(
    () => parseModel(writeModel(create(ModelProtoSchema, withoutOpsets))),
    failure('ERR_TRT_ONNX_PARSE', /which operators/),
  )
  t.doesNotThrow(
    () => parseModel(writeModel(create(ModelProtoSchema, { ...withoutOpsets, irVersion: 2n }))),
    'those of 2017 name none',
  )
})

t.test('every truncation is an error', async (t) => {
  const bytes = smallModel()
  const accepted = []
  for (let length = 0; length < bytes.length; length++) {
    const error = caught(() => parseModel(bytes.subarray(0, length)))
    if (!(error instanceof TensorRTError && error.code === 'ERR_TRT_ONNX_PARSE')) accepted.push(length)
  }
  t.same(accepted, [])
})

t.test('damage gives a model or a typed error, and nothing else', async (t) => {
  const good = smallModel()
  const others = []
  const random = randomFloats([2000, 2], 11)
  for (let i = 0; i < random.length; i += 2) {
    const bytes = good.slice()
    const [place, value] = [random[i] as number, random[i + 1] as number]
    bytes[Math.floor(((place + 1) / 2) * bytes.length)] = Math.floor(((value + 1) / 2) * 256)
    const error = caught(() => inspectModel(parseModel(bytes)))
    if (error !== undefined && !(error instanceof TensorRTError)) others.push({ bytes, error })
  }
  t.same(others, [])
})

function caught(action: () => unknown): unknown {
  try {
    action()
    return undefined
  } catch (error) {
    return error
  }
}

t.test('fields that ONNX has not defined yet stay', async (t) => {
  const extra = new BinaryWriter()
    .tag(900, WireType.LengthDelimited)
    .string('from the future')
    .tag(901, WireType.Varint)
    .uint64(2n ** 64n - 1n)
    .finish()
  const bytes = Buffer.concat([smallModel(), extra])
  const model = parseModel(bytes)
  t.same(Buffer.from(writeModel(model)), bytes)

  // The same inside of a node.
  const node = model.graph?.node[0]
  if (node !== undefined) node.$unknown = [{ no: 77, wireType: WireType.Varint, data: Uint8Array.of(5) }]
  t.match(parseModel(writeModel(model)).graph?.node[0], { $unknown: [{ no: 77, data: { 0: 5 } }] })
})

t.test('a field with its default value is not lost', async (t) => {
  const g = new GraphBuilder({ name: 'zero' })
  const x = g.input('x', 'float32', [1])
  g.output(g.node('Concat', [x], { axis: 0 }), 'float32', [1])
  const attribute = parseModel(writeModel(g.toModel())).graph?.node[0]?.attribute[0]
  t.ok(attribute !== undefined && Object.hasOwn(attribute, 'i'), 'i: 0 is in the file')
})

t.test('a model with impossible fields cannot be written', async (t) => {
  const model = fromBinary(ModelProtoSchema, smallModel())
  ;(model as { irVersion: unknown }).irVersion = 'eight'
  t.throws(() => writeModel(model), failure('ERR_TRT_INVALID_ARGUMENT', /cannot be written/))
})

t.test('what is no model is told by its type, whoever is given it', async (t) => {
  const takers: Readonly<Record<string, (model: never) => unknown>> = {
    checkModel,
    convertPrecision: (model) => convertPrecision(model, 'fp16'),
    copyModel,
    drawModel,
    externalFiles,
    GraphEditor: (model) => new GraphEditor(model),
    inferTypes,
    loadExternalData: (model) => loadExternalData(model, '.'),
    inspectModel,
    modelSize,
    saveModel: (model) => saveModel(model, join(t.testdir(), 'model.onnx')),
    withOpset: (model) => withOpset(model, 13),
    withPostprocessing: (model) => withPostprocessing(model, { kind: 'softmax' }),
    withPreprocessing: (model) => withPreprocessing(model, { picture: 'dynamic', steps: { resize: 'letterbox' } }),
    writeModel,
  }
  const wrong = [
    [undefined, 'undefined'],
    ['model.onnx', 'string "model.onnx"'],
    [smallModel(), 'Uint8Array'],
    [Promise.resolve(), 'a Promise: await it'],
  ] as const
  for (const [name, take] of Object.entries(takers)) {
    for (const [model, said] of wrong) {
      const error = await Promise.resolve()
        .then(() => take(model as never))
        .catch((e: unknown) => e)
      t.match(
        error,
        { code: 'ERR_TRT_INVALID_ARGUMENT', message: new RegExp(`a model, .* for model but received ${said}$`) },
        name,
      )
    }
  }
  t.throws(
    () => new GraphBuilder(undefined as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /an object for the options of GraphBuilder/),
  )
  t.throws(
    () => new GraphBuilder({ name: 'x', opsets: 17 } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /did you mean opset\?/),
  )
})
