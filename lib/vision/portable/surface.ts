/** Pictures that are painted where they lie, in JavaScript: as native/vision/surface.h, with the same numbers. */
import { type Chroma, chromaOf, packingOf, type Pixels } from '../raw.js'
import type { Color, Size } from '../types.js'

/** Row by row downwards each pixel is laid once, with three samples in the surface's own terms; then it is finished. */
export interface Surface extends Size {
  /** A colour in the surface's own terms. */
  own(color: Color): Color
  /** The sample of a channel; a pixel's chroma is that of its two by two. */
  at(x: number, y: number, channel: number): number
  blend(x: number, y: number, over: Color, opacity: number): void
  finish(): void
}

/** Of pixels of 8 bits. */
export function surfaceOf(pixels: Pixels): Surface {
  const chroma = chromaOf(pixels)
  return chroma === undefined ? packedSurface(pixels) : planesSurface(pixels, chroma)
}

function packedSurface({ format, width, height, stride, data }: Pixels): Surface {
  const { step, places } = packingOf(format)
  const isGray = format === 'gray'
  const channels = isGray ? [0] : [0, 1, 2]
  const placeOf = (x: number, y: number, channel: number): number =>
    y * stride + x * step + places[channel as 0 | 1 | 2]
  return {
    width,
    height,
    own: ([red, green, blue]) =>
      isGray
        ? [nearest(0.299 * Math.round(red) + 0.587 * Math.round(green) + 0.114 * Math.round(blue)), 0, 0]
        : [Math.round(red), Math.round(green), Math.round(blue)],
    at: (x, y, channel) => data[placeOf(x, y, channel)]!,
    blend(x, y, over, opacity) {
      for (const channel of channels) {
        const at = placeOf(x, y, channel)
        data[at] = mixed(data[at]!, over[channel as 0 | 1 | 2], opacity)
      }
    },
    finish: () => {},
  }
}

function planesSurface(pixels: Pixels, chroma: Chroma): Surface {
  const { width, height, stride, data } = pixels
  const sums = new ChromaSums(pixels, chroma)
  return {
    width,
    height,
    own: (color) => yuvOf(color, pixels),
    at(x, y, channel) {
      if (channel === 0) return data[y * stride + x]!
      return data[(channel === 1 ? chroma.u : chroma.v) + (y >> 1) * chroma.row + (x >> 1) * chroma.step]!
    },
    blend(x, y, over, opacity) {
      const at = y * stride + x
      data[at] = mixed(data[at]!, over[0], opacity)
      sums.add(x, y, over, opacity)
    },
    finish: () => sums.finish(),
  }
}

/** The shares of red, green and blue in Y follow from what makes RGB of Y, U and V. */
function yuvOf(color: Color, { yuv }: Pixels): Color {
  const [red, green, blue] = color.map(Math.round) as [number, number, number]
  const [ofBlue, ofRed] = [yuv.greenU / yuv.blue, yuv.greenV / yuv.red] // each to that of green
  const luma = (ofRed * red + green + ofBlue * blue) / (ofRed + 1 + ofBlue)
  return [
    nearest(luma / yuv.luma + yuv.black),
    nearest((blue - luma) / yuv.blue + yuv.centre),
    nearest((red - luma) / yuv.red + yuv.centre),
  ]
}

/** What is laid over the chroma of a row: of each sample its opacity, and U and V times theirs, each added up. */
class ChromaSums {
  readonly #pixels: Pixels
  readonly #chroma: Chroma
  readonly #sums: Int32Array
  #row = -1

  constructor(pixels: Pixels, chroma: Chroma) {
    this.#pixels = pixels
    this.#chroma = chroma
    this.#sums = new Int32Array(Math.ceil(pixels.width / 2) * 3)
  }

  add(x: number, y: number, [, u, v]: Color, opacity: number): void {
    if (y >> 1 !== this.#row) this.finish()
    this.#row = y >> 1
    const at = (x >> 1) * 3
    this.#sums[at]! += opacity
    this.#sums[at + 1]! += u * opacity
    this.#sums[at + 2]! += v * opacity
  }

  finish(): void {
    if (this.#row < 0) return
    const [{ width, height, data }, { u, v, row, step }, sums] = [this.#pixels, this.#chroma, this.#sums]
    const down = Math.min(2, height - 2 * this.#row)
    for (let x = 0; x * 3 < sums.length; x++) {
      const opacity = sums[x * 3]!
      if (opacity === 0) continue
      const whole = opaque * down * Math.min(2, width - 2 * x)
      for (const [plane, of] of [u, v].entries()) {
        const at = of + this.#row * row + x * step
        data[at] = data[at]! + Math.floor((sums[x * 3 + 1 + plane]! - data[at]! * opacity + whole / 2) / whole)
      }
    }
    sums.fill(0)
    this.#row = -1
  }
}

const nearest = (value: number): number => Math.floor(Math.min(Math.max(value + 0.5, 0), 255))

export const opaque = 2 ** 15

/** Opacity is 0 to {@link opaque}. */
export function mixed(under: number, over: number, opacity: number): number {
  return under + (((over - under) * opacity + opaque / 2) >> 15)
}
