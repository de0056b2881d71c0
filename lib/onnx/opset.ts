import { checkedWhole } from '../base/checks.js'
import { TensorRTError } from '../errors.js'
import { floatDTypes } from '../tensor/convert.js'
import { type FloatDType, Tensor } from '../tensor.js'
import { attributeToProto, type AttributeValue } from './attributes.js'
import { copyModel } from './copy.js'
import { GraphEditor, isOnnx } from './editor.js'
import { inferTypes, type ValueType } from './inference.js'
import { dropAttributes, intAttribute, stringAttribute } from './node-attributes.js'
import type { AttributeProto, ModelProto, NodeProto } from './onnx_pb.js'
import { hasGraph, nameOf } from './precision/float-graph.js'
import { takesSince } from './precision/operators.js'

/** The lowest opset that models are raised from, and the highest that they are raised to. */
const lowest = 7
export const highestOpset = 22

/**
 * Operators that are the same from opset 7 to 22, or written otherwise by {@link changes}, besides those of the table
 * of conversion.
 */
const unchanged = new Set(
  (
    'And BitShift Cast Constant ConstantOfShape ConvInteger DynamicQuantizeLinear EyeLike MatMulInteger MaxRoiPool MaxUnpool Multinomial NonMaxSuppression Not Or ' +
    'QLinearConv QLinearMatMul RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range RoiAlign Scatter Shrink Unique Upsample Xor'
  ).split(' '),
)

/**
 * The model in a newer opset, its nodes written as they are there: `Upsample` becomes `Resize`, attributes that became
 * inputs are inputs. It computes the same.
 * @param model stays as it is
 * @param opset from the model's own, which is 7 or more, to 22
 * @returns a new model, which shares the weights
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no model or no opset; ERR_TRT_UNSUPPORTED, with the node
 * and the reason, where the model would compute something else, and for an opset below the model's
 * @see https://github.com/onnx/onnx/blob/main/docs/VersionConverter.md
 */
export function withOpset(model: ModelProto, opset: number): ModelProto {
  const editor = new GraphEditor(copyModel(model))
  const target = checkedWhole(opset, 'opset', 1, 2 ** 31 - 1)
  if (target < editor.opset)
    throw new TensorRTError(
      'ERR_TRT_UNSUPPORTED',
      `Expected an opset from ${editor.opset} on, the model's, but received ${target}`,
    )
  if (target === editor.opset) return editor.finish()
  const reason = whyNotRaised(editor, target)
  if (reason !== undefined)
    throw new TensorRTError('ERR_TRT_UNSUPPORTED', `The model cannot be raised to opset ${target}: ${reason}`)
  raiseOpset(editor, target)
  return editor.finish()
}

/** Why a model's opset cannot be raised without a change of what it computes; nothing where it can. */
export function whyNotRaised(editor: GraphEditor, target: number): string | undefined {
  const { opset } = editor
  if (opset < lowest) return `models are raised from opset ${lowest} on`
  if (target > highestOpset) return `models are raised to opset ${highestOpset} at most`
  let types: Types | undefined
  for (const node of editor.nodes()) {
    const reason =
      whyNot(node, opset, target) ?? whyUntyped(node, opset, target, () => (types ??= inferTypes(editor.model)))
    if (reason !== undefined) return `${nameOf(node)} (${node.opType}) ${reason}`
  }
  return undefined
}

function whyNot(node: NodeProto, opset: number, target: number): string | undefined {
  if (hasGraph(node)) return 'has a graph inside'
  if (!isOnnx(node)) return undefined
  const { opType } = node
  if (takesSince(opType, 'fp16') === undefined && !unchanged.has(opType)) return 'is not known to be the same there'
  if (
    opType === 'Resize' &&
    opset < 13 &&
    stringAttribute(node, 'coordinate_transformation_mode') === 'tf_half_pixel_for_nn'
  )
    return 'places pixels as tf_half_pixel_for_nn, which was removed'
  if (opType === 'BatchNormalization' && opset < 14 && node.output.filter((value) => value !== '').length > 1)
    return 'gives what training needs'
  if (opType === 'BatchNormalization' && opset < 9 && target >= 9 && intAttribute(node, 'spatial') === 0)
    return 'has a mean and variance for each element (spatial: 0), which was removed'
  if (opType === 'GroupNormalization' && opset < 21 && target >= 21) return 'has its scales by group'
  return undefined
}

type Types = ReadonlyMap<string, ValueType>

const untyped: ReadonlyMap<string, readonly string[]> = new Map([
  ['Clip', ['min', 'max']],
  ['Pad', ['value']],
])

/** What becomes an input has the type of the node's first one. */
function whyUntyped(node: NodeProto, opset: number, target: number, types: () => Types): string | undefined {
  if (!isOnnx(node) || opset >= 11 || target < 11) return undefined
  const given = (untyped.get(node.opType) ?? []).filter((name) => isNumber(node, name))
  if (given.length === 0 || floatTypeOf(node, types()) !== undefined) return undefined
  const input = JSON.stringify(node.input[0] ?? '')
  const which = `${given.join(' and ')} as attributes, which become inputs of the type of ${input}`
  return `has ${which}, and that is not known to be one of floating point`
}

