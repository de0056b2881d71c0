import { type NamePattern, patternOf } from '../base/patterns.js'
import { GraphEditor, inferTypes, type ModelProto, type NodeProto } from '../onnx/index.js'
import type { Calibration } from './calibration.js'
import { computedInputs, type Graph, isConstant, isOperator, nameOf, onlyReader } from './graph.js'
import { isWeighted, multiplyAdds, weighted, type WeightSite } from './weighted.js'

/** What is left in floating point, by the name of nodes and by operator. */
export interface Excluded {
  readonly names: readonly NamePattern[]
  readonly operators: readonly string[]
  /** Layers that are left alone for the sake of the cosine that was asked for. */
  readonly kept?: readonly string[] | undefined
}

/** A node with weights, and what becomes of it. */
interface Decision {
  readonly node: NodeProto
  /** Multiply-adds of one inference, where the shapes are known. */
  readonly multiplyAdds: number | undefined
  /** Inputs of it that are quantized, by position; none where it stays as it is. */
  readonly activations: readonly number[]
  readonly weight: WeightSite | undefined
  /** Why it stays as it is. */
  readonly reason: string | undefined
}

/** Where Q/DQ goes. */
export interface Placement {
  /** Of all nodes with weights, in the graph's order. */
  readonly decisions: readonly Decision[]
  /** Other inputs that are quantized: skip connections, and what pools read. */
  readonly others: readonly { readonly node: NodeProto; readonly input: number; readonly role: 'skip' | 'pool' }[]
  /** Values that share one scale with a Concat's output. */
  readonly shared: readonly (readonly string[])[]
}

/** A model's graph, where Q/DQ goes by a calibration, and the range of each value. The model is edited. */
export function placedIn(
  model: ModelProto,
  calibration: Calibration,
  excluded: Excluded,
): Placement & { readonly graph: Graph; readonly amax: ReadonlyMap<string, number> } {
  const graph = { editor: new GraphEditor(model), types: inferTypes(model, { shapes: calibration.shapes }) }
  const placement = place(graph, excluded, (value) => whyUnranged(calibration, value, graph))
  return { ...placement, graph, amax: rangesByValue(calibration, placement.shared) }
}

/**
 * Decides what is quantized, by NVIDIA's rules. `unranged` says why a value cannot be quantized; nothing where it can.
 */
function place(graph: Graph, excluded: Excluded, unranged: (value: string) => string | undefined): Placement {
  const decisions = graph.editor
    .nodes()
    .filter(isWeighted)
    .map((node) => decide(graph, node, excluded, unranged))
  const quantized = new Set(decisions.filter(({ reason }) => reason === undefined).map(({ node }) => node))
  const values = new Set<string>()
  for (const { node, activations } of decisions)
    for (const input of activations) values.add(node.input[input] as string)
  const isFree = (node: NodeProto, input: number): boolean =>
    whyExcluded(node, excluded) === undefined && unranged(node.input[input] as string) === undefined
  const skips = skipSites(graph, quantized).filter(({ node, input }) => isFree(node, input))
  for (const { node, input } of skips) values.add(node.input[input] as string)
  const pools = poolSites(graph, values).filter(({ node, input }) => isFree(node, input))
  return { decisions, others: [...skips, ...pools], shared: sharedScales(graph, values) }
}

/**
 * Below this onnxruntime takes the distance of two bounds for none: it takes out a Clip before Q/DQ as small as that,
 * and so lets negative values through.
 */
const smallest = 2 ** -23

/** Why a value of the graph cannot be quantized with this calibration; nothing where it can. */
function whyUnranged({ ranges }: Calibration, value: string, { editor }: Graph): string | undefined {
  const range = ranges.get(value)
  if (range === undefined) return `its input ${JSON.stringify(value)} was not measured`
  if ((range.nonFinite ?? 0) > 0) return `its input ${JSON.stringify(value)} is not always finite`
  if (range.amax === 0) return `its input ${JSON.stringify(value)} was always zero`
  if (range.amax <= smallest && isOperator(editor.producer(value), 'Clip'))
    return `its input ${JSON.stringify(value)} was always near zero, and onnxruntime would leave out the Clip before it`
  return undefined
}

