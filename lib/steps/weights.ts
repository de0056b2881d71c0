import { type Filter, type WholeFilter, wholeUnit } from './pixels/filters.js'
import type { StepGraph } from './graph.js'

/**
 * What each pixel of an axis weighs for each output, where their numbers are known only when the model runs: [outputs,
 * pixels], the rows normalized to 1, as `makeTaps` has them. Distances are whole numbers over one divisor, so that they
 * are as exact as float32 can be.
 * @param from the number of pixels, an int64 [1]
 * @param to the number of outputs, an int64 [1]
 */
export function weightsBetween(
  graph: StepGraph,
  from: string,
  to: string,
  filter: Exclude<Filter, 'linear' | 'nearest'>,
): string {
  const { difference, divisor } = distancesBetween(graph, from, to)
  const distance = graph.node('Abs', [graph.div(difference, divisor)])
  const weights = kernels[filter](graph, distance)
  return graph.div(weights, graph.reduceSum(weights, [1]))
}

/**
 * The same in units of 1 / {@link wholeUnit}, whole numbers of float32, as `makeWholeTaps` has them: those of
 * `triangle` are exact, since they are fractions; of others float32 decides which of two is nearer.
 */
export function wholeWeightsBetween(graph: StepGraph, from: string, to: string, filter: WholeFilter): string {
  if (filter !== 'triangle')
    return rounded(graph, graph.mul(weightsBetween(graph, from, to, filter), graph.float(wholeUnit)))
  const { difference, divisor } = distancesBetween(graph, from, to)
  const heights = graph.max(graph.sub(divisor, graph.node('Abs', [difference])), graph.float(0))
  const sum = graph.cast(graph.reduceSum(heights, [1]), 'int64')
  const twice = graph.mul(graph.cast(heights, 'int64'), graph.ints([2 * wholeUnit]))
  return graph.cast(graph.div(graph.add(twice, sum), graph.mul(sum, graph.ints([2]))), 'float32')
}

/**
 * How far the middles of outputs [outputs, 1] and of pixels [1, pixels] are apart, by whole numbers, and what the
 * number for the distance of two neighbours of the coarser ones is.
 */
function distancesBetween(graph: StepGraph, from: string, to: string): { difference: string; divisor: string } {
  const two = graph.ints([2])
  const middles = (count: string, per: string): string => {
    const each = graph.node('Range', [graph.ints([0], []), graph.squeeze(count, 0), graph.ints([1], [])])
    return graph.mul(graph.add(graph.mul(each, two), graph.ints([1])), per)
  }
  const difference = graph.sub(graph.unsqueeze(middles(from, to), 0), graph.unsqueeze(middles(to, from), 1))
  const divisor = graph.mul(graph.node('Max', [from, to]), two)
  return { difference: graph.cast(difference, 'float32'), divisor: graph.cast(divisor, 'float32') }
}

/** The kernels of lib/steps/pixels/filters.ts. */
const kernels = { triangle, cubic, lanczos } satisfies Record<Exclude<Filter, 'linear' | 'nearest'>, unknown>

function triangle(graph: StepGraph, x: string): string {
  return graph.max(graph.sub(graph.float(1), x), graph.float(0))
}

/** Keys' cubic convolution with a = -0.5, as one polynomial up to 1 and another up to 2. */
function cubic(graph: StepGraph, x: string): string {
  const near = polynomial(graph, graph.min(x, graph.float(1)), [1.5, -2.5, 0, 1])
  const far = polynomial(graph, graph.min(x, graph.float(2)), [-0.5, 2.5, -4, 2])
  return graph.where(graph.less(x, graph.float(1)), near, far)
}

function polynomial(graph: StepGraph, x: string, [first, ...others]: readonly number[]): string {
  let sum = graph.float(first!)
  for (const next of others) sum = graph.add(graph.mul(sum, x), graph.float(next))
  return sum
}

function lanczos(graph: StepGraph, x: string): string {
  const sinc = (value: string): string => {
    const angle = graph.mul(value, graph.float(Math.PI))
    return graph.div(graph.node('Sin', [angle]), angle)
  }
  // 0 is near enough to what is next to it
  const away = graph.max(x, graph.float(1e-6))
  const product = graph.mul(sinc(away), sinc(graph.div(away, graph.float(3))))
  return graph.where(graph.less(x, graph.float(3)), product, graph.float(0))
}

/**
 * Resizes to bytes as the host and PIL make them, to the last one. float32 cannot hold sums of bytes by weights of 22
 * bits, so weights come in two parts whose sums it holds (and TF32 the parts).
 */
const lowUnit = 2 ** 12
const highUnit = wholeUnit / lowUnit

/** Whole numbers, each `high` * {@link lowUnit} + `low`. */
interface Parts {
  readonly high: string
  readonly low: string
}

/** The weights of an axis as a matrix, and what its outputs see of the fill, if anything: it is added to their sums. */
interface WholeAxis {
  readonly weights: Parts
  readonly filled?: Parts | undefined
}

/** Whole numbers that are known, in parts. */
export function storedParts(graph: StepGraph, numbers: Float32Array, shape: readonly number[]): Parts {
  const high = numbers.map((number) => Math.round(number / lowUnit))
  const low = numbers.map((number, i) => number - high[i]! * lowUnit)
  return { high: graph.floats(high, shape), low: graph.floats(low, shape) }
}

/** Whole numbers that are computed, of float32. */
export function computedParts(graph: StepGraph, numbers: string): Parts {
  const high = rounded(graph, graph.mul(numbers, graph.float(1 / lowUnit)))
  return { high, low: graph.sub(numbers, graph.mul(high, graph.float(lowUnit))) }
}

export function changed({ high, low }: Parts, change: (part: string) => string): Parts {
  return { high: change(high), low: change(low) }
}

/** Columns, rounded, then rows. */
export function combinedWhole(graph: StepGraph, planes: string, down: WholeAxis, across: WholeAxis): string {
  const narrow = bytesOf(graph, across, (weights) => graph.node('MatMul', [planes, weights]))
  return bytesOf(graph, down, (weights) => graph.node('MatMul', [weights, narrow]))
}

/** The bytes of the sums that weights come to: a half is added, and what is below a whole one is left off. */
function bytesOf(graph: StepGraph, { weights, filled }: WholeAxis, summed: (weights: string) => string): string {
  const sums = (part: keyof Parts): string => {
    const seen = summed(weights[part])
    return filled === undefined ? seen : graph.add(seen, filled[part])
  }
  const carried = graph.node('Floor', [graph.mul(sums('low'), graph.float(1 / lowUnit))])
  return graph.roundedUpByte(graph.mul(graph.add(sums('high'), carried), graph.float(1 / highUnit)))
}

/** To the nearest, halves up. */
function rounded(graph: StepGraph, values: string): string {
  return graph.node('Floor', [graph.add(values, graph.float(0.5))])
}
