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

/** The least range that has another one and what runs came with in it. The best sizes are the largest, as there. */
export function widened(range: Range | undefined, runs: readonly Sizes[]): Range {
  const names = [...(runs[0]?.keys() ?? [])]
  return Object.fromEntries(
    names.map((name) => {
      const all = runs.map((sizes) => sizes.get(name) ?? [])
      const own = range?.[name]
      if (own !== undefined) all.push(own.min, own.max)
      const extreme = (choose: (...sizes: number[]) => number): number[] =>
        (all[0] ?? []).map((_, i) => choose(...all.map((size) => size[i] ?? 0)))
      const max = extreme(Math.max)
      return [name, { min: extreme(Math.min), opt: max, max }]
    }),
  )
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