/** The range of each value, those that share a scale made the largest of them. */
function rangesByValue(calibration: Calibration, shared: Placement['shared']): Map<string, number> {
  const amax = new Map(Array.from(calibration.ranges, ([name, range]) => [name, range.amax]))
  for (const group of shared) {
    const largest = Math.max(...group.map((value) => amax.get(value) ?? 0))
    for (const value of group) amax.set(value, largest)
  }
  return amax
}

function decide(
  graph: Graph,
  node: NodeProto,
  excluded: Excluded,
  unranged: (value: string) => string | undefined,
): Decision {
  const found = weighted(graph, node)
  const base = { node, multiplyAdds: multiplyAdds(graph, node), activations: [], weight: undefined }
  if ('reason' in found) return { ...base, reason: found.reason }
  const reason =
    whyExcluded(node, excluded) ??
    found.activations.map((input) => unranged(node.input[input] as string)).find((why) => why !== undefined) ??
    whyUnscaled(graph, node, found.weight)
  return reason === undefined
    ? { ...base, activations: found.activations, weight: found.weight, reason }
    : { ...base, reason }
}

/** Why weights have no scale; nothing where they have, or where there are none. */
function whyUnscaled({ editor }: Graph, node: NodeProto, weight: WeightSite | undefined): string | undefined {
  const value = weight && (node.input[weight.input] as string)
  const data = value === undefined ? undefined : editor.constant(value)?.toFloat32().data
  return data === undefined || data.every(Number.isFinite)
    ? undefined
    : `its weights ${JSON.stringify(value)} are not all finite`
}

function whyExcluded(node: NodeProto, { names, operators, kept }: Excluded): string | undefined {
  const name = nameOf(node)
  if (kept?.includes(name)) return 'it is kept, for the cosine that was asked for'
  if (patternOf(name, names) !== undefined) return 'it is excluded by its name'
  return operators.includes(node.opType) ? 'its operator is excluded' : undefined
}

function skipSites(graph: Graph, quantized: ReadonlySet<NodeProto>): Placement['others'] {
  const depth = weightedDepth(graph)
  return graph.editor.nodes().flatMap((node) => {
    const input = skipInput(graph, node, quantized, depth)
    return input === undefined ? [] : [{ node, input, role: 'skip' as const }]
  })
}

/**
 * A pool that averages does not commute with Q/DQ: it runs in INT8 where what it reads is quantized for others already.
 * A maximum needs no Q/DQ of its own.
 */
function poolSites(graph: Graph, values: ReadonlySet<string>): Placement['others'] {
  return graph.editor
    .nodes()
    .filter((node) => isOperator(node, 'AveragePool', 'GlobalAveragePool') && values.has(node.input[0] as string))
    .map((node) => ({ node, input: 0, role: 'pool' as const }))
}

/**
 * A Concat whose output is quantized gets its inputs in that scale, so that nothing has to be scaled anew on the way.
 */
function sharedScales(graph: Graph, values: ReadonlySet<string>): string[][] {
  const groups: Set<string>[] = []
  for (const node of graph.editor.nodes()) {
    const output = node.output[0] as string
    if (!isOperator(node, 'Concat') || !values.has(output)) continue
    const members = new Set([output, ...node.input.filter((value) => values.has(value))])
    const touching = groups.filter((group) => [...members].some((value) => group.has(value)))
    for (const group of touching) {
      for (const value of group) members.add(value)
      groups.splice(groups.indexOf(group), 1)
    }
    groups.push(members)
  }
  return groups.filter((group) => group.size > 1).map((group) => [...group])
}

/** What TensorRT folds into the convolution before it, so that the sum is still computed by that kernel. */
const folded = ['BatchNormalization', 'Add', 'Mul', 'Sub', 'Div']

/**
 * The input of an Add that is the skip connection, where the other one comes from a quantized convolution or product:
 * that Add is fused with it, and the fused kernel puts out what the skip connection is. Nothing where it is no such
 * Add.
 */
function skipInput(
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
function weightedDepth({ editor }: Graph): Map<NodeProto, number> {
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
