import type { Box, Point } from './types.js'

/** From one plane to another: x' = a x + b y + c, y' = d x + e y + f. */
export type Affine = readonly [a: number, b: number, c: number, d: number, e: number, f: number]

export function applied([a, b, c, d, e, f]: Affine, [x, y]: Point): Point {
  return [a * x + b * y + c, d * x + e * y + f]
}

export function inverse([a, b, c, d, e, f]: Affine): Affine {
  const determinant = a * e - b * d
  const [p, q, r, s] = [e / determinant, -b / determinant, -d / determinant, a / determinant]
  return [p, q, -(p * c + q * f), r, s, -(r * c + s * f)]
}

/** The upright box around what becomes of a box. */
export function boundsOf(affine: Affine, [x, y, width, height]: Box): Box {
  const corners: readonly Point[] = [
    [x, y],
    [x + width, y],
    [x, y + height],
    [x + width, y + height],
  ]
  const points = corners.map((corner) => applied(affine, corner))
  const left = Math.min(...points.map(([px]) => px))
  const top = Math.min(...points.map(([, py]) => py))
  return [left, top, Math.max(...points.map(([px]) => px)) - left, Math.max(...points.map(([, py]) => py)) - top]
}

/**
 * What turns, scales and moves some points nearest to others, by least squares; never mirrored.
 * @returns nothing where the points are all one
 * @see https://web.stanford.edu/class/cs273/refs/umeyama.pdf
 */
export function similarity(from: readonly Point[], to: readonly Point[]): Affine | undefined {
  const [fromX, fromY] = meanOf(from)
  const [toX, toY] = meanOf(to)
  let [size, along, across] = [0, 0, 0]
  from.forEach(([px, py], i) => {
    const [x, y] = [px - fromX, py - fromY]
    const [u, v] = [to[i]![0] - toX, to[i]![1] - toY]
    size += x * x + y * y
    along += x * u + y * v
    across += x * v - y * u
  })
  const [a, d] = [along / size, across / size]
  if (!Number.isFinite(a) || !Number.isFinite(d) || (a === 0 && d === 0)) return undefined
  return [a, -d, toX - a * fromX + d * fromY, d, a, toY - d * fromX - a * fromY]
}

function meanOf(points: readonly Point[]): Point {
  const sum = (axis: 0 | 1): number => points.reduce((total, point) => total + point[axis], 0) / points.length
  return [sum(0), sum(1)]
}
