import type { NodeProto } from './onnx_pb.js'
import { outerReads } from './scope.js'

/**
 * Where a value is used: `node` reads it at position `input`, or, where that is -1, a graph inside of `node` (If, Loop,
 * Scan) reads it by name.
 */
export interface Use {
  /** The node that reads the value. */
  readonly node: NodeProto
  /** Which input of the node it is; -1: a graph inside of the node reads the value. */
  readonly input: number
}

/** Who reads what, by value and node, so that a change costs what it changes and no more. */
export class Uses {
  readonly #byValue = new Map<string, Map<NodeProto, Use[]>>()
  /** What the graphs inside of a node read; of nodes that have some. */
  readonly #inner = new Map<NodeProto, ReadonlySet<string>>()

  constructor(nodes: Iterable<NodeProto>) {
    for (const node of nodes) this.add(node)
  }

  of(value: string): Use[] {
    return [...(this.#byValue.get(value)?.values() ?? [])].flat()
  }

  /** The inputs of each node that read a value, of those that `filter` picks. */
  byNode(value: string, filter: (use: Use) => boolean): Map<NodeProto, number[]> {
    const found = new Map<NodeProto, number[]>()
    for (const [node, uses] of this.#byValue.get(value) ?? []) {
      const inputs = uses.filter(filter).map(({ input }) => input)
      if (inputs.length > 0) found.set(node, inputs)
    }
    return found
  }

  has(value: string): boolean {
    return this.#byValue.has(value)
  }

  /** All that a node reads, once or more often. */
  reads(node: NodeProto): Iterable<string> {
    const inner = this.#inner.get(node)
    return inner === undefined ? node.input : [...node.input, ...inner]
  }

  add(node: NodeProto): void {
    node.input.forEach((value, input) => this.#add(value, { node, input }))
    const inner = outerReads(node)
    if (inner.size === 0) return
    this.#inner.set(node, inner)
    for (const value of inner) this.#add(value, { node, input: -1 })
  }

  /** Before a node's inputs change, and when it goes. */
  delete(node: NodeProto): void {
    for (const value of this.reads(node)) {
      const nodes = this.#byValue.get(value)
      nodes?.delete(node)
      if (nodes?.size === 0) this.#byValue.delete(value)
    }
    this.#inner.delete(node)
  }

  #add(value: string, use: Use): void {
    if (value === '') return
    const nodes = this.#byValue.get(value) ?? new Map<NodeProto, Use[]>()
    this.#byValue.set(value, nodes)
    const uses = nodes.get(use.node)
    if (uses === undefined) nodes.set(use.node, [use])
    else uses.push(use)
  }
}