/** Whether an attribute is there, and is no padding with 0, which is what an input that is left out says. */
function isNumber(node: NodeProto, name: string): boolean {
  const found = find(node, name)
  return found !== undefined && !(node.opType === 'Pad' && found.f === 0)
}

function floatTypeOf(node: NodeProto, types: Types): FloatDType | undefined {
  const dtype = types.get(node.input[0] ?? '')?.dtype
  return floatDTypes.find((each) => each === dtype)
}

/**
 * Says that a model is of a newer opset, and writes its nodes as they are there. To be asked first: {@link
 * whyNotRaised}.
 */
export function raiseOpset(editor: GraphEditor, target: number): void {
  const { opset } = editor
  const types = inferTypes(editor.model)
  for (const node of editor.nodes()) {
    if (!isOnnx(node)) continue
    for (const { from, operators, change } of changes) {
      if (from > opset && from <= target && operators.includes(node.opType)) change(editor, node, types)
    }
  }
  editor.setOpset(target)
}

/** What became another thing in an opset, and how it is written from there on. */
const changes: readonly {
  readonly from: number
  readonly operators: readonly string[]
  /** `types`: what is known of the values of the model as it was. */
  readonly change: (editor: GraphEditor, node: NodeProto, types: Types) => void
}[] = [
  { from: 9, operators: ['BatchNormalization'], change: (_, node) => dropAttributes(node, 'spatial') },
  {
    from: 9,
    operators: ['Upsample'],
    change: (editor, node) =>
      addInputs(editor, node, ['scales'], ({ floats }) => Tensor.from(Float32Array.from(floats))),
  },
  { from: 10, operators: ['Upsample'], change: (_, node) => void (node.opType = 'Resize') },
  { from: 11, operators: ['Resize'], change: resizeWithRoi },
  { from: 11, operators: ['Scatter'], change: (_, node) => void (node.opType = 'ScatterElements') },
  { from: 10, operators: ['Slice'], change: (editor, node) => intsToInputs(editor, node, ['starts', 'ends', 'axes']) },
  { from: 10, operators: ['TopK'], change: (editor, node) => intsToInputs(editor, node, ['k']) },
  {
    from: 11,
    operators: ['Clip'],
    change: (editor, node, types) => floatsToInputs(editor, node, ['min', 'max'], types),
  },
  { from: 11, operators: ['Pad'], change: padToInputs },
  // without the input training_mode nothing is dropped
  { from: 12, operators: ['Dropout'], change: (_, node) => void take(node, 'ratio') },
  {
    from: 13,
    operators: ['Squeeze', 'Unsqueeze', 'ReduceSum'],
    change: (editor, node) => intsToInputs(editor, node, ['axes']),
  },
  { from: 13, operators: ['Split'], change: (editor, node) => intsToInputs(editor, node, ['split']) },
  { from: 13, operators: ['Softmax', 'LogSoftmax', 'Hardmax'], change: alongOneAxis },
  // what it is said to compute there has no default of its own: ONNX's checker wants it said
  { from: 13, operators: ['MeanVarianceNormalization'], change: (_, node) => setDefault(node, 'axes', [0, 2, 3]) },
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
  if (find(node, name) === undefined)
    node.attribute.push(attributeToProto({ type: node.opType, domain: '' }, name, value))
}

/** Makes inputs of attributes of whole numbers, one or a list, in their order after those that there are. */
function intsToInputs(editor: GraphEditor, node: NodeProto, names: readonly string[]): void {
  addInputs(editor, node, names, ({ ints, i }) => Tensor.from(BigInt64Array.from(ints.length > 0 ? ints : [i])))
}

/** Of the type of the first input: to be asked first, {@link whyUntyped}. */
function floatsToInputs(editor: GraphEditor, node: NodeProto, names: readonly string[], types: Types): void {
  const dtype = floatTypeOf(node, types) ?? 'float32'
  addInputs(editor, node, names, ({ f }) => Tensor.fromFloat32(dtype, [f], []))
}

/** An attribute that is missing is an input that is left out. */
function addInputs(
  editor: GraphEditor,
  node: NodeProto,
  names: readonly string[],
  tensorOf: (found: AttributeProto) => Tensor,
): void {
  const values = names.map((name) => {
    const found = take(node, name)
    return found === undefined ? '' : editor.addConstant(`${nameOf(node)}_${name}`, tensorOf(found))
  })
  const last = values.findLastIndex((value) => value !== '')
  for (const value of values.slice(0, last + 1)) editor.replaceInput(node, node.input.length, value)
}

function padToInputs(editor: GraphEditor, node: NodeProto, types: Types): void {
  intsToInputs(editor, node, ['pads'])
  if (isNumber(node, 'value')) floatsToInputs(editor, node, ['value'], types)
  else dropAttributes(node, 'value')
}

/**
 * Before opset 13 the dimensions from `axis` (1) on counted as one: what is written so is computed on two dimensions.
 */
function alongOneAxis(editor: GraphEditor, node: NodeProto, types: Types): void {
  const axis = intAttribute(node, 'axis') ?? 1
  dropAttributes(node, 'axis')
  const last = (types.get(node.input[0] as string)?.shape?.length ?? 0) - 1
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
