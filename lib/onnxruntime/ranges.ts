/** Ranges of the shapes that runs came with, as onnxruntime's TensorRT provider keeps them, and how they grow. */
import type { ProfileShapes } from '../backend/backend.js'
import { isWithinRange } from '../base/dims.js'

/** By input: the shapes that an engine is for; of a shape tensor, whose values decide other shapes, its values. */
export type Range = Readonly<Record<string, ProfileShapes>>

/** What one run has of these: shapes, or values, by input. */
export type Sizes = ReadonlyMap<string, readonly number[]>

/** Whether a run's inputs lie in a range. */
export function covers(range: Range, sizes: Sizes): boolean {
  return [...sizes].every(([name, size]) => range[name] !== undefined && isWithinRange(size, range[name]))
}

/**
 * The least range that has another one and what runs came with in it. The best sizes are all of one run, the largest:
 * the largest of each input, which onnxruntime takes, may contradict each other, and TensorRT refuses such.
 */
export function widened(range: Range | undefined, runs: readonly Sizes[]): Range {
  const all =
    range === undefined ? runs : [...runs, sizesOf(range, 'opt'), sizesOf(range, 'min'), sizesOf(range, 'max')]
  const best = (range === undefined ? runs : [sizesOf(range, 'opt'), ...runs]).reduce((a, b) =>
    elements(b) >= elements(a) ? b : a,
  )
  return Object.fromEntries(
    [...best].map(([name, opt]) => {
      const extreme = (choose: (...sizes: number[]) => number): number[] =>
        opt.map((_, i) => choose(...all.map((sizes) => sizes.get(name)?.[i] ?? 0)))
      return [name, { min: extreme(Math.min), opt, max: extreme(Math.max) }]
    }),
  )
}

function sizesOf(range: Range, which: keyof ProfileShapes): Sizes {
  return new Map(Object.entries(range).map(([name, shapes]) => [name, shapes[which]]))
}

function elements(sizes: Sizes): number {
  return [...sizes.values()].reduce((sum, size) => sum + size.reduce((a, b) => a * b, 1), 0)
}

/**
 * A range that goes on in the direction in which it grew from `before`, so far that what grew the least doubles: what
 * depends on what in a straight line (a mask that is one longer than what is past) still does. Nothing where it did not
 * grow.
 * @param names the inputs that are given shapes, not values
 */
export function extrapolated(before: Range, range: Range, names: readonly string[]): Range | undefined {
  const steps = names.flatMap((name) =>
    (range[name]?.max ?? []).flatMap((size, i) => {
      const old = before[name]?.max[i] ?? size
      return size > old ? [Math.floor(size / (size - old))] : []
    }),
  )
  if (steps.length === 0) return undefined
  const count = Math.min(...steps)
  const further = Object.entries(range).map(([name, { min, opt, max }]): [string, ProfileShapes] => {
    const old = names.includes(name) ? before[name]?.max : undefined
    return [name, { min, opt, max: max.map((size, i) => size + count * (size - (old?.[i] ?? size))) }]
  })
  return Object.fromEntries(further)
}

/** For people: `images 1x3x224x224 to 8x3x224x224`. */
export function rangeText(range: Range): string {
  const sizes = (size: readonly number[]): string => size.join('x')
  return Object.entries(range)
    .map(([name, { min, max }]) =>
      sizes(min) === sizes(max) ? `${name} ${sizes(min)}` : `${name} ${sizes(min)} to ${sizes(max)}`,
    )
    .join(', ')
}
