import type { NativeComponents, NativeOutlines } from '../backend/native-vision.js'
import { within } from '../base/cancellation.js'
import { checkedCall, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { jobOf, labelled, type PartOptions, partTable } from './components.js'
import type { Mask } from './mask-data.js'
import { onThread, pixelAddon } from './threads.js'

/** Points [x, y] around an area, the last one joined to the first. */
export type Ring = readonly (readonly [x: number, y: number])[]

/** The outline of one connected part of a mask. */
export interface Polygon {
  /** The outline, clockwise as one sees it. */
  readonly outer: Ring
  /** The outlines of holes, counterclockwise. */
  readonly holes: readonly Ring[]
}

/** Options of {@link polygons}. */
export interface PolygonsOptions extends PartOptions, Abortable {
  /**
   * How far, in pixels, a point that is left out may be from the line that takes its place (Douglas and Peucker);
   * default 0: the exact outline.
   */
  readonly tolerance?: number | undefined
}

const table = {
  ...partTable,
  tolerance: option(is.number(0), 0),
  signal: signalOption,
} satisfies OptionTable<PolygonsOptions>

/**
 * The outlines of a mask's connected parts, in their order ({@link connectedComponents}). They go along the edges of
 * pixels, in whole numbers: pixel (0, 0) alone is [0, 0], [1, 0], [1, 1], [0, 1]. With a tolerance of 0, filling them
 * where pixel centres lie within gives the mask again, exactly. A hole that a tolerance leaves with fewer than three
 * points is left out, an outer ring stays as it was then. With a connectivity of 8 a ring may touch itself at a corner,
 * with 4 it does not.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
 */
export async function polygons(mask: Mask, options?: PolygonsOptions): Promise<Polygon[]> {
  const { signal, tolerance, ...rules } = checkedCall(options, table, 'polygons')
  const job = jobOf(mask, rules)
  return within({ signal }, async (cut) => {
    const parts = (await labelled(job, cut)).length / 7
    const addon = pixelAddon()
    const outlines = addon === undefined ? traceRings(job) : await onThread(async () => addon.traceOutlines(job), cut)
    return polygonsOf(parts, outlines, tolerance)
  })
}

function polygonsOf(count: number, { rings, points }: NativeOutlines, tolerance: number): Polygon[] {
  const polygons = Array.from({ length: count }, () => ({ outer: [] as Ring, holes: [] as Ring[] }))
  for (let i = 0, at = 0; i < rings.length; i += 2) {
    const length = rings[i + 1]!
    const first = at
    const ring = Array.from(
      { length },
      (_, point) => [points[first + point * 2]!, points[first + point * 2 + 1]!] as const,
    )
    at += length * 2
    const polygon = polygons[rings[i]! - 1]!
    const simple = simplified(ring, tolerance)
    // the first ring of a part is the outer one: it begins at its first pixel
    if (polygon.outer.length === 0) polygon.outer = simple.length >= 3 ? simple : ring
    else if (simple.length >= 3) polygon.holes.push(simple)
  }
  return polygons
}

/** Right, down, left, up; a turn to the right is the next one. */
const steps = [[1, 0], [0, 1], [-1, 0], [0, -1]] as const // prettier-ignore

/**
 * The outlines of parts, in JavaScript, as native/vision/outlines.cc traces them: of each ring its part's number and
 * how many points it has; and their x and y.
 */
export function traceRings({
  labels,
  width,
  diagonal,
}: Pick<NativeComponents, 'labels' | 'width' | 'diagonal'>): NativeOutlines {
  const [rings, points]: [number[], number[]] = [[], []]
  const visited = new Uint8Array(labels.length)
  for (let at = 0; at < labels.length; at++) {
    const label = labels[at]!
    // each ring has an edge that goes right, along the top of a pixel of its part
    if (label === 0 || visited[at] === 1 || labels[at - width] === label) continue
    const ring = trace(labels, width, at, diagonal === 1, visited)
    rings.push(label, ring.length / 2)
    for (const coordinate of ring) points.push(coordinate)
  }
  return { rings: Int32Array.from(rings), points: Int32Array.from(points) }
}

/**
 * Follows the edges of pixels with the part on the right hand, from the top edge of pixel `start` until it is there
 * again; notes the top edges that it passes. The first point is a corner: the edge before it, if it were in line, would
 * have been found first.
 */
function trace(labels: Int32Array, width: number, start: number, diagonal: boolean, visited: Uint8Array): number[] {
  const label = labels[start]!
  const isInside = (x: number, y: number): boolean => x >= 0 && x < width && labels[y * width + x] === label
  const [firstX, firstY] = [start % width, Math.floor(start / width)]
  const ring = [firstX, firstY]
  let [x, y, heading] = [firstX, firstY, 0]
  do {
    if (heading === 0) visited[y * width + x] = 1
    const before = heading
    const [dx, dy] = steps[heading]!
    x += dx
    y += dy
    // the two pixels ahead, to the left and to the right of the way
    const aheadLeft = isInside(x + (dx + dy - 1) / 2, y + (dy - dx - 1) / 2)
    const aheadRight = isInside(x + (dx - dy - 1) / 2, y + (dy + dx - 1) / 2)
    if (aheadLeft && (aheadRight || diagonal)) heading = (heading + 3) % 4
    else if (!aheadRight) heading = (heading + 1) % 4
    if (heading !== before) ring.push(x, y)
  } while (x !== firstX || y !== firstY || heading !== 0)
  return ring.slice(0, -2) // the last corner is the first again
}

type Point = readonly [x: number, y: number]

/**
 * The ring without the points that are at most `tolerance` beside the line that takes their place: Douglas and
 * Peucker's way, from its first point and the one farthest from that.
 */
export function simplified(ring: readonly Point[], tolerance: number): readonly Point[] {
  if (tolerance === 0 || ring.length < 4) return ring
  const stays = new Uint8Array(ring.length + 1)
  const closed = [...ring, ring[0]!]
  const far = farthest(closed, 0, ring.length).index
  stays[0] = stays[far] = 1
  // no recursion: an outline may have a million points
  const open: [number, number][] = [[0, far], [far, ring.length]] // prettier-ignore
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const [from, to] = part
    const { index, distance } = farthest(closed, from, to)
    if (distance <= tolerance) continue
    stays[index] = 1
    open.push([from, index], [index, to])
  }
  return ring.filter((_, index) => stays[index] === 1)
}

/**
 * Of the points between two others the one that is farthest from the line between these; of one point, if they are the
 * same.
 */
function farthest(
  points: readonly Point[],
  from: number,
  to: number,
): { readonly index: number; readonly distance: number } {
  const [ax, ay] = points[from]!
  const [bx, by] = points[to]!
  const [dx, dy] = [bx - ax, by - ay]
  const length = dx * dx + dy * dy
  let [index, most] = [from, -1]
  for (let i = from + 1; i < to; i++) {
    const [x, y] = points[i]!
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length))
    const distance = Math.hypot(x - ax - along * dx, y - ay - along * dy)
    if (distance > most) [index, most] = [i, distance]
  }
  return { index, distance: most }
}
