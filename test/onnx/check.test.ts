import { readFile } from 'node:fs/promises'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { checkModel, GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import type { GraphProto, ModelProto } from '../../lib/onnx/index.js'
import { AttributeProtoSchema, NodeProtoSchema, TensorProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { Tensor } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'
import { realModels } from '../support/real-models.js'

t.test('models that are right', async (t) => {
  for (const path of Object.values(realModels)) {
    const real = parseModel(await readFile(path))
    t.doesNotThrow(() => checkModel(real), path)
  }
  t.doesNotThrow(() => checkModel(model()))
  const detector = parseModel(await faceDetectorModel())
  t.doesNotThrow(() => checkModel(detector))
})

/** y = max(x) by channel of relu(conv(x)), and an If whose branches read x. */
function model(): ModelProto {
  const g = new GraphBuilder({ name: 'checked' })
  const x = g.input('x', 'float32', ['N', 1, 4, 4])
  const w = g.constant('w', new Tensor('float32', new Float32Array(9), [1, 1, 3, 3]))
  const conv = g.node('Conv', [x, w], { pads: [1, 1, 1, 1] }, { name: 'conv', output: 'c' })
  g.node(
    'If',
    [g.node('Constant', [], { value: new Tensor('bool', Uint8Array.of(1), []) }, { output: 'flag' })],
    {},
    { name: 'if', output: 'z' },
  )
  g.output(g.node('ReduceMax', [conv], { axes: [1] }, { name: 'max', output: 'y' }), 'float32', ['N', 1, 4, 4])
  const made = g.toModel()
  const branch = (operator: string) => {
    const graph = new GraphBuilder({ name: operator })
    graph.output(
      graph.node(operator, [graph.input('x', 'float32', [])], {}, { name: operator, output: `${operator}_out` }),
      'float32',
      [],
    )
    const inner = graph.toModel().graph as GraphProto
    inner.input = []
    return inner
  }
  const attribute = (name: string, g: GraphProto) => create(AttributeProtoSchema, { name, type: 5, g })
  made.graph?.node
    .find(({ name }) => name === 'if')
    ?.attribute.push(attribute('then_branch', branch('Relu')), attribute('else_branch', branch('Neg')))
  return parseModel(writeModel(made))
}

type Change = (graph: GraphProto, model: ModelProto) => unknown

const node = (graph: GraphProto, name: string) => {
  const found = graph.node.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no node ${name}`)
  return found
}
const inner = (graph: GraphProto) => node(graph, 'if').attribute[0]?.g as GraphProto
const weight = (graph: GraphProto) => graph.initializer[0] as NonNullable<GraphProto['initializer'][0]>
const dims = (graph: GraphProto) => {
  const value = graph.input[0]?.type?.value
  if (value?.case !== 'tensorType') throw new Error('no tensor')
  return value.value
}

/** What is wrong, what is changed for it, and what `details` say. */
const wrong: readonly (readonly [RegExp, Change, object?])[] = [
  [/the model has none/, (_, model) => delete model.graph],
  [
    /ReduceMax node "max" reads "c", which .* a cycle/,
    (graph) => node(graph, 'conv').input.splice(0, 1, 'y'),
    { node: 'max', value: 'c' },
  ],
  [
    /Conv node "conv" reads "v", which is not defined/,
    (graph) => node(graph, 'conv').input.splice(0, 1, 'v'),
    { node: 'conv', value: 'v' },
  ],
  [
    /define the value "c": it is defined twice/,
    (graph) => node(graph, 'max').output.push('c'),
    { node: 'max', value: 'c' },
  ],
  [/output "v" of the graph/, (graph) => Object.assign(graph.output[0] ?? {}, { name: 'v' }), { value: 'v' }],
  [
    /If node "if" has a graph that reads "v"/,
    (graph) => inner(graph).node[0]?.input.splice(0, 1, 'v'),
    { node: 'if', value: 'v' },
  ],
  [
    /Relu node "Relu" reads "Relu_out", .* a cycle/,
    (graph) => inner(graph).node[0]?.input.push('Relu_out'),
    { node: 'Relu' },
  ],
  [
    /Neg node "twice" define the value "Relu_out"/,
    (graph) =>
      inner(graph).node.push(
        create(NodeProtoSchema, { name: 'twice', opType: 'Neg', input: ['x'], output: ['Relu_out'] }),
      ),
  ],
  [
    /Attribute "pads" of Conv node "conv" is to be INTS and is FLOATS/,
    (graph) => Object.assign(node(graph, 'conv').attribute[0] ?? {}, { type: 6 }),
    { node: 'conv', attribute: 'pads' },
  ],
  [
    /Attribute "axes" of ReduceMax node "max" is to be INTS and is of the unknown type 99/,
    (graph) => Object.assign(node(graph, 'max').attribute[0] ?? {}, { type: 99 }),
  ],
  [
    /Attribute "axes" of ReduceMax node "max" is there twice/,
    (graph) => node(graph, 'max').attribute.push(...node(graph, 'max').attribute),
  ],
  [
    /Attribute "then_branch" of If node "if" is to be GRAPH and has none/,
    (graph) => delete (node(graph, 'if').attribute[0] as { g?: unknown }).g,
  ],
  [
    /Attribute "value" of Constant .* is to be TENSOR and is FLOAT/,
    (graph) => Object.assign(node(graph, 'Constant_1').attribute[0] ?? {}, { type: 1 }),
  ],
  [
    /Conv node "conv" is of domain "com.example", which the model does not import/,
    (graph) => (node(graph, 'conv').domain = 'com.example'),
    { node: 'conv', domain: 'com.example' },
  ],
  [
    /is of domain "ai.onnx"/,
    (_, model) => (model.opsetImport = [{ ...model.opsetImport[0], domain: 'com.example' }] as never),
  ],
  [
    /Tensor "w" of shape \[1, 1, 3, 4\] needs 48 stored elements or bytes and has 36/,
    (graph) => (weight(graph).dims[3] = 4n),
    { value: 'w' },
  ],
  [
    /Tensor "w" of shape \[1, 1, 3, 3\] needs 9 .* has 1/,
    (graph) => Object.assign(weight(graph), { rawData: new Uint8Array(), floatData: [1] }),
  ],
  [/Tensor "w" .* needs 3689348814741910322800 /, (graph) => (weight(graph).dims = [2n ** 63n - 1n, 100n, 1n, 1n])],
  [/Tensor "w" has a dimension of -1/, (graph) => (weight(graph).dims[0] = -1n), { value: 'w' }],
  [
    /Tensor "w" has elements of type 77, which ONNX does not define/,
    (graph) => (weight(graph).dataType = 77),
    { value: 'w' },
  ],
  [/Tensor "w" has elements of type 0/, (graph) => (weight(graph).dataType = 0)],
  [
    /Tensor "w" .* needs 36 .* has 40/,
    (graph) => Object.assign(weight(graph), { dataLocation: 1, externalData: [{ key: 'length', value: '40' }] }),
  ],
  [
    /Tensor "w" .* needs 9 stored elements or bytes and has 0/,
    (graph) => Object.assign(weight(graph), { dataType: 8 }),
  ],
  [/Value "x" has elements of type 77/, (graph) => (dims(graph).elemType = 77), { value: 'x' }],
  [
    /Value "x" has a dimension of -5/,
    (graph) => ((dims(graph).shape?.dim[0] as { value: unknown }).value = { case: 'dimValue', value: -5n }),
  ],
  [/Input "x" of the graph has no type/, (graph) => delete (graph.input[0] as { type?: unknown }).type, { value: 'x' }],
]

t.test('models that are wrong', async (t) => {
  for (const [message, change, details] of wrong) {
    const broken = model()
    change(broken.graph as GraphProto, broken)
    t.throws(
      () => checkModel(broken),
      { ...failure('ERR_TRT_ONNX_PARSE', message), ...(details && { details }) },
      String(message),
    )
  }
})

t.test('what is unusual, and right', async (t) => {
  const unusual: Change[] = [
    (graph) => ((dims(graph).shape?.dim[0] as { value: unknown }).value = { case: 'dimValue', value: -1n }),
    (graph) => Object.assign(node(graph, 'max').attribute[0] ?? {}, { type: 0 }),
    (graph) => graph.initializer.push(create(TensorProtoSchema, { name: 'empty', dataType: 1, dims: [0n, 7n] })),
    (graph) =>
      graph.initializer.push(
        create(TensorProtoSchema, { name: 'packed', dataType: 22, dims: [3n], rawData: Uint8Array.of(0x21, 3) }),
      ),
    (graph) =>
      graph.initializer.push(
        create(TensorProtoSchema, { name: 'text', dataType: 8, dims: [1n], stringData: [Uint8Array.of(65)] }),
      ),
    (graph) =>
      graph.initializer.push(
        create(TensorProtoSchema, { name: 'half', dataType: 10, dims: [2n], int32Data: [15360, 0] }),
      ),
    (graph) =>
      Object.assign(weight(graph), {
        dataLocation: 1,
        externalData: [{ key: 'location', value: 'w.bin' }],
        rawData: new Uint8Array(),
      }),
    (graph) =>
      graph.node.push(
        create(NodeProtoSchema, {
          name: 'new',
          opType: 'OfTomorrow',
          input: ['x'],
          output: ['new'],
          attribute: [{ name: 'axis', type: 1 }],
        }),
      ),
  ]
  for (const change of unusual) {
    const made = model()
    change(made.graph as GraphProto, made)
    t.doesNotThrow(() => checkModel(made), String(change))
  }
})
