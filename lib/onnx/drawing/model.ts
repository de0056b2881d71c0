import { TensorRTError } from '../../errors.js'
import { attributeTypes } from '../attributes.js'
import { GraphEditor } from '../editor.js'
import { elementTypeName } from '../element-type.js'
import { type InferenceOptions, inferTypes, type ValueType } from '../inference.js'
import type { AttributeProto, ModelProto, NodeProto, TensorProto } from '../onnx_pb.js'
import { isOnnx, outerReads, shortened } from '../scope.js'
import { isExternal, tensorFromProto } from '../tensors.js'
import { type Arrow, type Box, type BoxKind, type DrawnGraph, endBox, shortText } from './graph.js'
import { checkedList, isText } from '../../base/checks.js'
import { checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { checkedFormat, type DrawingFormat, drawn } from './formats.js'
import { elementCount } from '../../tensor.js'

/**
 * The main graph of a model as boxes and arrows: its nodes with their constants, and what goes from one to the other.
 */
export function modelGraph(model: ModelProto, selection: Selection, shapes: InferenceOptions['shapes']): DrawnGraph {
  const editor = new GraphEditor(model)
  return new ModelDrawing(editor, inferTypes(model, { shapes })).draw(selection)
}

class ModelDrawing {
  readonly #editor: GraphEditor
  readonly #types: ReadonlyMap<string, ValueType>
  readonly #ids = new Map<NodeProto, string>()
  /** Inputs, outputs and what stands for nodes that are not drawn, by their ids. */
  readonly #ends = new Map<string, Box>()
  readonly #arrows: Arrow[] = []
  #left = 0

  constructor(editor: GraphEditor, types: ReadonlyMap<string, ValueType>) {
    this.#editor = editor
    this.#types = types
  }

  draw(selection: Selection): DrawnGraph {
    const nodes = this.#editor.nodes().filter((node) => !isConstant(node))
    for (const [i, node] of chosen(nodes, this.#editor, selection).entries()) this.#ids.set(node, `node ${i}`)
    this.#left = nodes.length - this.#ids.size
    for (const node of nodes) this.#connect(node)
    for (const { name } of this.#editor.graph.output) this.#connectOutput(name)
    const boxes = [...this.#ids].map(([node, id]) => nodeBox(node, id, this.#editor))
    return { title: this.#editor.graph.name, boxes: [...this.#ends.values(), ...boxes], arrows: this.#arrows }
  }

  #connect(node: NodeProto): void {
    const to = this.#ids.get(node)
    for (const { value, isInner } of readsOf(node)) {
      const from = this.#sourceOf(value, to !== undefined)
      if (from !== undefined) this.#arrow(from, to ?? this.#undrawn('after'), value, isInner)
    }
  }

  #connectOutput(value: string): void {
    const from = this.#sourceOf(value, false)
    if (from !== undefined) this.#arrow(from, this.#end(value, 'output'), value)
  }

  #arrow(from: string, to: string, value: string, isInner = false): void {
    const isKnown = to === 'after' && this.#arrows.some((arrow) => arrow.from === from && arrow.to === to)
    if (!isKnown) this.#arrows.push({ from, to, label: typeText(this.#types.get(value)), isInner })
  }

  /**
   * The box that a value comes from; nothing for a constant, and, unless the reader is drawn, for what is not drawn
   * itself.
   */
  #sourceOf(value: string, isReaderDrawn: boolean): string | undefined {
    const producer = this.#editor.producer(value)
    if (producer === undefined)
      return this.#editor.isInput(value) && (isReaderDrawn || this.#editor.isOutput(value))
        ? this.#end(value, 'input')
        : undefined
    if (isConstant(producer)) return undefined
    return this.#ids.get(producer) ?? (isReaderDrawn ? this.#undrawn('before') : undefined)
  }

  #end(value: string, kind: 'input' | 'output'): string {
    const { dtype = '?', shape } = this.#types.get(value) ?? {}
    const end = endBox(kind, value, `${dtype} ${shape === undefined ? '' : dimsText(shape)}`.trim())
    this.#ends.set(end.id, end)
    return end.id
  }

  #undrawn(id: 'before' | 'after'): string {
    const count = `${this.#left} ${this.#left === 1 ? 'node is' : 'nodes are'} not drawn`
    this.#ends.set(id, { id, kind: 'more', title: '…', lines: [count], hint: count })
    return id
  }
}

function readsOf(node: NodeProto): { value: string; isInner: boolean }[] {
  const direct = node.input.filter((value) => value !== '').map((value) => ({ value, isInner: false }))
  return [...direct, ...[...outerReads(node)].map((value) => ({ value, isInner: true }))]
}

