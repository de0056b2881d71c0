import { axisOf, type Dim, either, product } from './known.js'
import { axesOf, needed, reshaped, type Rule } from './node.js'

const concat: Rule = (node) => {
  const { inputs } = node
  const dtype = inputs.find((input) => input.dtype !== undefined)?.dtype
  const shapes = inputs.map(({ shape }) => shape)
  const rank = shapes.find((shape) => shape !== undefined)?.length
  if (rank === undefined || shapes.some((shape) => shape !== undefined && shape.length !== rank))
    return [{ dtype, shape: undefined }]
  // Before opset 4 the axis was 1 where none was given.
  const axis = axisOf(node.int('axis', 1), rank)
  const shape = Array.from({ length: rank }, (_, i) => {
    const dims = shapes.map((one) => one?.[i])
    return i === axis ? sum(dims) : axis === undefined ? undefined : dims.reduce(either)
  })
  const values = inputs.map(({ value }) => value)
  const value =
    rank === 1 && values.every((one) => one !== undefined) && sum(values.map((one) => one.length)) === shape[0]
      ? values.flat()
      : undefined
  return [{ dtype, shape, value }]
}

function sum(dims: readonly Dim[]): Dim {
  if (dims.length === 1) return dims[0]
  return dims.every((dim) => typeof dim === 'number') ? dims.reduce((all, dim) => all + dim, 0) : undefined
}

const split: Rule = (node) => {
  const { dtype, shape, value } = node.input(0)
  const outputs = node.proto.output.length
  if (shape === undefined) return Array.from({ length: outputs }, () => ({ dtype, shape }))
  const axis = node.axis(0, shape.length)
  const sizes = node.list('split', 1) ?? evenly(shape[axis], outputs)
  let at = 0
  return Array.from({ length: outputs }, (_, i) => {
    const size = sizes?.[i]
    const part =
      value !== undefined && size !== undefined && shape.length === 1 ? value.slice(at, at + size) : undefined
    at += size ?? 0
    return { dtype, shape: shape.with(axis, size), value: part }
  })
}

function evenly(dim: Dim, parts: number): readonly number[] | undefined {
  if (typeof dim !== 'number' || parts > dim + 1) return undefined
  const each = Math.ceil(dim / parts)
  return Array.from({ length: parts }, (_, i) => Math.max(Math.min(each, dim - each * i), 0))
}

interface Cut {
  readonly start: number | undefined
  readonly end: number | undefined
  readonly step: number | undefined
}

const slice: Rule = (node) => {
  const { dtype, shape, value } = node.input(0)
  if (shape === undefined) return [{ dtype, shape }]
  const [starts, ends] = [node.ints('starts') ?? node.input(1).value, node.ints('ends') ?? node.input(2).value]
  const count = starts?.length ?? ends?.length
  const axes = node.list('axes', 3) ?? Array.from({ length: Math.min(needed(count), shape.length) }, (_, i) => i)
  const steps = node.has(4) ? node.input(4).value : undefined
  const cuts = new Map<number, Cut>()
  axes.forEach((axis, i) => {
    cuts.set(needed(axisOf(axis, shape.length)), {
      start: numeric(starts?.[i]),
      end: numeric(ends?.[i]),
      step: node.has(4) ? numeric(steps?.[i]) : 1,
    })
  })
  const dims = shape.map((dim, axis) => cutDim(dim, cuts.get(axis)))
  return [{ dtype, shape: dims, value: shape.length === 1 ? cutValue(value, cuts.get(0)) : undefined }]
}

const numeric = (dim: Dim): number | undefined => (Number.isInteger(dim) ? (dim as number) : undefined)

/** Where a cut begins in a dimension of that size, and how much it takes; its end is not taken any more. */
function bounds(size: number, { start, end, step }: Cut): { first: number; length: number; step: number } | undefined {
  if (start === undefined || end === undefined || step === undefined || step === 0) return undefined
  const clamped = (at: number, least: number, most: number): number =>
    Math.min(Math.max(at < 0 ? at + size : at, least), most)
  const isBack = step < 0
  const first = clamped(start, 0, isBack ? size - 1 : size)
  const last = clamped(end, isBack ? -1 : 0, isBack ? size - 1 : size)
  return { first, length: Math.max(Math.ceil((last - first) / step), 0), step }
}

