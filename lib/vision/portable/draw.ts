/** Lines, rectangles and small pictures drawn in place, in JavaScript: as native/vision/draw.h, with the same numbers. */
import type { Color, Image } from '../types.js'
import { type Bounds, touched } from './cover.js'
import { mixed, opaque } from './mixed.js'

/** RGBA, 8 bit, tight rows, not premultiplied. */
export interface Tile {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

/** How much of a pixel lies between low and high. */
const overlap = (pixel: number, low: number, high: number): number => clamp(Math.min(pixel + 1, high) - Math.max(pixel, low))

const clamp = (value: number): number => Math.min(Math.max(value, 0), 1)

function blendPixel(image: Image, x: number, y: number, color: Color, coverage: number): void {
  const [at, opacity] = [(y * image.width + x) * 3, Math.floor(coverage * opaque + 0.5)]
  for (let c = 0; c < 3; c++) image.data[at + c] = mixed(image.data[at + c]!, color[c as 0 | 1 | 2], opacity)
}

const grown = ([left, top, right, bottom]: Bounds, by: number): Bounds => [left - by, top - by, right + by, bottom + by]

/** What lies in `outer` and not in `inner`. */
function drawBetween(image: Image, outer: Bounds, inner: Bounds, color: Color): void {
  const area = touched(outer, image)
  const hole = touched(inner, image)
  const isHollow = inner[0] < inner[2] && inner[1] < inner[3]
  for (let y = area.top; y < area.bottom; y++) {
    const down = overlap(y, outer[1], outer[3])
    const downInside = isHollow ? overlap(y, inner[1], inner[3]) : 0
    for (let x = area.left; x < area.right; x++) {
      if (downInside === 1 && x > hole.left && x < hole.right - 1) x = hole.right - 1
      blendPixel(image, x, y, color, overlap(x, outer[0], outer[2]) * down - overlap(x, inner[0], inner[2]) * downInside)
    }
  }
}

export function fillRectangle(image: Image, rectangle: Bounds, color: Color): void {
  drawBetween(image, rectangle, [0, 0, 0, 0], color)
}

export function drawFrame(image: Image, rectangle: Bounds, lineWidth: number, color: Color): void {
  drawBetween(image, grown(rectangle, lineWidth / 2), grown(rectangle, -lineWidth / 2), color)
}

/** From (x0, y0) to (x1, y1), with round ends; a disc where both are the same. */
export function drawLine(image: Image, [x0, y0, x1, y1]: Bounds, lineWidth: number, color: Color): void {
  const [dx, dy, reach] = [x1 - x0, y1 - y0, lineWidth / 2 + 0.5]
  const square = dx * dx + dy * dy
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
      blendPixel(image, column, row, color, clamp(reach - Math.hypot(x - x0 - along * dx, y - y0 - along * dy)))
    }
  }
}

export function drawTile(image: Image, left: number, top: number, { width, height, data }: Tile): void {
  for (let y = Math.max(top, 0); y < Math.min(top + height, image.height); y++) {
    for (let x = Math.max(left, 0); x < Math.min(left + width, image.width); x++) {
      const [from, to] = [((y - top) * width + x - left) * 4, (y * image.width + x) * 3]
      const opacity = Math.floor((data[from + 3]! * opaque + 127) / 255)
      for (let c = 0; c < 3; c++) image.data[to + c] = mixed(image.data[to + c]!, data[from + c]!, opacity)
    }
  }
}
