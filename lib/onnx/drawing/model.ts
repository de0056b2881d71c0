import { GraphEditor } from '../editor.js'
import { type InferenceOptions, inferTypes, type ValueType } from '../inference.js'
import type { ModelProto, NodeProto } from '../onnx_pb.js'
import { outerReads } from '../scope.js'
import { type Arrow, type Box, type DrawnGraph, shortText } from './graph.js'
import { dimsText, isConstant, nodeBox, typeText } from './labels.js'
import { chosen, type Selection } from './selection.js'

/**
 * The main graph of a model as boxes and arrows: its nodes with their constants, and what goes from one to the other.
 */
export function modelGraph(model: ModelProto, selection: Selection, shapes: InferenceOptions['shapes']): DrawnGraph {
  const editor = new GraphEditor(model)
  return new ModelDrawing(editor, inferTypes(model, { shapes })).draw(selection)
}

class ModelDrawing {
  readonly #editor: GraphEditor
  readonly #types: ReadonlyMap<string, ValueType>
  readonly #ids = new Map<NodeProto, string>()
  /** Inputs, outputs and what stands for nodes that are not drawn, by their ids. */
  readonly #ends = new Map<string, Box>()
  readonly #arrows: Arrow[] = []
  #left = 0

  constructor(editor: GraphEditor, types: ReadonlyMap<string, ValueType>) {
    this.#editor = editor
    this.#types = types
  }

  draw(selection: Selection): DrawnGraph {
    const nodes = this.#editor.nodes().filter((node) => !isConstant(node))
    for (const [i, node] of chosen(nodes, this.#editor, selection).entries()) this.#ids.set(node, `node ${i}`)
    this.#left = nodes.length - this.#ids.size
    for (const node of nodes) this.#connect(node)
    for (const { name } of this.#editor.graph.output) this.#connectOutput(name)
    const boxes = [...this.#ids].map(([node, id]) => nodeBox(node, id, this.#editor))
    return { title: this.#editor.graph.name, boxes: [...this.#ends.values(), ...boxes], arrows: this.#arrows }
  }

  #connect(node: NodeProto): void {
    const to = this.#ids.get(node)
    for (const { value, isInner } of readsOf(node)) {
      const from = this.#sourceOf(value, to !== undefined)
      if (from !== undefined) this.#arrow(from, to ?? this.#undrawn('after'), value, isInner)
    }
  }

  #connectOutput(value: string): void {
    const from = this.#sourceOf(value, false)
    if (from !== undefined) this.#arrow(from, this.#end(value, 'output'), value)
  }

  #arrow(from: string, to: string, value: string, isInner = false): void {
    const isKnown = to === 'after' && this.#arrows.some((arrow) => arrow.from === from && arrow.to === to)
    if (!isKnown) this.#arrows.push({ from, to, label: typeText(this.#types.get(value)), ...(isInner && { isInner }) })
  }

  /**
   * The box that a value comes from; nothing for a constant, and, unless the reader is drawn, for what is not drawn
   * itself.
   */
  #sourceOf(value: string, isReaderDrawn: boolean): string | undefined {
    const producer = this.#editor.producer(value)
    if (producer === undefined)
      return this.#editor.isInput(value) && (isReaderDrawn || this.#editor.isOutput(value))
        ? this.#end(value, 'input')
        : undefined
    if (isConstant(producer)) return undefined
    return this.#ids.get(producer) ?? (isReaderDrawn ? this.#undrawn('before') : undefined)
  }

  #end(value: string, kind: 'input' | 'output'): string {
    const id = `${kind} ${value}`
    const { dtype = '?', shape } = this.#types.get(value) ?? {}
    const line = `${dtype} ${shape === undefined ? '' : dimsText(shape)}`.trim()
    this.#ends.set(id, { id, kind, title: shortText(value), lines: [line], hint: id })
    return id
  }

  #undrawn(id: 'before' | 'after'): string {
    const count = `${this.#left} ${this.#left === 1 ? 'node is' : 'nodes are'} not drawn`
    this.#ends.set(id, { id, kind: 'more', title: '…', lines: [count], hint: count })
    return id
  }
}

function readsOf(node: NodeProto): { value: string; isInner: boolean }[] {
  const direct = node.input.filter((value) => value !== '').map((value) => ({ value, isInner: false }))
  return [...direct, ...[...outerReads(node)].map((value) => ({ value, isInner: true }))]
}
