/** Which values hold sizes, integers or masks: what 16 bits would make other numbers of. */
import { type GraphEditor, isOnnx } from '../editor.js'
import type { ElementType } from '../element-type.js'
import { intAttribute } from '../node-attributes.js'
import type { NodeProto } from '../onnx_pb.js'
import { tensorFromProto } from '../tensors.js'
import { finiteMost, type FloatGraph, hasGraph, isConstantNode } from './float-graph.js'
import { onlyMoves } from './operators.js'
import type { HalfPrecision } from './options.js'

/**
 * The values that are computed from nothing but sizes of tensors and constants. Whole numbers beyond 2048 (256 with
 * bfloat16) have no float16 of their own, so that a size that goes through float32, as exporters have it for a Resize,
 * has to stay there.
 */
export function sizesOf({ editor }: FloatGraph): ReadonlySet<string> {
  const sizes = new Set<string>()
  const constants = new Set(editor.graph.initializer.map(({ name }) => name))
  for (const node of editor.nodes()) {
    const outputs = node.output.filter((value) => value !== '')
    if (isConstantNode(node)) for (const value of outputs) constants.add(value)
    else if (isSize(node, sizes, constants)) for (const value of outputs) sizes.add(value)
  }
  return sizes
}

function isSize(node: NodeProto, sizes: ReadonlySet<string>, constants: ReadonlySet<string>): boolean {
  if (isOnnx(node) && (node.opType === 'Shape' || node.opType === 'Size')) return true
  const computed = node.input.filter((value) => value !== '' && !constants.has(value))
  return computed.length > 0 && computed.every((value) => sizes.has(value)) && !hasGraph(node)
}

/**
 * How many products or numbers are added up for one element of what a node gives, where its weights tell; nothing where
 * they do not, or where nothing is added.
 */
export function reductionDepth(graph: FloatGraph, node: NodeProto): number | undefined {
  const shape = (input: number): readonly number[] | undefined => {
    const value = node.input[input]
    return value !== undefined && graph.isStored(value) ? graph.storedShape(value) : undefined
  }
  const product = (dims: readonly number[] | undefined): number | undefined => dims?.reduce((all, dim) => all * dim, 1)
  switch (node.opType) {
    case 'Conv':
      return product(shape(1)?.slice(1))
    case 'ConvTranspose': {
      const [inputs = 1, , ...kernel] = shape(1) ?? []
      return shape(1) && (inputs / (intAttribute(node, 'group') ?? 1)) * (product(kernel) ?? 1)
    }
    case 'MatMul':
      return shape(1)?.at(-2) ?? shape(0)?.at(-1)
    case 'Gemm':
      return shape(1)?.[intAttribute(node, 'transB') ? 1 : 0] ?? shape(0)?.[intAttribute(node, 'transA') ? 0 : 1]
    default:
      return undefined
  }
}

/** Up to here every integer has a number of its own in the type. */
const exactUpTo = { fp16: 2048, bf16: 256 } as const satisfies Record<HalfPrecision, number>

/** Integers of these types are exact in either type. */
const smallTypes: readonly (ElementType | undefined)[] = ['bool', 'int8', 'uint8']
const largeTypes: readonly (ElementType | undefined)[] = ['int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64']

/** Arithmetic whose result has to be exact where its operands have: it is an index, a position or an angle still. */
const arithmetic = new Set(
  (
    'Abs Add Ceil Clip CumSum Div Einsum Floor Gemm MatMul Max Mean Min Mod Mul Neg Pow Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ' +
    'Round Sign Sqrt Sub Sum Where'
  ).split(' '),
)

/**
 * The float32 values that hold integers whose size is not known (a Cast of int32 or int64: token positions, the index
 * of a maximum, a time), and what arithmetic makes of them, constants and sizes alone. What a node makes of them and of
 * activations, which are rounded themselves, or as a weighted sum is a number as any other.
 */
export function integersOf(graph: FloatGraph, sizes: ReadonlySet<string>): ReadonlySet<string> {
  const { editor } = graph
  const integers = new Set<string>()
  const small = new SmallIntegers(graph)
  const fixed = fixedValues(editor, sizes)
  const passesOn = (node: NodeProto): boolean => {
    const floats = node.input.filter((value) => graph.isFloat(value))
    if (!floats.some((value) => integers.has(value))) return false
    if (onlyMoves(node.opType)) return true
    // a rotary embedding multiplies [64, 1] by [1, length]: nothing is added up
    if (!arithmetic.has(node.opType) || (reductionDepth(graph, node) ?? 0) > 1) return false
    return floats.every((value) => integers.has(value) || fixed.has(value))
  }
  for (const node of editor.nodes()) {
    if (!isOnnx(node) || hasGraph(node)) continue
    small.learn(node)
    const [source = ''] = node.input
    const isNew =
      node.opType === 'Cast' &&
      largeTypes.includes(graph.dtypes.get(source)) &&
      !small.has(source) &&
      !sizes.has(source)
    if (isNew || passesOn(node)) for (const value of node.output) if (graph.isFloat(value)) integers.add(value)
  }
  return integers
}

