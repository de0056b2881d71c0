/**
 * Rotated boxes: five numbers each, x and y of the centre, width, height, and the angle in radians, clockwise. They
 * suppress each other by ProbIoU, as ultralytics has it (utils/metrics.py: batch_probiou; utils/nms.py: fast_nms).
 */
import { ranked, type Rivals } from './suppression.js'
import type { Point } from './types.js'

/** What keeps ultralytics' formulas from dividing by 0. */
const epsilon = 1e-7

/** Boxes as normal distributions: their variances along x and y, and the covariance. */
interface Spreads {
  readonly xx: Float64Array
  readonly yy: Float64Array
  readonly xy: Float64Array
}

function spreadsOf(rotated: Float32Array): Spreads {
  const count = rotated.length / 5
  const [xx, yy, xy] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)]
  for (let i = 0; i < count; i++) {
    const [a, b] = [rotated[i * 5 + 2]! ** 2 / 12, rotated[i * 5 + 3]! ** 2 / 12]
    const [cos, sin] = [Math.cos(rotated[i * 5 + 4]!), Math.sin(rotated[i * 5 + 4]!)]
    xx[i] = a * cos * cos + b * sin * sin
    yy[i] = a * sin * sin + b * cos * cos
    xy[i] = (a - b) * cos * sin
  }
  return { xx, yy, xy }
}

export interface RotatedRules {
  readonly iouThreshold: number
  readonly scoreThreshold: number
  readonly maximum: number
}

/**
 * The indices of those that stay, the best first: one falls where a better one of its group, be it that this stays or
 * not, has a ProbIoU with it of `iouThreshold` or more.
 */
export function stayingRotated(
  rotated: Float32Array,
  { scores, groups, groupCount }: Pick<Rivals, 'scores' | 'groups' | 'groupCount'>,
  { iouThreshold, scoreThreshold, maximum }: RotatedRules,
): Int32Array {
  const areClose = closeness(rotated, iouThreshold)
  const better = Array.from({ length: groupCount }, (): number[] => [])
  const kept: number[] = []
  for (const index of ranked(scores, scoreThreshold)) {
    if (kept.length >= maximum) break
    const rivals = better[groups[index]!]!
    if (!rivals.some((rival) => areClose(rival, index))) kept.push(index)
    rivals.push(index)
  }
  return Int32Array.from(kept)
}

/**
 * Whether ProbIoU, 1 - sqrt(1 - exp(-distance) + epsilon), reaches the threshold: whether Bhattacharyya's distance is
 * small enough. Most boxes are too far apart for that, as a bound of their centres' part says.
 */
function closeness(rotated: Float32Array, threshold: number): (i: number, j: number) => boolean {
  const { xx, yy, xy } = spreadsOf(rotated)
  const most = -Math.log(1 + epsilon - (1 - threshold) ** 2)
  return (i, j) => {
    const [x, y] = [rotated[j * 5]! - rotated[i * 5]!, rotated[i * 5 + 1]! - rotated[j * 5 + 1]!]
    const [a, b, c] = [xx[i]! + xx[j]!, yy[i]! + yy[j]!, xy[i]! + xy[j]!]
    if (x * x + y * y > 4 * most * (a + b) + 1) return false
    const shared = a * b - c * c
    const centres = (0.25 * (a * y * y + b * x * x) + 0.5 * c * x * y) / (shared + epsilon)
    if (centres > most) return false
    const own = Math.max(0, xx[i]! * yy[i]! - xy[i]! ** 2) * Math.max(0, xx[j]! * yy[j]! - xy[j]! ** 2)
    const forms = 0.5 * Math.log(shared / (4 * Math.sqrt(own) + epsilon) + epsilon)
    return Math.max(epsilon, centres + forms) <= most
  }
}

/**
 * The corners of the rotated box at this place, the first of them that which is the upper left one before it is turned,
 * by less than a right angle, clockwise: upper left, upper right, lower right, lower left.
 */
export function cornersOf(rotated: Float32Array, place: number): readonly [Point, Point, Point, Point] {
  const [x, y, w, h, given] = rotated.subarray(place * 5, place * 5 + 5) as unknown as Numbers
  const angle = within(given, Math.PI)
  // turned by a right angle more it is the same box with its sides changed
  const [width, height] = angle >= Math.PI / 2 ? [h, w] : [w, h]
  const turn = within(given, Math.PI / 2)
  const [cos, sin] = [Math.cos(turn) / 2, Math.sin(turn) / 2]
  const corner = (right: 1 | -1, down: 1 | -1): Point => [
    x + right * width * cos - down * height * sin,
    y + right * width * sin + down * height * cos,
  ]
  return [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)]
}

type Numbers = [x: number, y: number, width: number, height: number, angle: number]

/** From 0 to below `range`. */
function within(angle: number, range: number): number {
  return angle - Math.floor(angle / range) * range
}
