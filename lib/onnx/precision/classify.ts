import { patternOf } from '../../base/patterns.js'
import { isOnnx } from '../editor.js'
import type { NodeProto } from '../onnx_pb.js'
import { integersOf, isElementwise, masksOf, reductionDepth, sizesOf } from './integers.js'
import { type FloatGraph, hasGraph, isConstantNode, isTransparent, nameOf } from './float-graph.js'
import { onlyMoves, refusedPart, staysFloat, takesSince } from './operators.js'
import { halfTypes, type PrecisionSettings } from './options.js'
import type { Kept } from './report.js'

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

export function classify(graph: FloatGraph, settings: PrecisionSettings): Verdicts {
  const masks = masksOf(graph)
  const context = new Context(graph, settings, masks)
  const converted = new Set<NodeProto>()
  const kept = new Map<NodeProto, Kept>()
  for (const node of graph.editor.nodes()) {
    if (isConstantNode(node) || isTransparent(node) || !concerns(graph, node)) continue
    const found = context.whyKept(node)
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

/** What the rules look at. */
class Context {
  readonly graph: FloatGraph
  readonly settings: PrecisionSettings
  readonly masks: ReadonlySet<string>
  readonly sizes: ReadonlySet<string>
  readonly integers: ReadonlySet<string>
  readonly type: string

  constructor(graph: FloatGraph, settings: PrecisionSettings, masks: ReadonlySet<string>) {
    this.graph = graph
    this.settings = settings
    this.masks = masks
    this.sizes = sizesOf(graph)
    this.integers = integersOf(graph, this.sizes)
    this.type = halfTypes[settings.precision]
  }

  whyKept(node: NodeProto): Kept | undefined {
    for (const [reason, rule] of rules) {
      const detail = rule(node, this)
      if (detail !== undefined) return { reason, detail }
    }
    return undefined
  }

  /** The float32 values that a node reads, and would read in 16 bits. */
  floats(node: NodeProto): string[] {
    return node.input.filter(
      (value, i) => value !== '' && this.graph.isFloat(value) && !staysFloat(node.opType, 'input', i),
    )
  }

  stored(node: NodeProto): string[] {
    return this.floats(node).filter((value) => this.graph.isStored(value))
  }
}

/** Each says why a node has to stay, if it has to. */
type Rule = (node: NodeProto, context: Context) => string | undefined

const rules: readonly (readonly [reason: Kept['reason'], rule: Rule])[] = [
  [
    'name',
    (node, { settings }) => {
      const pattern = patternOf(nameOf(node), settings.keepNames)
      return pattern === undefined ? undefined : `its name is among keep.names (${String(pattern)})`
    },
  ],
  [
    'operator',
    ({ opType }, { settings }) =>
      settings.keepOperators.has(opType) ? `${opType} is among keep.operators` : undefined,
  ],
  ['unsupported', whyUnsupported],
  ['opset', whyOpset],
  [
    'type',
    (node, { graph }) => {
      const unknown = [...node.input, ...node.output].find((value) => value !== '' && !graph.dtypes.has(value))
      return unknown === undefined ? undefined : `the type of ${JSON.stringify(unknown)} is not known`
    },
  ],
  [
    'shapes',
    (node, context) => {
      const inputs = context.floats(node).filter((value) => !context.graph.isStored(value))
      const areSizes = inputs.length > 0 && inputs.every((value) => context.sizes.has(value))
      return areSizes ? 'it computes with sizes of tensors, which have to be exact' : undefined
    },
  ],
  [
    'integers',
    (node, context) => {
      const integer = context.floats(node).find((value) => context.integers.has(value))
      if (integer === undefined || isMaskOfSoftmax(context.graph, node, context.integers)) return undefined
      return `${JSON.stringify(integer)} holds integers, which have to be exact`
    },
  ],
  ['weights', whyWeights],
  [
    'mask',
    (node, { masks, type }) => {
      const mask = isElementwise(node) ? node.input.find((value) => masks.has(value)) : undefined
      return mask === undefined ? undefined : `${JSON.stringify(mask)} goes beyond the numbers of ${type}`
    },
  ],
  ['small', whySmall],
  ['range', whyRange],
  ['depth', whyDepth],
]

function whyUnsupported(node: NodeProto, { settings: { precision }, type }: Context): string | undefined {
  if (!isOnnx(node) || takesSince(node.opType, precision) === undefined || hasGraph(node))
    return `${node.opType} is none of the operators that are converted to ${type}`
  const part = refusedPart(node, precision)
  return part === undefined ? undefined : `TensorRT-RTX does not build ${part} in ${type}`
}

function whyOpset({ opType }: NodeProto, { graph, settings, type }: Context): string | undefined {
  const { opset } = graph.editor
  const since = takesSince(opType, settings.precision) as number
  return opset >= since ? undefined : `${opType} takes ${type} from opset ${since} on, and the model has ${opset}`
}

function whyWeights(node: NodeProto, context: Context): string | undefined {
  const { graph, settings } = context
  const large = context.stored(node).find((value) => graph.numbers(value).largest > settings.initMax)
  if (large === undefined) return undefined
  return `${JSON.stringify(large)} has ${graph.numbers(large).largest}, beyond initMax ${settings.initMax}`
}

function whyRange(node: NodeProto, context: Context): string | undefined {
  const { ranges, dataMax } = context.settings
  for (const value of [...context.floats(node), ...node.output]) {
    const { min, max } = ranges.get(value) ?? { min: 0, max: 0 }
    if (Math.max(-min, max) > dataMax)
      return `${JSON.stringify(value)} goes from ${min} to ${max}, beyond dataMax ${dataMax}`
  }
  return undefined
}

function whyDepth(node: NodeProto, { graph, settings: { maxReductionDepth: most } }: Context): string | undefined {
  const depth = most === Infinity ? 0 : (reductionDepth(graph, node) ?? 0)
  return depth > most ? `it adds up ${depth}, more than maxReductionDepth ${most}` : undefined
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
function whySmall(node: NodeProto, context: Context): string | undefined {
  const isScale = node.opType === 'QuantizeLinear' || node.opType === 'DequantizeLinear'
  for (const value of context.stored(node)) {
    const { flushed, normal, nonZero } = context.graph.numbers(value)
    if (nonZero > 0 && flushed === nonZero) return `of ${JSON.stringify(value)} nothing but zeros would be left`
    if (isScale && normal < nonZero) return `scales in ${JSON.stringify(value)} would lose digits`
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