/** Constants, sizes, and what is computed of nothing else. */
function fixedValues(editor: GraphEditor, sizes: ReadonlySet<string>): ReadonlySet<string> {
  const fixed = new Set([...editor.graph.initializer.map(({ name }) => name), ...sizes])
  for (const node of editor.nodes()) {
    const inputs = node.input.filter((value) => value !== '')
    const isFixed = node.opType === 'Constant' || (inputs.length > 0 && inputs.every((value) => fixed.has(value)))
    if (isFixed && isOnnx(node) && !hasGraph(node)) for (const value of node.output) fixed.add(value)
  }
  return fixed
}

/** Of the integers in a graph those that 16 bits hold exactly: they were truth values, bytes or small constants. */
class SmallIntegers {
  readonly #graph: FloatGraph
  readonly #values = new Set<string>()
  readonly #most: number

  constructor(graph: FloatGraph) {
    this.#graph = graph
    this.#most = exactUpTo[graph.precision]
  }

  has(value: string): boolean {
    const { dtypes } = this.#graph
    return this.#values.has(value) || smallTypes.includes(dtypes.get(value)) || this.#isSmallConstant(value)
  }

  /** In the graph's order. */
  learn(node: NodeProto): void {
    const data = dataOf(node)
    if (data.length > 0 && data.every((value) => value === '' || this.has(value)))
      for (const value of node.output) if (value !== '') this.#values.add(value)
  }

  #isSmallConstant(value: string): boolean {
    const { dtypes, editor } = this.#graph
    if (!largeTypes.includes(dtypes.get(value)) || !this.#graph.isStored(value)) return false
    const data = editor.constant(value)?.data ?? []
    return Array.prototype.every.call(data, (each: number | bigint) => each <= this.#most && each >= -this.#most)
  }
}

/** The inputs that a node's elements come from. */
function dataOf({ opType, input }: NodeProto): readonly string[] {
  if (opType === 'Concat') return input
  if (opType === 'Where') return input.slice(1)
  if (opType === 'Pad') return [input[0] ?? '', input[2] ?? '']
  return opType === 'Cast' || onlyMoves(opType) ? input.slice(0, 1) : []
}

/** What makes large numbers of a large constant. */
const scaling = new Set(['Add', 'Mul', 'Sub', 'Sum', 'Where'])

/** What gives large numbers where it reads some. */
const elementwise = new Set([...scaling, 'Div', 'Max', 'Min', 'Neg'])

export function isElementwise({ opType }: NodeProto): boolean {
  return elementwise.has(opType)
}

/**
 * The float32 values that are made of finite constants beyond the type by arithmetic on single elements, as the masks
 * of attention are: -1e9, or the lowest number of float32. In 16 bits they would be infinite, and the softmax of a row
 * that is masked whole NaN.
 */
export function masksOf(graph: FloatGraph): ReadonlySet<string> {
  const masks = new Set<string>()
  const most = finiteMost[graph.precision]
  const isLarge = (value: string): boolean =>
    graph.isFloat(value) && graph.isStored(value) && graph.numbers(value).largestFinite > most
  const isMask = (node: NodeProto): boolean => {
    const moves = onlyMoves(node.opType)
    if (node.opType === 'ConstantOfShape') return Math.abs(filledWith(node)) > most
    if (moves || elementwise.has(node.opType)) if (node.input.some((value) => masks.has(value))) return true
    return (moves || scaling.has(node.opType)) && node.input.some(isLarge)
  }
  for (const node of graph.editor.nodes()) {
    if (!isOnnx(node) || hasGraph(node) || !isMask(node)) continue
    for (const value of node.output) if (graph.isFloat(value)) masks.add(value)
  }
  return masks
}

/** Of a ConstantOfShape the float32 that it gives, where that is finite. */
function filledWith({ attribute }: NodeProto): number {
  const tensor = attribute.find(({ name }) => name === 'value')?.t
  if (tensor?.dataType !== 1) return 0
  const [value = 0] = tensorFromProto(tensor).toFloat32().data
  return Number.isFinite(value) ? value : 0
}
