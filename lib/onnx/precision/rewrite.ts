import { type DType, elementCount, Tensor } from '../../tensor.js'
import { clone } from '@bufbuild/protobuf'
import { float } from '../attributes.js'
import { isOnnx, type Use } from '../editor.js'
import { elementTypeNumber } from '../element-type.js'
import { type NodeProto, type ValueInfoProto, ValueInfoProtoSchema } from '../onnx_pb.js'
import type { Verdicts } from './classify.js'
import { intAttribute } from '../node-attributes.js'
import { finiteMost, type FloatGraph, halved, isTransparent, store } from './float-graph.js'
import { isRecurrent, onlyMoves, staysFloat } from './operators.js'
import { halfTypes } from './options.js'
import type { PrecisionReport } from './report.js'

/**
 * Who reads a float32 value: converted nodes, nodes (and graphs inside of nodes) that need float32, and nodes that take
 * whichever there is.
 */
interface Readers {
  readonly half: readonly Use[]
  readonly float: readonly Use[]
  readonly any: readonly Use[]
}

/**
 * Gives the nodes that were chosen their new type, and puts casts where values go from one type to the other: one for
 * each value and direction.
 */
export class Rewriting {
  readonly #graph: FloatGraph
  readonly #verdicts: Verdicts
  readonly #keepIO: boolean
  readonly #half: DType
  /** Values that have the new type under their old name. */
  readonly #retyped = new Set<string>()
  /** All that were float32, or were made of one, and have the new type. */
  readonly #halves = new Set<string>()
  readonly #clamped: string[] = []
  #lowest: string | undefined
  #casts = 0
  readonly #weights = { bytesBefore: 0, bytesAfter: 0, bytesConverted: 0, flushed: 0 }

  constructor(graph: FloatGraph, verdicts: Verdicts, keepIO: boolean) {
    this.#graph = graph
    this.#verdicts = verdicts
    this.#keepIO = keepIO
    this.#half = halfTypes[graph.precision]
  }

