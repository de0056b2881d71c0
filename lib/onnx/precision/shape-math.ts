import { isOnnx } from '../editor.js'
import type { NodeProto } from '../onnx_pb.js'
import { type FloatGraph, isConstantNode } from './float-graph.js'

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

/** Whether a node has a graph inside, which may read anything. */
export function hasGraph({ attribute }: NodeProto): boolean {
  return attribute.some(({ g, graphs }) => g !== undefined || graphs.length > 0)
}
