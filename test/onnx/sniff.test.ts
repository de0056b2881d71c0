import { ScalarType } from '@bufbuild/protobuf'
import t from 'tap'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { ModelProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { firstTags, looksLikeOnnx } from '../../lib/onnx/sniff.js'

t.test('the tags are those of the schema that fit in one byte', (t) => {
  const tags = ModelProtoSchema.fields.map((field) => {
    const isNumber = field.fieldKind === 'scalar' && field.scalar === ScalarType.INT64
    return field.number * 8 + (isNumber ? 0 : 2)
  })
  t.same([...firstTags].sort(), tags.filter((tag) => tag < 128).sort())
  t.end()
})

t.test('models, and what is none', (t) => {
  const graph = new GraphBuilder({ name: 'g' })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', [1])]), 'float32', [1])
  t.ok(looksLikeOnnx(writeModel(graph.toModel())))
  for (const head of [[], [8], [0, 0], [0x70, 1], [0x66, 0x74, 0x72, 0x74], [...Buffer.from('not a model')]])
    t.notOk(looksLikeOnnx(Uint8Array.from(head)), head.join())
  t.end()
})