  run(): Pick<PrecisionReport, 'casts' | 'clamped' | 'weights'> {
    const { editor, dtypes } = this.#graph
    // before anything changes: who reads what follows from the verdicts alone
    const values = [...dtypes.keys()]
      .filter((value) => this.#graph.isFloat(value))
      .map((value) => [value, this.#readers(value)] as const)
    const casts = editor.nodes().filter((node) => isOnnx(node) && node.opType === 'Cast')
    for (const [value, readers] of values) this.#rewrite(value, readers)
    for (const node of casts.reverse()) this.#simplify(node)
    for (const node of this.#verdicts.kept.keys()) if (isRecurrent(node.opType)) this.#shield(node)
    this.#declare()
    return { casts: this.#casts, clamped: this.#clamped, weights: this.#weights }
  }

  #readers(value: string): Readers {
    const half: Use[] = []
    const float: Use[] = []
    const any: Use[] = []
    for (const use of this.#graph.editor.uses(value)) {
      const { node, input } = use
      if (input !== -1 && isTransparent(node)) any.push(use)
      else if (input !== -1 && this.#verdicts.converted.has(node) && !staysFloat(node.opType, 'input', input))
        half.push(use)
      else float.push(use)
    }
    return { half, float, any }
  }

  #rewrite(value: string, readers: Readers): void {
    const { editor } = this.#graph
    if (this.#graph.isStored(value)) return this.#rewriteStored(value, readers)
    if (editor.initializer(value) !== undefined) this.#countFloat(value)
    if (this.#isGivenHalf(value)) this.#rewriteGiven(value, readers)
    else if (editor.isInput(value) && !this.#keepIO && readers.half.length > 0) this.#retype(value, readers)
    else this.#read(value, readers.half, () => this.#halfOf(value))
  }

  #countFloat(value: string): void {
    const bytes = 4 * elementCount(this.#graph.storedShape(value))
    this.#weights.bytesBefore += bytes
    this.#weights.bytesAfter += bytes
  }

  /** Whether a converted node gives it. */
  #isGivenHalf(value: string): boolean {
    const producer = this.#graph.editor.producer(value)
    if (producer === undefined || !this.#verdicts.converted.has(producer)) return false
    return !staysFloat(producer.opType, 'output', producer.output.indexOf(value))
  }

  #rewriteStored(value: string, { half, float, any }: Readers): void {
    const { editor, precision } = this.#graph
    const weights = this.#weights
    const initializer = editor.initializer(value)
    if (half.length === 0) return this.#countFloat(value)
    const bytes = 4 * elementCount(this.#graph.storedShape(value))
    const tensor = halved(this.#graph.stored(value), precision)
    const isShared = float.length > 0 || any.length > 0 || editor.isOutput(value)
    weights.flushed += this.#graph.numbers(value).flushed
    weights.bytesBefore += bytes
    weights.bytesConverted += bytes
    weights.bytesAfter += bytes / 2 + (isShared ? bytes : 0)
    if (initializer === undefined || isShared) this.#readCopy(value, half, tensor)
    else {
      store(initializer, tensor)
      this.#becomes(value)
    }
  }

  #readCopy(value: string, half: readonly Use[], tensor: Tensor): void {
    this.#read(value, half, () => this.#graph.editor.addConstant(this.#nameOf(value), tensor))
  }

  /**
   * The old name goes with the new type where nobody needs float32, else with a cast back to it: outputs of the graph,
   * and what graphs inside of nodes read, keep their names.
   */
  #rewriteGiven(value: string, readers: Readers): void {
    const { editor } = this.#graph
    const isKeptOutput = editor.isOutput(value) && this.#keepIO
    if (!isKeptOutput && (readers.float.length === 0 || editor.isOutput(value))) return this.#retype(value, readers)
    const node = editor.producer(value) as NodeProto
    const half = editor.unused(this.#nameOf(value))
    this.#copyInfo(value, half)
    this.#halves.add(half)
    editor.renameOutput(node, node.output.indexOf(value), half)
    this.#cast(half, 'float32', value)
    this.#read(value, [...readers.half, ...readers.any], () => half)
  }

  /** The value itself has the new type from now on. */
  #retype(value: string, { float }: Readers): void {
    this.#becomes(value)
    this.#read(value, float, () => this.#cast(value, 'float32', this.#graph.editor.unused(`${value}_float32`)))
  }

  #becomes(value: string): void {
    this.#retyped.add(value)
    this.#halves.add(value)
  }

  /**
   * What has the new type of a float32 value: a cast; of what a cast gave, a cast of what that one read, so that there
   * are never two in a row.
   */
  #halfOf(value: string): string {
    const { editor, dtypes } = this.#graph
    if (this.#verdicts.masks.has(value)) {
      this.#clamped.push(value)
      return this.#cast(this.#raised(value), this.#half, editor.unused(this.#nameOf(value)))
    }
    const there = editor.uses(value).find(({ node }) => this.#castsTo(node, this.#half))?.node.output[0]
    if (there) return there
    const producer = editor.producer(value)
    const [source = ''] = producer && this.#castsTo(producer, 'float32') ? producer.input : []
    if (dtypes.get(source) === this.#half) return source
    return this.#cast(
      dtypes.has(source) && !this.#graph.isFloat(source) ? source : value,
      this.#half,
      editor.unused(this.#nameOf(value)),
    )
  }

  /** The value with the lowest number of the type for what is below it. */
  #raised(value: string): string {
    const { editor, precision } = this.#graph
    const lowest = -finiteMost[precision]
    const output = editor.unused(`${value}_clamped`)
    // Max has no broadcasting yet
    if (editor.opset < 8) return editor.addNode('Clip', [value], { min: float(lowest) }, { output })
    this.#lowest ??= editor.addConstant(`lowest_${this.#half}`, new Tensor('float32', Float32Array.of(lowest), []))
    return editor.addNode('Max', [value, this.#lowest], {}, { output })
  }

  /**
   * TensorRT-RTX 1.7 fails to build a recurrent node whose sequence comes from a Cast ("Mismatched number of elements
   * in reshape"): a Max that changes nothing stands between them.
   */
  #shield(node: NodeProto): void {
    const { editor } = this.#graph
    const [sequence = ''] = node.input
    if (this.#isOfCast(sequence)) editor.replaceInput(node, 0, this.#raised(sequence))
  }

  #isOfCast(value: string): boolean {
    const producer = this.#graph.editor.producer(value)
    if (producer === undefined) return false
    return producer.opType === 'Cast'
      ? this.#halves.has(producer.input[0] ?? '')
      : onlyMoves(producer.opType) && this.#isOfCast(producer.input[0] ?? '')
  }

  #cast(value: string, to: DType, output: string): string {
    this.#casts++
    return this.#graph.editor.addNode('Cast', [value], { to: elementTypeNumber(to) }, { output })
  }

  #castsTo(node: NodeProto, dtype: DType): boolean {
    return isOnnx(node) && node.opType === 'Cast' && intAttribute(node, 'to') === elementTypeNumber(dtype)
  }

  /** Makes uses of a value read what `source` gives, which is asked only where there are any. */
  #read(value: string, uses: readonly Use[], source: () => string): void {
    if (uses.length === 0) return
    const places = new Map<NodeProto, Set<number>>()
    for (const { node, input } of uses) places.set(node, (places.get(node) ?? new Set()).add(input))
    this.#graph.editor.replaceUses(value, source(), ({ node, input }) => places.get(node)?.has(input) ?? false)
  }

  /** A cast of the model's own goes where what it reads has its type now, and where nobody reads it any more. */
  #simplify(node: NodeProto): void {
    const { editor } = this.#graph
    const [source = ''] = node.input
    const [value = ''] = node.output
    if (editor.isOutput(value)) return
    if (this.#halves.has(source) && this.#castsTo(node, this.#half)) editor.replaceUses(value, source)
    else if (!this.#graph.isFloat(value)) return
    if (editor.uses(value).length === 0) editor.remove(node)
  }

  #nameOf(value: string): string {
    return `${value}_${this.#half}`
  }

  /** What the graph says of values that have another type now. */
  #declare(): void {
    const { graph } = this.#graph.editor
    for (const info of [...graph.input, ...graph.output, ...graph.valueInfo])
      if (this.#retyped.has(info.name)) this.#setType(info)
  }

  #copyInfo(value: string, name: string): void {
    const { valueInfo } = this.#graph.editor.graph
    const info = valueInfo.find((each) => each.name === value)
    if (info === undefined) return
    const copy = clone(ValueInfoProtoSchema, info)
    copy.name = name
    this.#setType(copy)
    valueInfo.push(copy)
  }

  #setType({ type }: ValueInfoProto): void {
    if (type?.value.case === 'tensorType') type.value.value.elemType = elementTypeNumber(this.#half)
  }
}