/** Which part of a graph is drawn. */
interface Selection {
  /** Names of nodes, or of values that they give. */
  readonly around: readonly string[] | undefined
  /** How many steps from them. */
  readonly depth: number
  /** The most nodes. */
  readonly limit: number
}

/**
 * The nodes to draw, in the order in which they can run. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a name that
 * the graph has not
 */
function chosen(
  nodes: readonly NodeProto[],
  editor: GraphEditor,
  { around, depth, limit }: Selection,
): readonly NodeProto[] {
  if (around === undefined) return nodes.slice(0, limit)
  const found = new Set(around.flatMap((name) => named(name, nodes, editor)))
  let last: readonly NodeProto[] = [...found]
  for (let step = 0; step < depth && last.length > 0; step++) {
    last = last.flatMap((node) => neighbours(node, editor)).filter((node) => !found.has(node) && found.add(node))
  }
  return nodes.filter((node) => found.has(node)).slice(0, limit)
}

function named(name: string, nodes: readonly NodeProto[], editor: GraphEditor): NodeProto[] {
  const byName = nodes.filter((node) => node.name === name)
  if (byName.length > 0) return byName
  const producer = editor.producer(name)
  const found = producer === undefined ? editor.uses(name).map(({ node }) => node) : [producer]
  if (found.length > 0) return found
  throw new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `Expected the name of a node or value of the graph for around but received ${shortened(name)}`,
  )
}

/** What a node reads from, and what reads from it. */
function neighbours(node: NodeProto, editor: GraphEditor): NodeProto[] {
  const before = [...node.input, ...outerReads(node)].flatMap((value) => editor.producer(value) ?? [])
  return [...before, ...node.output.flatMap((value) => editor.uses(value).map((use) => use.node))]
}

const isConstant = (node: NodeProto): boolean => node.opType === 'Constant' && isOnnx(node)

/** A stored value in a line: what it is, or the number itself where it is one. */
function constantOf(editor: GraphEditor, value: string): string | undefined {
  const stored = editor.initializer(value)
  if (stored !== undefined) return tensorText(stored)
  const producer = editor.producer(value)
  return producer !== undefined && isConstant(producer) ? producer.attribute.map(attributeValue).join(' ') : undefined
}

function tensorText(tensor: TensorProto): string {
  const dtype = elementTypeName(tensor.dataType)
  const shape = tensor.dims.map(Number)
  const count = elementCount(shape)
  const isReadable =
    count === 1 && !isExternal(tensor) && ['float32', 'int64', 'int32', 'int8', 'uint8', 'float64'].includes(dtype)
  return isReadable ? numberText(Number(tensorFromProto(tensor).data[0])) : `${dtype} ${dimsText(shape)}`
}

function nodeBox(node: NodeProto, id: string, editor: GraphEditor): Box {
  const title = isOnnx(node) ? node.opType : `${node.domain}.${node.opType}`
  const attributes = node.attribute.map((attribute) => `${attribute.name}=${attributeValue(attribute)}`)
  const constants = node.input.flatMap((value) => {
    const words = value === '' ? undefined : constantOf(editor, value)
    return words === undefined ? [] : [{ value, words }]
  })
  const lines = constants.map(({ value, words }) => `${shortText(value, 24)}: ${shortText(words, 32)}`)
  const all = [...attributes, ...constants.map(({ value, words }) => `${value}: ${words}`)]
  return {
    id,
    kind: kindOf(node),
    title: shortText(title),
    lines: [...(node.name === '' ? [] : [shortText(node.name)]), ...inLines(attributes), ...lines],
    hint: [`${title} ${node.name}`.trim(), ...all, `gives ${node.output.join(', ')}`].join('\n'),
  }
}

/** So many lines of attributes are in a box; all are in its hint. */
const attributeLines = 3

