import { TensorRTError } from '../errors.js'
import type { GraphProto, NodeProto, TensorProto } from './onnx_pb.js'
import { nodeText, outerReads, shortened } from './scope.js'

/** Where the values of a graph come from. */
export interface Structure {
  /** The node that gives a value. */
  readonly producers: Map<string, NodeProto>
  /** Weights by name, also those that are inputs too (IR version 3 wants that). */
  readonly initializers: Map<string, TensorProto>
  /** Names of sparse weights. */
  readonly sparse: ReadonlySet<string>
  /** Inputs that are no initializers. */
  readonly inputs: Set<string>
}

/**
 * Where the values of a graph come from.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE for a value that is defined twice, a value or a node without name or
 * operator
 */
export function structureOf(graph: GraphProto): Structure {
  const initializers = new Map(graph.initializer.map((tensor) => [tensor.name, tensor]))
  const names = graph.initializer.map(({ name }) => name)
  const sparse = graph.sparseInitializer.map(({ values }) => values?.name ?? '')
  checkNames(names, 'An initializer', 'Two initializers')
  checkNames(sparse, 'A sparse initializer', 'Two initializers', initializers)
  const inputs = new Set(graph.input.map(({ name }) => name))
  checkNames(graph.input.map(({ name }) => name), 'An input of the graph', 'Two inputs of the graph') // prettier-ignore
  const stored = new Set([...names, ...sparse])
  const producers = producersOf(graph.node, (name) => stored.has(name) || inputs.has(name))
  for (const name of stored) inputs.delete(name)
  return { producers, initializers, sparse: new Set(sparse), inputs }
}

/** That each has a name of its own, which is none of `others`. */
function checkNames(names: readonly string[], one: string, two: string, others?: ReadonlyMap<string, unknown>): void {
  const seen = new Set<string>()
  for (const name of names) {
    if (name === '') throw notAGraph(`${one} has no name`)
    if (seen.has(name) || others?.has(name)) throw twice(name, two)
    seen.add(name)
  }
}

function producersOf(nodes: readonly NodeProto[], isStored: (name: string) => boolean): Map<string, NodeProto> {
  const found = new Map<string, NodeProto>()
  for (const node of nodes) {
    if (node.opType === '') throw notAGraph(`${nodeText(node)} has no operator`, { node: node.name })
    for (const name of node.output) {
      if (name === '') continue
      const other = found.get(name)
      if (other !== undefined) throw twice(name, `${nodeText(other)} and ${nodeText(node)}`, node)
      if (isStored(name)) throw twice(name, `An input or initializer and ${nodeText(node)}`, node)
      found.set(name, node)
    }
  }
  return found
}

function twice(value: string, who: string, node?: NodeProto): TensorRTError {
  const details = node === undefined ? { value } : { value, node: node.name }
  return notAGraph(`${who} define the value ${shortened(value)}: it is defined twice`, details)
}

/**
 * That all that is read is defined: by nodes, inside of them, and by the graph's outputs.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE
 */
export function checkReads(
  graph: Pick<GraphProto, 'output'>,
  nodes: Iterable<NodeProto>,
  isDefined: (value: string) => boolean,
): void {
  for (const node of nodes) {
    for (const value of node.input) if (value !== '' && !isDefined(value)) throw missing(node, value, 'reads')
    for (const value of outerReads(node)) if (!isDefined(value)) throw missing(node, value, 'has a graph that reads')
  }
  for (const { name } of graph.output) {
    if (!isDefined(name))
      throw notAGraph(`The output ${shortened(name)} of the graph is not defined in it`, { value: name })
  }
}

function missing(node: NodeProto, value: string, reads: string): TensorRTError {
  return notAGraph(`${nodeText(node)} ${reads} ${shortened(value)}, which is not defined`, { node: node.name, value })
}

/** A model that was read, and cannot run. `details`: the names of the node and the value that it is about. */
export function notAGraph(message: string, details: Readonly<Record<string, unknown>> = {}): TensorRTError {
  return new TensorRTError('ERR_TRT_ONNX_PARSE', `The ONNX graph cannot run: ${message}`, { details })
}
