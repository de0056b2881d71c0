import { TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import type { Attributes } from '../onnx/attributes.js'
import { GraphEditor } from '../onnx/editor.js'
import { elementTypeNumber, type ElementType } from '../onnx/element-type.js'
import type { ModelProto } from '../onnx/onnx_pb.js'
import { raiseOpset, whyNotRaised } from '../onnx/opset.js'

/** What models are raised to whose opset lacks a step: the first whose Squeeze, Softmax and Resize are as today's. */
const raisedTo = 13

/** The opset that steps need, and why, for the message. */
interface Needed {
  readonly opset: number
  readonly why: string
}

/**
 * A graph that steps are added to, whose values all have a name with the prefix that is free; nodes are written as the
 * model's opset has them.
 */
export class StepGraph {
  readonly editor: GraphEditor
  readonly #prefix: string
  readonly #constants = new Map<string, string>()
  readonly add = this.#binary('Add')
  readonly sub = this.#binary('Sub')
  readonly mul = this.#binary('Mul')
  readonly div = this.#binary('Div')
  readonly max = this.#binary('Max')
  readonly min = this.#binary('Min')
  readonly less = this.#binary('Less')
  readonly greater = this.#binary('Greater')
  readonly equal = this.#binary('Equal')

  /**
   * @param model a copy, which is edited
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where the model has a lower one and cannot be raised
   */
  constructor(model: ModelProto, prefix: string, needed: Needed) {
    this.#prefix = prefix
    const editor = new GraphEditor(model)
    if (editor.opset < needed.opset) {
      const reason = whyNotRaised(editor, raisedTo)
      if (reason !== undefined) throw tooOld(editor.opset, needed, reason)
      raiseOpset(editor, raisedTo)
      editor.finish()
    }
    this.editor = editor
  }

  get opset(): number {
    return this.editor.opset
  }

  node(operator: string, inputs: readonly string[], attributes: Attributes = {}): string {
    return this.editor.addNode(operator, inputs, attributes, { output: this.editor.unused(this.#prefix + operator) })
  }

  nodeWithOutputs(operator: string, inputs: readonly string[], outputs: number, attributes: Attributes = {}): string[] {
    return this.editor.addNodeWithOutputs(operator, inputs, outputs, attributes, { output: this.#prefix + operator })
  }

  /** The greatest `most` along the last dimension, and where they stand. */
  best(values: string, most: number): [best: string, places: string] {
    return this.nodeWithOutputs('TopK', [values, this.ints([most])], 2) as [string, string]
  }

  /** Numbers that are stored in the model; few of them, once. */
  floats(values: readonly number[] | Float32Array, shape: readonly number[] = [values.length]): string {
    return this.#constant('float', new Tensor('float32', Float32Array.from(values), shape))
  }

  float(value: number): string {
    return this.floats([value], [])
  }

  ints(values: readonly number[], shape: readonly number[] = [values.length]): string {
    return this.#constant('int', new Tensor('int64', BigInt64Array.from(values, BigInt), shape))
  }

  cast(value: string, dtype: ElementType): string {
    return this.node('Cast', [value], { to: elementTypeNumber(dtype) })
  }

  concat(values: readonly string[], axis: number): string {
    return values.length === 1 ? values[0]! : this.node('Concat', values, { axis })
  }

  transpose(value: string, perm: readonly number[]): string {
    return this.node('Transpose', [value], { perm })
  }

  /** `0` of a dimension leaves it as it is. */
  reshape(value: string, shape: readonly number[]): string {
    return this.node('Reshape', [value, this.ints(shape)])
  }

  unsqueeze(value: string, axis: number): string {
    return this.#byAxes('Unsqueeze', value, [axis], 13)
  }

  squeeze(value: string, axis: number): string {
    return this.#byAxes('Squeeze', value, [axis], 13)
  }

  reduceSum(value: string, axes: readonly number[], keepdims = 1): string {
    return this.#byAxes('ReduceSum', value, axes, 13, { keepdims })
  }

  reduceMax(value: string, axes: readonly number[], keepdims = 1): string {
    return this.#byAxes('ReduceMax', value, axes, 18, { keepdims })
  }

  reduceMin(value: string, axes: readonly number[], keepdims = 1): string {
    return this.#byAxes('ReduceMin', value, axes, 18, { keepdims })
  }

  /**
   * Elements `start` to before `end` along an axis, both stored in the model or computed (one int64 each). Opset 10.
   */
  slice(value: string, axis: number, start: number | string, end: number | string): string {
    const [from, to] = [start, end].map((at) => (typeof at === 'number' ? this.ints([at]) : at)) as [string, string]
    return this.node('Slice', [value, from, to, this.ints([axis])])
  }

  /** Elements at stored places along an axis. */
  gather(value: string, places: readonly number[], axis: number): string {
    return this.node('Gather', [value, this.ints(places)], { axis })
  }

  shapeOf(value: string): string {
    return this.node('Shape', [value])
  }

  where(condition: string, then: string, otherwise: string): string {
    return this.node('Where', [condition, then, otherwise])
  }

  /** Dimension `axis` of a shape, as one int64. */
  sizeAlong(shape: string, axis: number): string {
    return this.gather(shape, [axis], 0)
  }

  /** Whole values of 0 to 255, halves to even, as the host rounds. Opset 11. */
  roundedByte(value: string): string {
    return this.node('Round', [this.#inByte(value)])
  }

  /** The same, halves up; any opset. */
  roundedUpByte(value: string): string {
    return this.#inByte(this.node('Floor', [this.add(value, this.float(0.5))]))
  }

  #inByte(value: string): string {
    return this.max(this.min(value, this.float(255)), this.float(0))
  }

  #binary(operator: string): (a: string, b: string) => string {
    return (a, b) => this.node(operator, [a, b])
  }

  /** What was an attribute is an input from an opset on. */
  #byAxes(
    operator: string,
    value: string,
    axes: readonly number[],
    inputSince: number,
    attributes: Attributes = {},
  ): string {
    return this.opset >= inputSince
      ? this.node(operator, [value, this.ints(axes)], attributes)
      : this.node(operator, [value], { ...attributes, axes: [...axes] })
  }

  #constant(kind: string, tensor: Tensor<'float32'> | Tensor<'int64'>): string {
    if (tensor.size > 64) return this.editor.addConstant(this.#prefix + kind, tensor)
    const key = `${tensor.dtype} ${tensor.shape.join(' ')}: ${tensor.data.join(' ')}`
    const known = this.#constants.get(key)
    if (known !== undefined) return known
    const name = this.editor.addConstant(this.#prefix + kind, tensor)
    this.#constants.set(key, name)
    return name
  }
}

function tooOld(opset: number, needed: Needed, reason: string): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `The model is of opset ${opset}; ${needed.why} needs ${needed.opset}, and it cannot be raised: ${reason}. Export it with opset ${raisedTo}`,
    { details: { opset, needed: needed.opset, step: needed.why } },
  )
}
