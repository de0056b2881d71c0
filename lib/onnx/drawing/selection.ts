import { TensorRTError } from '../../errors.js'
import type { GraphEditor } from '../editor.js'
import type { NodeProto } from '../onnx_pb.js'
import { outerReads, shortened } from '../scope.js'

/** Which part of a graph is drawn. */
export interface Selection {
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
export function chosen(
  nodes: readonly NodeProto[],
  editor: GraphEditor,
  { around, depth, limit }: Selection,
): readonly NodeProto[] {
  return (around === undefined ? nodes : nearTo(around, depth, nodes, editor)).slice(0, limit)
}

function nearTo(
  names: readonly string[],
  depth: number,
  nodes: readonly NodeProto[],
  editor: GraphEditor,
): readonly NodeProto[] {
  const found = new Set(names.flatMap((name) => named(name, nodes, editor)))
  let last: readonly NodeProto[] = [...found]
  for (let step = 0; step < depth && last.length > 0; step++) {
    last = last.flatMap((node) => neighbours(node, editor)).filter((node) => !found.has(node) && found.add(node))
  }
  return nodes.filter((node) => found.has(node))
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
