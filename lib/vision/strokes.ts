import { near, type Painting } from './painted.js'
import { drawFrame, drawLine, drawTile, fillRectangle, type Tile } from './portable/draw.js'
import type { Bounds } from './portable/cover.js'
import type { Surface } from './portable/surface.js'
import type { Color, Point } from './types.js'

/** What is drawn on a picture: one after the other. */
export type Stroke =
  | { readonly kind: 'frame' | 'line'; readonly bounds: Bounds; readonly lineWidth: number; readonly color: Color }
  | { readonly kind: 'rectangle'; readonly bounds: Bounds; readonly color: Color }
  | { readonly kind: 'tile'; readonly left: number; readonly top: number; readonly tile: Tile }

/** Their order is that of the addon's. */
const kinds = ['frame', 'rectangle', 'line', 'tile'] as const

export function strokesDrawn(strokes: readonly Stroke[]): Painting {
  return {
    native: (addon, picture) => {
      const { tiles, offsets } = inOneArray(strokes)
      const numbers = Float64Array.from(strokes.flatMap((stroke) => numbersOf(stroke, offsets)))
      return addon.drawStrokes(picture, numbers, tiles)
    },
    portable: (surface) => strokes.forEach((stroke) => draw(surface, stroke)),
  }
}

function draw(surface: Surface, stroke: Stroke): void {
  if (stroke.kind === 'tile') return drawTile(surface, stroke.left, stroke.top, stroke.tile)
  const color = whole(stroke.color)
  if (stroke.kind === 'rectangle') return fillRectangle(surface, stroke.bounds, color)
  return (stroke.kind === 'frame' ? drawFrame : drawLine)(surface, stroke.bounds, stroke.lineWidth, color)
}

const whole = ([red, green, blue]: Color): Color => [Math.round(red), Math.round(green), Math.round(blue)]

/** Each tile once, however often it is drawn. */
function inOneArray(strokes: readonly Stroke[]): { tiles: Uint8Array; offsets: ReadonlyMap<Tile, number> } {
  const offsets = new Map<Tile, number>()
  let size = 0
  for (const stroke of strokes) {
    if (stroke.kind !== 'tile' || offsets.has(stroke.tile)) continue
    offsets.set(stroke.tile, size)
    size += stroke.tile.data.length
  }
  const tiles = new Uint8Array(size)
  for (const [{ data }, offset] of offsets) tiles.set(data, offset)
  return { tiles, offsets }
}

function numbersOf(stroke: Stroke, offsets: ReadonlyMap<Tile, number>): number[] {
  const kind = kinds.indexOf(stroke.kind)
  if (stroke.kind === 'tile') {
    const { left, top, tile } = stroke
    return [kind, left, top, tile.width, tile.height, offsets.get(tile) ?? 0, 0, 0, 0]
  }
  return [kind, ...stroke.bounds, stroke.kind === 'rectangle' ? 0 : stroke.lineWidth, ...whole(stroke.color)]
}

/** A disc. */
export function dot([x, y]: Point, diameter: number, color: Color): Stroke {
  const [a, b] = [near(x), near(y)]
  return { kind: 'line', bounds: [a, b, a, b], lineWidth: near(diameter), color }
}

/** Lines from each point to the next, and back to the first where it is closed. */
export function lines(points: readonly Point[], isClosed: boolean, lineWidth: number, color: Color): Stroke[] {
  const [first] = points
  if (first === undefined) return []
  if (points.length === 1) return [dot(first, lineWidth, color)]
  const ends = isClosed && points.length > 2 ? [...points, first] : points
  return ends.slice(1).map(([x, y], i) => {
    const [fromX, fromY] = ends[i] as Point
    return { kind: 'line', bounds: [near(fromX), near(fromY), near(x), near(y)], lineWidth: near(lineWidth), color }
  })
}
