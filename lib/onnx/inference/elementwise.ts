import type { ElementType } from '../element-type.js'
import { broadcast, type Dim, type Known, product, size } from './known.js'
import type { InferredNode, Rule } from './node.js'

const isFloat = (dtype: ElementType | undefined): boolean => dtype === 'float32' || dtype === 'float64'

/** What the first input is. */
const same: Rule = (node) => [{ ...node.input(0), value: undefined }]
const identity: Rule = (node) => [node.input(0)]
const sameAsBool: Rule = (node) => [{ dtype: 'bool', shape: node.input(0).shape }]

/** A number as an element of that type is kept, or nothing where this would be another one. */
function element(dtype: ElementType | undefined, number: number | undefined): Dim {
  if (number === undefined || !Number.isFinite(number)) return undefined
  if (dtype === 'float32') return Math.fround(number)
  if (dtype === 'float64') return number
  return Number.isSafeInteger(number) ? number : undefined
}

type Operation = (a: number, b: number, isFloat: boolean) => number

function folded(
  inputs: readonly Known[],
  dtype: ElementType | undefined,
  count: Dim,
  operation: Operation,
): readonly Dim[] | undefined {
  const [a, b] = inputs.map(({ value }) => value)
  if (inputs.length !== 2 || a === undefined || b === undefined || typeof count !== 'number') return undefined
  // Lists and scalars only: that is what shapes are computed from.
  if (![a, b].every(({ length }) => length === 1 || length === count)) return undefined
  return Array.from({ length: count }, (_, i) => {
    const [x, y] = [a.length === 1 ? a[0] : a[i], b.length === 1 ? b[0] : b[i]]
    return typeof x === 'number' && typeof y === 'number'
      ? element(dtype, operation(x, y, isFloat(dtype)))
      : neutral(operation, x, y)
  })
}

/** A named size stays what it is when it is multiplied by 1, or 0 is added to it. */
function neutral(operation: Operation, a: Dim, b: Dim): Dim {
  if (operation === multiply) return a === 1 ? b : b === 1 ? a : undefined
  if (operation === divide) return b === 1 ? a : undefined
  if (operation === add) return a === 0 ? b : b === 0 ? a : undefined
  if (operation === subtract) return b === 0 ? a : undefined
  if (operation === equal) return equalSizes(a, b)
  return undefined
}

/** Of sizes with names: the same one is equal, and none is below 0. */
function equalSizes(a: Dim, b: Dim): Dim {
  if (typeof a === 'string' && a === b) return 1
  const isBelow =
    [a, b].some((dim) => typeof dim === 'number' && dim < 0) && [a, b].some((dim) => typeof dim === 'string')
  return isBelow ? 0 : undefined
}

const equal: Operation = (a, b) => Number(a === b)
const add: Operation = (a, b) => a + b
const subtract: Operation = (a, b) => a - b
const multiply: Operation = (a, b) => a * b
const divide: Operation = (a, b, float) => (float ? a / b : b === 0 ? NaN : Math.trunc(a / b))

function broadcastShape(node: InferredNode): readonly Dim[] | undefined {
  // Before opset 7 the second input was fitted to the first, by attributes.
  if (node.opset < 7) return node.input(0).shape
  return broadcast(node.inputs.map(({ shape }) => shape))
}

/** @param to the type of what is given, where that is not the inputs' */
function broadcasting(operation?: Operation, to?: ElementType): Rule {
  return (node) => {
    if (node.inputs.length === 0) return []
    const shape = broadcastShape(node)
    const dtype = to ?? node.inputs.find((input) => input.dtype !== undefined)?.dtype
    const value =
      operation && shape && shape.length < 2 ? folded(node.inputs, dtype, product(shape), operation) : undefined
    return [{ dtype, shape, value }]
  }
}

const comparing = (operation?: Operation): Rule => broadcasting(operation, 'bool')

const power: Rule = (node) => [{ dtype: node.input(0).dtype, shape: broadcastShape(node) }]

