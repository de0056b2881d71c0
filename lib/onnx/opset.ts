import { Tensor } from '../tensor.js'
import { attributeToProto, type AttributeValue } from './attributes.js'
import { type GraphEditor, isOnnx } from './editor.js'
import { inferTypes } from './inference.js'
import { dropAttributes, intAttribute, stringAttribute } from './node-attributes.js'
import type { AttributeProto, NodeProto } from './onnx_pb.js'
import { nameOf } from './precision/float-graph.js'
import { takesSince } from './precision/operators.js'
import { hasGraph } from './precision/shape-math.js'

/** The lowest opset that models are raised from, and the highest that they are raised to. */
const lowest = 7
export const highestOpset = 22

/** Operators that are the same from opset 7 to 22, or written otherwise by {@link changes}, besides those of the table of conversion. */
const unchanged = new Set(
  (
    'And BitShift Cast Constant ConstantOfShape ConvInteger DynamicQuantizeLinear EyeLike MatMulInteger MaxRoiPool MaxUnpool Multinomial NonMaxSuppression Not Or ' +
    'QLinearConv QLinearMatMul RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range RoiAlign Scatter Shrink Unique Upsample Xor'
  ).split(' '),
)

/** Why a model's opset cannot be raised without a change of what it computes; nothing where it can. */
export function whyNotRaised(editor: GraphEditor, target: number): string | undefined {
  const { opset } = editor
  if (opset < lowest) return `models are raised from opset ${lowest} on`
  if (target > highestOpset) return `models are raised to opset ${highestOpset} at most`
  for (const node of editor.nodes()) {
    const reason = whyNot(node, opset, target)
    if (reason !== undefined) return `${nameOf(node)} (${node.opType}) ${reason}`
  }
  return undefined
}

function whyNot(node: NodeProto, opset: number, target: number): string | undefined {
  if (hasGraph(node)) return 'has a graph inside'
  if (!isOnnx(node)) return undefined
  const { opType } = node
  if (takesSince(opType, 'fp16') === undefined && !unchanged.has(opType)) return 'is not known to be the same there'
  if (opType === 'Resize' && opset < 13 && stringAttribute(node, 'coordinate_transformation_mode') === 'tf_half_pixel_for_nn')
    return 'places pixels as tf_half_pixel_for_nn, which was removed'
  if (opType === 'BatchNormalization' && opset < 14 && node.output.filter((value) => value !== '').length > 1)
    return 'gives what training needs'
  if (opType === 'GroupNormalization' && opset < 21 && target >= 21) return 'has its scales by group'
  return undefined
}

/** Says that a model is of a newer opset, and writes its nodes as they are there. To be asked first: {@link whyNotRaised}. */
export function raiseOpset(editor: GraphEditor, target: number): void {
  const { opset } = editor
  const types = inferTypes(editor.model)
  const rankOf = (value: string): number | undefined => types.get(value)?.shape?.length
  for (const node of editor.nodes()) {
    if (!isOnnx(node)) continue
    for (const { from, operators, change } of changes) {
      if (from > opset && from <= target && operators.includes(node.opType)) change(editor, node, rankOf)
    }
  }
  editor.setOpset(target)
}

/** What became another thing in an opset, and how it is written from there on. */
const changes: readonly {
  readonly from: number
  readonly operators: readonly string[]
  /** `rankOf` knows how many dimensions a value has, where that can be known. */
  readonly change: (editor: GraphEditor, node: NodeProto, rankOf: (value: string) => number | undefined) => void
}[] = [
  { from: 9, operators: ['BatchNormalization'], change: (_, node) => dropAttributes(node, 'spatial') },
  {
    from: 9,
    operators: ['Upsample'],
    change: (editor, node) => addInputs(editor, node, ['scales'], ({ floats }) => Tensor.from(Float32Array.from(floats))),
  },
  { from: 10, operators: ['Upsample'], change: (_, node) => void (node.opType = 'Resize') },
  { from: 11, operators: ['Resize'], change: resizeWithRoi },
  { from: 11, operators: ['Scatter'], change: (_, node) => void (node.opType = 'ScatterElements') },
  { from: 10, operators: ['Slice'], change: (editor, node) => intsToInputs(editor, node, ['starts', 'ends', 'axes']) },
  { from: 10, operators: ['TopK'], change: (editor, node) => intsToInputs(editor, node, ['k']) },
  { from: 11, operators: ['Clip'], change: (editor, node) => floatsToInputs(editor, node, ['min', 'max']) },
  { from: 11, operators: ['Pad'], change: padToInputs },
  // without the input training_mode nothing is dropped
  { from: 12, operators: ['Dropout'], change: (_, node) => void take(node, 'ratio') },
  { from: 13, operators: ['Squeeze', 'Unsqueeze', 'ReduceSum'], change: (editor, node) => intsToInputs(editor, node, ['axes']) },
  { from: 13, operators: ['Split'], change: (editor, node) => intsToInputs(editor, node, ['split']) },
  { from: 13, operators: ['Softmax', 'LogSoftmax', 'Hardmax'], change: alongOneAxis },
  {
    from: 16,
    operators: ['RoiAlign'],
    change: (_, node) => setDefault(node, 'coordinate_transformation_mode', 'output_half_pixel'),
  },
  {
    from: 18,
    operators: [
      'ReduceL1', 'ReduceL2', 'ReduceLogSum', 'ReduceLogSumExp', 'ReduceMax', 'ReduceMean', 'ReduceMin', 'ReduceProd', 'ReduceSumSquare',
    ], // prettier-ignore
    change: (editor, node) => intsToInputs(editor, node, ['axes']),
  },
  {
    from: 18,
    operators: ['Split'],
    change: (_, node) => {
      if (!node.input[1]) setDefault(node, 'num_outputs', node.output.length)
    },
  },
  { from: 20, operators: ['GridSample'], change: renameMode },
]

