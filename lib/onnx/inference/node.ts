import { attributeTypes } from '../attributes.js'
import { elementTypeName, type ElementType } from '../element-type.js'
import type { AttributeProto, NodeProto, TensorProto } from '../onnx_pb.js'
import { type Dim, type Known, nothing } from './known.js'

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

/** A node with what is known of its inputs. */
export class InferredNode {
  readonly proto: NodeProto
  readonly opset: number
  readonly #inputs: readonly (Known | undefined)[]

  constructor(proto: NodeProto, opset: number, inputs: readonly (Known | undefined)[]) {
    this.proto = proto
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

  /** @throws NotKnown where it has another type than it should */
  int(name: string): number | undefined
  int(name: string, otherwise: number): number
  int(name: string, otherwise?: number): number | undefined {
    const attribute = this.#attribute(name, attributeTypes.INT)
    return attribute === undefined ? otherwise : Number(attribute.i)
  }

  ints(name: string): readonly number[] | undefined {
    return this.#attribute(name, attributeTypes.INTS)?.ints.map(Number)
  }

  float(name: string): number | undefined {
    return this.#attribute(name, attributeTypes.FLOAT)?.f
  }

  floats(name: string): readonly number[] | undefined {
    return this.#attribute(name, attributeTypes.FLOATS)?.floats
  }

  text(name: string, otherwise: string): string {
    const attribute = this.#attribute(name, attributeTypes.STRING)
    return attribute === undefined ? otherwise : Buffer.from(attribute.s).toString()
  }

  tensor(name: string): TensorProto | undefined {
    return this.#attribute(name, attributeTypes.TENSOR)?.t
  }

  /** An attribute that is the number of an element type. */
  elementType(name: string): ElementType | undefined {
    const dtype = elementTypeName(this.int(name, 0))
    return dtype === 'undefined' ? undefined : dtype
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

  #attribute(name: string, type: number): AttributeProto | undefined {
    const attribute = this.proto.attribute.find((one) => one.name === name)
    // A reference to the attribute of a function is no value; files of IR version 1 do not say the type.
    if (attribute !== undefined && (attribute.refAttrName !== '' || (attribute.type !== type && attribute.type !== 0)))
      throw notKnown
    return attribute
  }
}