function inLines(words: readonly string[]): string[] {
  const lines: string[] = []
  for (const word of words.map((each) => shortText(each, 40))) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)!}, ${word}`
    if (lines.length > 0 && longer.length <= 42) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines.length > attributeLines ? [...lines.slice(0, attributeLines), '…'] : lines
}

const utf8 = new TextDecoder()

function attributeValue({ type, f, i, s, t, g, floats, ints, strings, graphs, tensors }: AttributeProto): string {
  const texts: Readonly<Record<number, () => string>> = {
    [attributeTypes.FLOAT]: () => numberText(f),
    [attributeTypes.INT]: () => String(i),
    [attributeTypes.STRING]: () => utf8.decode(s),
    [attributeTypes.TENSOR]: () => (t === undefined ? '?' : tensorText(t)),
    [attributeTypes.GRAPH]: () => `graph of ${g?.node.length ?? 0} nodes`,
    [attributeTypes.FLOATS]: () => `[${floats.map(numberText).join(' ')}]`,
    [attributeTypes.INTS]: () => `[${ints.join(' ')}]`,
    [attributeTypes.STRINGS]: () => `[${strings.map((each) => utf8.decode(each)).join(' ')}]`,
  }
  return texts[type]?.() ?? `${graphs.length + tensors.length} values`
}

/** A float32 has seven digits. */
const numberText = (value: number): string => String(Number(value.toPrecision(7)))

const dimsText = (shape: readonly (number | string | undefined)[]): string =>
  shape.length === 0 ? 'scalar' : shape.map((dim) => dim ?? '?').join('×')

/** float32 is what most are, and goes without saying. */
function typeText({ dtype, shape }: ValueType = { dtype: undefined, shape: undefined }): string {
  const type = dtype === undefined || dtype === 'float32' ? '' : `${dtype} `
  return shortText(`${type}${shape === undefined ? '' : dimsText(shape)}`.trim(), 40)
}

const operators: Readonly<Partial<Record<BoxKind, string>>> = {
  compute:
    'Conv ConvTranspose ConvInteger QLinearConv DeformConv Gemm MatMul MatMulInteger QLinearMatMul Einsum Attention LSTM GRU RNN',
  activation:
    'Relu LeakyRelu PRelu Elu Selu Celu Gelu Sigmoid HardSigmoid HardSwish Mish Swish Tanh Softmax LogSoftmax Softplus Softsign ThresholdedRelu Clip Erf',
  normalization:
    'BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization LpNormalization LRN',
  pooling: 'MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxUnpool',
  quantize: 'QuantizeLinear DequantizeLinear DynamicQuantizeLinear',
  shape:
    'Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Slice Gather GatherND GatherElements Expand Tile Pad Shape Size Cast Identity ' +
    'DepthToSpace SpaceToDepth ConstantOfShape Range Resize Upsample',
}

const kinds = new Map(
  Object.entries(operators).flatMap(([kind, names]) =>
    names.split(' ').map((name) => [name, kind as BoxKind] as const),
  ),
)

function kindOf(node: NodeProto): BoxKind {
  return (isOnnx(node) ? kinds.get(node.opType) : undefined) ?? 'other'
}

export type { DrawingFormat } from './formats.js'

/** Options of {@link drawModel} and `drawLayers`. */
export interface DrawingOptions {
  /** `'svg'` unless given. */
  readonly format?: DrawingFormat | undefined
  /** The names of nodes, or of values that they give: only what is near them is drawn. */
  readonly around?: string | readonly string[] | undefined
  /** How many steps from `around`, up and down; 3 unless given. */
  readonly depth?: number | undefined
  /**
   * The most nodes, the first ones that run; 300 unless given for SVG, whose layout takes its time (seconds, on this
   * thread), and all for DOT. A box says how many are not drawn.
   */
  readonly limit?: number | undefined
  /** The shapes of inputs, by name, as {@link inferTypes} takes them. */
  readonly shapes?: InferenceOptions['shapes'] | undefined
}

/**
 * The main graph of a model for people who would rather look: each node with its operator, name and attributes; its
 * constants within it, by type and shape; arrows with the shapes of values (their types too where they are not
 * float32). Names that are too long lose their middle, and are whole in the SVG's tooltips. The same model gives the
 * same drawing.
 * @throws TensorRTError (as a rejection) ERR_TRT_ONNX_PARSE for a graph that cannot run, ERR_TRT_SHAPE,
 * ERR_TRT_UNKNOWN_INPUT, ERR_TRT_INVALID_ARGUMENT
 */
export async function drawModel(model: ModelProto, options?: DrawingOptions): Promise<string> {
  const { format, shapes, limit, ...near } = checkedOptions(options, table, 'drawModel')
  const selection = { ...near, limit: limit ?? (format === 'svg' ? mostBoxes : Number.MAX_SAFE_INTEGER) }
  return drawn(modelGraph(model, selection, shapes), format)
}

/** Nobody finds anything in more. */
const mostBoxes = 300

function checkedNames(around: unknown): string[] {
  return checkedList(typeof around === 'string' ? [around] : around, 'around', 'names of nodes or values', isText)
}

const table = {
  format: option(checkedFormat, 'svg'),
  around: option(checkedNames),
  depth: option(is.whole(0), 3),
  limit: option(is.whole(1)),
  shapes: option((value) => value as InferenceOptions['shapes']),
} satisfies OptionTable<DrawingOptions>
