import { clearField } from '@bufbuild/protobuf'
import { checkedText } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { expected, TensorRTError } from '../errors.js'
import { copyModel } from './copy.js'
import { GraphEditor } from './editor.js'
import { elementTypeName } from './element-type.js'
import { inferKnown } from './inference.js'
import { inspectModel, type ValueInfo } from './info.js'
import { type ModelProto, type NodeProto, TypeProto_TensorSchema } from './onnx_pb.js'
import { nodeText } from './scope.js'
import { isHeld, isUnknown, type Trial, TriedNode } from './sizes/held.js'
import { type Dim, valueInfo } from './value-info.js'

/** Options of {@link openSizes}. */
export interface OpenSizesOptions {
  /** The input that takes pictures; when not given, the only one of four dimensions. */
  readonly input?: string | undefined
  /** Whether the number of pictures is opened beside height and width; default true. */
  readonly batch?: boolean | undefined
}

/**
 * Makes a model whose input of pictures was exported with one size accept any: its height and width, and its number of
 * pictures, get names (`height`, `width`, `N`), and outputs say what follows from
 * these. Such sizes are often those of the picture that the exporter happened to be given (CenterFace: [10, 3, 32,
 * 32]), and nothing in the graph needs them.
 *
 * Each node is tried at other sizes, whole multiples of the model's: where one holds a size (the target of a Reshape,
 * the `sizes` of a Resize, the end of a Slice, the weights of a Gemm, a stored grid
 * of anchors), or is of an operator that cannot be followed, the model is refused. A size that went into a lone number
 * of an ordinary multiplication, to scale coordinates, looks like any other number: compare
 * the answers. Sides are still to be what strides and skips of the network divide, often multiples of 32. To build for
 * TensorRT the model needs shapes then: a smallest, a best and a largest.
 * @param model it stays as it is; weights are shared with the new one
 * @returns a new model
 * @throws TensorRTError ERR_TRT_SHAPE where a node holds a size, with its name, and for an input that takes no pictures
 * ([N, C, height, width] or [N, height, width, C], of 1, 3 or 4 channels);
 * ERR_TRT_UNKNOWN_INPUT, ERR_TRT_INVALID_ARGUMENT; ERR_TRT_ONNX_PARSE for a graph that cannot run
 */
export function openSizes(model: ModelProto, options?: OpenSizesOptions): ModelProto {
  const { input, batch } = checkedOptions(options, table, 'openSizes')
  const copy = copyModel(model)
  const info = pictureInput(copy, input)
  const shape = openedShape(info, batch)
  if (shape.every((dim, axis) => dim === info.shape[axis])) return copy
  const editor = new GraphEditor(copy)
  const follows = following(editor, info.name)
  redeclare(editor, { info, shape, follows })
  const sizes = triedSizes(info, shape)
  const trials = sizes.map((size) => inferKnown(copy, { shapes: { [info.name]: size } }))
  checkHeld(editor, { info, shape, follows, sizes, trials })
  declareOutputs(copy, { follows, trials })
  return copy
}

const table = {
  input: option((value, name) => checkedText(value, name)),
  batch: option(is.boolean, true),
} satisfies OptionTable<OpenSizesOptions>

type PictureInfo = ValueInfo & { readonly shape: readonly Dim[] }

/** `names`: what the model has. */
export function unknownInput(wanted: string, names: string): TensorRTError {
  return new TensorRTError('ERR_TRT_UNKNOWN_INPUT', `The model has no input ${JSON.stringify(wanted)}: it has ${names}`)
}

