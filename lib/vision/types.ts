import type { Box, Size } from '../pixels/types.js'

export type { Box, Color, Point, Size } from '../pixels/types.js'

/** A decoded picture: RGB, 8 bit, row-major, `data[(y * width + x) * 3 + channel]`. */
export interface Image extends Size {
  /** Red, green, blue. */
  readonly channels: 3
  /** 8 bits a sample, row-major: `data[(y * width + x) * 3 + channel]`. */
  readonly data: Uint8Array
}

/**
 * How the bytes of a raw picture lie, 8 bits a sample: pixels of `rgb`, `bgr`, `rgba`, `bgra` or `gray`; `i420`: planes of Y, U and V (also: yuv420p); `nv12`: a plane of Y, then one
 * of U and V in turns. Those two have one U and V for 2 x 2 pixels.
 */
export type PixelFormat = 'rgb' | 'bgr' | 'rgba' | 'bgra' | 'gray' | 'i420' | 'nv12'

/** Pixels as a camera, a video decoder or another library gives them. Alpha is left out: the colours count as they are. */
export interface RawImage extends Size {
  /** How the bytes lie. */
  readonly format: PixelFormat
  /** The bytes of the picture. */
  readonly data: Uint8Array
  /**
   * Bytes from one row to the next, of i420 and nv12 those of Y; default: no gap between rows. A row of i420's U, and
   * of its V, has half of them, rounded up; one of nv12's UV
   * twice that: where the width is odd, one byte more than a row of Y, as ffmpeg packs it (3 x 3 in 17 bytes).
   */
  readonly stride?: number | undefined
  /**
   * What Y, U and V mean: the matrix of standard definition (default) or of high definition. Only of `i420` and `nv12`.
   */
  readonly matrix?: 'bt601' | 'bt709' | undefined
  /** `limited` (default): Y of 16 to 235, as video has it; `full`: 0 to 255, as JPEG. Only of `i420` and `nv12`. */
  readonly range?: 'limited' | 'full' | undefined
}

/** Something found in a picture. */
export interface Detection {
  /** The box: left, top, width, height, in pixels. */
  readonly box: Box
  /** The score, 0 to 1. */
  readonly score: number
  /** The number of its class, from 0. */
  readonly classIndex: number
}
