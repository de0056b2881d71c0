/**
 * Lines, rectangles and small pictures drawn in place, in JavaScript: as native/vision/draw.h, with the same numbers.
 */
import type { Color } from '../types.js'
import { type Bounds, touched } from './cover.js'
import { opaque, type Surface } from './surface.js'

/** RGBA, 8 bit, tight rows, not premultiplied. */
export interface Tile {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

/** How much of a pixel lies between low and high. */
const overlap = (pixel: number, low: number, high: number): number =>
  clamp(Math.min(pixel + 1, high) - Math.max(pixel, low))

const clamp = (value: number): number => Math.min(Math.max(value, 0), 1)

const opacityOf = (coverage: number): number => Math.floor(coverage * opaque + 0.5)

const grown = ([left, top, right, bottom]: Bounds, by: number): Bounds => [left - by, top - by, right + by, bottom + by]

/** What lies in `outer` and not in `inner`. */
function drawBetween(image: Surface, outer: Bounds, inner: Bounds, color: Color): void {
  const area = touched(outer, image)
  const hole = touched(inner, image)
  const isHollow = inner[0] < inner[2] && inner[1] < inner[3]
  const own = image.own(color)
  for (let y = area.top; y < area.bottom; y++) {
    const down = overlap(y, outer[1], outer[3])
    const downInside = isHollow ? overlap(y, inner[1], inner[3]) : 0
    for (let x = area.left; x < area.right; x++) {
      if (downInside === 1 && x > hole.left && x < hole.right - 1) x = hole.right - 1
      image.blend(
        x,
        y,
        own,
        opacityOf(overlap(x, outer[0], outer[2]) * down - overlap(x, inner[0], inner[2]) * downInside),
      )
    }
  }
  image.finish()
}

export function fillRectangle(image: Surface, rectangle: Bounds, color: Color): void {
  drawBetween(image, rectangle, [0, 0, 0, 0], color)
}

export function drawFrame(image: Surface, rectangle: Bounds, lineWidth: number, color: Color): void {
  drawBetween(image, grown(rectangle, lineWidth / 2), grown(rectangle, -lineWidth / 2), color)
}

/** From (x0, y0) to (x1, y1), with round ends; a disc where both are the same. */
export function drawLine(image: Surface, [x0, y0, x1, y1]: Bounds, lineWidth: number, color: Color): void {
  const [dx, dy, reach] = [x1 - x0, y1 - y0, lineWidth / 2 + 0.5]
  const square = dx * dx + dy * dy
  const own = image.own(color)
  const area = touched(grown([Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)], reach), image)
  for (let row = area.top; row < area.bottom; row++) {
    const y = row + 0.5
    const ends = dy === 0 ? [0, 1] : [(y - reach - y0) / dy, (y + reach - y0) / dy]
    const [first, last] = [Math.max(Math.min(...ends), 0), Math.min(Math.max(...ends), 1)]
    if (first > last) continue
    const [a, b] = [x0 + first * dx, x0 + last * dx]
    const { left, right } = touched([Math.min(a, b) - reach, 0, Math.max(a, b) + reach, 1], image)
    for (let column = left; column < right; column++) {
      const x = column + 0.5
      const along = square > 0 ? clamp(((x - x0) * dx + (y - y0) * dy) / square) : 0
      image.blend(column, row, own, opacityOf(clamp(reach - Math.hypot(x - x0 - along * dx, y - y0 - along * dy))))
    }
  }
  image.finish()
}

export function drawTile(image: Surface, left: number, top: number, { width, height, data }: Tile): void {
  for (let y = Math.max(top, 0); y < Math.min(top + height, image.height); y++) {
    for (let x = Math.max(left, 0); x < Math.min(left + width, image.width); x++) {
      const from = ((y - top) * width + x - left) * 4
      const opacity = Math.floor((data[from + 3]! * opaque + 127) / 255)
      if (opacity > 0) image.blend(x, y, image.own([data[from]!, data[from + 1]!, data[from + 2]!]), opacity)
    }
  }
  image.finish()
}
