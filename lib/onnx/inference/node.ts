import { type AttributeKind, attributeTypes } from '../attributes.js'
import { AttributeReader } from '../node-attributes.js'
import type { AttributeProto, NodeProto } from '../onnx_pb.js'
import { axisOf, type Dim, type Known, nothing } from './known.js'

/** Thrown by a rule that lacks something: nothing is known of what the node gives then. */
export class NotKnown extends Error {}

const notKnown = new NotKnown('not known')

/** The value, where there is one; without it the rule ends. @throws NotKnown */
export function needed<T>(value: T | undefined): T {
  if (value === undefined) throw notKnown
  return value
}

/** What a rule gives: of each output of a node what is known. */
export type Rule = (node: InferredNode) => readonly (Known | undefined)[]

/** A node with what is known of its inputs. Attributes that have another type than they should are not known. */
export class InferredNode extends AttributeReader {
  readonly opset: number
  readonly #inputs: readonly (Known | undefined)[]

  constructor(proto: NodeProto, opset: number, inputs: readonly (Known | undefined)[]) {
    super(proto)
    this.opset = opset
    this.#inputs = inputs
  }

  /** All inputs that are given. */
  get inputs(): readonly Known[] {
    return this.#inputs.filter((input) => input !== undefined)
  }

  /** Whether an input is given: optional ones may be left out. */
  has(input: number): boolean {
    return this.#inputs[input] !== undefined
  }

  input(input: number): Known {
    return this.#inputs[input] ?? nothing
  }

  /** @throws NotKnown */
  shape(input: number): readonly Dim[] {
    return needed(this.input(input).shape)
  }

  /** The elements of an input that is a list of numbers, where all are known. */
  numbers(input: number): readonly number[] | undefined {
    const { value } = this.input(input)
    return value?.every((element) => typeof element === 'number') === true ? value : undefined
  }

  /** The attribute `axis` of something of so many dimensions. @throws NotKnown where there is no such axis */
  axis(otherwise: number, rank: number): number {
    return needed(axisOf(this.int('axis', otherwise), rank))
  }

  /**
   * A list that is an attribute in old versions of an operator and an input in new ones; null where it is neither.
   * @throws NotKnown where it is computed
   */
  list(name: string, input: number): readonly number[] | null {
    const attribute = this.ints(name)
    if (attribute !== undefined) return attribute
    return this.has(input) ? needed(this.numbers(input)) : null
  }

  protected override attribute(name: string, kind: AttributeKind): AttributeProto | undefined {
    const found = this.proto.attribute.find((one) => one.name === name)
    // A reference to the attribute of a function is no value; files of IR version 1 do not say the type.
    if (found === undefined || (found.refAttrName === '' && [attributeTypes[kind], 0].includes(found.type)))
      return found
    throw notKnown
  }
}

/** Axes that may count from the end. @throws NotKnown where there is no such axis */
export function axesOf(axes: readonly number[], rank: number): number[] {
  return axes.map((axis) => needed(axisOf(axis, rank)))
}

/** Gives elements of the type of the first input, in a shape that follows from its shape. */
export function reshaped(shapeOf: (shape: readonly Dim[], node: InferredNode) => readonly Dim[] | undefined): Rule {
  return (node) => {
    const { dtype, shape } = node.input(0)
    return [{ dtype, shape: shape && shapeOf(shape, node) }]
  }
}
