// What inferTypes says against what onnxruntime computes: each value of each model is made an output.
import { readFile } from 'node:fs/promises'
import * as ort from 'onnxruntime-node'
import t, { type Test } from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import {
  type Attributes,
  type Dim,
  GraphBuilder,
  GraphEditor,
  inferTypes,
  inspectModel,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import type { ModelProto, ValueType } from '../../lib/onnx/index.js'
import { elementCount, Tensor } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'
import { realModels } from '../support/real-models.js'
import { floats, int, ints, randomTensor, scalar } from '../support/values.js'

const tensorOf = (...shape: number[]): Tensor => randomTensor(shape, 5)
const bytes = (dtype: 'int8' | 'uint8', ...shape: number[]): Tensor => Tensor.zeros(dtype, shape)
const bools = (...shape: number[]): Tensor => new Tensor('bool', new Uint8Array(elementCount(shape)).fill(1), shape)

/** Every value that a node gives, as onnxruntime has it. */
async function computed(
  model: ModelProto,
  types: ReadonlyMap<string, ValueType>,
  feeds: Readonly<Record<string, Tensor>>,
) {
  const editor = new GraphEditor(parseModel(writeModel(model)))
  const values = editor.nodes().flatMap(({ output }) => output.filter((name) => name !== ''))
  for (const name of values) {
    const dtype = types.get(name)?.dtype
    // onnxruntime refuses an output that is said to be of another type than it is.
    if (dtype !== undefined) editor.addOutput(name, dtype)
  }
  const session = await ort.InferenceSession.create(writeModel(editor.finish()), {
    graphOptimizationLevel: 'disabled',
    logSeverityLevel: 4,
  })
  const inputs = Object.entries(feeds).map(([name, { dtype, data, shape }]) => [
    name,
    new ort.Tensor(dtype as 'float32', data as Float32Array, shape),
  ])
  const results = await session.run(Object.fromEntries(inputs) as Record<string, ort.Tensor>)
  await session.release()
  return values.map((name) => ({ name, dtype: results[name]?.type, shape: results[name]?.dims }))
}

/** A node for the table: tensors are constants, a tensor in a list is an input of the graph. */
interface Case {
  readonly inputs: readonly (Tensor | readonly [Tensor] | '')[]
  readonly attributes?: Attributes
  readonly opset?: number
  readonly outputs?: number
  /** What cannot be known before it runs, of each output. */
  readonly unknown?: readonly (readonly Dim[])[]
}

function graphOf(operator: string, { inputs, attributes = {}, opset = 17, outputs = 1 }: Case) {
  const g = new GraphBuilder({ name: operator, opset })
  const feeds: Record<string, Tensor> = {}
  const names = inputs.map((input, i) => {
    if (input === '') return ''
    if (input instanceof Tensor) return g.constant(`c${i}`, input)
    const [tensor] = input
    feeds[`x${i}`] = tensor
    return g.input(`x${i}`, tensor.dtype, tensor.shape)
  })
  const all = g.nodeWithOutputs(operator, names, outputs, attributes)
  g.output(all[0] as string, 'float32', [])
  const model = g.toModel()
  model.graph?.output.splice(0)
  return { model, feeds, outputs: all }
}

const x4 = [tensorOf(2, 6, 9, 11)] as const
const x3 = [tensorOf(2, 3, 4)] as const

/** By operator. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  Conv: [
    { inputs: [x4, tensorOf(8, 6, 3, 3), tensorOf(8)] },
    {
      inputs: [x4, tensorOf(8, 3, 3, 5)],
      attributes: { group: 2, strides: [2, 3], pads: [1, 2, 0, 1], dilations: [2, 1] },
    },
    { inputs: [x4, tensorOf(8, 6, 3, 3)], attributes: { auto_pad: 'SAME_UPPER', strides: [2, 2] } },
    { inputs: [x4, tensorOf(8, 6, 3, 3)], attributes: { auto_pad: 'VALID', strides: [2, 2] } },
    { inputs: [[tensorOf(1, 2, 9)], tensorOf(4, 2, 3)], attributes: { kernel_shape: [3] } },
  ],
  ConvTranspose: [
    {
      inputs: [x4, tensorOf(6, 2, 3, 3)],
      attributes: { group: 3, strides: [2, 2], pads: [1, 0, 1, 0], output_padding: [1, 0] },
    },
    { inputs: [x4, tensorOf(6, 2, 3, 3)], attributes: { strides: [2, 2], auto_pad: 'SAME_LOWER' } },
    { inputs: [x4, tensorOf(6, 2, 3, 3)], attributes: { strides: [2, 2], output_shape: [18, 23] } },
    { inputs: [x4, tensorOf(6, 2, 2, 2)], attributes: { dilations: [2, 3] } },
  ],
  ConvInteger: [{ inputs: [[bytes('uint8', 1, 2, 5, 5)], bytes('uint8', 3, 2, 3, 3)] }],
  MaxPool: [
    { inputs: [x4], attributes: { kernel_shape: [2, 3], strides: [2, 2] }, outputs: 2 },
    { inputs: [x4], attributes: { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1], ceil_mode: 1 } },
    { inputs: [x4], attributes: { kernel_shape: [2, 2], strides: [3, 4], ceil_mode: 1, pads: [0, 1, 0, 1] } },
    { inputs: [x4], attributes: { kernel_shape: [2, 2], dilations: [3, 2], auto_pad: 'VALID' } },
  ],
  AveragePool: [
    { inputs: [x4], attributes: { kernel_shape: [3, 3], strides: [2, 3], ceil_mode: 1 } },
    { inputs: [x4], attributes: { kernel_shape: [3, 3], auto_pad: 'SAME_LOWER', strides: [2, 3] } },
  ],
  GlobalAveragePool: [{ inputs: [x4] }],
  GlobalMaxPool: [{ inputs: [x3] }],
  Gemm: [
    { inputs: [[tensorOf(3, 4)], tensorOf(4, 5)] },
    { inputs: [[tensorOf(4, 3)], tensorOf(5, 4), tensorOf(5)], attributes: { transA: 1, transB: 1 } },
  ],
  MatMul: [
    { inputs: [[tensorOf(2, 1, 3, 4)], tensorOf(5, 4, 6)] },
    { inputs: [[tensorOf(4)], tensorOf(2, 4, 6)] },
    { inputs: [[tensorOf(3, 4)], tensorOf(4)] },
    { inputs: [[tensorOf(4)], tensorOf(4)] },
  ],
  MatMulInteger: [{ inputs: [[bytes('uint8', 2, 3)], bytes('int8', 3, 4)] }],
  Einsum: [{ inputs: [[tensorOf(2, 3, 4)], tensorOf(2, 5, 4)], attributes: { equation: 'bid, bjd -> bij' } }],
  Add: [
    { inputs: [x3, tensorOf(5, 1, 3, 1)] },
    { inputs: [[ints(1, 2)], int(3)] },
    { inputs: [[tensorOf(0, 3)], tensorOf(1, 3)] },
  ],
  Pow: [{ inputs: [x3, int(2)] }],
  Max: [{ inputs: [x3, tensorOf(4), tensorOf(3, 1)] }],
  Mod: [{ inputs: [[ints(5, 7)], int(3)] }],
  Greater: [{ inputs: [x3, tensorOf(4)] }],
  Equal: [{ inputs: [[ints(1, 2)], int(1)] }],
  And: [{ inputs: [[bools(2, 1)], bools(3)] }],
  Not: [{ inputs: [[bools(2)]] }],
  IsNaN: [{ inputs: [x3] }],
  Where: [{ inputs: [[bools(3, 1)], tensorOf(2, 1, 1), tensorOf(4)] }],
  Clip: [{ inputs: [x3, '', scalar(1)] }],
  PRelu: [{ inputs: [x4, tensorOf(6, 1, 1)] }],
  BatchNormalization: [{ inputs: [x4, ...Array.from({ length: 4 }, () => floats(1, 1, 1, 1, 1, 1))] }],
  LayerNormalization: [
    { inputs: [x3, tensorOf(4)], outputs: 3 },
    { inputs: [x3, tensorOf(3, 4)], attributes: { axis: 1 }, outputs: 3 },
  ],
  InstanceNormalization: [{ inputs: [x4, tensorOf(6), tensorOf(6)] }],
  Softmax: [{ inputs: [x3], attributes: { axis: 1 } }],
  LRN: [{ inputs: [x4], attributes: { size: 3 } }],
  Gelu: [{ inputs: [x3], opset: 20 }],
  HardSwish: [{ inputs: [x3] }],
  Concat: [{ inputs: [x3, tensorOf(2, 5, 4), tensorOf(2, 0, 4)], attributes: { axis: -2 } }],
  Split: [
    { inputs: [x3, ints(1, 0, 3)], attributes: { axis: -1 }, outputs: 3 },
    { inputs: [x3], attributes: { axis: 2 }, outputs: 2 },
    { inputs: [[tensorOf(7, 2)]], attributes: { num_outputs: 3 }, opset: 18, outputs: 3 },
    { inputs: [[tensorOf(7, 2)]], attributes: { split: [3, 4] }, opset: 11, outputs: 2 },
  ],
  Slice: [
    { inputs: [x4, ints(1, -4), ints(100, -1), ints(3, 2)] },
    { inputs: [x4, ints(-1, 8), ints(-100, 2), ints(2, 3), ints(-2, -3)] },
    { inputs: [x4, ints(1, 2), ints(2, 9)] },
    { inputs: [x4, ints(5), ints(2), ints(2)] },
    { inputs: [x4, ints(0), new Tensor('int64', BigInt64Array.of(2n ** 63n - 1n), [1]), ints(1), ints(2)] },
    { inputs: [x4], attributes: { starts: [1, 2], ends: [5, -1], axes: [2, 3] }, opset: 9 },
  ],
  Gather: [
    { inputs: [x3, int(1)], attributes: { axis: 1 } },
    { inputs: [x3, new Tensor('int64', BigInt64Array.of(0n, 1n, 0n, 1n, 0n, 1n), [3, 2])] },
    { inputs: [x3, ints(-1)], attributes: { axis: -1 } },
  ],
  GatherElements: [{ inputs: [x3, new Tensor('int64', new BigInt64Array(2), [1, 1, 2])] }],
  GatherND: [
    { inputs: [x3, new Tensor('int64', new BigInt64Array(10), [5, 2])] },
    { inputs: [x3, new Tensor('int64', new BigInt64Array(2), [2, 1])], attributes: { batch_dims: 1 } },
  ],
  Reshape: [
    { inputs: [x3, ints(0, -1, 2)] },
    { inputs: [x3, ints(24)] },
    { inputs: [[tensorOf(0, 3)], ints(3, 0)], attributes: { allowzero: 1 } },
    { inputs: [[tensorOf(1)], Tensor.zeros('int64', [0])] },
  ],
  Flatten: [{ inputs: [x4] }, { inputs: [x4], attributes: { axis: -1 } }, { inputs: [x4], attributes: { axis: 0 } }],
  Transpose: [{ inputs: [x4] }, { inputs: [x4], attributes: { perm: [0, 2, 3, 1] } }],
  Squeeze: [
    { inputs: [[tensorOf(1, 3, 1)]] },
    { inputs: [[tensorOf(1, 3, 1)], ints(-1)] },
    { inputs: [[tensorOf(1, 3, 1)]], attributes: { axes: [0] }, opset: 11 },
  ],
  Unsqueeze: [{ inputs: [x3, ints(-1, 0)] }, { inputs: [x3], attributes: { axes: [1, 3] }, opset: 11 }],
  Expand: [{ inputs: [[tensorOf(3, 1)], ints(2, 1, 4)] }, { inputs: [[tensorOf(3, 4)], ints(1)] }],
  Shape: [{ inputs: [x4] }, { inputs: [x4], attributes: { start: 1, end: -1 } }, { inputs: [[scalar(1)]] }],
  Size: [{ inputs: [x4] }],
  Cast: [
    { inputs: [x3], attributes: { to: 7 } },
    { inputs: [x3], attributes: { to: 9 } },
  ],
  Constant: [
    { inputs: [], attributes: { value: tensorOf(2, 3) } },
    { inputs: [], attributes: { value_ints: [1, 2] } },
    { inputs: [], attributes: { value_float: 2 } },
  ],
  ConstantOfShape: [
    { inputs: [ints(2, 3)] },
    { inputs: [ints(2)], attributes: { value: ints(7) } },
    { inputs: [Tensor.zeros('int64', [0])] },
  ],
  Resize: [
    { inputs: [x4, '', floats(1, 1, 1.5, 0.4)] },
    { inputs: [x4, '', '', ints(2, 6, 5, 20)], attributes: { mode: 'linear' } },
    { inputs: [x4, '', floats(0.7, 2.3)], attributes: { axes: [2, 3] }, opset: 18 },
    {
      inputs: [x4, '', '', ints(20, 30)],
      attributes: { axes: [2, 3], keep_aspect_ratio_policy: 'not_larger' },
      opset: 18,
    },
    {
      inputs: [x4, '', '', ints(20, 30)],
      attributes: { axes: [3, 2], keep_aspect_ratio_policy: 'not_smaller' },
      opset: 18,
    },
    { inputs: [x4, floats(1, 1, 2, 2)], opset: 10 },
  ],
  Upsample: [
    { inputs: [x4, floats(1, 1, 2, 3)], opset: 9 },
    { inputs: [x4], attributes: { scales: [1, 1, 2, 3] }, opset: 7 },
  ],
  Pad: [
    { inputs: [x3, ints(0, 1, 2, 3, 0, 1)] },
    { inputs: [[tensorOf(4)], ints(1, -2)], opset: 18 },
    { inputs: [x3, ints(1, 2), '', ints(-1)], opset: 18 },
    { inputs: [x3], attributes: { pads: [0, 1, 2, 3, 0, 1] }, opset: 10 },
  ],
  ReduceMean: [
    { inputs: [x3] },
    { inputs: [x3], attributes: { axes: [-1, 0], keepdims: 0 } },
    { inputs: [x3, ints(1)], opset: 18 },
  ],
  ReduceSum: [
    { inputs: [x3, ints(0, 2)] },
    { inputs: [x3], attributes: { noop_with_empty_axes: 1 } },
    { inputs: [x3], attributes: { keepdims: 0 } },
  ],
  ReduceMax: [{ inputs: [x3], attributes: { axes: [1] }, opset: 11 }],
  ArgMax: [
    { inputs: [x3], attributes: { axis: -1 } },
    { inputs: [x3], attributes: { axis: 1, keepdims: 0 } },
  ],
  TopK: [
    { inputs: [x3, ints(2)], outputs: 2 },
    { inputs: [x3], attributes: { k: 2, axis: 1 }, opset: 9, outputs: 2 },
  ],
  Tile: [{ inputs: [x3, ints(1, 2, 3)] }],
  Range: [
    { inputs: [int(3), int(20), int(4)] },
    { inputs: [scalar(1), scalar(0), scalar(-0.25)] },
    { inputs: [int(3), int(1), int(4)] },
  ],
  OneHot: [{ inputs: [[ints(1, 2)], int(5), floats(0, 1)], attributes: { axis: 0 } }],
  CumSum: [{ inputs: [x3, int(1)] }],
  Trilu: [{ inputs: [x3] }],
  ScatterND: [{ inputs: [x3, new Tensor('int64', new BigInt64Array(1), [1, 1]), tensorOf(1, 3, 4)] }],
  DepthToSpace: [{ inputs: [[tensorOf(1, 8, 3, 5)]], attributes: { blocksize: 2 } }],
  SpaceToDepth: [{ inputs: [[tensorOf(1, 2, 4, 6)]], attributes: { blocksize: 2 } }],
  GridSample: [{ inputs: [x4, tensorOf(2, 3, 5, 2)] }],
  RoiAlign: [{ inputs: [x4, tensorOf(3, 4), ints(0, 0, 1)], attributes: { output_height: 3, output_width: 2 } }],
  QuantizeLinear: [
    { inputs: [x3, scalar(0.1)] },
    { inputs: [x3, scalar(0.1), new Tensor('int8', Int8Array.of(0), [])] },
  ],
  DequantizeLinear: [{ inputs: [[bytes('int8', 2, 3)], scalar(0.1)] }],
  DynamicQuantizeLinear: [{ inputs: [x3], outputs: 3 }],
  QLinearConv: [
    {
      inputs: [
        [bytes('uint8', 1, 2, 5, 5)],
        scalar(1),
        bytes('uint8'),
        bytes('int8', 3, 2, 3, 3),
        scalar(1),
        bytes('int8'),
        scalar(1),
        bytes('uint8'),
      ],
      attributes: { pads: [1, 1, 1, 1] },
    },
  ],
  QLinearMatMul: [
    {
      inputs: [
        [bytes('uint8', 2, 3)],
        scalar(1),
        bytes('uint8'),
        bytes('int8', 3, 4),
        scalar(1),
        bytes('int8'),
        scalar(1),
        bytes('uint8'),
      ],
    },
  ],
  Identity: [{ inputs: [x3] }],
  Dropout: [{ inputs: [x3], outputs: 2 }],
  LSTM: [
    {
      inputs: [[tensorOf(5, 2, 3)], tensorOf(2, 16, 3), tensorOf(2, 16, 4)],
      attributes: { hidden_size: 4, direction: 'bidirectional' },
      outputs: 3,
    },
  ],
  GRU: [
    {
      inputs: [[tensorOf(5, 2, 3)], tensorOf(1, 12, 3), tensorOf(1, 12, 4)],
      attributes: { hidden_size: 4 },
      outputs: 2,
    },
  ],
  NonMaxSuppression: [{ inputs: [[tensorOf(1, 5, 4)], tensorOf(1, 2, 5), int(3)], unknown: [[0]] }],
  NonZero: [{ inputs: [x3], unknown: [[1]] }],
}

function same(
  t: Test,
  found: readonly { name: string; dtype: string | undefined; shape: readonly number[] | undefined }[],
  types: ReadonlyMap<string, ValueType>,
  title: string,
): void {
  t.same(
    found.map(({ name }) => [name, types.get(name)?.dtype, types.get(name)?.shape]),
    found.map(({ name, dtype, shape }) => [name, dtype, shape]),
    title,
  )
}

for (const [operator, all] of Object.entries(cases)) {
  t.test(operator, async (t) => {
    for (const [i, one] of all.entries()) {
      const { model, feeds, outputs } = graphOf(operator, one)
      const types = inferTypes(model)
      const found = await computed(model, types, feeds)
      const hidden = found.map(({ name, dtype, shape }) => {
        const dims: readonly Dim[] = one.unknown?.[outputs.indexOf(name)] ?? []
        return { name, dtype, shape: shape?.map((dim, axis) => (dims.includes(axis) ? undefined : dim)) as number[] }
      })
      same(t, hidden, types, `case ${i}: all is known, and as onnxruntime has it`)
    }
  })
}

const real = [
  { name: 'text detector', bytes: await readFile(realModels.detector), shape: [1, 3, 64, 96] },
  { name: 'text reader', bytes: await readFile(realModels.reader), shape: [2, 3, 48, 64] },
  { name: 'classifier of directions', bytes: await readFile(realModels.classifier), shape: [1, 3, 48, 192] },
  { name: 'face detector', bytes: await faceDetectorModel({ batch: 'N' }), shape: [2, 3, 416, 416] },
]

for (const { name, bytes, shape } of real) {
  t.test(`every value of the ${name}`, async (t) => {
    const model = parseModel(bytes)
    const input = inspectModel(model).inputs[0]?.name as string
    // What exporters wrote about values is no help here.
    model.graph?.valueInfo.splice(0)
    const types = inferTypes(model, { shapes: { [input]: shape } })
    const found = await computed(model, types, { [input]: tensorOf(...shape) })
    t.ok(found.length > 20, `${found.length} values`)
    same(t, found, types, 'with the shape of the input')

    const open = inferTypes(model)
    const wrong = found.filter(({ name, dtype, shape }) => {
      const type = open.get(name)
      return (
        type?.dtype !== dtype ||
        (type?.shape &&
          !(
            type.shape.length === shape?.length &&
            type.shape.every((dim, i) => typeof dim !== 'number' || dim === shape[i])
          ))
      )
    })
    t.same(wrong, [], 'without it, what is known is right')
    t.ok(
      found.filter(({ name }) => open.get(name)?.shape !== undefined).length > found.length * 0.9,
      'and the rank of nearly all is known',
    )
  })
}

/** Reshapes [N, T, 12] for heads of attention, as exporters write it. */
function heads(): ModelProto {
  const g = new GraphBuilder({ name: 'heads' })
  const x = g.input('x', 'float32', ['N', 'T', 12])
  const shape = g.node('Shape', [x], {}, { output: 'shape' })
  const at = (i: number) =>
    g.node('Unsqueeze', [g.node('Gather', [shape, g.constant(`at${i}`, int(i))]), g.constant(`axis${i}`, ints(0))])
  const wanted = g.node(
    'Concat',
    [at(0), at(1), g.constant('heads', ints(3)), g.constant('rest', ints(-1))],
    { axis: 0 },
    { output: 'wanted' },
  )
  const split = g.node(
    'Transpose',
    [g.node('Reshape', [x, wanted], {}, { output: 'split' })],
    { perm: [0, 2, 1, 3] },
    { output: 'heads_first' },
  )
  g.node('Reshape', [split, g.constant('flat', ints(0, 3, -1))], {}, { output: 'flat_heads' })
  const half = g.node('Div', [g.node('Gather', [shape, g.constant('last', int(2))]), g.constant('two', int(2))])
  g.node(
    'Slice',
    [
      x,
      g.constant('from', ints(0)),
      g.node('Unsqueeze', [half, g.constant('a', ints(0))]),
      g.constant('along', ints(2)),
    ],
    {},
    { output: 'half' },
  )
  g.node(
    'Expand',
    [
      g.constant('one', tensorOf(1)),
      g.node('Where', [
        g.node('Equal', [wanted, g.constant('free', ints(-1))]),
        g.constant('ones', ints(1, 1, 1, 1)),
        wanted,
      ]),
    ],
    {},
    { output: 'expanded' },
  )
  g.node('Add', [x, g.constant('row', tensorOf(12))], {}, { output: 'sum' })
  g.node('ConstantOfShape', [shape], {}, { output: 'tensorOf' })
  g.node('MatMul', [split, g.node('Transpose', [split], { perm: [0, 1, 3, 2] })], {}, { output: 'scores' })
  g.output(split, 'float32', ['N', 3, 'T', 4])
  return g.toModel()
}

t.test('shapes that are computed in the graph', async (t) => {
  const model = heads()
  const types = inferTypes(model)
  const wanted: Record<string, (number | string | undefined)[]> = {
    split: ['N', 'T', 3, 4],
    heads_first: ['N', 3, 'T', 4],
    flat_heads: ['N', 3, undefined],
    half: ['N', 'T', 6],
    expanded: ['N', 'T', 3, 1],
    sum: ['N', 'T', 12],
    tensorOf: ['N', 'T', 12],
    scores: ['N', 3, 'T', 'T'],
  }
  t.same(Object.fromEntries(Object.keys(wanted).map((name) => [name, types.get(name)?.shape])), wanted)
  const shapes = { x: [2, 5, 12] }
  same(
    t,
    await computed(model, inferTypes(model, { shapes }), { x: tensorOf(2, 5, 12) }),
    inferTypes(model, { shapes }),
    'with sizes',
  )
})

t.test('the model itself says what is not inferred', async (t) => {
  const g = new GraphBuilder({ name: 'said', domains: { 'com.example': 1 } })
  const x = g.input('x', 'float32', ['N', 8])
  g.input('mask', 'bool', ['N', 'M'])
  const own = g.node('Magic', [x], {}, { domain: 'com.example', output: 'own' })
  const other = g.node('Magic', [x], {}, { domain: 'com.example', output: 'other' })
  g.output(g.node('Relu', [own], {}, { output: 'y' }), 'float32', ['N', 4])
  g.output(g.node('Relu', [other], {}, { output: 'z' }), 'float32', ['N', 'K'])
  const model = g.toModel()
  const info = new GraphBuilder({ name: 'info' })
  info.output(info.input('own', 'float16', ['N', 4]), 'float16', ['N', 4])
  model.graph?.valueInfo.push(...(info.toModel().graph?.input ?? []))
  const named = inferTypes(model)
  t.same(named.get('x'), { dtype: 'float32', shape: ['N', 8] })
  t.same(named.get('own'), { dtype: 'float16', shape: ['N', 4] })
  t.same(named.get('other'), { dtype: undefined, shape: undefined })
  t.same(named.get('y'), { dtype: 'float16', shape: ['N', 4] }, 'what was inferred comes before what was said')
  t.same(named.get('z'), { dtype: 'float32', shape: ['N', 'K'] })
  const sized = inferTypes(model, { shapes: { x: [3, 8] } })
  t.same(sized.get('mask')?.shape, [3, 'M'], 'a name means one size')
  t.same(sized.get('y')?.shape, [3, 4])
  const clash = inferTypes(model, { shapes: { x: [3, 8], mask: [5, 2] } })
  t.same(
    [clash.get('own')?.shape, clash.get('z')?.shape],
    [
      ['N', 4],
      ['N', 'K'],
    ],
    'one that is given two sizes has none',
  )
})

t.test('what contradicts itself is not known', async (t) => {
  const shape = (operator: string, one: Case): unknown => {
    const { model, outputs } = graphOf(operator, one)
    return inferTypes(model).get(outputs[0] as string)?.shape
  }
  t.same(shape('Add', { inputs: [[tensorOf(2)], tensorOf(3)] }), [undefined])
  t.same(shape('Conv', { inputs: [[tensorOf(1, 1, 2, 2)], tensorOf(1, 1, 3, 3)] }), [1, 1, undefined, undefined])
  t.same(shape('Conv', { inputs: [[tensorOf(1, 1, 2)], tensorOf(1, 1, 3, 3)] }), undefined)
  t.same(shape('Conv', { inputs: [x4, tensorOf(8, 6, 3, 3)], attributes: { strides: [0, 0] } }), undefined)
  t.same(shape('Reshape', { inputs: [x3, ints(5, -1)] }), [5, undefined])
  t.same(shape('Reshape', { inputs: [x3, ints(-1, -1)] }), [undefined, undefined])
  t.same(shape('Reshape', { inputs: [x3, [ints(4, 6)]] }), [undefined, undefined], 'a shape that is an input')
  t.same(shape('Concat', { inputs: [x3, tensorOf(2)], attributes: { axis: 0 } }), undefined)
  t.same(shape('Softmax', { inputs: [] }), undefined)
  t.same(shape('Cast', { inputs: [x3], attributes: { to: 'float' } }), undefined)
  t.same(shape('Gather', { inputs: [x3, int(0)], attributes: { axis: 7 } }), undefined)
  t.same(shape('Slice', { inputs: [x3, floats(0), floats(4), ints(2), floats(1e-9)] }), [2, 3, undefined])
  t.same(shape('NoSuchOperator', { inputs: [x3] }), undefined)
})

t.test('what cannot be asked', async (t) => {
  const model = heads()
  t.throws(() => inferTypes(model, { shapes: { y: [1] } }), failure('ERR_TRT_UNKNOWN_INPUT', /name of an input .* "y"/))
  t.throws(
    () => inferTypes(model, { shapes: { x: [1, 2, 13] } }),
    failure('ERR_TRT_SHAPE', /\[N, T, 12\] for shapes\.x but received \[1, 2, 13\]/),
  )
  t.throws(() => inferTypes(model, { shapes: { x: [1, 2] } }), failure('ERR_TRT_SHAPE', /shapes\.x/))
  t.throws(
    () => inferTypes(model, { shapes: { x: [1, -2, 12] } }),
    failure('ERR_TRT_INVALID_ARGUMENT', /shapes\.x\[1\]/),
  )
  t.throws(
    () => inferTypes(model, { shape: {} } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /Unknown option "shape"/),
  )
  model.graph?.node[0]?.input.splice(0, 1, 'nowhere')
  t.throws(() => inferTypes(model), failure('ERR_TRT_ONNX_PARSE', /nowhere/))
})

t.test('ranks that would grow without end', async (t) => {
  const g = new GraphBuilder({ name: 'growing' })
  let last = g.input('x', 'int64', [1, 1])
  for (let i = 0; i < 200; i++) last = g.node('Gather', [last, last])
  g.output(last, 'int64', [])
  const types = inferTypes(g.toModel())
  t.same(types.get('Gather_0')?.shape, [1, 1, 1])
  t.equal(Math.max(...[...types.values()].map(({ shape }) => shape?.length ?? 0)), 33)
})
