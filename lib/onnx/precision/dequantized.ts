import { isOnnx } from '../editor.js'
import type { NodeProto } from '../onnx_pb.js'
import { type FloatGraph, nameOf } from './float-graph.js'
import { onlyMoves } from './operators.js'
import type { Kept } from './report.js'

/** What TensorRT takes into a kernel of INT8, between what is computed there and the quantizing of it. */
const activations: readonly string[] = ['Clip', 'LeakyRelu', 'Relu']

/**
 * Has a DequantizeLinear and the nodes that read it stay in float32 together, and with them the way to the next
 * QuantizeLinear: with a Cast between them TensorRT would not join them to a kernel of INT8, which computes the same in
 * either type.
 */
export function keepDequantized(graph: FloatGraph, converted: Set<NodeProto>, kept: Map<NodeProto, Kept>): void {
  const links = linksOf(graph)
  const pending = [...kept.keys()].filter((node) => links.has(node))
  const keep = (node: NodeProto, because: NodeProto): boolean => {
    if (!converted.delete(node)) return false
    const detail = `${nameOf(because)} stays in float32, and a Cast between them would cost the kernel of INT8`
    kept.set(node, { reason: 'dequantized', detail })
    return true
  }
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    for (const neighbour of links.get(node) ?? []) if (keep(neighbour, node)) pending.push(neighbour)
    for (const next of wayToQuantize(graph, node)) keep(next, node)
  }
}

/** Each DequantizeLinear and the nodes that read it, directly or moved, in both directions. */
function linksOf({ editor }: FloatGraph): ReadonlyMap<NodeProto, readonly NodeProto[]> {
  const links = new Map<NodeProto, NodeProto[]>()
  const link = (from: NodeProto, to: NodeProto): void => {
    const linked = links.get(from)
    if (linked === undefined) links.set(from, [to])
    else linked.push(to)
  }
  for (const node of editor.nodes()) {
    const isMoved = onlyMoves(node.opType) && links.has(node)
    if (!isOnnx(node) || (node.opType !== 'DequantizeLinear' && !isMoved)) continue
    for (const value of node.output) {
      for (const use of editor.uses(value)) {
        link(node, use.node)
        link(use.node, node)
      }
    }
  }
  return links
}

/**
 * The nodes from one to a QuantizeLinear that alone reads what it gives, with activations between them; none where
 * there is something else.
 */
function wayToQuantize({ editor }: FloatGraph, node: NodeProto): NodeProto[] {
  const way: NodeProto[] = []
  for (let value = node.output[0] ?? ''; ;) {
    const [use, ...others] = editor.uses(value)
    if (use === undefined || use.input !== 0 || others.length > 0 || editor.isOutput(value)) return []
    way.push(use.node)
    if (use.node.opType === 'QuantizeLinear') return way
    if (!activations.includes(use.node.opType)) return []
    value = use.node.output[0] ?? ''
  }
}
