import type { NodeProto } from '../onnx/index.js'
import { computedInputs, type Graph, isOperator, isPassing, onlyReader } from './graph.js'

/** Operators that lie between the scores of an attention and its Softmax: scaling, a mask, a change of type. */
const between = ['Mul', 'Div', 'Add', 'Sub', 'Where', 'Cast', 'Clip']

/** How far is looked. */
const most = 6

/** Whether a product of two computed matrices is one of the two of an attention: before its Softmax, or behind it. */
export function isAttention(graph: Graph, node: NodeProto): boolean {
  return leadsToSoftmax(graph, node) || comesFromSoftmax(graph, node)
}

function leadsToSoftmax(graph: Graph, node: NodeProto): boolean {
  let at: NodeProto | undefined = node
  for (let step = 0; step < most; step++) {
    at = onlyReader(graph, at.output[0] as string)
    if (at === undefined) return false
    if (isOperator(at, 'Softmax')) return true
    if (!isOperator(at, ...between) && !isPassing(at)) return false
  }
  return false
}

function comesFromSoftmax(graph: Graph, node: NodeProto): boolean {
  return computedInputs(graph, node).some((input) => {
    let at = graph.editor.producer(node.input[input] as string)
    for (let step = 0; step < most && at !== undefined; step++) {
      if (isOperator(at, 'Softmax')) return true
      if (!isPassing(at) && !isOperator(at, 'Cast', 'Where')) return false
      at = graph.editor.producer(at.input[isOperator(at, 'Where') ? 2 : 0] as string)
    }
    return false
  })
}
