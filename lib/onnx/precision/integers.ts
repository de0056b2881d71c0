import { type GraphEditor, isOnnx } from '../editor.js'
import type { ElementType } from '../element-type.js'
import type { NodeProto } from '../onnx_pb.js'
import { reductionDepth } from './depth.js'
import type { FloatGraph } from './float-graph.js'
import { onlyMoves } from './operators.js'
import type { HalfPrecision } from './options.js'
import { hasGraph } from './shape-math.js'

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
