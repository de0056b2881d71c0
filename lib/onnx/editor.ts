import { create } from '@bufbuild/protobuf'
import { checkedArray, checkedText, checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import { expectedTensor, Tensor } from '../tensor.js'
import { type Attributes, nodeProto } from './attributes.js'
import { constantTensor } from './constants.js'
import { type ElementType, isElementType } from './element-type.js'
import { checkedModel, irVersionOf } from './model.js'
import { checkedDomain, misuse, Names, taken } from './names.js'
import {
  type GraphProto,
  type ModelProto,
  type NodeProto,
  OperatorSetIdProtoSchema,
  type TensorProto,
} from './onnx_pb.js'
import { topologicalOrder } from './order.js'
import { isOnnx, nodeText, renameOuterReads, shortened } from './scope.js'
import { checkReads, notAGraph, type Structure, structureOf } from './structure.js'
import { tensorToProto } from './tensors.js'
import { type Use, Uses } from './uses.js'
import { type Dim, tensorInfo, valueInfo } from './value-info.js'

export { isOnnx } from './scope.js'
export type { Use } from './uses.js'

/** Options of a node that is added by {@link GraphEditor}. */
export interface NewNodeOptions {
  /** The node's own name; when not given, the operator's with a number. */
  name?: string | undefined
  /** The name of what it gives; when not given, the node's. */
  output?: string | undefined
  /** The operator's domain; empty for ONNX's own. Others have to be among the model's `opsetImport`. */
  domain?: string | undefined
}

/**
 * Edits the main graph of a model in place.
 *
 * While it is edited, the lists of the graph's nodes and initializers are those of before: {@link finish} writes them.
 * Between two edits a value may be read that no node gives, or be in a cycle; `finish()` (and for a cycle `nodes()`)
 * refuses that. What an operator demands of its inputs is not checked.
 *
 * Each method throws a TensorRTError ERR_TRT_INVALID_ARGUMENT for what the graph does not have, and for names that are
 * taken.
 * @example
 * ```ts
 * import { Tensor } from 'node-tensorrt'
 * import { GraphEditor, readModel, saveModel } from 'node-tensorrt/onnx'
 *
 * const editor = new GraphEditor(await readModel('model.onnx'))
 * const limit = editor.addConstant('limit', new Tensor('float32', Float32Array.of(6), []))
 * for (const node of editor.nodes().filter(({ opType }) => opType === 'Relu')) {
 *   const [name = ''] = node.output
 *   editor.renameOutput(node, 0, editor.unused('relu')) // its name goes to the node that comes after it
 *   editor.addNode('Min', [node.output[0] ?? '', limit], {}, { output: name })
 * }
 * await saveModel(editor.finish(), 'edited.onnx')
 * ```
 */
export class GraphEditor {
  /** The model that is edited. */
  readonly model: ModelProto
  /** Its main graph. The edits are in it after {@link finish}. */
  readonly graph: GraphProto
  readonly #structure: Structure
  readonly #names: Names
  readonly #nodes: Set<NodeProto>
  readonly #uses: Uses
  readonly #outputs: Set<string>
  readonly #constants = new Map<string, Tensor | undefined>()
  /** Of values that have another meaning now. */
  readonly #staleTypes = new Set<string>()
  #ordered: readonly NodeProto[] | undefined

  /**
   * @throws TensorRTError ERR_TRT_ONNX_PARSE for a graph that cannot run: a cycle, a value that is defined twice or
   * never, a node without operator …; ERR_TRT_INVALID_ARGUMENT for what is no model
   */
  constructor(model: ModelProto) {
    checkedModel(model)
    if (model.graph === undefined) throw notAGraph('the model has none')
    this.model = model
    this.graph = model.graph
    this.#structure = structureOf(this.graph)
    this.#nodes = new Set(this.graph.node)
    this.#uses = new Uses(this.#nodes)
    this.#outputs = new Set(this.graph.output.map(({ name }) => name))
    checkReads(this.graph, this.#nodes, (value) => this.#isDefined(value))
    this.nodes()
    this.#names = new Names(this.graph)
  }

  /** The version of ONNX's own operators. */
  get opset(): number {
    return Math.max(1, ...this.#opsets().map(({ version }) => Number(version)))
  }

  /**
   * All nodes in an order in which they can run; later edits leave the list as it is. @throws TensorRTError
   * ERR_TRT_ONNX_PARSE where edits made a cycle
   */
  nodes(): readonly NodeProto[] {
    this.#ordered ??= topologicalOrder(this.#nodes, {
      reads: (node) => this.#uses.reads(node),
      producer: (value) => this.#structure.producers.get(value),
    })
    return this.#ordered
  }

  /** The node that gives a value. */
  producer(value: string): NodeProto | undefined {
    return this.#structure.producers.get(value)
  }

  /** Where nodes of this graph read a value. */
  uses(value: string): readonly Use[] {
    return this.#uses.of(value)
  }

  /** Whether it is an input of the graph, and no initializer. */
  isInput(value: string): boolean {
    return this.#structure.inputs.has(value)
  }

  /** Whether it is an output of the graph. */
  isOutput(value: string): boolean {
    return this.#outputs.has(value)
  }

  /** The tensor that the model stores under a name; undefined where it stores none. */
  initializer(value: string): TensorProto | undefined {
    return this.#structure.initializers.get(value)
  }

  /**
   * The elements of an initializer, or of what a Constant node gives; undefined for what is computed, and for text. It
   * is read once (and copied then), and kept.
   * @throws TensorRTError as {@link tensorFromProto}: ERR_TRT_INVALID_ARGUMENT where the elements are in a file that
   * was not loaded, ERR_TRT_DTYPE, ERR_TRT_ONNX_PARSE, ERR_TRT_SHAPE
   */
  constant(value: string): Tensor | undefined {
    if (this.#constants.has(value)) return this.#constants.get(value)
    const tensor = constantTensor(this.initializer(value), this.producer(value))
    this.#constants.set(value, tensor)
    return tensor
  }

  /**
   * Adds a tensor that is stored in the model; its elements are copied now. @returns its name: `stem` with a number
   * where that is taken
   */
  addConstant(stem: string, tensor: Tensor): string {
    if (!(tensor instanceof Tensor)) throw expectedTensor('a Tensor', `constant ${stem}`, tensor)
    const name = this.unused(stem)
    const proto = tensorToProto(tensor, name)
    this.#needIrVersion(4)
    this.#names.values.add(name)
    this.#structure.initializers.set(name, proto)
    return name
  }

  /**
   * Adds a node with one output.
   * @param inputs Values of the graph; `''` for an optional input that is left out.
   * @returns the name of its output
   */
  addNode(
    operator: string,
    inputs: readonly string[],
    attributes: Attributes = {},
    options: NewNodeOptions = {},
  ): string {
    const { output } = options
    const named = (name: string) => [output === undefined ? this.unused(name) : this.#checkedFree(output)]
    return this.#add(operator, inputs, attributes, options, named)[0]!
  }

  /**
   * Adds a node with so many outputs. @returns their names: `output` of the options, or else the node's name, with a
   * number each
   */
  addNodeWithOutputs(
    operator: string,
    inputs: readonly string[],
    outputs: number,
    attributes: Attributes = {},
    options: NewNodeOptions = {},
  ): string[] {
    checkedWhole(outputs, 'outputs', 1)
    const named = (name: string): string[] =>
      Array.from({ length: outputs }, (_, i) => this.unused(`${options.output ?? name}.${i}`))
    return this.#add(operator, inputs, attributes, options, named)
  }

  #add(
    operator: string,
    inputs: readonly string[],
    attributes: Attributes,
    options: NewNodeOptions,
    outputsOf: (name: string) => string[],
  ): string[] {
    checkedText(operator, 'operator')
    const domain = checkedDomain(this.model, operator, options.domain ?? '')
    for (const input of checkedArray(inputs, 'inputs', 'an array of names of values') as string[])
      if (input !== '') this.#checkDefined(input, `input of ${operator}`)
    const name = this.#names.checkedNode(operator, options.name)
    const output = outputsOf(name)
    const node = nodeProto({ name, opType: operator, domain, input: [...inputs], output }, attributes)
    this.#names.nodes.add(name)
    for (const value of output) this.#define(value, node)
    this.#nodes.add(node)
    this.#uses.add(node)
    this.#ordered = undefined
    return [...output]
  }

  /** Makes a node read another value at one of its inputs, or one more at its end. */
  replaceInput(node: NodeProto, input: number, value: string): void {
    this.#checkOwn(node)
    checkedWhole(input, `input of ${nodeText(node)}`, 0, node.input.length)
    if (value !== '') this.#checkDefined(value, `input of ${nodeText(node)}`)
    this.#change(node, () => (node.input[input] = value))
  }

  /**
   * Makes nodes read another value: all that read it, also inside of their inner graphs, or those that `filter` picks.
   * Outputs of the graph are no uses. A node that computes `by` from `value` has to be left out by the filter: it would
   * read what it gives.
   */
  replaceUses(value: string, by: string, filter: (use: Use) => boolean = () => true): void {
    this.#checkDefined(by, 'replaceUses')
    for (const [node, inputs] of this.#uses.byNode(value, filter)) {
      this.#change(node, () => {
        if (inputs.includes(-1)) renameOuterReads(node, value, by)
        for (const input of inputs) if (input !== -1) node.input[input] = by
      })
    }
  }

  /**
   * Gives what a node gives another name. Who reads the old name goes on doing so, so that a node that is added after
   * this one can take it: that way outputs of the graph keep their names.
   */
  renameOutput(node: NodeProto, output: number, value: string): void {
    this.#checkOwn(node)
    checkedWhole(output, `output of ${nodeText(node)}`, 0, node.output.length - 1)
    this.#checkedFree(value)
    this.#forget(node.output[output] as string)
    node.output[output] = value
    this.#define(value, node)
    this.#ordered = undefined
  }

  /**
   * Takes a node away; nobody may read what it gives. An output of the graph that it gave has to come from another node
   * then.
   */
  remove(node: NodeProto): void {
    this.#checkOwn(node)
    const used = node.output.find((value) => this.#uses.has(value))
    if (used !== undefined) {
      const reader = nodeText(this.uses(used)[0]!.node)
      throw misuse(`${nodeText(node)} cannot be removed: ${reader} reads ${shortened(used)}`)
    }
    for (const value of node.output) this.#forget(value)
    this.#uses.delete(node)
    this.#nodes.delete(node)
    this.#ordered = undefined
  }

  /**
   * Says that the nodes are of a newer version of ONNX's operators; they are not converted. The version of the file
   * format follows.
   */
  setOpset(version: number): void {
    checkedWhole(version, 'opset', this.opset)
    for (const row of this.#opsets()) row.version = BigInt(version)
    if (this.#opsets().length === 0)
      this.model.opsetImport.push(create(OperatorSetIdProtoSchema, { domain: '', version: BigInt(version) }))
    this.#needIrVersion(irVersionOf(version))
  }

  /** `stem`, or `stem_1`, `stem_2` …: the first that is no value of the graph, nor of one inside of it. */
  unused(stem: string): string {
    return this.#names.unused(checkedText(stem, 'name of a value'), 'values')
  }

  /**
   * Adds an input of the graph, under a name that no value has: `stem`, or `stem_1` … A string in `shape` makes that
   * dimension dynamic. @returns its name
   */
  addInput(stem: string, dtype: ElementType, shape: readonly Dim[]): string {
    const name = this.unused(stem)
    const info = valueInfo(name, dtype, shape)
    this.#names.values.add(name)
    this.#structure.inputs.add(name)
    this.graph.input.push(info)
    return name
  }

  /** Takes all outputs away, for others to be added. */
  dropOutputs(): void {
    this.graph.output = []
    this.#outputs.clear()
  }

  /** Makes a value an output of the graph, without a shape, unless it is one. */
  addOutput(value: string, dtype: ElementType): void {
    this.#checkDefined(value, 'output of the graph')
    if (!isElementType(dtype)) throw expected('an element type of ONNX', `dtype of ${value}`, dtype)
    if (this.#outputs.has(value)) return
    this.#outputs.add(value)
    this.graph.output.push(tensorInfo(value, dtype))
  }

  /**
   * Writes the edits into the model: nodes in order; initializers and Constant nodes that nothing reads go, and so does
   * what was said of values that are gone or have changed.
   * @returns the same model
   * @throws TensorRTError ERR_TRT_ONNX_PARSE for a graph that cannot run now
   */
  finish(): ModelProto {
    checkReads(this.graph, this.#nodes, (value) => this.#isDefined(value))
    const isIdle = (value: string): boolean => !this.#uses.has(value) && !this.#outputs.has(value)
    for (const node of this.nodes())
      if (node.opType === 'Constant' && isOnnx(node) && node.output.every(isIdle)) this.remove(node)
    const { initializers } = this.#structure
    const idle = new Set([...initializers.keys()].filter(isIdle))
    for (const name of idle) {
      initializers.delete(name)
      this.#constants.delete(name)
    }
    this.graph.node = [...this.nodes()]
    this.graph.initializer = [...initializers.values()]
    // Without its value, a weight that was also an input would be one that the user has to give.
    this.graph.input = this.graph.input.filter(({ name }) => !idle.has(name))
    this.graph.valueInfo = this.graph.valueInfo.filter(
      ({ name }) => !this.#staleTypes.has(name) && this.#isDefined(name),
    )
    return this.model
  }

  #opsets() {
    return this.model.opsetImport.filter(({ domain }) => domain === '' || domain === 'ai.onnx')
  }

  /**
   * Before version 4 every initializer had to be an input; from it on, one that is an input too is a default that the
   * caller may replace, and so no constant.
   */
  #needIrVersion(version: number): void {
    if (this.model.irVersion < 4n) this.graph.input = this.graph.input.filter(({ name }) => this.isInput(name))
    if (this.model.irVersion < BigInt(version)) this.model.irVersion = BigInt(version)
  }

  #isDefined(value: string): boolean {
    const { producers, initializers, inputs, sparse } = this.#structure
    return producers.has(value) || initializers.has(value) || inputs.has(value) || sparse.has(value)
  }

  #define(value: string, node: NodeProto): void {
    this.#names.values.add(value)
    this.#structure.producers.set(value, node)
    this.#constants.delete(value)
  }

  #forget(value: string): void {
    this.#structure.producers.delete(value)
    this.#constants.delete(value)
    this.#staleTypes.add(value)
  }

  #change(node: NodeProto, change: () => unknown): void {
    this.#uses.delete(node)
    try {
      change()
    } finally {
      this.#uses.add(node)
      this.#ordered = undefined
    }
  }

  #checkOwn(node: NodeProto): void {
    if (!this.#nodes.has(node)) throw expected('a node of the graph', 'node', node)
  }

  #checkDefined(value: string, where: string): void {
    if (!this.#isDefined(value)) throw expected('a value of the graph', where, value)
  }

  /** A name that no value has; one that a value had, and has no more, is free. */
  #checkedFree(name: string): string {
    checkedText(name, 'name of a value')
    if (this.#isDefined(name)) throw taken('value', name)
    return name
  }
}