function find({ attribute }: NodeProto, name: string): AttributeProto | undefined {
  return attribute.find((each) => each.name === name)
}

function take(node: NodeProto, name: string): AttributeProto | undefined {
  const found = find(node, name)
  node.attribute = node.attribute.filter((each) => each !== found)
  return found
}

function setDefault(node: NodeProto, name: string, value: AttributeValue): void {
  if (find(node, name) === undefined) node.attribute.push(attributeToProto({ type: node.opType, domain: '' }, name, value))
}

/** Makes inputs of attributes of whole numbers, one or a list, in their order after those that there are. */
function intsToInputs(editor: GraphEditor, node: NodeProto, names: readonly string[]): void {
  addInputs(editor, node, names, ({ ints, i }) => Tensor.from(BigInt64Array.from(ints.length > 0 ? ints : [i])))
}

function floatsToInputs(editor: GraphEditor, node: NodeProto, names: readonly string[]): void {
  addInputs(editor, node, names, ({ f }) => Tensor.from(Float32Array.of(f), []))
}

/** An attribute that is missing is an input that is left out. */
function addInputs(editor: GraphEditor, node: NodeProto, names: readonly string[], tensorOf: (found: AttributeProto) => Tensor): void {
  const values = names.map((name) => {
    const found = take(node, name)
    return found === undefined ? '' : editor.addConstant(`${nameOf(node)}_${name}`, tensorOf(found))
  })
  const last = values.findLastIndex((value) => value !== '')
  for (const value of values.slice(0, last + 1)) editor.replaceInput(node, node.input.length, value)
}

function padToInputs(editor: GraphEditor, node: NodeProto): void {
  setDefault(node, 'value', 0)
  intsToInputs(editor, node, ['pads'])
  floatsToInputs(editor, node, ['value'])
}

/** Before opset 13 the dimensions from `axis` (1) on counted as one: what is written so is computed on two dimensions. */
function alongOneAxis(editor: GraphEditor, node: NodeProto, rankOf: (value: string) => number | undefined): void {
  const axis = intAttribute(node, 'axis') ?? 1
  dropAttributes(node, 'axis')
  const last = (rankOf(node.input[0] as string) ?? 0) - 1
  if (axis === -1 || axis === last) return // the last one alone, which is meant where nothing is said
  const [input = ''] = node.input
  const [output = ''] = node.output
  const stem = nameOf(node)
  const shape = editor.addNode('Shape', [input], {}, { output: editor.unused(`${stem}_shape`) })
  const flat = editor.addNode('Flatten', [input], { axis }, { output: editor.unused(`${stem}_flat`) })
  editor.renameOutput(node, 0, editor.unused(`${stem}_rows`))
  editor.replaceInput(node, 0, flat)
  editor.addNode('Reshape', [node.output[0] as string, shape], {}, { output })
}

function renameMode(_: GraphEditor, node: NodeProto): void {
  const names: Readonly<Record<string, string>> = { bilinear: 'linear', bicubic: 'cubic' }
  const mode = names[stringAttribute(node, 'mode') ?? '']
  if (mode === undefined) return
  take(node, 'mode')
  setDefault(node, 'mode', mode)
}

/** Up to opset 10 scales were the second input, and each pixel came from where it lies at `x / scale`. */
function resizeWithRoi(editor: GraphEditor, node: NodeProto): void {
  const scales = node.input[1] as string
  editor.replaceInput(node, 1, editor.addConstant(`${nameOf(node)}_roi`, Tensor.from(new Float32Array(0))))
  editor.replaceInput(node, 2, scales)
  setDefault(node, 'coordinate_transformation_mode', 'asymmetric')
  if (stringAttribute(node, 'mode') !== 'linear') setDefault(node, 'nearest_mode', 'floor')
}