function cutDim(dim: Dim, cut: Cut | undefined): Dim {
  if (cut === undefined) return dim
  if (typeof dim !== 'number') {
    const isWhole = cut.start === 0 && cut.step === 1 && cut.end !== undefined && cut.end >= 2 ** 31 - 1
    return isWhole ? dim : undefined
  }
  return bounds(dim, cut)?.length
}

function cutValue(value: readonly Dim[] | undefined, cut: Cut | undefined): readonly Dim[] | undefined {
  if (value === undefined || cut === undefined) return value
  const range = bounds(value.length, cut)
  return range && Array.from({ length: range.length }, (_, i) => value[range.first + i * range.step])
}

const gather: Rule = (node) => {
  const [{ dtype, shape, value }, indices] = [node.input(0), node.input(1)]
  if (shape === undefined || indices.shape === undefined) return [{ dtype, shape: undefined }]
  const axis = node.axis(0, shape.length)
  const picked =
    shape.length === 1
      ? indices.value?.map((index) => (typeof index === 'number' ? value?.at(index) : undefined))
      : undefined
  const dims = [...shape.slice(0, axis), ...indices.shape, ...shape.slice(axis + 1)]
  return [{ dtype, shape: dims, value: value && picked }]
}

const gatherElements: Rule = (node) => [{ dtype: node.input(0).dtype, shape: node.input(1).shape }]

const gatherND = reshaped((data, node) => {
  const indices = node.shape(1)
  const last = indices.at(-1)
  const from = node.int('batch_dims', 0) + needed(typeof last === 'number' ? last : undefined)
  return from <= data.length ? [...indices.slice(0, -1), ...data.slice(from)] : undefined
})

const tile = reshaped((shape, node) => {
  const repeats = node.input(1).value
  return shape.map((dim, i) => (repeats === undefined ? undefined : product([dim, repeats[i]])))
})

const pad = reshaped((shape, node) => {
  const pads = node.ints('pads') ?? node.ints('paddings') ?? node.input(1).value
  const axes = node.has(3) ? axesOf(needed(node.numbers(3)), shape.length) : shape.map((_, axis) => axis)
  const dims = [...shape]
  axes.forEach((axis, i) => {
    const [before, after] = [pads?.[i], pads?.[i + axes.length]]
    const dim = dims[axis]
    if (before === 0 && after === 0) return
    const isKnown = typeof dim === 'number' && typeof before === 'number' && typeof after === 'number'
    dims[axis] = isKnown ? dim + before + after : undefined
  })
  return dims
})

/** Without `axes` all are reduced, or none. */
const reduce = reshaped((shape, node) => {
  const isKept = node.int('keepdims', 1) !== 0
  if (node.ints('axes') === undefined && node.has(1) && node.numbers(1) === undefined)
    return isKept ? shape.map(() => undefined) : undefined
  const given = node.list('axes', 1) ?? []
  if (given.length > 0) return without(shape, axesOf(given, shape.length), isKept)
  return node.int('noop_with_empty_axes', 0) !== 0 ? shape : without(shape, [...shape.keys()], isKept)
})

function without(shape: readonly Dim[], axes: readonly number[], isKept: boolean): Dim[] {
  const dims = shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim))
  return isKept ? dims : dims.filter((_, axis) => !axes.includes(axis))
}

const argument: Rule = (node) => {
  const { shape } = node.input(0)
  const dims = shape && without(shape, [node.axis(0, shape.length)], node.int('keepdims', 1) !== 0)
  return [{ dtype: 'int64', shape: dims }]
}

const topK: Rule = (node) => {
  const { dtype, shape } = node.input(0)
  const dims = shape?.with(node.axis(-1, shape.length), node.int('k') ?? node.input(1).value?.[0])
  return [
    { dtype, shape: dims },
    { dtype: 'int64', shape: dims },
  ]
}

const reductions = ['L1', 'L2', 'LogSum', 'LogSumExp', 'Max', 'Mean', 'Min', 'Prod', 'Sum', 'SumSquare']

/** What takes parts of values, and puts them together. */
export const parts: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(reductions.map((name) => [`Reduce${name}`, reduce])),
  Concat: concat,
  Split: split,
  Slice: slice,
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherND,
  Tile: tile,
  Pad: pad,
  ArgMax: argument,
  ArgMin: argument,
  TopK: topK,
}
