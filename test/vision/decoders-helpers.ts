import type { Test } from 'tap'
import type { Corner } from '../../lib/vision/index.js'

export { Tensor } from '../../lib/index.js'
export * from '../../lib/vision/index.js'

/** The numbers of each box. */
export function rowsOf(values: ArrayLike<number>, width: number): number[][] {
  return Array.from({ length: values.length / width }, (_, row) =>
    Array.from({ length: width }, (_, i) => values[row * width + i]!),
  )
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

/** What of a convex polygon lies to the right of its edges, seen along another's: Sutherland and Hodgman's way. */
function clipped(subject: readonly Corner[], clip: readonly Corner[]): readonly Corner[] {
  return clip.reduce<readonly Corner[]>((points, a, i) => {
    const b = clip[(i + 1) % clip.length]!
    const side = ([x, y]: Corner): number => (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
    return points.flatMap((p, k): Corner[] => {
      const q = points[(k + 1) % points.length]!
      const [sp, sq] = [side(p), side(q)]
      const share = sp / (sp - sq)
      const crossing: Corner[] =
        sp >= 0 === sq >= 0 ? [] : [[p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])]]
      return sp >= 0 ? [p, ...crossing] : crossing
    })
  }, subject)
}

function areaOf(points: readonly Corner[]): number {
  return (
    Math.abs(
      points.reduce(
        (sum, [x, y], i) => sum + x * points[(i + 1) % points.length]![1] - y * points[(i + 1) % points.length]![0],
        0,
      ),
    ) / 2
  )
}

/** Area over area of two convex polygons. */
export function overlapOf(a: readonly Corner[], b: readonly Corner[]): number {
  const shared = areaOf(clipped(a, b))
  return shared / (areaOf(a) + areaOf(b) - shared)
}
