import { create } from '@bufbuild/protobuf'
import { expected } from '../errors.js'
import { checkedArray, checkedObject, checkedText, checkedWhole } from '../base/checks.js'
import { type Checked, checkedOptions, is, needed, option, type OptionTable } from '../base/option-table.js'
import { expectedTensor, Tensor } from '../tensor.js'
import { type Attributes, nodeProto } from './attributes.js'
import type { ElementType } from './element-type.js'
import { irVersionOf } from './model.js'
import { misuse, taken } from './names.js'
import { type ModelProto, ModelProtoSchema, type NodeProto, type TensorProto, type ValueInfoProto } from './onnx_pb.js'
import { tensorToProto } from './tensors.js'
import { type Dim, valueInfo } from './value-info.js'

/** A value in a graph: its name. */
export type Value = string

export type { Dim } from './value-info.js'

/** Options of {@link GraphBuilder}. */
export interface GraphBuilderOptions {
  /** The name of the graph. */
  name: string
  /** The version of ONNX's operators that the nodes are of; default 17. */
  opset?: number | undefined
  /** The version of each other domain that nodes use, such as `{ 'com.microsoft': 1 }`. */
  domains?: Readonly<Record<string, number>> | undefined
  /** The version of the file format; default: that of the ONNX release that brought `opset`. */
  irVersion?: number | undefined
  /** What made the model; default: `node-tensorrt`. */
  producer?:
    | {
        /** The name of the program. */
        name: string
        /** Its version. */
        version?: string | undefined
      }
    | undefined
}

const producerTable = {
  name: needed((value, name) => checkedText(value, name)),
  version: option((value, name) => checkedText(value, name)),
} satisfies OptionTable<NonNullable<GraphBuilderOptions['producer']>>

const table = {
  name: needed((name) => checkedText(name, 'name of the graph')),
  opset: option(is.whole(1), 17),
  domains: option((domains, name) => checkedObject(domains, name) as Readonly<Record<string, number>>, {}),
  irVersion: option(is.whole(1)),
  producer: option((producer, name) => checkedOptions(producer, producerTable, name, `${name}.`), {
    name: 'node-tensorrt',
    version: undefined,
  }),
} satisfies OptionTable<GraphBuilderOptions>

/** Options of a node of {@link GraphBuilder}. */
export interface NodeOptions {
  /** The node's own name; default: the operator's, with a number. */
  name?: string | undefined
  /** The operator's domain; default: ONNX's own. Others have to be named in the builder's `domains`. */
  domain?: string | undefined
}

/**
 * Writes a graph node by node, in an order in which it can run.
 *
 * Each method throws a TensorRTError ERR_TRT_INVALID_ARGUMENT for a name that is taken or unknown, and for values of
 * the wrong type; the graph is then as it was before the call. What an operator demands of its inputs and attributes is
 * not checked here: see {@link checkModel}.
 * @example
 * ```ts
 * import { Tensor } from 'node-tensorrt'
 * import { GraphBuilder, saveModel } from 'node-tensorrt/onnx'
 *
 * const g = new GraphBuilder({ name: 'scale' })
 * const x = g.input('x', 'float32', ['batch', 3])
 * const y = g.node('Mul', [x, g.constant('two', new Tensor('float32', Float32Array.of(2), []))])
 * g.output(y, 'float32', ['batch', 3])
 * await saveModel(g.toModel(), 'scale.onnx')
 * ```
 */
export class GraphBuilder {
  readonly #options: Checked<typeof table>
  /** By domain; the empty one is ONNX's. */
  readonly #opsets: ReadonlyMap<string, number>
  readonly #values = new Set<Value>()
  readonly #nodeNames = new Set<string>()
  readonly #inputs: ValueInfoProto[] = []
  readonly #outputs: ValueInfoProto[] = []
  readonly #initializers: TensorProto[] = []
  readonly #nodes: NodeProto[] = []

