import { broadcast, type Dim, type Known, mostElements, product, readNumbers, size, typeOf } from './known.js'
import { axesOf, needed, reshaped, type Rule } from './node.js'

const shapeOf: Rule = (node) => {
  const { shape } = node.input(0)
  if (shape === undefined) return [{ dtype: 'int64', shape: [undefined] }]
  const value = shape.slice(node.int('start', 0), node.int('end'))
  return [{ dtype: 'int64', shape: [value.length], value }]
}

const sizeOf: Rule = (node) => {
  const { shape } = node.input(0)
  return [{ dtype: 'int64', shape: [], value: shape && [product(shape)] }]
}

const constant: Rule = (node) => {
  const tensor = node.tensor('value')
  if (tensor) return [{ ...typeOf(tensor), value: readNumbers(tensor) }]
  const [float, int] = [node.float('value_float'), node.int('value_int')]
  if (float !== undefined) return [{ dtype: 'float32', shape: [], value: [float] }]
  if (int !== undefined) return [{ dtype: 'int64', shape: [], value: [int] }]
  const [floats, ints] = [node.floats('value_floats'), node.ints('value_ints')]
  const list = floats ?? ints
  return list ? [{ dtype: floats ? 'float32' : 'int64', shape: [list.length], value: list }] : []
}

const constantOfShape: Rule = (node) => {
  const shape = node.input(0).value ?? unknownDims(node.input(0))
  const tensor = node.tensor('value')
  const dtype = tensor ? typeOf(tensor).dtype : 'float32'
  const [element] = tensor ? (readNumbers(tensor) ?? []) : [0]
  const count = shape && product(shape)
  const isShort = typeof count === 'number' && count <= mostElements
  return [{ dtype, shape, value: isShort ? Array.from({ length: count }, () => element) : undefined }]
}

/** As many dimensions as a list of sizes has. */
function unknownDims({ shape }: Known): readonly Dim[] | undefined {
  const rank = shape?.[0]
  return typeof rank === 'number' && rank <= mostElements ? Array.from({ length: rank }, () => undefined) : undefined
}

const range: Rule = (node) => {
  const { dtype } = node.input(0)
  const [start, limit, step] = [0, 1, 2].map((i) => node.numbers(i)?.[0])
  if (start === undefined || limit === undefined || step === undefined || step === 0)
    return [{ dtype, shape: [undefined] }]
  const length = Math.max(Math.ceil((limit - start) / step), 0)
  const value = length <= mostElements ? Array.from({ length }, (_, i) => start + i * step) : undefined
  return [{ dtype, shape: [length], value: dtype === 'int64' || dtype === 'int32' ? value : undefined }]
}

const expand: Rule = (node) => {
  const { dtype, shape, value } = node.input(0)
  const wanted = node.input(1).value ?? unknownDims(node.input(1))
  const given = broadcast([shape, wanted])
  const count = given && product(given)
  const isRepeated = value?.length === 1 && typeof count === 'number' && count <= mostElements
  return [{ dtype, shape: given, value: isRepeated ? Array.from({ length: count }, () => value[0]) : undefined }]
}

const reshape: Rule = (node) => {
  const { dtype, shape, value } = node.input(0)
  const wanted = node.ints('shape') ?? node.input(1).value
  if (wanted === undefined) return [{ dtype, shape: unknownDims(node.input(1)) }]
  const isZeroKept = node.int('allowzero', 0) !== 0
  const dims = wanted.map((dim, i) => (dim === 0 && !isZeroKept ? shape?.[i] : dim))
  return [{ dtype, shape: dims.map((dim) => (dim === -1 ? rest(shape, dims) : dim)), value }]
}

/**
 * The one dimension of a shape that follows from the others: what is left of the input when the same names and the
 * sizes are taken out of it.
 */
function rest(shape: readonly Dim[] | undefined, dims: readonly Dim[]): Dim {
  if (shape === undefined) return undefined
  const others = dims.filter((dim) => dim !== -1)
  if (others.length !== dims.length - 1) return undefined
  const left = [...shape]
  for (const dim of others) {
    const at = typeof dim === 'string' ? left.indexOf(dim) : -1
    if (at !== -1) left.splice(at, 1)
    else if (typeof dim !== 'number') return undefined
  }
  const divisor = others.reduce<number>((all, dim) => (typeof dim === 'number' ? all * dim : all), 1)
  const names = left.filter((dim) => typeof dim !== 'number')
  const number = left.reduce<number>((all, dim) => (typeof dim === 'number' ? all * dim : all), 1)
  if (divisor === 0 || number === 0 || names.length > 1) return undefined
  if (names.length === 0) return size(number / divisor)
  return number === divisor ? names[0] : undefined
}

const flatten: Rule = (node) => {
  const { dtype, shape } = node.input(0)
  const axis = node.int('axis', 1)
  if (shape === undefined || Math.abs(axis) > shape.length) return [{ dtype, shape: [undefined, undefined] }]
  const at = axis < 0 ? axis + shape.length : axis
  return [{ dtype, shape: [product(shape.slice(0, at)), product(shape.slice(at))] }]
}

const transpose: Rule = (node) => {
  const { dtype, shape } = node.input(0)
  const order = node.ints('perm') ?? shape?.map((_, i) => shape.length - 1 - i)
  if (shape !== undefined && order?.length !== shape.length) return [{ dtype, shape: undefined }]
  return [{ dtype, shape: order?.map((axis) => shape?.[axis]) }]
}

/** Gives the same elements in another shape: values that shapes are computed from stay. */
function relabelled(shapeOf: Parameters<typeof reshaped>[0]): Rule {
  const rule = reshaped(shapeOf)
  return (node) => rule(node).map((known) => known && { ...known, value: node.input(0).value })
}

const squeeze = relabelled((shape, node) => {
  const given = node.list('axes', 1)
  const axes = given && axesOf(given, shape.length)
  // Without axes all that are 1 go: that is to be known of each.
  if (axes === null) shape.forEach((dim) => needed(typeof dim === 'number' ? dim : undefined))
  return shape.filter((dim, axis) => (axes ? !axes.includes(axis) : dim !== 1))
})

const unsqueeze = relabelled((shape, node) => {
  const given = needed(node.list('axes', 1) ?? undefined)
  const rank = shape.length + given.length
  if (rank > mostElements) return undefined
  const axes = axesOf(given, rank)
  let next = 0
  return Array.from({ length: rank }, (_, axis) => (axes.includes(axis) ? 1 : shape[next++]))
})

const oneHot: Rule = (node) => {
  const shape = node.shape(0)
  const axis = node.axis(-1, shape.length + 1)
  const depth = node.input(1).value?.[0]
  return [{ dtype: node.input(2).dtype, shape: [...shape.slice(0, axis), depth, ...shape.slice(axis)] }]
}

const nonZero: Rule = (node) => {
  const rank = node.input(0).shape?.length
  // Of a scalar ONNX and onnxruntime say different things.
  return [{ dtype: 'int64', shape: [rank === 0 ? undefined : rank, undefined] }]
}

/** What makes shapes, and gives values other ones. */
export const shapes: Readonly<Record<string, Rule>> = {
  Shape: shapeOf,
  Size: sizeOf,
  Constant: constant,
  ConstantOfShape: constantOfShape,
  Range: range,
  Expand: expand,
  Reshape: reshape,
  Flatten: flatten,
  Transpose: transpose,
  Squeeze: squeeze,
  Unsqueeze: unsqueeze,
  OneHot: oneHot,
  NonZero: nonZero,
  NonMaxSuppression: () => [{ dtype: 'int64', shape: [undefined, 3] }],
}
