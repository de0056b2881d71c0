import type { NativeOutlines } from '../backend/native-vision.js'
import { within } from '../base/cancellation.js'
import { checkedCall, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { jobOf, labelled, type PartOptions, partTable } from './mask-labels.js'
import type { Mask } from './mask-data.js'
import { traceRings } from './outlines.js'
import { simplified } from './simplify.js'
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
