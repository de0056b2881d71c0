import type { Color } from './pixels/types.js'
import { isWhole, wholeColor } from './pixels/whole.js'
import type { StepGraph } from './graph.js'
import type { CheckedSteps } from './input.js'

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
