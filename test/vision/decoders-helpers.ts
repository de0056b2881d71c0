import type { Test } from 'tap'

export { Tensor } from '../../lib/index.js'
export * from '../../lib/vision/index.js'

/** The numbers of each box. */
export function rowsOf(values: ArrayLike<number>, width: number): number[][] {
  return Array.from({ length: values.length / width }, (_, row) => Array.from({ length: width }, (_, i) => values[row * width + i]!))
}

/** The same numbers but for rounding; by `tolerance`, as float32 has them unless told otherwise. */
export function close(t: Test, found: ArrayLike<number>, wanted: ArrayLike<number>, tolerance = 1e-6): void {
  const off = Array.from(wanted, (value, i) => Math.abs(value - (found[i] ?? NaN)))
  const worst = Math.max(0, ...off)
  t.ok(found.length === wanted.length && worst <= tolerance, `within ${tolerance}`, {
    worst,
    found: Array.from(found).slice(0, 12),
    wanted: Array.from(wanted).slice(0, 12),
  })
}

/** What a sigmoid makes this probability of. */
export function logit(probability: number): number {
  return Math.log(probability / (1 - probability))
}
