import type { Box, Size } from '../steps/pixels/types.js'

export type { Box, Color, Point, Size } from '../steps/pixels/types.js'

/** A decoded picture: RGB, 8 bit, row-major, `data[(y * width + x) * 3 + channel]`. */
export interface Image extends Size {
  /** Red, green, blue. */
  readonly channels: 3
  /** 8 bits a sample, row-major: `data[(y * width + x) * 3 + channel]`. */
  readonly data: Uint8Array
}

/**
 * How the bytes of a raw picture lie, 8 bits a sample: pixels of `rgb`, `bgr`, `rgba`, `bgra` or `gray`; `i420`: planes
 * of Y, U and V (also: yuv420p); `nv12`: a plane of Y, then one of U and V in turns. Those two have one U and V for 2 x
 * 2 pixels. The same of 10 bits, in words of 16 bits, little-endian: `i42010` (I420_10LE, yuv420p10le), in the lower
 * ten bits of a word, and `p010` (P010_10LE, p010le), NV12 in the upper ten.
 */
export type PixelFormat = 'rgb' | 'bgr' | 'rgba' | 'bgra' | 'gray' | 'i420' | 'nv12' | 'i42010' | 'p010'

/**
 * Pixels as a camera, a video decoder or another library gives them. Alpha is left out: the colours count as they are.
 */
export interface RawImage extends Size {
  /** How the bytes lie. */
  readonly format: PixelFormat
  /** The bytes of the picture. */
  readonly data: Uint8Array
  /**
   * Bytes from one row to the next, of i420 and nv12 those of Y; default: no gap between rows. A row of i420's U, and
   * of its V, has half of them, rounded up; one of nv12's UV
   * twice that: where the width is odd, one byte more than a row of Y, as ffmpeg packs it (3 x 3 in 17 bytes). Of 10
   * bits the same holds for words, and the stride is even.
   */
  readonly stride?: number | undefined
  /**
   * What Y, U and V mean: the matrix of standard definition (default), of high or of ultra-high definition (of
   * non-constant luminance; the colours stay as they are coded: neither primaries nor a transfer of HDR are converted).
   * Only of what has planes of Y, U and V.
   */
  readonly matrix?: 'bt601' | 'bt709' | 'bt2020' | undefined
  /**
   * `limited` (default): Y of 16 to 235, as video has it, of 10 bits 64 to 940; `full`: 0 to 255, as JPEG, of 10 bits
   * 0 to 1023. Only of what has planes of Y, U and V.
   */
  readonly range?: 'limited' | 'full' | undefined
}

/** Pixels as a canvas gives them (`ImageData`), or {@link cutOut}: RGBA. Alpha is left out, as of a RawImage. */
export interface ImageDataLike extends Size {
  /** Red, green, blue and alpha, 8 bits a sample, row-major. */
  readonly data: Uint8ClampedArray | Uint8Array
  /** Not given, or 4. */
  readonly channels?: 4 | undefined
  /** Not given: what has a format is a RawImage. */
  readonly format?: undefined
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
