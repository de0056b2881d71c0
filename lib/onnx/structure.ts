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
  const initializers = initializersOf(graph)
  const sparse = sparseOf(graph, initializers)
  const inputs = inputsOf(graph)
  const producers = producersOf(graph.node, (name) => initializers.has(name) || sparse.has(name) || inputs.has(name))
  for (const name of [...initializers.keys(), ...sparse]) inputs.delete(name)
  return { producers, initializers, sparse, inputs }
}

function initializersOf({ initializer }: GraphProto): Map<string, TensorProto> {
  const found = new Map<string, TensorProto>()
  for (const tensor of initializer) {
    if (tensor.name === '') throw notAGraph('An initializer has no name')
    if (found.has(tensor.name)) throw twice(tensor.name, 'Two initializers')
    found.set(tensor.name, tensor)
  }
  return found
}

function sparseOf({ sparseInitializer }: GraphProto, dense: ReadonlyMap<string, TensorProto>): Set<string> {
  const found = new Set<string>()
  for (const { values } of sparseInitializer) {
    const name = values?.name ?? ''
    if (name === '') throw notAGraph('A sparse initializer has no name')
    if (dense.has(name) || found.has(name)) throw twice(name, 'Two initializers')
    found.add(name)
  }
  return found
}

function inputsOf({ input }: GraphProto): Set<string> {
  const found = new Set<string>()
  for (const { name } of input) {
    if (name === '') throw notAGraph('An input of the graph has no name')
    if (found.has(name)) throw twice(name, 'Two inputs of the graph')
    found.add(name)
  }
  return found
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
  return notAGraph(`${who} define the value ${shortened(value)}: it is defined twice`, {
    value,
    ...(node && { node: node.name }),
  })
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
