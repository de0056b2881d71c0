import { intAttribute, type NodeProto } from '../onnx/index.js'
import { computedInputs, type Graph, isConstant, isOperator, isPassing, onlyReader, sizeAt } from './graph.js'
import { elementCount } from '../tensor.js'

/** A constant that is quantized for each of its channels, or as a whole. */
export interface WeightSite {
  readonly input: number
  /** The dimension that has the channels; nothing: one scale for all. */
  readonly axis: number | undefined
}

/** What of a node with weights (or of a product of two computed matrices) is quantized; or why it is not. */
type Weighted =
  { readonly activations: readonly number[]; readonly weight?: WeightSite | undefined } | { readonly reason: string }

const operators = ['Conv', 'ConvTranspose', 'Gemm', 'MatMul']

/** Whether a node is of those whose work INT8 makes faster. */
export function isWeighted(node: NodeProto | undefined): boolean {
  return isOperator(node, ...operators)
}

/**
 * What is quantized of a node with weights: all its inputs, by NVIDIA's rules.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/work-quantized-types.html
 */
export function weighted(graph: Graph, node: NodeProto): Weighted {
  switch (node.opType) {
    case 'Conv':
      return convolution(graph, node)
    case 'ConvTranspose':
      return transposedConvolution(graph, node)
    case 'Gemm':
      return gemm(graph, node)
    default:
      return product(graph, node)
  }
}

const notConstant = { reason: 'its weights are computed' }

function weightShape(graph: Graph, value: string): readonly number[] {
  return graph.editor.constant(value)?.shape ?? []
}

function groupsOf(node: NodeProto): number {
  return intAttribute(node, 'group') ?? 1
}

function convolution(graph: Graph, node: NodeProto): Weighted {
  const weights = node.input[1] as string
  if (!isConstant(graph, weights)) return notConstant
  const vector = pointReason(graph, node)
  if (vector !== undefined) return { reason: vector }
  const [outputs = 0, perGroup = 0, ...kernel] = weightShape(graph, weights)
  const groups = groupsOf(node)
  const inputs = perGroup * groups
  const reason =
    groups === 1 ? thinReason(graph, node, inputs, outputs, kernel) : thinGroupReason(inputs, outputs, kernel)
  return reason === undefined ? { activations: [0], weight: { input: 1, axis: 0 } } : { reason }
}

/**
 * Few channels: INT8 kernels pad them, and are slower than what they replace, unless it is the first layer of a
 * network.
 */
function thinReason(
  graph: Graph,
  node: NodeProto,
  inputs: number,
  outputs: number,
  kernel: readonly number[],
): string | undefined {
  if (inputs >= 16 && outputs >= 16) return undefined
  const isSquare = kernel.every((size) => size === kernel[0])
  const fits = inputs % 8 === 0 || outputs % 8 === 0
  const isFirst = graph.editor.isInput(node.input[0] as string)
  if (fits && isSquare && (isFirst || inputs >= 16 || outputs >= 16)) return undefined
  return `it has few channels (${inputs} in, ${outputs} out)`
}

function thinGroupReason(inputs: number, outputs: number, kernel: readonly number[]): string | undefined {
  if (inputs >= 16 && outputs >= 16 && outputs % 8 === 0) return undefined
  if (outputs % 8 === 0 && kernel.every((size) => size >= 3)) return undefined
  return `it has few channels (${inputs} in, ${outputs} out, in groups)`
}

function transposedConvolution(graph: Graph, node: NodeProto): Weighted {
  const weights = node.input[1] as string
  if (!isConstant(graph, weights)) return notConstant
  const [inputs = 0, perGroup = 0] = weightShape(graph, weights)
  const groups = groupsOf(node)
  const outputs = perGroup * groups
  if (inputs < 16 && outputs < 16) return { reason: `it has few channels (${inputs} in, ${outputs} out)` }
  // in groups a channel of the weights is several of the output
  return { activations: [0], weight: { input: 1, axis: groups === 1 ? 1 : undefined } }
}

