import type { NodeProto } from '../onnx/index.js'
import { computedInputs, type Graph, isConstant, isOperator, onlyReader } from './graph.js'
import { isWeighted } from './weighted.js'

/** What TensorRT folds into the convolution before it, so that the sum is still computed by that kernel. */
const folded = ['BatchNormalization', 'Add', 'Mul', 'Sub', 'Div']

/**
 * The input of an Add that is the skip connection, where the other one comes from a quantized convolution or product:
 * that Add is fused with it, and the fused kernel puts out what the skip connection is. Nothing where it is no such
 * Add.
 */
export function skipInput(
  graph: Graph,
  add: NodeProto,
  quantized: ReadonlySet<NodeProto>,
  depth: ReadonlyMap<NodeProto, number>,
): number | undefined {
  if (!isOperator(add, 'Add') || add.input[0] === add.input[1]) return undefined
  const inputs = computedInputs(graph, add)
  if (inputs.length !== 2) return undefined
  const sources = inputs.map((input) => fusibleSource(graph, add.input[input] as string))
  const fusible = inputs.filter((_, i) => sources[i] !== undefined && quantized.has(sources[i]))
  if (fusible.length === 0) return undefined
  if (fusible.length === 1) return inputs.find((input) => input !== fusible[0])
  // both: the skip connection is the shorter way
  const [first = 0, second = 0] = sources.map((source) => depth.get(source as NodeProto) ?? 0)
  return first < second ? inputs[0] : inputs[1]
}

/**
 * The node with weights that a value comes from, where what lies between can be folded into it and nobody else reads
 * it.
 */
function fusibleSource(graph: Graph, value: string): NodeProto | undefined {
  if (onlyReader(graph, value) === undefined) return undefined
  const node = graph.editor.producer(value)
  if (node === undefined || isWeighted(node)) return node
  if (!isOperator(node, ...folded)) return undefined
  const inputs = computedInputs(graph, node)
  if (inputs.length !== 1 || !node.input.every((each, i) => i === inputs[0] || each === '' || isConstant(graph, each)))
    return undefined
  return fusibleSource(graph, node.input[inputs[0] as number] as string)
}

/** How many nodes with weights lie on the longest way from the graph's inputs to each node, itself included. */
export function weightedDepth({ editor }: Graph): Map<NodeProto, number> {
  const depth = new Map<NodeProto, number>()
  for (const node of editor.nodes()) {
    let before = 0
    for (const value of node.input) {
      const producer = editor.producer(value)
      if (producer !== undefined) before = Math.max(before, depth.get(producer) ?? 0)
    }
    depth.set(node, before + (isWeighted(node) ? 1 : 0))
  }
  return depth
}
