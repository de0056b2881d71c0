import type { NodeProto } from './onnx_pb.js'
import { notAGraph } from './structure.js'
import { nodeText, shortened } from './scope.js'

/** What is asked of a graph to bring its nodes into an order. */
export interface Order {
  /** All that the node reads, also inside of its inner graphs. */
  reads(node: NodeProto): Iterable<string>
  producer(value: string): NodeProto | undefined
}

interface Visit {
  readonly node: NodeProto
  readonly reads: Iterator<string>
}

/**
 * The nodes in an order in which they can run. Nodes that are in such an order stay in it; others come right before the
 * first that needs them.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE for a cycle
 */
export function topologicalOrder(nodes: Iterable<NodeProto>, graph: Order): NodeProto[] {
  const ordered: NodeProto[] = []
  const state = new Map<NodeProto, 'open' | 'done'>()
  const stack: Visit[] = []
  const enter = (node: NodeProto): void => {
    state.set(node, 'open')
    stack.push({ node, reads: graph.reads(node)[Symbol.iterator]() })
  }
  for (const first of nodes) {
    if (!state.has(first)) enter(first)
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const needed = nextOpen(top, graph, state)
      if (needed !== undefined) enter(needed)
      else {
        state.set(top.node, 'done')
        ordered.push(top.node)
        stack.pop()
      }
    }
  }
  return ordered
}

/** The next node that has to run before this one and is not in the order yet. */
function nextOpen(
  { node, reads }: Visit,
  graph: Order,
  state: ReadonlyMap<NodeProto, 'open' | 'done'>,
): NodeProto | undefined {
  for (let next = reads.next(); next.done !== true; next = reads.next()) {
    const needed = graph.producer(next.value)
    if (needed === undefined) continue
    const known = state.get(needed)
    if (known === undefined) return needed
    if (known === 'open') {
      const message = `${nodeText(node)} reads ${shortened(next.value)}, which is computed from what the node gives: a cycle`
      throw notAGraph(message, { node: node.name, value: next.value })
    }
  }
  return undefined
}