function gemm(graph: Graph, node: NodeProto): Weighted {
  const weights = node.input[1] as string
  if ((intAttribute(node, 'transA') ?? 0) !== 0) return { reason: 'its input is transposed' }
  const vector = vectorReason(graph, node)
  if (vector !== undefined) return { reason: vector }
  if (!isConstant(graph, weights)) return { activations: [0, 1] }
  return { activations: [0], weight: { input: 1, axis: (intAttribute(node, 'transB') ?? 0) !== 0 ? 0 : 1 } }
}

function product(graph: Graph, node: NodeProto): Weighted {
  const [a, b] = node.input as [string, string]
  if (isConstant(graph, a) && isConstant(graph, b)) return { reason: 'it is constant' }
  const vector = vectorReason(graph, node)
  if (vector !== undefined) return { reason: vector }
  if (isConstant(graph, b)) return { activations: [0], weight: { input: 1, axis: lastAxis(weightShape(graph, b)) } }
  if (isConstant(graph, a)) return { activations: [1], weight: { input: 0, axis: undefined } }
  if (isAttention(graph, node)) return { reason: 'it is of an attention, which TensorRT fuses as a whole' }
  return { activations: [0, 1] }
}

/** Of a matrix the columns; a stack of matrices has one scale. */
function lastAxis(shape: readonly number[]): number | undefined {
  return shape.length === 2 ? 1 : undefined
}

/** A matrix by a vector reads each weight once: INT8 has no kernels for it that are worth it. */
function vectorReason(graph: Graph, node: NodeProto): string | undefined {
  const output = node.output[0] as string
  const isVector = [-1, -2].some((axis) => sizeAt(graph, output, axis) === 1)
  return isVector ? 'it multiplies a vector' : undefined
}

/** A convolution of a single point, as behind a global pool, is a matrix by a vector too. */
function pointReason(graph: Graph, node: NodeProto): string | undefined {
  const shape = graph.types.get(node.output[0] as string)?.shape
  const isPoint = shape !== undefined && shape.length > 2 && shape.slice(2).every((size) => size === 1)
  return isPoint ? 'it multiplies a vector' : undefined
}

/** The multiply-adds of a node with weights, at the shapes that are known; nothing where one is missing. */
export function multiplyAdds(graph: Graph, node: NodeProto): number | undefined {
  const outputs = elements(graph, node.output[0] as string)
  const each = perOutput(graph, node)
  return outputs === undefined || each === undefined ? undefined : outputs * each
}

function perOutput(graph: Graph, node: NodeProto): number | undefined {
  const [a, b] = node.input as [string, string]
  const weights = shapeOf(graph, b)
  if (node.opType === 'Conv') return weights && elementCount(weights.slice(1))
  if (node.opType === 'Gemm') return sizeAt(graph, a, (intAttribute(node, 'transA') ?? 0) !== 0 ? -2 : -1)
  if (node.opType === 'MatMul') return sizeAt(graph, a, -1)
  // each input is multiplied by all weights of its channel
  const [inputs, outputs] = [elements(graph, a), elements(graph, node.output[0] as string)]
  if (weights === undefined || inputs === undefined || !outputs) return undefined
  return (inputs * elementCount(weights.slice(1))) / outputs
}

function shapeOf(graph: Graph, value: string): readonly number[] | undefined {
  if (isConstant(graph, value)) return weightShape(graph, value)
  const shape = graph.types.get(value)?.shape
  return shape?.every((size) => typeof size === 'number') ? shape : undefined
}

function elements(graph: Graph, value: string): number | undefined {
  const shape = shapeOf(graph, value)
  return shape && elementCount(shape)
}

/** Operators that lie between the scores of an attention and its Softmax: scaling, a mask, a change of type. */
const between = ['Mul', 'Div', 'Add', 'Sub', 'Where', 'Cast', 'Clip']

/** How far is looked. */
const most = 6

/** Whether a product of two computed matrices is one of the two of an attention: before its Softmax, or behind it. */
function isAttention(graph: Graph, node: NodeProto): boolean {
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
