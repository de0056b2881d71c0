import type { GraphProto } from './onnx_pb.js'
import { definitions, namesInside } from './scope.js'

/** The names that a graph has, and those inside of its nodes: a new one must mean nothing else there. */
export class Names {
  readonly values: Set<string>
  readonly nodes = new Set<string>()
  readonly #next = { values: new Map<string, number>(), nodes: new Map<string, number>() }

  constructor(graph: GraphProto) {
    this.values = definitions(graph)
    for (const node of graph.node) {
      this.nodes.add(node.name)
      for (const name of namesInside(node)) this.values.add(name)
    }
  }

  /**
   * `stem`, or the first of `stem_1`, `stem_2` … that is free; where many ask for one stem, the search goes on where it
   * ended.
   */
  unused(stem: string, kind: 'values' | 'nodes'): string {
    const taken = this[kind]
    if (!taken.has(stem)) return stem
    let number = this.#next[kind].get(stem) ?? 1
    while (taken.has(`${stem}_${number}`)) number++
    this.#next[kind].set(stem, number)
    return `${stem}_${number}`
  }
}
