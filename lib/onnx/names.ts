import { checkedText } from '../base/checks.js'
import { TensorRTError } from '../errors.js'
import type { GraphProto, ModelProto } from './onnx_pb.js'
import { definitions, namesInside, shortened } from './scope.js'

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

  /** A new node's name: as wanted, or the operator's with a number. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
  checkedNode(operator: string, wanted: string | undefined): string {
    if (wanted === undefined) return this.unused(operator, 'nodes')
    if (this.nodes.has(checkedText(wanted, 'name of a node'))) throw taken('node', wanted)
    return wanted
  }
}

/** The domain of a new node's operator. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for one that has no version */
export function checkedDomain(model: ModelProto, operator: string, domain: string): string {
  if (domain === '' || domain === 'ai.onnx') return ''
  if (model.opsetImport.some((row) => row.domain === domain)) return domain
  throw misuse(
    `Domain ${JSON.stringify(domain)} of operator ${operator} is not in the model's opsetImport: add it there with its version`,
  )
}

export function taken(kind: 'value' | 'node', name: string): TensorRTError {
  return misuse(`The graph has a ${kind} named ${shortened(name)} already`)
}

export function misuse(message: string): TensorRTError {
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}
