import { checkedObject } from '../base/checks.js'
import { TensorRTError } from '../errors.js'
import type { GraphProto, NodeProto } from './onnx_pb.js'

/** More than protobuf's readers in C++ allow: each graph inside of a node is three of their 100 messages. */
const deepestGraph = 64

const nothing: ReadonlySet<string> = new Set()

/** Whether the operator is one of ONNX's own. */
export function isOnnx(node: NodeProto): boolean {
  const { domain } = checkedObject(node, 'node', 'a node of a model') as NodeProto
  return domain === '' || domain === 'ai.onnx'
}

/** The graphs inside of a node: the branches of an If, the body of a Loop or Scan. */
export function innerGraphs(node: NodeProto): GraphProto[] {
  return node.attribute.flatMap(({ g, graphs }) => (g ? [g, ...graphs] : graphs))
}

/**
 * What the graphs inside of a node read from outside of it. @throws TensorRTError ERR_TRT_ONNX_PARSE for graphs that
 * are nested too deep
 */
export function outerReads(node: NodeProto, depth = 0): ReadonlySet<string> {
  const graphs = innerGraphs(node)
  if (graphs.length === 0) return nothing
  return new Set(graphs.flatMap((graph) => [...readsOf(graph, checkedDepth(node, depth))]))
}

function readsOf(graph: GraphProto, depth: number): Set<string> {
  const own = definitions(graph)
  const reads = new Set<string>()
  const add = (value: string): unknown => value !== '' && !own.has(value) && reads.add(value)
  for (const node of graph.node) {
    node.input.forEach(add)
    outerReads(node, depth + 1).forEach(add)
  }
  graph.output.forEach(({ name }) => add(name))
  return reads
}

/**
 * Gives what the graphs inside of a node read from outside another name. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 * where that name means something else in there
 */
export function renameOuterReads(node: NodeProto, from: string, to: string, depth = 0): void {
  for (const graph of innerGraphs(node)) {
    checkedDepth(node, depth)
    if (!readsOf(graph, depth).has(from)) continue
    if (definitions(graph).has(to)) {
      const message = `${JSON.stringify(from)} cannot be replaced by ${JSON.stringify(to)} inside of ${nodeText(node)}: that name means something else there`
      throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
    }
    for (const inner of graph.node) {
      inner.input = inner.input.map((value) => (value === from ? to : value))
      renameOuterReads(inner, from, to, depth + 1)
    }
    for (const output of graph.output) if (output.name === from) output.name = to
  }
}

/** All names of values inside of a node, at any depth. */
export function* namesInside(node: NodeProto, depth = 0): Generator<string> {
  for (const graph of innerGraphs(node)) {
    checkedDepth(node, depth)
    yield* definitions(graph)
    for (const inner of graph.node) {
      yield* inner.input
      yield* namesInside(inner, depth + 1)
    }
  }
}

/** The values that a graph has by itself. */
export function definitions(graph: GraphProto): Set<string> {
  const names = new Set<string>()
  for (const { name } of graph.input) names.add(name)
  for (const { name } of graph.initializer) names.add(name)
  for (const { values } of graph.sparseInitializer) if (values) names.add(values.name)
  for (const { output } of graph.node) for (const name of output) if (name !== '') names.add(name)
  return names
}

/** @throws TensorRTError ERR_TRT_ONNX_PARSE for graphs that are nested too deep */
export function checkedDepth(node: NodeProto, depth: number): number {
  if (depth < deepestGraph) return depth
  throw new TensorRTError(
    'ERR_TRT_ONNX_PARSE',
    `${nodeText(node)} has graphs inside of graphs, more than ${deepestGraph} deep`,
  )
}

/** A node for a message: its operator with its name, or what it gives where it has none. */
export function nodeText({ opType, name, output }: NodeProto): string {
  const operator = opType === '' ? 'The node' : `${opType} node`
  return name === '' ? `${operator} that gives ${shortened(output[0] ?? '')}` : `${operator} ${shortened(name)}`
}

/** A name for a message: those of a damaged file may be of any length. */
export function shortened(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 97)}...` : name)
}
