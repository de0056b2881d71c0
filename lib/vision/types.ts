/** A rectangle `[x, y, width, height]`; x grows to the right and y downwards, pixel (0, 0) covers 0 to 1. May reach outside its picture. */
export type Box = readonly [x: number, y: number, width: number, height: number]

/** Red, green, blue, each 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number]

/** In pixels. */
export interface Size {
  readonly width: number
  readonly height: number
}

/** A decoded picture: RGB, 8 bit, row-major, `data[(y * width + x) * 3 + channel]`. */
export interface Image extends Size {
  readonly channels: 3
  readonly data: Uint8Array
}

/** Something found in a picture. */
export interface Detection {
  readonly box: Box
  /** 0 to 1. */
  readonly score: number
  /** The number of its class, from 0. */
  readonly classIndex: number
}
