import type { NodeProto } from '../onnx_pb.js'
import { intAttribute } from '../node-attributes.js'
import type { FloatGraph } from './float-graph.js'

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
