/**
 * Pictures whose size is known only when the model runs: the geometry of pixels/layout.ts in nodes, exact, on int64
 * of one element each.
 */
import type { Size } from './pixels/types.js'
import { isWhole } from './pixels/filters.js'
import { type Filling, shifted } from './normalize.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'
import { combined, resizedTo } from './resize.js'
import { changed, combinedWhole, computedParts, weightsBetween, wholeWeightsBetween } from './weights.js'
import type { Rounding } from './pixels/layout.js'

/** What is computed on sizes; each value is an int64 [1]. */
interface Sides {
  readonly width: string
  readonly height: string
}

/** The opset from which on sizes can be computed as here: Pad, Slice, Resize, Range. */
export const dynamicOpset = 12

/**
 * Lays pictures into the input, as the model's numbers.
 * @param planes [N, 3, height, width] of any height and width
 */
export function laidDynamic(
  graph: StepGraph,
  planes: string,
  size: Size,
  steps: CheckedSteps,
  filling: Filling,
): string {
  const { inner, around } = laidBy[steps.resize](graph, planes, size, steps, filling)
  if (around === undefined) return filling.finish(inner)
  if (filling.after) return padded(graph, filling.finish(inner), around, 0)
  return filling.finish(filledAround(graph, inner, around, filling))
}

/** What is seen of the picture, and what stands around it. */
interface Laid {
  readonly inner: string
  readonly around?: Padding | undefined
}

type Lay = (graph: StepGraph, planes: string, size: Size, steps: CheckedSteps, filling: Filling) => Laid

const laidBy: Readonly<Record<CheckedSteps['resize'], Lay>> = {
  stretch: (graph, planes, size, steps) => ({ inner: resized(graph, planes, stored(graph, size), steps) }),
  letterbox: (graph, planes, size, steps) => {
    const sides = letterboxSides(graph, sidesOf(graph, planes), size, steps.rounding)
    const outer = steps.multipleOf === undefined ? stored(graph, size) : filledUp(graph, sides, steps.multipleOf)
    const around = { before: placed(graph, outer, sides, steps.position), outer, inner: sides }
    return { inner: resized(graph, planes, sides, steps), around }
  },
  padToSquare: (graph, planes, size, steps, filling) => {
    const sides = sidesOf(graph, planes)
    const side = graph.node('Max', [sides.width, sides.height])
    const outer = { width: side, height: side }
    const square = filledAround(
      graph,
      planes,
      { before: placed(graph, outer, sides, steps.position), outer, inner: sides },
      filling,
    )
    return { inner: resized(graph, square, stored(graph, size), steps) }
  },
  centerCrop: (graph, planes, size, steps) => {
    const sides = croppedFrom(graph, sidesOf(graph, planes), steps.shortSide)
    const whole = steps.shortSide === undefined ? planes : resized(graph, planes, sides, steps)
    return centred(graph, whole, sides, size)
  },
}

function sidesOf(graph: StepGraph, planes: string): Sides {
  const shape = graph.shapeOf(planes)
  return { width: graph.sizeAlong(shape, 3), height: graph.sizeAlong(shape, 2) }
}

function stored(graph: StepGraph, { width, height }: Size): Sides {
  return { width: graph.ints([width]), height: graph.ints([height]) }
}

function resized(graph: StepGraph, planes: string, to: Sides, steps: CheckedSteps): string {
  const { filter, coordinates, round } = steps
  if (filter === 'linear') return resizedTo(graph, planes, to.height, to.width, coordinates)
  const from = sidesOf(graph, planes)
  const turned = (matrix: string): string => graph.transpose(matrix, [1, 0])
  if (isWhole(filter, round)) {
    const weights = (side: keyof Sides) =>
      computedParts(graph, wholeWeightsBetween(graph, from[side], to[side], filter))
    return combinedWhole(graph, planes, { weights: weights('height') }, { weights: changed(weights('width'), turned) })
  }
  // preprocess.ts refuses nearest of a picture whose size is open
  const kernel = filter as Exclude<typeof filter, 'nearest'>
  const weights = (side: keyof Sides): string => weightsBetween(graph, from[side], to[side], kernel)
  return combined(graph, planes, weights('height'), turned(weights('width')))
}

function filledUp(graph: StepGraph, { width, height }: Sides, unit: number): Sides {
  const up = (side: string): string =>
    graph.mul(graph.div(graph.add(side, graph.ints([unit - 1])), graph.ints([unit])), graph.ints([unit]))
  return { width: up(width), height: up(height) }
}

