import { create } from '@bufbuild/protobuf'
import { expected } from '../errors.js'
import { Tensor } from '../tensor.js'
import { type AttributeProto, AttributeProtoSchema, type NodeProto, NodeProtoSchema } from './onnx_pb.js'
import { tensorToProto } from './tensors.js'

/** `AttributeProto.type`: which field of an attribute holds its value. */
export const attributeTypes = {
  /** A number. */
  FLOAT: 1,
  /** A whole number. */
  INT: 2,
  /** A text. */
  STRING: 3,
  /** A tensor. */
  TENSOR: 4,
  /** A graph, such as a branch of If. */
  GRAPH: 5,
  /** Numbers. */
  FLOATS: 6,
  /** Whole numbers. */
  INTS: 7,
  /** Texts. */
  STRINGS: 8,
  /** Tensors. */
  TENSORS: 9,
  /** Graphs. */
  GRAPHS: 10,
  /** A sparse tensor. */
  SPARSE_TENSOR: 11,
  /** Sparse tensors. */
  SPARSE_TENSORS: 12,
  /** A type. */
  TYPE_PROTO: 13,
  /** Types. */
  TYPE_PROTOS: 14,
} as const

export type AttributeKind = keyof typeof attributeTypes

/** Numbers that are to become a float attribute, whatever their values; made by {@link float}. */
export class FloatAttribute {
  /** The number, or the list of numbers. */
  readonly value: number | readonly number[]

  constructor(value: number | readonly number[]) {
    this.value = value
  }
}

/**
 * Marks a number or a list as floats, for attributes of operators that ONNX does not define: `{ threshold: float(1) }`.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function float(value: number | readonly number[]): FloatAttribute {
  const isFloat = [value].flat().every((each: unknown) => typeof each === 'number')
  if (!isFloat) throw expected('a number or an array of numbers', 'float', value)
  return new FloatAttribute(value)
}

/** @inline */
type Element = number | bigint | string | Tensor

/**
 * The value of an attribute. The kind of the attribute follows from it:
 * - a plain number is a float where the operator's attribute is one in ONNX (`alpha`, `epsilon` …), and otherwise an
 *   int: fractions are refused;
 * - a bigint is always an int (64 bits), {@link float} always a float;
 * - a string is a string, a `Tensor` a tensor;
 * - a list is a list of one of these; an empty one has the kind that a number would have.
 */
export type AttributeValue =
  Element | FloatAttribute | readonly number[] | readonly bigint[] | readonly string[] | readonly Tensor[]

/** The attributes of a node, by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>

/** The operator that an attribute is for. */
export interface Operator {
  readonly type: string
  /** Empty for ONNX's own operators. */
  readonly domain: string
}

/**
 * The attributes that are floats in each operator of ONNX that has them, in all versions (from onnx 1.23's schemas;
 * `seed`: see below).
 */
const floatAttributes: ReadonlySet<string> = new Set(
  (
    'activation_alpha activation_beta alpha beta bias clip cubic_coeff_a epsilon extrapolation_value gamma height_scale high lambd low max ' +
    'mean min momentum ratio scale scales softcap spatial_scale value_float value_floats weights width_scale'
  ).split(' '),
)

function isFloatAttribute(operator: Operator, name: string): boolean {
  if (operator.domain !== '') return false
  // The one name with two kinds: an int in Dropout, a float in Bernoulli, Multinomial and Random….
  return name === 'seed' ? operator.type !== 'Dropout' : floatAttributes.has(name)
}

const utf8 = new TextEncoder()

/**
 * An attribute as ONNX stores it. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a value that no attribute can
 * have.
 */
export function attributeToProto(operator: Operator, name: string, value: AttributeValue): AttributeProto {
  const what = `attribute ${name} of ${operator.type}`
  const floating = value instanceof FloatAttribute || isFloatAttribute(operator, name)
  const plain = value instanceof FloatAttribute ? value.value : value
  const isList = Array.isArray(plain)
  const values = (isList ? plain : [plain]) as readonly Element[]
  const kinds = values.map((each, i) => kindOf(isList ? `${what}, element ${i}` : what, each, floating))
  const [kind = floating ? 'float' : 'int'] = kinds
  const odd = kinds.findIndex((other) => other !== kind)
  if (odd !== -1) throw expected(`elements of one kind (${kind})`, what, values[odd])
  return create(AttributeProtoSchema, { name, ...contentOf[kind](values, isList) })
}

/** The content of an attribute that is a list, or one value. */
const contentOf = {
  float: (values: readonly Element[], isList: boolean) => {
    const floats = values as number[]
    return isList ? { type: attributeTypes.FLOATS, floats } : { type: attributeTypes.FLOAT, f: floats[0]! }
  },
  int: (values: readonly Element[], isList: boolean) => {
    const ints = (values as (number | bigint)[]).map(BigInt)
    return isList ? { type: attributeTypes.INTS, ints } : { type: attributeTypes.INT, i: ints[0]! }
  },
  string: (values: readonly Element[], isList: boolean) => {
    const strings = (values as string[]).map((value) => utf8.encode(value))
    return isList ? { type: attributeTypes.STRINGS, strings } : { type: attributeTypes.STRING, s: strings[0]! }
  },
  tensor: (values: readonly Element[], isList: boolean) => {
    const tensors = (values as Tensor[]).map((value) => tensorToProto(value))
    return isList ? { type: attributeTypes.TENSORS, tensors } : { type: attributeTypes.TENSOR, t: tensors[0]! }
  },
}

type Kind = keyof typeof contentOf

/** A node with attributes. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT as {@link attributeToProto} */
export function nodeProto(
  node: Pick<NodeProto, 'name' | 'opType' | 'domain' | 'input' | 'output'>,
  attributes: Attributes,
): NodeProto {
  const operator = { type: node.opType, domain: node.domain }
  const attribute = Object.entries(attributes).map(([name, value]) => attributeToProto(operator, name, value))
  return create(NodeProtoSchema, { ...node, attribute })
}

function kindOf(what: string, value: unknown, floating: boolean): Kind {
  if (typeof value === 'string') return 'string'
  if (value instanceof Tensor) return 'tensor'
  if (typeof value === 'bigint') {
    if (BigInt.asIntN(64, value) !== value) throw expected('an integer of 64 bits', what, value)
    return 'int'
  }
  if (typeof value !== 'number')
    throw expected('a number, bigint, string, Tensor, float(...) or a list of one of these', what, value)
  if (floating) {
    if (Number.isFinite(value) && !Number.isFinite(Math.fround(value)))
      throw expected('a number that a float32 can hold', what, value)
    return 'float'
  }
  if (!Number.isSafeInteger(value))
    throw expected('a safe integer (a bigint for larger ones, float(...) for a float)', what, value)
  return 'int'
}
