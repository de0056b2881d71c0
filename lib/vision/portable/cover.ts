/** What makes a part of a picture unrecognizable, in JavaScript: as native/vision/blur.h, with the same numbers. */
import type { Color, Size } from '../types.js'
import type { Surface } from './surface.js'

/** Whole pixels: left and top within, right and bottom just beyond. */
export interface Area {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

/** [left, top, right, bottom] */
export type Bounds = readonly [number, number, number, number]

/** Gives the samples of a row at a pixel, in the surface's own terms, from the last row that was asked for. */
export interface Cover {
  row(y: number): void
  at(x: number, channel: number): number
}

interface Blocks {
  readonly left: number
  readonly top: number
  readonly factor: number
  readonly columns: number
  readonly rows: number
}

const smallSigma = 4

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high)

/** The pixels of the picture that the rectangle touches. */
export function touched([left, top, right, bottom]: Bounds, { width, height }: Size): Area {
  return {
    left: clamp(Math.floor(left), 0, width),
    top: clamp(Math.floor(top), 0, height),
    right: clamp(Math.ceil(right), 0, width),
    bottom: clamp(Math.ceil(bottom), 0, height),
  }
}

export function filled(color: Color): Cover {
  return { row: () => {}, at: (_, channel) => color[channel as 0 | 1 | 2] }
}

export function pixelated(image: Surface, area: Area, x: number, y: number, block: number): Cover {
  const factor = Math.ceil(Math.max(block, 2))
  const start = (low: number, anchor: number): number => anchor + Math.floor((low - anchor) / factor) * factor
  const [left, top] = [start(area.left, Math.floor(x)), start(area.top, Math.floor(y))]
  const [columns, rows] = [Math.ceil((area.right - left) / factor), Math.ceil((area.bottom - top) / factor)]
  const means = blockMeans(image, { left, top, factor, columns, rows }).map((mean) => Math.floor(mean + 0.5))
  let line = 0
  return {
    row: (y) => (line = Math.floor((y - top) / factor) * columns),
    at: (x, channel) => means[(line + Math.floor((x - left) / factor)) * 3 + channel]!,
  }
}

export function blurred(image: Surface, area: Area, sigma: number): Cover {
  const reach = 2 * sigma
  const seen = touched([area.left - reach, area.top - reach, area.right + reach, area.bottom + reach], image)
  const factor = Math.floor(clamp(sigma / smallSigma, 1, Math.max(seen.right - seen.left, seen.bottom - seen.top)))
  const [left, columns] = wholeBlocks(seen.left, seen.right, factor, image.width)
  const [top, rows] = wholeBlocks(seen.top, seen.bottom, factor, image.height)
  const means = blockMeans(image, { left, top, factor, columns, rows })
  const small = Math.sqrt(Math.max(0, (sigma * sigma - (factor * factor - 1) / 4) / (factor * factor)))
  return enlarged(gaussian(means, columns, rows, Math.min(small, 2 * smallSigma)), { left, top, factor, columns, rows })
}

function enlarged(means: Float32Array, { left, top, factor, columns, rows }: Blocks): Cover {
  const line = new Float32Array(columns * 3)
  return {
    row(y) {
      const place = (2 * (y - top) + 1 - factor) / (2 * factor)
      const [first, part] = [Math.floor(place), place - Math.floor(place)]
      const [a, b] = [first, first + 1].map((row) => clamp(row, 0, rows - 1) * line.length) as [number, number]
      for (let i = 0; i < line.length; i++) line[i] = means[a + i]! + (means[b + i]! - means[a + i]!) * part
    },
    at(x, channel) {
      const place = (2 * (x - left) + 1 - factor) / (2 * factor)
      const first = Math.floor(place)
      const a = line[clamp(first, 0, columns - 1) * 3 + channel]!
      const b = line[clamp(first + 1, 0, columns - 1) * 3 + channel]!
      return Math.floor(a + (b - a) * (place - first) + 0.5)
    },
  }
}

/** Where whole blocks that fill low to high begin, if the picture has room for them, and how many. */
function wholeBlocks(low: number, high: number, factor: number, size: number): [start: number, count: number] {
  const count = Math.ceil((high - low) / factor)
  if (low + count * factor <= size) return [low, count]
  if (size >= count * factor) return [size - count * factor, count]
  return [0, Math.ceil(size / factor)]
}

function blockMeans(image: Surface, { left, top, factor, columns, rows }: Blocks): Float32Array {
  const means = new Float32Array(columns * rows * 3)
  for (let row = 0; row < rows; row++) {
    const [above, below] = [Math.max(top + row * factor, 0), Math.min(top + (row + 1) * factor, image.height)]
    for (let column = 0; column < columns; column++) {
      const [from, to] = [Math.max(left + column * factor, 0), Math.min(left + (column + 1) * factor, image.width)]
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0
        for (let y = above; y < below; y++) for (let x = from; x < to; x++) sum += image.at(x, y, channel)
        means[(row * columns + column) * 3 + channel] = sum / ((below - above) * (to - from))
      }
    }
  }
  return means
}

function gaussian(pixels: Float32Array, columns: number, rows: number, sigma: number): Float32Array {
  if (sigma < 0.05) return pixels
  const radius = Math.ceil(3 * sigma)
  const shares = Float64Array.from({ length: 2 * radius + 1 }, (_, i) =>
    Math.exp(-((i - radius) ** 2) / (2 * sigma * sigma)),
  )
  const sum = shares.reduce((total, share) => total + share, 0)
  const pass = (from: Float32Array, count: number, stride: number): Float32Array =>
    from.map((_, i) => {
      const at = Math.floor(i / stride) % count
      let value = 0
      for (let k = -radius; k <= radius; k++)
        value += from[i + (clamp(at + k, 0, count - 1) - at) * stride]! * shares[k + radius]!
      return value / sum
    })
  return pass(pass(pixels, columns, 3), rows, columns * 3)
}
