/**
 * Resizes whose results are whole values of 0 to 255, to the last one as PIL makes them: columns, rounded, then rows;
 * weights in whole numbers; halves are rounded up.
 */
import type { Filter } from './filters.js'
import type { Color } from './types.js'

export type WholeFilter = Exclude<Filter, 'linear' | 'nearest'>

/** Whether a resize is one of them; of `nearest` there is nothing to round. */
export function isWhole(filter: Filter, round: boolean): filter is WholeFilter {
  return round && filter !== 'linear' && filter !== 'nearest'
}

/** What PIL counts weights in: sums of bytes then fit 32 bits. */
export const wholeUnit = 2 ** 22

/**
 * What red, green and blue weigh in a whole grey, as PIL's convert('L') has it: (19595 R + 38470 G + 7471 B + 32768) >>
 * 16, which float32 holds exactly.
 */
export const grayWeights = [19595 / 65536, 38470 / 65536, 7471 / 65536] as const

/** The nearest colour of whole values. */
export function wholeColor(color: Color): Color {
  const [red, green, blue] = color
  const whole = (value: number): number => Math.floor(value + 0.5)
  return [whole(red), whole(green), whole(blue)]
}
