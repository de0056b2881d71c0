import { axisOf, type Coordinates, makeTaps, type Taps } from '../../pixels/taps.js'
import type { Layout } from '../../pixels/layout.js'
import { type Filling, shifted } from './filling.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'

/** The opset from which on Resize takes sizes, and pixels by their coordinates. */
export const resizeOpset = 11

/** Where a picture's values stand: [N, 3, height, width], float32, 0 to 255. */
type Planes = string

/** Whether the picture is as large as the input and lies there as it is. */
function isAsItIs({ image, source, target, width, height }: Layout): boolean {
  const [x, y, w, h] = target
  const isWhole = source[0] === 0 && source[1] === 0 && source[2] === image.width && source[3] === image.height
  return isWhole && x === 0 && y === 0 && w === width && h === height && w === image.width && h === image.height
}

/** Lays pictures of a known size into the input, with the fill around, as the model's numbers. */
export function laid(graph: StepGraph, planes: Planes, layout: Layout, steps: CheckedSteps, filling: Filling): string {
  if (isAsItIs(layout)) return filling.finish(planes)
  return steps.filter === 'linear' && graph.opset >= resizeOpset
    ? byResize(graph, planes, layout, steps, filling)
    : byWeights(graph, planes, layout, steps, filling)
}

/** Four taps. */
function byResize(graph: StepGraph, planes: Planes, layout: Layout, { coordinates }: CheckedSteps, filling: Filling): string {
  const { image, source, target, width, height } = layout
  const [left, top, sourceWidth, sourceHeight] = source
  const [, , targetWidth, targetHeight] = target
  const { moved, value, back } = shifted(graph, planes, filling)
  const shown = padded(graph, moved, [-left, -top, left + sourceWidth - image.width, top + sourceHeight - image.height], value)
  const isResized = sourceWidth !== targetWidth || sourceHeight !== targetHeight
  const resized = isResized ? resizedTo(graph, shown, graph.ints([targetHeight]), graph.ints([targetWidth]), coordinates) : shown
  const around = [target[0], target[1], width - target[0] - targetWidth, height - target[1] - targetHeight] as const
  if (filling.after) return padded(graph, filling.finish(resized), around, 0)
  return filling.finish(back(padded(graph, resized, around, value)))
}

/** A Resize of [N, C, height, width] to a height and a width, each stored or computed (one int64). All sizes are given: a scale of float32 could make them one less. */
export function resizedTo(graph: StepGraph, planes: Planes, height: string, width: string, coordinates: Coordinates): Planes {
  const sizes = graph.concat([graph.slice(graph.node('Shape', [planes]), 0, 0, 2), height, width], 0)
  // optional only from opset 13 on
  const none = graph.opset < 13 ? graph.floats([]) : ''
  return graph.node('Resize', [planes, none, none, sizes], { mode: 'linear', coordinate_transformation_mode: coordinates })
}

/** Pads, or crops where a number is negative: left, above, right, below. */
function padded(
  graph: StepGraph,
  planes: Planes,
  [left, top, right, below]: readonly [number, number, number, number],
  value: number,
): Planes {
  if (left === 0 && top === 0 && right === 0 && below === 0) return planes
  return graph.node('Pad', [planes, graph.ints([0, 0, top, left, 0, 0, below, right]), graph.float(value)], { mode: 'constant' })
}

/** Any filter, in any opset: the weights of rows and columns as matrices. */
function byWeights(graph: StepGraph, planes: Planes, layout: Layout, steps: CheckedSteps, { fill, after, finish }: Filling): string {
  const tapsOf = (side: 'width' | 'height'): Taps => makeTaps(axisOf(layout, side), steps.filter, steps.coordinates)
  const [columns, rows] = [tapsOf('width'), tapsOf('height')]
  const { width, height } = layout.image
  const across = graph.floats(matrixOf(columns, width, true), [width, layout.width])
  const down = graph.floats(matrixOf(rows, height, false), [layout.height, height])
  const sums = combined(graph, planes, down, across, steps)
  const isFull = columns.outside.every((each) => each === 0) && rows.outside.every((each) => each === 0)
  if (isFull) return finish(sums)
  /** 1 where the picture is, by what of each row and column lies in it. */
  const plane = (shareOf: (outside: number) => number): string =>
    graph.mul(graph.floats(rows.outside.map(shareOf), [layout.height, 1]), graph.floats(columns.outside.map(shareOf), [1, layout.width]))
  if (after)
    return graph.mul(
      finish(sums),
      plane((outside) => (outside < 1 ? 1 : 0)),
    )
  const filled = graph.mul(graph.sub(graph.float(1), plane((outside) => 1 - outside)), graph.floats(fill, [1, 3, 1, 1])) // prettier-ignore
  return finish(graph.add(sums, filled))
}

/** Rows are added up first, as the host does; where whole values are wanted of weights below 0, PIL's order counts: columns, rounded, then rows. */
export function combined(graph: StepGraph, planes: Planes, down: string, across: string, { filter, round }: CheckedSteps): Planes {
  if (round && (filter === 'cubic' || filter === 'lanczos'))
    return graph.node('MatMul', [down, graph.roundedByte(graph.node('MatMul', [planes, across]))])
  return graph.node('MatMul', [graph.node('MatMul', [down, planes]), across])
}

/** The weights of an axis: [outputs, pixels], or turned. */
function matrixOf({ outputs, begin, end, taps, first, weights }: Taps, pixels: number, turned: boolean): Float32Array {
  const matrix = new Float32Array(outputs * pixels)
  for (let output = begin; output < end; output++) {
    for (let tap = 0; tap < taps; tap++) {
      const pixel = first[output]! + tap
      if (pixel < pixels) matrix[turned ? pixel * outputs + output : output * pixels + pixel] = weights[output * taps + tap]!
    }
  }
  return matrix
}
