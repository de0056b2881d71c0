import type { Cut } from '../base/cancellation.js'
import { checkedArray, checkedObject, isWhole } from '../base/checks.js'
import { is, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import { checkedBox, checkedColor, checkedPoint } from './checks.js'
import { labelOf } from './labels.js'
import { classColor } from './overlay.js'
import { edgesOf, near, painter, type Painting } from './painted.js'
import type { Bounds } from './portable/cover.js'
import type { Box, Color, Point, Size } from './types.js'
import { drawFrame, drawLine, drawTile, fillRectangle, type Tile } from './portable/draw.js'
import type { Surface } from './portable/surface.js'

/** A box to be drawn. */
export interface LabelledBox {
  /** The box: left, top, width, height, in pixels of the picture. */
  readonly box: Box
  /** Text above the box. */
  readonly label?: string | undefined
  /** The colour of this box; default: that of the options, else that of the class. */
  readonly color?: Color | undefined
  /** Number of the class, from 0: each has a colour, as {@link overlay} has it for the class after it. Default: 0. */
  readonly classIndex?: number | undefined
  /** The corners of a rotated box, whose outline is drawn in place of the box's. */
  readonly corners?: readonly Point[] | undefined
  /** Points that belong to it, such as eyes and corners of a mouth. Each is a disc of twice the line's width. */
  readonly landmarks?: readonly Point[] | undefined
}

interface LineOptions {
  /** Default: [255, 64, 64], and for boxes of several classes a colour for each. */
  readonly color?: Color | undefined
  /** Pixels; default 1/300 of the picture's longer side, at least 2. */
  readonly lineWidth?: number | undefined
  /** Rejects the call at once with the signal's reason; what a thread has begun it ends. */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link drawBoxes}. */
export interface DrawOptions extends LineOptions {
  /**
   * The colour of lines, landmarks and the ground of labels, 0 to 255; default: a colour for each class, [255, 64, 64]
   * for class 0. The text is white or black, whichever is seen better.
   */
  readonly color?: Color | undefined
  /** The size of the text in pixels; default 1/50 of the picture's longer side, at least 12. */
  readonly fontSize?: number | undefined
}

/** Options of {@link drawPolygons}. */
export interface PolygonOptions extends LineOptions {
  /** Whether the last point is joined to the first; default true. */
  readonly closed?: boolean | undefined
}

/** Points, one after the other; or as the outlines of masks are, with holes. */
export type Outline =
  | readonly Point[]
  | {
      /** The outline. */
      readonly outer: readonly Point[]
      /** The outlines of holes. */
      readonly holes?: readonly (readonly Point[])[] | undefined
    }

interface Style {
  /** Default: by class. */
  readonly color: Color | undefined
  readonly lineWidth: number
  readonly fontSize: number
}

const lineTable = {
  color: option<Color | undefined>(checkedColor),
  lineWidth: option(is.number(0.1)),
} satisfies OptionTable<Omit<LineOptions, 'signal'>>

const boxTable = { ...lineTable, fontSize: option(is.number(1)) } satisfies OptionTable<Omit<DrawOptions, 'signal'>>

const polygonTable = {
  ...lineTable,
  closed: option(is.boolean, true),
} satisfies OptionTable<Omit<PolygonOptions, 'signal'>>

/**
 * A copy of the picture, or with `inPlace` the picture itself, with boxes, their landmarks and their labels drawn on
 * it, with smooth edges. A label is above its box, or inside or below it if other labels are there. A line lies with
 * half of its width on each side of the box's edge. It runs on a thread; `image.data` is read until the promise
 * settles.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE; for labels,
 * ERR_TRT_IMAGE when sharp fails or is not installed
 */
export const drawBoxes = painter<readonly LabelledBox[], DrawOptions, typeof boxTable>('drawBoxes', {
  what: 'boxes',
  table: boxTable,
  painting: (options) => async (size, boxes, cut) => {
    const style = styleOf(size, options)
    const drawn = checkedArray(boxes, 'boxes').map((box, index) => checkedLabelled(box, `boxes[${index}]`, style))
    const labels = await Promise.all(drawn.map((box) => labelOfBox(box, size, style, cut)))
    cut?.throwIfHappened()
    const strokes = drawn.flatMap((box) => boxStrokes(box, style))
    return strokesDrawn([...strokes, ...labelStrokes(labels, size)])
  },
})

/**
 * A copy of the picture, or with `inPlace` the picture itself, with lines drawn on it, such as outlines of masks: from
 * each point of a polygon to the next, with round ends.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE
 */
export const drawPolygons = painter<readonly Outline[], PolygonOptions, typeof polygonTable>('drawPolygons', {
  what: 'polygons',
  table: polygonTable,
  painting: (options) => (size, polygons) => {
    const { color = classColor(0), lineWidth } = styleOf(size, options)
    const rings = checkedArray(polygons, 'polygons').flatMap((each, index) => ringsOf(each, `polygons[${index}]`))
    return strokesDrawn(rings.flatMap((points) => lines(points, options.closed, lineWidth, color)))
  },
})

function ringsOf(polygon: unknown, name: string): Point[][] {
  const pointsOf = (ring: unknown, of: string): Point[] =>
    checkedArray(ring, of, 'an array of points').map((point, index) => checkedPoint(point, `${of}[${index}]`))
  if (typeof polygon !== 'object' || polygon === null || Array.isArray(polygon)) return [pointsOf(polygon, name)]
  const { outer, holes = [] } = polygon as { outer?: unknown; holes?: unknown }
  const inner = checkedArray(holes, `${name}.holes`).map((hole, index) => pointsOf(hole, `${name}.holes[${index}]`))
  return [pointsOf(outer, `${name}.outer`), ...inner]
}

function styleOf({ width, height }: Size, { color, lineWidth, fontSize }: DrawOptions): Style {
  const longer = Math.max(width, height)
  return {
    color,
    lineWidth: near(lineWidth ?? Math.max(2, longer / 300)),
    fontSize: near(fontSize ?? Math.max(12, longer / 50)),
  }
}

interface Drawn {
  readonly bounds: Bounds
  readonly label: string
  readonly color: Color
  readonly landmarks: readonly Point[]
  readonly corners: readonly Point[]
}

function checkedLabelled(item: unknown, name: string, style: Style): Drawn {
  const {
    box,
    label = '',
    classIndex = 0,
    color = style.color,
    landmarks = [],
    corners = [],
  } = checkedObject(item, name) as LabelledBox
  if (typeof label !== 'string') throw expected('a string', `${name}.label`, label)
  if (!isWhole(classIndex, 0)) throw expected('a whole number from 0', `${name}.classIndex`, classIndex)
  const points = (given: unknown, of: string): Point[] =>
    checkedArray(given, of).map((point, index) => checkedPoint(point, `${of}[${index}]`))
  return {
    bounds: edgesOf(checkedBox(box, `${name}.box`)),
    label,
    color: checkedColor(color ?? classColor(classIndex), `${name}.color`),
    landmarks: points(landmarks, `${name}.landmarks`),
    corners: points(corners, `${name}.corners`),
  }
}

function boxStrokes({ bounds, color, landmarks, corners }: Drawn, { lineWidth }: Style): Stroke[] {
  const outline: Stroke[] =
    corners.length > 0 ? lines(corners, true, lineWidth, color) : [{ kind: 'frame', bounds, lineWidth, color }]
  return [...outline, ...landmarks.map((point) => dot(point, 2 * lineWidth, color))]
}

/** The text of a label with its ground, whose vertical place is free. */
interface Label {
  readonly tile: Tile
  readonly color: Color
  readonly left: number
  readonly width: number
  readonly height: number
  /** Upper edges, the best first. */
  readonly tops: readonly [number, ...number[]]
}

/** Moved to the left where it would reach out of the picture. */
async function labelOfBox(
  { bounds, label, color }: Drawn,
  image: Size,
  { lineWidth, fontSize }: Style,
  cut: Cut | undefined,
): Promise<Label | undefined> {
  const [x, y, right, bottom] = bounds
  if (label === '' || x >= image.width || y >= image.height || right <= 0 || bottom <= 0) return undefined
  const height = fontSize * 1.3
  const inside = Math.max(0, y)
  const tile = await labelOf(label, fontSize, isBright(color) ? 'black' : 'white', image, cut)
  const width = tile.width + 0.3 * fontSize
  const left = Math.max(0, Math.min(x - lineWidth / 2, image.width - width))
  const tops = [y >= height ? y - height : inside, inside, bottom, bottom - height] as const
  return { tile, color, left, width, height, tops }
}

/** More labels than that cannot all be told apart in any case. */
const maxCompared = 256

/** Each where it covers no label before it, if one of its places is such. */
function labelStrokes(labels: readonly (Label | undefined)[], image: Size): Stroke[] {
  const taken: Bounds[] = []
  return labels.flatMap((label): Stroke[] => {
    if (label === undefined) return []
    const { tile, color, left, width, height, tops } = label
    const boundsAt = (top: number): Bounds => [left, top, left + width, top + height]
    const isFree = (top: number): boolean =>
      top >= 0 && top + height <= image.height && !taken.some((other) => isOverlapping(boundsAt(top), other))
    const top = tops.find(isFree) ?? tops[0]
    taken.push(boundsAt(top))
    if (taken.length > maxCompared) taken.shift()
    return [
      { kind: 'rectangle', bounds: boundsAt(top), color },
      { kind: 'tile', left: Math.round(left), top: Math.round(top), tile },
    ]
  })
}

function isOverlapping(a: Bounds, b: Bounds): boolean {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/** By its luma, as television weighs colours. */
const isBright = ([red, green, blue]: Color): boolean => 0.299 * red + 0.587 * green + 0.114 * blue > 160

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