/** What is on the left and above of the inner one. */
function placed(graph: StepGraph, outer: Sides, inner: Sides, position: CheckedSteps['position']): Sides {
  if (position === 'start') return { width: graph.ints([0]), height: graph.ints([0]) }
  const half = (a: string, b: string): string => graph.div(graph.sub(a, b), graph.ints([2]))
  return { width: half(outer.width, inner.width), height: half(outer.height, inner.height) }
}

interface Padding {
  readonly before: Sides
  readonly outer: Sides
  readonly inner: Sides
}

/** In the fill's colour, which Pad has one number for: what is filled with 0 is moved by it. */
function filledAround(graph: StepGraph, planes: string, around: Padding, filling: Filling): string {
  const { moved, value, back } = shifted(graph, planes, filling)
  return back(padded(graph, moved, around, value))
}

function padded(graph: StepGraph, planes: string, { before, outer, inner }: Padding, value: number): string {
  const after = (side: keyof Sides): string => graph.sub(graph.sub(outer[side], inner[side]), before[side])
  const none = graph.ints([0, 0])
  const pads = graph.concat([none, before.height, before.width, none, after('height'), after('width')], 0)
  return graph.node('Pad', [planes, pads, graph.float(value)], { mode: 'constant' })
}

/** As torchvision's Resize: the longer side is rounded down. */
function croppedFrom(graph: StepGraph, { width, height }: Sides, shortSide: number | Size | undefined): Sides {
  if (shortSide === undefined) return { width, height }
  if (typeof shortSide === 'object') return stored(graph, shortSide)
  const side = graph.ints([shortSide])
  const scaled = (long: string, short: string): string => graph.div(graph.mul(side, long), short)
  const shorter = graph.node('Min', [width, height])
  // where they are equal, either is the side itself
  return { width: scaled(width, shorter), height: scaled(height, shorter) }
}

/** The middle, filled around where it is smaller: what goes off is half of what is too much, halves to even. */
function centred(graph: StepGraph, planes: string, sides: Sides, size: Size): Laid {
  const zero = graph.ints([0])
  const two = graph.ints([2])
  const outer = stored(graph, size)
  let cut = planes
  const axes = { width: 3, height: 2 } as const
  const inner = { ...sides }
  for (const side of ['width', 'height'] as const) {
    const excess = graph.max(graph.sub(sides[side], outer[side]), zero)
    const half = graph.div(excess, two)
    const isOdd = (number: string, halved: string): string => graph.sub(number, graph.mul(halved, two))
    const start = graph.add(half, graph.mul(isOdd(excess, half), isOdd(half, graph.div(half, two))))
    cut = graph.slice(cut, axes[side], start, graph.add(start, outer[side]))
    inner[side] = graph.min(sides[side], outer[side])
  }
  return { inner: cut, around: { before: placed(graph, outer, inner, 'center'), outer, inner } }
}

/**
 * The sides of a letterboxed picture, as JavaScript's float64 (and Python's) computes them, in whole numbers: a side x
 * becomes x * (S / d), rounded, where S / d is the input's side over the picture's, the smaller of the two. The exact
 * quotient says the rounding, but for sides where it lies on the very edge between two results: there it counts that S
 * / d was rounded to 53 bits (154 * (320 / 154) is 319.99999999999994), and there it is followed. No value is beyond
 * 2^53.
 */
export function letterboxSides(graph: StepGraph, { width, height }: Sides, size: Size, rounding: Rounding): Sides {
  const [most, tallest] = [graph.ints([size.width]), graph.ints([size.height])]
  // the input's height over the picture's is the smaller one
  const byHeight = graph.less(graph.mul(tallest, width), graph.mul(most, height))
  const input = graph.where(byHeight, tallest, most)
  const picture = graph.where(byHeight, height, width)
  const error = quotientError(graph, input, picture)
  const scaled = (side: string): string =>
    graph.max(scaledSide(graph, side, { input, picture, error }, rounding), graph.ints([1]))
  return { width: scaled(width), height: scaled(height) }
}

interface Scale {
  readonly input: string
  readonly picture: string
  readonly error: string
}

/** Sides are at most 2^20 (`longest`). */
const bits = 20
const powers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => 2 ** (from + i))

/** 2^exponent, of an exponent from 0 to 40. */
function powerOf(graph: StepGraph, exponent: string): string {
  return graph.node('Gather', [graph.ints(powers(0, 2 * bits)), exponent], { axis: 0 })
}

