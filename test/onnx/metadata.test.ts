// What exporters leave in a model: read of bytes and of files of any size, told by inspect, kept by every edit.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { inspect } from '../../lib/index.js'
import {
  convertPrecision,
  GraphBuilder,
  type ModelProto,
  inspectModel,
  openSizes,
  StringStringEntryProtoSchema,
  withOpset,
  withPreprocessing,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { metadataOfBytes, metadataOfFile } from '../../lib/onnx/metadata.js'
import { temporaryFolder } from '../support/folders.js'
import { Random } from '../support/random.js'

const folder = temporaryFolder(t)
const entries = { author: 'Ultralytics', names: "{0: 'a', 1: 'b'}", empty: '', ключ: 'значение' }

function model(metadata: Readonly<Record<string, string>> = entries): ModelProto {
  const g = new GraphBuilder({ name: 'with metadata' })
  const x = g.input('x', 'float32', [1, 3, 8, 8])
  g.output(g.node('Relu', [x]), 'float32', [1, 3, 8, 8])
  const made = g.toModel()
  made.metadataProps = Object.entries(metadata).map(([key, value]) =>
    create(StringStringEntryProtoSchema, { key, value }),
  )
  return made
}

t.test('read of bytes, of a file, and by inspect', async (t) => {
  const bytes = writeModel(model())
  const path = join(folder, 'model.onnx')
  writeFileSync(path, bytes)
  t.strictSame(await metadataOfBytes(bytes), entries)
  t.strictSame(await metadataOfFile(path), entries)
  t.strictSame(inspectModel(parseModel(bytes)).metadata, entries)
  t.match(await inspect(path), { metadata: entries })
  t.strictSame(await metadataOfBytes(writeModel(model({}))), {})
})

t.test('what is no model has none, and costs nothing', async (t) => {
  const bytes = writeModel(model())
  for (const other of [new Uint8Array(0), Buffer.from('a plan, or a page'), new Uint8Array(1 << 20)])
    t.strictSame(await metadataOfBytes(other), {})
  t.strictSame(await metadataOfFile(join(folder, 'nothing.onnx')), {})
  t.strictSame(await metadataOfFile(folder), {})
  const random = new Random(28)
  for (let i = 0; i < 300; i++) {
    const damaged = Uint8Array.from(bytes)
    for (let k = 0; k < 4; k++) damaged[random.below(damaged.length)] = random.below(256)
    const found = await metadataOfBytes(damaged.subarray(0, 1 + random.below(damaged.length)))
    if (typeof found !== 'object') t.fail(`seed 28, ${i}`)
  }
  // more fields than any model has
  t.strictSame(await metadataOfBytes(Buffer.concat([new Uint8Array(20_000).fill(8), bytes])), entries)
  t.strictSame(await metadataOfBytes(Buffer.concat([new Uint8Array(50_000).fill(8), bytes])), {})
})

t.test('kept by every edit', async (t) => {
  const edits: readonly [string, () => ModelProto | Promise<ModelProto>][] = [
    ['openSizes', () => openSizes(model(), { input: 'x' })],
    [
      'withPreprocessing',
      () => withPreprocessing(model(), { steps: { range: '0-1' }, picture: { width: 16, height: 16 } }),
    ],
    ['withOpset', () => withOpset(model(), 20)],
    ['convertPrecision', () => convertPrecision(model(), 'fp16').model],
  ]
  for (const [name, edit] of edits) {
    const edited = parseModel(writeModel(await edit()))
    t.strictSame(inspectModel(edited).metadata, entries, name)
  }
})
