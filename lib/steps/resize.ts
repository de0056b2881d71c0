import { axisOf, type Coordinates, makeTaps, makeWholeTaps, type Taps, type WholeTaps } from './pixels/taps.js'
import type { Layout } from './pixels/layout.js'
import { isWhole, type WholeFilter } from './pixels/filters.js'
import { type Filling, shifted } from './normalize.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'
import { changed, combinedWhole, storedParts } from './weights.js'

/** The opset from which on Resize takes sizes, and pixels by their coordinates. */
const resizeOpset = 11

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
function byResize(
  graph: StepGraph,
  planes: Planes,
  layout: Layout,
  { coordinates }: CheckedSteps,
  filling: Filling,
): string {
  const { image, source, target, width, height } = layout
  const [left, top, sourceWidth, sourceHeight] = source
  const [, , targetWidth, targetHeight] = target
  const { moved, value, back } = shifted(graph, planes, filling)
  const shown = padded(
    graph,
    moved,
    [-left, -top, left + sourceWidth - image.width, top + sourceHeight - image.height],
    value,
  )
  const isResized = sourceWidth !== targetWidth || sourceHeight !== targetHeight
  const resized = isResized
    ? resizedTo(graph, shown, graph.ints([targetHeight]), graph.ints([targetWidth]), coordinates)
    : shown
  const around = [target[0], target[1], width - target[0] - targetWidth, height - target[1] - targetHeight] as const
  if (filling.after) return padded(graph, filling.finish(resized), around, 0)
  return filling.finish(back(padded(graph, resized, around, value)))
}

/**
 * A Resize of [N, C, height, width] to a height and a width, each stored or computed (one int64). All sizes are given:
 * a scale of float32 could make them one less.
 */
export function resizedTo(
  graph: StepGraph,
  planes: Planes,
  height: string,
  width: string,
  coordinates: Coordinates,
): Planes {
  const sizes = graph.concat([graph.slice(graph.shapeOf(planes), 0, 0, 2), height, width], 0)
  // optional only from opset 13 on
  const none = graph.opset < 13 ? graph.floats([]) : ''
  return graph.node('Resize', [planes, none, none, sizes], {
    mode: 'linear',
    coordinate_transformation_mode: coordinates,
  })
}

/** Pads, or crops where a number is negative: left, above, right, below. */
function padded(
  graph: StepGraph,
  planes: Planes,
  [left, top, right, below]: readonly [number, number, number, number],
  value: number,
): Planes {
  if (left === 0 && top === 0 && right === 0 && below === 0) return planes
  return graph.node('Pad', [planes, graph.ints([0, 0, top, left, 0, 0, below, right]), graph.float(value)], {
    mode: 'constant',
  })
}

/** Any filter, in any opset: the weights of rows and columns as matrices. */
function byWeights(graph: StepGraph, planes: Planes, layout: Layout, steps: CheckedSteps, filling: Filling): string {
  const { filter, round } = steps
  if (isWhole(filter, round)) return byWholeWeights(graph, planes, layout, filter, filling)
  const { fill, after, finish } = filling
  const tapsOf = (side: Side): Taps => makeTaps(axisOf(layout, side), steps.filter, steps.coordinates)
  const [columns, rows] = [tapsOf('width'), tapsOf('height')]
  const [across, down] = [matrixOf(columns, layout, 'width'), matrixOf(rows, layout, 'height')]
  const sums = combined(graph, planes, graph.floats(down.matrix, down.shape), graph.floats(across.matrix, across.shape))
  if (isFull(columns) && isFull(rows)) return finish(sums)
  if (after) return graph.mul(finish(sums), seen(graph, columns, rows))
  /** 1 where the picture is, by what of each row and column lies in it. */
  const covered = (taps: Taps): Float32Array => taps.outside.map((outside) => 1 - outside)
  const shown = graph.mul(
    graph.floats(covered(rows), [layout.height, 1]),
    graph.floats(covered(columns), [1, layout.width]),
  )
  const filled = graph.mul(graph.sub(graph.float(1), shown), graph.floats(fill, [1, 3, 1, 1]))
  return finish(graph.add(sums, filled))
}

function isFull({ outside }: Taps | WholeTaps): boolean {
  return outside.every((each) => each === 0)
}

/** 1 where a pixel of the picture lies, else 0. */
function seen(graph: StepGraph, columns: Taps | WholeTaps, rows: Taps | WholeTaps): string {
  const flags = ({ outputs, begin, end }: Taps | WholeTaps) =>
    Float32Array.from({ length: outputs }, (_, i) => (i >= begin && i < end ? 1 : 0))
  return graph.mul(graph.floats(flags(rows), [rows.outputs, 1]), graph.floats(flags(columns), [1, columns.outputs]))
}

/** As PIL, with the fill as if it were pixels of the picture. */
function byWholeWeights(
  graph: StepGraph,
  planes: Planes,
  layout: Layout,
  filter: WholeFilter,
  { fill, after, finish }: Filling,
): string {
  const axis = (side: Side) => {
    const taps = makeWholeTaps(axisOf(layout, side), filter)
    const { matrix, shape } = matrixOf(taps, layout, side)
    const weights = storedParts(graph, matrix, shape)
    if (isFull(taps)) return { taps, weights }
    const color = graph.floats(fill, [1, 3, 1, 1])
    const beyond = side === 'width' ? [1, layout.width] : [layout.height, 1]
    const outside = storedParts(graph, Float32Array.from(taps.outside), beyond)
    return { taps, weights, filled: changed(outside, (part) => graph.mul(part, color)) }
  }
  const [across, down] = [axis('width'), axis('height')]
  const values = finish(combinedWhole(graph, planes, down, across))
  const isWholePicture = isFull(across.taps) && isFull(down.taps)
  return after && !isWholePicture ? graph.mul(values, seen(graph, across.taps, down.taps)) : values
}

/** Rows are added up first, as the host does. */
export function combined(graph: StepGraph, planes: Planes, down: string, across: string): Planes {
  return graph.node('MatMul', [graph.node('MatMul', [down, planes]), across])
}

type Side = 'width' | 'height'

/** The weights of an axis: of the height [outputs, pixels], of the width turned. */
function matrixOf(
  { outputs, begin, end, taps, first, weights }: Taps | WholeTaps,
  { image }: Layout,
  side: Side,
): { readonly matrix: Float32Array; readonly shape: readonly number[] } {
  const pixels = image[side]
  const isTurned = side === 'width'
  const matrix = new Float32Array(outputs * pixels)
  for (let output = begin; output < end; output++) {
    for (let tap = 0; tap < taps; tap++) {
      const pixel = first[output]! + tap
      if (pixel < pixels)
        matrix[isTurned ? pixel * outputs + output : output * pixels + pixel] = weights[output * taps + tap]!
    }
  }
  return { matrix, shape: isTurned ? [pixels, outputs] : [outputs, pixels] }
}