  constructor(options: GraphBuilderOptions) {
    const given = checkedOptions(checkedObject(options, 'the options of GraphBuilder'), table, 'GraphBuilder')
    this.#opsets = new Map([['', given.opset], ...Object.entries(given.domains)])
    for (const [domain, version] of this.#opsets)
      checkedWhole(version, domain === '' ? 'opset' : `the version of domain ${domain}`, 1)
    this.#options = given
  }

  /** Adds an input of the graph; a string in `shape` makes that dimension dynamic. */
  input(name: string, dtype: ElementType, shape: readonly Dim[]): Value {
    const info = valueInfo(name, dtype, shape)
    this.#define([name])
    this.#inputs.push(info)
    return name
  }

  /** Adds a tensor that is stored in the model, such as a weight. Its elements are copied now. */
  constant(name: string, tensor: Tensor): Value {
    if (!(tensor instanceof Tensor)) throw expectedTensor('a Tensor', `constant ${name}`, tensor)
    const proto = tensorToProto(tensor, name)
    this.#define([name])
    this.#initializers.push(proto)
    return name
  }

  /**
   * Adds a node with one output, whose name is `options.output` or else that of the node.
   * @param inputs Values that the graph has by now; `''` for an optional input that is left out.
   */
  node(
    operator: string,
    inputs: readonly Value[],
    attributes: Attributes = {},
    options: NodeOptions & { output?: string | undefined } = {},
  ): Value {
    const name = this.#nodeName(operator, options.name)
    const output = options.output ?? this.#unused(name)
    this.#addNode(name, operator, inputs, [output], attributes, options.domain)
    return output
  }

  /**
   * Adds a node with several outputs.
   * @param outputs Their names (`''` for one that is not wanted), or how many there are.
   */
  nodeWithOutputs(
    operator: string,
    inputs: readonly Value[],
    outputs: number | readonly string[],
    attributes: Attributes = {},
    options: NodeOptions = {},
  ): Value[] {
    const name = this.#nodeName(operator, options.name)
    const names =
      typeof outputs === 'number'
        ? Array.from({ length: checkedWhole(outputs, 'outputs', 1) }, (_, i) => this.#unused(`${name}.${i}`))
        : [...outputs]
    this.#addNode(name, operator, inputs, names, attributes, options.domain)
    return names
  }

  /** Makes a value an output of the graph, under its own name. */
  output(value: Value, dtype: ElementType, shape: readonly Dim[]): void {
    this.#checkKnown(value, 'output of the graph')
    if (this.#outputs.some(({ name }) => name === value))
      throw misuse(`${JSON.stringify(value)} is an output of the graph already`)
    this.#outputs.push(valueInfo(value, dtype, shape))
  }

  /**
   * The model with all that was added so far; nodes and tensors are not copied. @throws TensorRTError
   * ERR_TRT_INVALID_ARGUMENT when it has no output.
   */
  toModel(): ModelProto {
    if (this.#outputs.length === 0)
      throw misuse(`Graph ${JSON.stringify(this.#options.name)} has no output: call output() before toModel()`)
    const { name, producer } = this.#options
    return create(ModelProtoSchema, {
      irVersion: BigInt(this.#options.irVersion ?? irVersionOf(this.#opsets.get('') as number)),
      producerName: producer.name,
      producerVersion: producer.version ?? '',
      opsetImport: Array.from(this.#opsets, ([domain, version]) => ({ domain, version: BigInt(version) })),
      graph: {
        name,
        node: [...this.#nodes],
        initializer: [...this.#initializers],
        input: [...this.#inputs],
        output: [...this.#outputs],
      },
    })
  }

  #addNode(
    name: string,
    operator: string,
    inputs: readonly Value[],
    outputs: Value[],
    attributes: Attributes,
    domain = '',
  ): void {
    checkedText(operator, 'operator')
    if (!this.#opsets.has(domain))
      throw misuse(`Domain ${JSON.stringify(domain)} of operator ${operator} is not in the builder's domains`)
    for (const input of checkedArray(inputs, 'inputs', 'an array of names of values') as Value[])
      if (input !== '') this.#checkKnown(input, `input of ${operator} node ${name}`)
    const proto = nodeProto({ name, opType: operator, domain, input: [...inputs], output: outputs }, attributes)
    this.#define(outputs.filter((output) => output !== ''))
    this.#nodeNames.add(name)
    this.#nodes.push(proto)
  }

  #define(names: readonly string[]): void {
    for (const [i, name] of names.entries()) {
      checkedText(name, 'name of a value')
      if (this.#values.has(name) || names.indexOf(name) !== i) throw taken('value', name)
    }
    for (const name of names) this.#values.add(name)
  }

  #nodeName(operator: string, wanted: string | undefined): string {
    if (wanted === undefined) return numbered(operator, this.#nodeNames, this.#nodes.length)
    if (this.#nodeNames.has(checkedText(wanted, 'name of a node'))) throw taken('node', wanted)
    return wanted
  }

  #unused(name: string): string {
    return this.#values.has(name) ? numbered(name, this.#values, 1) : name
  }

  #checkKnown(value: Value, role: string): void {
    if (!this.#values.has(value)) throw expected('the name of a value that the graph has', role, value)
  }
}

/** The first of `stem_start`, `stem_start+1` … that is not taken. */
function numbered(stem: string, taken: ReadonlySet<string>, start: number): string {
  let number = start
  while (taken.has(`${stem}_${number}`)) number++
  return `${stem}_${number}`
}
