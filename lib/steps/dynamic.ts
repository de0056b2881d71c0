/**
 * Pictures whose size is known only when the model runs: the geometry of pixels/layout.ts in nodes, exact, on int64
 * of one element each.
 */
import type { Size } from './pixels/types.js'
import { isWhole } from './pixels/whole.js'
import { type Filling, shifted } from './normalize.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'
import { letterboxSides } from './letterbox.js'
import { combined, resizedTo } from './resize.js'
import { changed, combinedWhole, computedParts, weightsBetween, wholeWeightsBetween } from './weights.js'

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
