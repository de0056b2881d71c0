export type { Size } from '../../base/size.js'

/**
 * A rectangle `[x, y, width, height]`; x grows to the right and y downwards, pixel (0, 0) covers 0 to 1. May reach
 * outside its picture.
 */
export type Box = readonly [x: number, y: number, width: number, height: number]

/** x grows to the right and y downwards; the centre of pixel (0, 0) is at (0.5, 0.5). */
export type Point = readonly [x: number, y: number]

/** Red, green, blue, each 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number]
