import { patternOf } from '../../base/patterns.js'
import { isOnnx } from '../editor.js'
import type { NodeProto } from '../onnx_pb.js'
import { reductionDepth } from './depth.js'
import { keepDequantized } from './dequantized.js'
import { type FloatGraph, isConstantNode, isTransparent, nameOf } from './float-graph.js'
import { integersOf } from './integers.js'
import { isElementwise, masksOf } from './masks.js'
import { onlyMoves, refusedPart, staysFloat, takesSince } from './operators.js'
import { halfTypes, type PrecisionSettings } from './options.js'
import type { Kept } from './report.js'
import { hasGraph, sizesOf } from './shape-math.js'

/**
 * What is to become of the nodes that read or give float32; those that read what there is (Shape, Cast) and Constant
 * nodes are in neither.
 */
export interface Verdicts {
  readonly converted: ReadonlySet<NodeProto>
  readonly kept: ReadonlyMap<NodeProto, Kept>
  /** Values beyond the type, which are brought to its lowest number where they are cast. */
  readonly masks: ReadonlySet<string>
}

type Rule = (node: NodeProto) => Kept | undefined

export function classify(graph: FloatGraph, settings: PrecisionSettings): Verdicts {
  const masks = masksOf(graph)
  const rules = rulesOf(graph, settings, masks)
  const converted = new Set<NodeProto>()
  const kept = new Map<NodeProto, Kept>()
  for (const node of graph.editor.nodes()) {
    if (isConstantNode(node) || isTransparent(node) || !concerns(graph, node)) continue
    const found = firstOf(rules, node)
    if (found === undefined) converted.add(node)
    else kept.set(node, found)
  }
  keepDequantized(graph, converted, kept)
  for (const node of movingBetweenKept(graph, converted)) {
    converted.delete(node)
    kept.set(node, { reason: 'between', detail: 'it only moves elements, between nodes that stay in float32' })
  }
  return { converted, kept: inOrder(graph, kept), masks }
}

/** As the report has them. */
function inOrder(graph: FloatGraph, kept: ReadonlyMap<NodeProto, Kept>): ReadonlyMap<NodeProto, Kept> {
  return new Map(
    graph.editor.nodes().flatMap((node) => (kept.has(node) ? [[node, kept.get(node) as Kept] as const] : [])),
  )
}

/**
 * Whether a node reads or gives float32 that conversion could change, or what is not known. A node with a graph inside
 * always counts.
 */
function concerns(graph: FloatGraph, node: NodeProto): boolean {
  if (hasGraph(node)) return true
  const values = [...node.input.filter((_, i) => !staysFloat(node.opType, 'input', i)), ...node.output]
  return values.some((value) => value !== '' && (graph.isFloat(value) || !graph.dtypes.has(value)))
}

function firstOf(rules: readonly Rule[], node: NodeProto): Kept | undefined {
  for (const rule of rules) {
    const found = rule(node)
    if (found !== undefined) return found
  }
  return undefined
}

