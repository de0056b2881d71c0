import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { ModelProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { inspectModel, readModel, tensorsOf } from '../../lib/onnx/index.js'

const allFields = new URL('../../../test/onnx/fixtures/all-fields.onnx', import.meta.url)

t.test('inputs and outputs of all kinds', async (t) => {
  const tensor = (elemType: number, dim?: object[]) => ({
    type: { value: { case: 'tensorType' as const, value: { elemType, ...(dim && { shape: { dim } }) } } },
  })
  const size = (value: bigint) => ({ value: { case: 'dimValue' as const, value } })
  const symbol = (value: string) => ({ value: { case: 'dimParam' as const, value } })
  const info = inspectModel(
    create(ModelProtoSchema, {
      irVersion: 3n,
      graph: {
        initializer: [{ name: 'weight' }],
        sparseInitializer: [{ values: { name: 'sparse weight' } }],
        input: [
          { name: 'image', ...tensor(1, [symbol('N'), size(3n), {}, size(-1n), symbol('')]) },
          { name: 'weight', ...tensor(1, []) },
          { name: 'sparse weight', ...tensor(1, []) },
          { name: 'words', ...tensor(8) },
          { name: 'scalar', ...tensor(99, []) },
          { name: 'list', type: { value: { case: 'sequenceType', value: {} } } },
          { name: 'nothing' },
        ],
      },
    }),
  )
  const none = { dtype: 'undefined', shape: undefined }
  t.same(info.inputs, [
    { name: 'image', kind: 'tensor', dtype: 'float32', shape: ['N', 3, -1, -1, -1] },
    { name: 'words', kind: 'tensor', dtype: 'string', shape: undefined },
    { name: 'scalar', kind: 'tensor', dtype: 'undefined', shape: [] },
    { name: 'list', kind: 'sequence', ...none },
    { name: 'nothing', kind: 'unknown', ...none },
  ])
  t.same(info.outputs, [])
  t.equal(info.opset, 1)
})

t.test('operators are counted wherever they are', async (t) => {
  const relu = { opType: 'Relu' }
  const branch = (nodes: object[]) => ({ name: 'then_branch', g: { node: nodes } })
  const model = create(ModelProtoSchema, {
    opsetImport: [
      { domain: 'ai.onnx', version: 18n },
      { domain: 'custom', version: 2n },
    ],
    graph: {
      node: [relu, { opType: 'If', attribute: [branch([relu, { opType: 'If', attribute: [branch([relu])] }])] }],
    },
    functions: [{ node: [{ opType: 'Odd', domain: 'custom' }] }],
    trainingInfo: [{ algorithm: { node: [{ opType: 'Abs', domain: 'ai.onnx' }] } }],
  })
  const info = inspectModel(model)
  t.same(Object.entries(info.operators), [
    ['Relu', 3],
    ['If', 2],
    ['Abs', 1],
    ['custom.Odd', 1],
  ])
  t.equal(info.nodeCount, 7)
  t.same([info.opset, info.domains], [18, { 'ai.onnx': 18, custom: 2 }])
})

t.test('a model with everything', async (t) => {
  const model = await readModel(allFields)
  const kinds = inspectModel(model).inputs.map(({ kind }) => kind)
  for (const kind of ['tensor', 'sparse tensor', 'sequence', 'map', 'optional', 'opaque'] as const)
    t.ok(kinds.includes(kind), kind)
  t.same(inspectModel(create(ModelProtoSchema)), {
    name: '',
    inputs: [],
    outputs: [],
    opset: 1,
    domains: {},
    irVersion: 0,
    producer: { name: '', version: '' },
    metadata: {},
    nodeCount: 0,
    operators: {},
    externalFiles: [],
  })
  t.ok([...tensorsOf(model)].every((tensor) => tensor.$typeName === 'onnx.TensorProto'))
})