/** The number of powers 2^1 … 2^20 that `a` is at least, times b. */
function exponentUp(graph: StepGraph, a: string, b: string): string {
  return counted(graph, graph.node('Not', [graph.less(a, graph.mul(b, graph.ints(powers(1, bits))))]))
}

function counted(graph: StepGraph, flags: string): string {
  return graph.cast(graph.reduceSum(graph.cast(flags, 'float32'), [0]), 'int64')
}

/** e of 2^e <= a / b < 2^(e + 1). */
function exponent(graph: StepGraph, a: string, b: string): string {
  const below = graph.less(graph.mul(a, graph.ints(powers(0, bits))), b)
  return graph.sub(exponentUp(graph, a, b), counted(graph, below))
}

/**
 * r = input * 2^k - picture * M, where M is the whole number of 53 bits that stands for input / picture in float64,
 * times 2^k: half of `picture` at most. Where it is positive, the float64 is too small.
 */
function quotientError(graph: StepGraph, input: string, picture: string): string {
  const more = graph.sub(graph.ints([2 * bits]), exponent(graph, input, picture))
  const power = powerOf(graph, graph.sub(more, graph.ints([bits])))
  const step = (value: string, factor: string): string => rest(graph, graph.mul(value, factor), picture)
  // 2^k = 2^12 * 2^20 * 2^(20 - e), one after the other, so that nothing is beyond int64
  const remainder = step(step(step(input, graph.ints([2 ** 12])), graph.ints([2 ** bits])), power)
  const isLarge = graph.less(picture, graph.mul(remainder, graph.ints([2])))
  return graph.sub(remainder, graph.mul(graph.cast(isLarge, 'int64'), picture))
}

function rest(graph: StepGraph, value: string, divisor: string): string {
  return graph.sub(value, graph.mul(graph.div(value, divisor), divisor))
}

function scaledSide(graph: StepGraph, side: string, scale: Scale, rounding: Rounding): string {
  const { picture } = scale
  const product = graph.mul(side, scale.input)
  const whole = graph.div(product, picture)
  const left = rest(graph, product, picture)
  if (rounding === 'down')
    return graph.sub(whole, onEdge(graph, left, graph.ints([0]), moved(graph, side, scale, product, -1)))
  const two = graph.ints([2])
  const twice = graph.mul(left, two)
  const above = graph.cast(graph.less(picture, twice), 'int64')
  const isBelow = moved(graph, side, scale, product, -1)
  const up =
    rounding === 'nearest'
      ? not(graph, isBelow)
      : tieToEven(graph, whole, isBelow, moved(graph, side, scale, product, 1))
  return graph.add(graph.add(whole, above), onEdge(graph, twice, picture, up))
}

/** `value` where both are equal, else 0. */
function onEdge(graph: StepGraph, a: string, b: string, value: string): string {
  return graph.mul(graph.cast(graph.equal(a, b), 'int64'), value)
}

function not(graph: StepGraph, flag: string): string {
  return graph.sub(graph.ints([1]), flag)
}

/** 1 where a half becomes the number above: that was moved there, or is even and was not moved. */
function tieToEven(graph: StepGraph, whole: string, isBelow: string, isAbove: string): string {
  const isOdd = rest(graph, whole, graph.ints([2]))
  return graph.max(isAbove, graph.mul(not(graph, isBelow), isOdd))
}

/**
 * 1 where side * float64(S / d) in float64 is less (or greater) than the exact v = side * S / d, which it can hold:
 * where side * error / (d * 2^k) is more than half of the distance to the next float64 that way, 2^(E - 53) with 2^E <=
 * v < 2^(E + 1), or half of that below v = 2^E.
 */
function moved(graph: StepGraph, side: string, { input, picture, error }: Scale, product: string, way: 1 | -1): string {
  const difference = graph.sub(exponent(graph, product, picture), exponent(graph, input, picture))
  const spacing = graph.mul(picture, powerOf(graph, difference))
  const change = graph.mul(graph.mul(side, error), graph.ints([way === 1 ? -2 : 2]))
  if (way === 1) return graph.cast(graph.less(spacing, change), 'int64')
  const power = powerOf(graph, graph.max(exponent(graph, product, picture), graph.ints([0])))
  const isPower = graph.cast(graph.equal(graph.mul(power, picture), product), 'int64')
  return graph.cast(graph.less(spacing, graph.mul(change, graph.add(graph.ints([1]), isPower))), 'int64')
}
