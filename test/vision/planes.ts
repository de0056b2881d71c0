// Y, U and V by the formula of the standards, in floating point: what painting them and reading them is held against.
import type { Image, RawImage } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'

export interface Meaning {
  readonly matrix: 'bt601' | 'bt709' | 'bt2020'
  readonly range: 'limited' | 'full'
}

export const meanings: readonly Meaning[] = (['bt601', 'bt709'] as const).flatMap((matrix) =>
  (['limited', 'full'] as const).map((range) => ({ matrix, range })),
)

const shares = { bt601: [0.299, 0.114], bt709: [0.2126, 0.0722], bt2020: [0.2627, 0.0593] } as const

/**
 * Levels of 8 or 10 bits, by H.273: where Y begins, how far it goes, and how far U and V go to both sides of their
 * middle.
 */
function levels(
  range: Meaning['range'],
  bits: number,
): { readonly black: number; readonly luma: number; readonly chroma: number } {
  const scale = 2 ** (bits - 8)
  if (range === 'limited') return { black: 16 * scale, luma: 219 * scale, chroma: 112 * scale }
  return { black: 0, luma: 2 ** bits - 1, chroma: (2 ** bits - 1) / 2 }
}

/** Of red, green and blue from 0 to 255. */
export function yuvOf(rgb: readonly number[], { matrix, range }: Meaning, bits = 8): [number, number, number] {
  const [ofRed, ofBlue] = shares[matrix]
  const { black, luma, chroma } = levels(range, bits)
  const [red, green, blue] = rgb.map((value) => value / 255) as [number, number, number]
  const y = ofRed * red + (1 - ofRed - ofBlue) * green + ofBlue * blue
  const middle = 2 ** (bits - 1)
  return [black + luma * y, middle + (chroma * (blue - y)) / (1 - ofBlue), middle + (chroma * (red - y)) / (1 - ofRed)]
}

export function rgbOf(yuv: readonly number[], { matrix, range }: Meaning, bits = 8): [number, number, number] {
  const [ofRed, ofBlue] = shares[matrix]
  const { black, luma, chroma } = levels(range, bits)
  const middle = 2 ** (bits - 1)
  const [y, u, v] = [(yuv[0]! - black) / luma, (yuv[1]! - middle) / chroma, (yuv[2]! - middle) / chroma]
  const [red, blue] = [y + v * (1 - ofRed), y + u * (1 - ofBlue)]
  const green = (y - ofRed * red - ofBlue * blue) / (1 - ofRed - ofBlue)
  return [red, green, blue].map((value) => 255 * Math.min(Math.max(value, 0), 1)) as [number, number, number]
}

/** Where a sample of a plane lies. */
export interface Layout {
  readonly stride: number
  readonly bytes: number
  readonly place: (plane: 0 | 1 | 2, x: number, y: number) => number
}

/** As the documentation of RawImage has it. */
export function layoutOf(format: RawImage['format'], width: number, height: number, gap = 0): Layout {
  const word = format === 'i42010' || format === 'p010' ? 2 : 1
  const [stride, rows] = [width + gap, Math.ceil(height / 2)]
  const half = Math.ceil(stride / 2)
  const inTurns = format === 'nv12' || format === 'p010'
  return {
    stride: stride * word,
    bytes: (stride * height + 2 * half * rows) * word,
    place: (plane, x, y) => {
      if (plane === 0) return (y * stride + x) * word
      const sample = inTurns ? y * 2 * half + 2 * x + plane - 1 : (plane - 1) * rows * half + y * half + x
      return (stride * height + sample) * word
    },
  }
}

/** Samples of a plane, however many a side has. */
export const sidesOf = (plane: 0 | 1 | 2, width: number, height: number): [number, number] =>
  plane === 0 ? [width, height] : [Math.ceil(width / 2), Math.ceil(height / 2)]

export const planes = [0, 1, 2] as const

/** RGB as planes, U and V of the mean of their pixels; what lies between rows is 99. */
export function planesOf(image: Image, format: 'i420' | 'nv12', meaning: Meaning, gap = 0): RawImage {
  const { width, height } = image
  const { stride, bytes, place } = layoutOf(format, width, height, gap)
  const data = new Uint8Array(bytes).fill(99)
  for (const plane of planes) {
    const [across, down] = sidesOf(plane, width, height)
    for (let y = 0; y < down; y++)
      for (let x = 0; x < across; x++)
        data[place(plane, x, y)] = Math.floor(sampleOf(image, plane, x, y, meaning) + 0.5)
  }
  return { width, height, format, data, ...meaning, ...(gap > 0 && { stride }) }
}

/** The mean over the pixels that a sample is of. */
export function sampleOf(
  { width, height, data }: Image,
  plane: 0 | 1 | 2,
  x: number,
  y: number,
  meaning: Meaning,
): number {
  const of = (column: number, row: number): number =>
    yuvOf([...data.subarray((row * width + column) * 3, (row * width + column) * 3 + 3)], meaning)[plane]
  if (plane === 0) return of(x, y)
  const columns = [2 * x, 2 * x + 1].filter((column) => column < width)
  const all = [2 * y, 2 * y + 1]
    .filter((row) => row < height)
    .flatMap((row) => columns.map((column) => of(column, row)))
  return all.reduce((sum, value) => sum + value, 0) / all.length
}

/** Waves and a little noise, far from the ends of what Y, U and V can say. */
export function waves(width: number, height: number, seed = 1): Image {
  const random = new Random(seed)
  const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => {
    const [pixel, channel] = [Math.floor(i / 3), i % 3]
    const [x, y] = [pixel % width, Math.floor(pixel / width)]
    return (
      128 +
      45 * Math.sin((x * (channel + 2)) / 9 + channel) +
      35 * Math.cos((y * (3 - channel)) / 7) +
      12 * random.around()
    )
  })
  return { width, height, channels: 3, data }
}