const where: Rule = (node) => {
  const [condition, a, b] = [node.input(0), node.input(1), node.input(2)]
  const shape = broadcast([condition.shape, a.shape, b.shape])
  const count = shape && shape.length < 2 ? product(shape) : undefined
  return [
    {
      dtype: a.dtype ?? b.dtype,
      shape,
      value: typeof count === 'number' ? chosen(condition.value, a.value, b.value, count) : undefined,
    },
  ]
}

function chosen(
  condition: Known['value'],
  a: Known['value'],
  b: Known['value'],
  count: number,
): readonly Dim[] | undefined {
  const lists = [condition, a, b]
  if (lists.some((list) => list !== undefined && list.length !== 1 && list.length !== count) || condition === undefined)
    return undefined
  const at = (list: Known['value'], i: number): Dim => (list?.length === 1 ? list[0] : list?.[i])
  return Array.from({ length: count }, (_, i) => {
    const truth = at(condition, i)
    return typeof truth === 'number' ? at(truth !== 0 ? a : b, i) : undefined
  })
}

function rounding(round: (number: number) => number): Rule {
  return (node) => {
    const { dtype, shape, value } = node.input(0)
    return [{ dtype, shape, value: value?.map((number) => (typeof number === 'number' ? round(number) : undefined)) }]
  }
}

const cast: Rule = (node) => [castTo(node.input(0), node.elementType('to'))]

const castLike: Rule = (node) => [castTo(node.input(0), node.input(1).dtype)]

const foldedTypes: ReadonlySet<ElementType | undefined> = new Set(['int32', 'int64', 'float32', 'float64'])

function castTo({ shape, value }: Known, dtype: ElementType | undefined): Known {
  if (value === undefined || !foldedTypes.has(dtype)) return { dtype, shape }
  const converted = (number: Dim): Dim => {
    if (typeof number !== 'number') return number
    if (isFloat(dtype)) return element(dtype, number)
    const whole = Math.trunc(number)
    return dtype === 'int32' && size(Math.abs(whole)) !== undefined && Math.abs(whole) >= 2 ** 31 ? undefined : whole
  }
  return { dtype, shape, value: value.map(converted) }
}

const sameNames =
  'Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Celu Clip Cos Cosh CumSum Elu Erf Exp Gelu GroupNormalization HardSigmoid HardSwish Hardmax ' +
  'InstanceNormalization LRN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not PRelu RMSNormalization Reciprocal Relu ' +
  'ReverseSequence Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu'

export const elementwise: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(sameNames.split(' ').map((name) => [name, same])),
  Identity: identity,
  IsInf: sameAsBool,
  IsNaN: sameAsBool,
  Dropout: (node) => [
    same(node)[0],
    { dtype: node.opset < 10 ? node.input(0).dtype : 'bool', shape: node.input(0).shape },
  ],
  Add: broadcasting(add),
  Sub: broadcasting(subtract),
  Mul: broadcasting(multiply),
  Div: broadcasting(divide),
  Max: broadcasting((a, b) => Math.max(a, b)),
  Min: broadcasting((a, b) => Math.min(a, b)),
  ...Object.fromEntries(
    ['Mean', 'Sum', 'Mod', 'BitShift', 'BitwiseAnd', 'BitwiseOr', 'BitwiseXor'].map((name) => [name, broadcasting()]),
  ),
  Pow: power,
  Equal: comparing(equal),
  Greater: comparing((a, b) => Number(a > b)),
  Less: comparing((a, b) => Number(a < b)),
  GreaterOrEqual: comparing((a, b) => Number(a >= b)),
  LessOrEqual: comparing((a, b) => Number(a <= b)),
  And: comparing(),
  Or: comparing(),
  Xor: comparing(),
  Where: where,
  Floor: rounding(Math.floor),
  Ceil: rounding(Math.ceil),
  Round: same,
  Cast: cast,
  CastLike: castLike,
}
