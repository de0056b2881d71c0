import type { Color } from './pixels/types.js'
import { grayWeights, isWhole, wholeColor } from './pixels/filters.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'

/**
 * What becomes of RGB values in the order in which the host does it: rounded, grey, (value - mean) * scale, the
 * channels' order.
 * @param planes [N, 3, height, width]
 * @returns [N, 3 or 1, height, width]
 */
export function normalized(
  graph: StepGraph,
  planes: string,
  { filter, order, round, mean, scale }: CheckedSteps,
): string {
  const channels = round && !isWhole(filter, round) ? graph.roundedByte(planes) : planes
  const values = order === 'GRAY' ? gray(graph, channels, round) : channels
  const perChannel = (factors: Color): string =>
    new Set(factors).size === 1 ? graph.float(factors[0]) : graph.floats(factors, [1, 3, 1, 1])
  const centred = mean.every((each) => each === 0) ? values : graph.sub(values, perChannel(mean))
  const scaled = scale.every((each) => each === 1) ? centred : graph.mul(centred, perChannel(scale))
  return order === 'BGR' ? graph.gather(scaled, [2, 1, 0], 1) : scaled
}

/** Of whole values a whole one, as PIL's convert('L'). */
function gray(graph: StepGraph, planes: string, round: boolean): string {
  const weights = round ? grayWeights : [0.299, 0.587, 0.114]
  const sum = weights
    .map((weight, channel) => graph.mul(graph.gather(planes, [channel], 1), graph.float(weight)))
    .reduce((a, b) => graph.add(a, b))
  return round ? graph.node('Floor', [graph.add(sum, graph.float(0.5))]) : sum
}

/** What is around a picture, and when it comes there. */
export interface Filling {
  readonly fill: Color
  /** Whether what is filled is the number 0 of what {@link finish} gives. */
  readonly after: boolean
  /** From RGB values to the model's numbers. */
  readonly finish: (planes: string) => string
}

/** In front of the resize, 0 of the model's numbers is the mean's colour. */
export function fillingOf(
  { fill, fillAfter, mean, resize, filter, round }: CheckedSteps,
  finish: Filling['finish'],
): Filling {
  const after = fillAfter && resize !== 'padToSquare'
  const color = fillAfter ? mean : fill
  return { fill: isWhole(filter, round) ? wholeColor(color) : color, after, finish }
}

/** One value that planes are padded with, and what is to be added to them afterwards where channels have several. */
export function shifted(
  graph: StepGraph,
  planes: string,
  { fill, after }: Filling,
): { moved: string; value: number; back: (planes: string) => string } {
  if (after || new Set(fill).size === 1) return { moved: planes, value: after ? 0 : fill[0], back: (each) => each }
  const shift = graph.floats(fill, [1, 3, 1, 1])
  return { moved: graph.sub(planes, shift), value: 0, back: (each) => graph.add(each, shift) }
}