/** @throws TensorRTError */
function pictureInput(model: ModelProto, wanted: string | undefined): PictureInfo {
  const { inputs } = inspectModel(model)
  const names = inputs.map(({ name }) => name).join(', ')
  const [info, ...others] = inputs.filter(({ name, shape }) =>
    wanted === undefined ? shape?.length === 4 : name === wanted,
  )
  if (wanted !== undefined && info === undefined) throw unknownInput(wanted, names)
  if (others.length > 0) throw expected(`one of the model's inputs (${names})`, 'input', wanted)
  if (info?.shape?.length === 4 && channelAxis(info.shape) !== undefined) return info as PictureInfo
  const shapes = inputs.map(
    ({ name, shape }) => `${JSON.stringify(name)} ${shape === undefined ? 'of unknown shape' : textOf(shape)}`,
  )
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected an input of pictures, [N, C, height, width] or [N, height, width, C] of 1, 3 or 4 channels, but found ${shapes.join(', ') || 'none'}`,
  )
}

const isOpen = (dim: Dim | undefined): boolean => typeof dim === 'string' || dim === -1

function channelAxis(shape: readonly Dim[]): 1 | 3 | undefined {
  const axes = [1, 3] as const
  return axes.find((axis) => [1, 3, 4].includes(Number(shape[axis]))) ?? axes.find((axis) => isOpen(shape[axis]))
}

/** Dimensions that have a name keep it. */
function openedShape({ shape }: PictureInfo, batch: boolean): Dim[] {
  const names = channelAxis(shape) === 1 ? ['N', undefined, 'height', 'width'] : ['N', 'height', 'width', undefined]
  const taken = new Set(shape.filter((dim) => typeof dim === 'string'))
  return shape.map((dim, axis) => {
    const name = names[axis]
    if (name === undefined || typeof dim === 'string' || (axis === 0 && !batch && !isOpen(dim))) return dim
    return taken.has(name) ? `${name}_${axis}` : name
  })
}

/** The values that follow from an input, by what is in it or how large it is. */
function following(editor: GraphEditor, input: string): ReadonlySet<string> {
  const found = new Set([input])
  const readers = new Set(editor.uses(input).map(({ node }) => node))
  for (const node of editor.nodes()) {
    if (!readers.has(node)) continue
    for (const value of node.output) {
      found.add(value)
      for (const use of editor.uses(value)) readers.add(use.node)
    }
  }
  return found
}

interface Opening {
  readonly info: PictureInfo
  readonly shape: readonly Dim[]
  readonly follows: ReadonlySet<string>
}

/** What the model says of the shapes of other values is of the size that it had. */
function redeclare({ graph }: GraphEditor, { info, shape, follows }: Opening): void {
  const input = graph.input.find(({ name }) => name === info.name)!
  input.type = valueInfo(info.name, info.dtype, shape).type!
  graph.valueInfo = graph.valueInfo.filter(({ name }) => !follows.has(name))
  for (const { name, type } of graph.output)
    if (follows.has(name) && type?.value.case === 'tensorType')
      clearField(type.value.value, TypeProto_TensorSchema.field.shape)
}

/** How many times as large each dimension is in a trial: no two alike, so that none passes for another. */
const factors = [
  [1, 1, 1, 1],
  [2, 3, 5, 7],
  [3, 5, 7, 2],
] as const

/** What stands for a side that the model leaves open already: many strides divide it. */
const anySide = 256

/** The model's own size, and others. */
function triedSizes(info: PictureInfo, shape: readonly Dim[]): number[][] {
  const own = info.shape.map((dim, axis) => (typeof dim === 'number' && dim > 0 ? dim : axis === 0 ? 1 : anySide))
  return factors.map((each) => own.map((dim, axis) => (typeof shape[axis] === 'number' ? dim : dim * each[axis]!)))
}

interface Tried {
  readonly sizes: readonly (readonly number[])[]
  readonly trials: readonly Trial[]
}

/** @throws TensorRTError ERR_TRT_SHAPE */
function checkHeld(editor: GraphEditor, { info, shape, follows, sizes, trials }: Opening & Tried): void {
  const refuse = (node: NodeProto, why: string): never => {
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `The sizes of the input ${JSON.stringify(info.name)} ${textOf(info.shape)} cannot be opened: ${nodeText(node)} ${why}`,
      { details: { input: info.name, node: node.name, operator: node.opType } },
    )
  }
  for (const node of editor.nodes()) {
    if (!node.output.some((value) => follows.has(value))) continue
    if (isUnknown(node)) refuse(node, 'is of an operator whose sizes are not known here')
    const read = node.output.filter(
      (value) => value !== '' && (editor.uses(value).length > 0 || editor.isOutput(value)),
    )
    const tried = new TriedNode(node, trials, (value) => follows.has(value))
    if (isHeld(tried, read)) refuse(node, `holds one. ${givenText(tried, read, sizes)}`)
  }
  if (typeof shape[0] === 'number') return
  for (const { name } of editor.graph.output) {
    const producer = editor.producer(name)
    const rows = trials.map((trial) => trial.get(name)?.shape?.[0])
    if (producer === undefined || !follows.has(name) || rows[0] !== sizes[0]![0]) continue
    if (rows.some((row, trial) => row !== sizes[trial]![0]))
      refuse(producer, 'gives as many rows for any number of pictures')
  }
}

/** What a node is given and gives at the model's own size, and at one that it was not made for. */
function givenText(node: TriedNode, outputs: readonly string[], sizes: Tried['sizes']): string {
  const shapesAt = (values: readonly string[], trial: number): string =>
    values.map((value) => known(node.of(value)[trial]?.shape)).join(', ')
  const at = (trial: number): string =>
    `${shapeText(sizes[trial]!)} it makes ${shapesAt(outputs, trial)} of ${shapesAt(node.proto.input.filter(Boolean), trial)}`
  return `With ${at(0)}; with ${at(1)}`
}

const known = (shape: readonly (Dim | undefined)[] | undefined): string =>
  shape === undefined ? '?' : textOf(shape.map((dim) => dim ?? '?'))

const textOf = (shape: readonly Dim[]): string => `[${shape.join(', ')}]`

/** Sizes that are always the same, and names for the others. */
function declareOutputs(model: ModelProto, { follows, trials }: Pick<Opening & Tried, 'follows' | 'trials'>): void {
  const named = inferKnown(model)
  for (const output of model.graph!.output) {
    const shapes = trials.map((trial) => trial.get(output.name)?.shape)
    const [own] = shapes
    const dtype =
      output.type?.value.case === 'tensorType' ? elementTypeName(output.type.value.value.elemType) : 'undefined'
    if (!follows.has(output.name) || own === undefined || dtype === 'undefined') continue
    const names = named.get(output.name)?.shape
    const dims = own.map((dim, axis) => {
      if (typeof dim === 'number' && shapes.every((shape) => shape?.[axis] === dim)) return dim
      const name = names?.[axis]
      return typeof name === 'string' ? name : `${output.name}.${axis}`
    })
    output.type = valueInfo(output.name, dtype, dims).type!
  }
}