/** Each says why a node has to stay, if it has to. */
function rulesOf(graph: FloatGraph, settings: PrecisionSettings, masks: ReadonlySet<string>): Rule[] {
  const { precision, keepNames, keepOperators, initMax, dataMax, ranges, maxReductionDepth } = settings
  const { editor, dtypes } = graph
  const type = halfTypes[precision]
  const sizes = sizesOf(graph)
  const integers = integersOf(graph, sizes)
  const { opset } = editor
  const floats = (node: NodeProto): string[] =>
    node.input.filter((value, i) => value !== '' && graph.isFloat(value) && !staysFloat(node.opType, 'input', i))
  const stored = (node: NodeProto): string[] => floats(node).filter((value) => graph.isStored(value))
  return [
    (node) => {
      const pattern = patternOf(nameOf(node), keepNames)
      return pattern === undefined
        ? undefined
        : { reason: 'name', detail: `its name is among keep.names (${String(pattern)})` }
    },
    ({ opType }) =>
      keepOperators.has(opType) ? { reason: 'operator', detail: `${opType} is among keep.operators` } : undefined,
    (node) => {
      if (isOnnx(node) && takesSince(node.opType, precision) !== undefined && !hasGraph(node)) return undefined
      return { reason: 'unsupported', detail: `${node.opType} is none of the operators that are converted to ${type}` }
    },
    (node) => {
      const part = refusedPart(node, precision)
      return part === undefined
        ? undefined
        : { reason: 'unsupported', detail: `TensorRT-RTX does not build ${part} in ${type}` }
    },
    ({ opType }) => {
      const since = takesSince(opType, precision) as number
      return opset >= since
        ? undefined
        : { reason: 'opset', detail: `${opType} takes ${type} from opset ${since} on, and the model has ${opset}` }
    },
    (node) => {
      const unknown = [...node.input, ...node.output].find((value) => value !== '' && !dtypes.has(value))
      return unknown === undefined
        ? undefined
        : { reason: 'type', detail: `the type of ${JSON.stringify(unknown)} is not known` }
    },
    (node) => {
      const inputs = floats(node).filter((value) => !graph.isStored(value))
      return inputs.length > 0 && inputs.every((value) => sizes.has(value))
        ? { reason: 'shapes', detail: 'it computes with sizes of tensors, which have to be exact' }
        : undefined
    },
    (node) => {
      const integer = floats(node).find((value) => integers.has(value))
      if (integer === undefined || isMaskOfSoftmax(graph, node, integers)) return undefined
      return { reason: 'integers', detail: `${JSON.stringify(integer)} holds integers, which have to be exact` }
    },
    (node) => {
      const large = stored(node).find((value) => graph.numbers(value).largest > initMax)
      if (large === undefined) return undefined
      return {
        reason: 'weights',
        detail: `${JSON.stringify(large)} has ${graph.numbers(large).largest}, beyond initMax ${initMax}`,
      }
    },
    (node) => {
      const mask = isElementwise(node) ? node.input.find((value) => masks.has(value)) : undefined
      return mask === undefined
        ? undefined
        : { reason: 'mask', detail: `${JSON.stringify(mask)} goes beyond the numbers of ${type}` }
    },
    (node) => tooSmall(graph, node, stored(node)),
    (node) => {
      const values = [...floats(node), ...node.output]
      const large = values.find((value) => {
        const range = ranges.get(value)
        return range !== undefined && Math.max(-range.min, range.max) > dataMax
      })
      if (large === undefined) return undefined
      const { min, max } = ranges.get(large) as { min: number; max: number }
      return {
        reason: 'range',
        detail: `${JSON.stringify(large)} goes from ${min} to ${max}, beyond dataMax ${dataMax}`,
      }
    },
    (node) => {
      const depth = maxReductionDepth === Infinity ? 0 : (reductionDepth(graph, node) ?? 0)
      return depth > maxReductionDepth
        ? { reason: 'depth', detail: `it adds up ${depth}, more than maxReductionDepth ${maxReductionDepth}` }
        : undefined
    },
  ]
}

/**
 * Whether a node adds what was made of integers to activations for a softmax alone: it is a mask, of 0 and some number
 * as low as -10000.
 */
function isMaskOfSoftmax({ editor }: FloatGraph, node: NodeProto, integers: ReadonlySet<string>): boolean {
  if (node.opType !== 'Add' || node.input.every((value) => integers.has(value))) return false
  const [output = ''] = node.output
  return (
    !editor.isOutput(output) &&
    editor.uses(output).length > 0 &&
    editor.uses(output).every(({ node: reader }) => reader.opType === 'Softmax')
  )
}

/**
 * Numbers that the type cannot tell from 0, such as an epsilon, and scales that would lose digits: each quantized
 * number is multiplied by one.
 */
function tooSmall(graph: FloatGraph, node: NodeProto, stored: readonly string[]): Kept | undefined {
  const isScale = node.opType === 'QuantizeLinear' || node.opType === 'DequantizeLinear'
  for (const value of stored) {
    const { flushed, normal, nonZero } = graph.numbers(value)
    if (nonZero > 0 && flushed === nonZero)
      return { reason: 'small', detail: `of ${JSON.stringify(value)} nothing but zeros would be left` }
    if (isScale && normal < nonZero)
      return { reason: 'small', detail: `scales in ${JSON.stringify(value)} would lose digits` }
  }
  return undefined
}

/**
 * Of the nodes that were to be converted those that only move elements, and that no other one reaches by way of such
 * nodes.
 */
function movingBetweenKept(graph: FloatGraph, converted: ReadonlySet<NodeProto>): NodeProto[] {
  const moving = new Set([...converted].filter(({ opType }) => onlyMoves(opType)))
  const pending = [...converted].filter((node) => !moving.has(node))
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    for (const neighbour of neighbours(graph, node)) if (moving.delete(neighbour)) pending.push(neighbour)
  }
  return [...moving]
}

function* neighbours(graph: FloatGraph, node: NodeProto): Generator<NodeProto> {
  const { editor } = graph
  for (const value of node.input) {
    const producer = graph.isFloat(value) ? editor.producer(value) : undefined
    if (producer !== undefined) yield producer
  }
  for (const value of node.output) if (graph.isFloat(value)) for (const use of editor.uses(value)) yield use.node
}
