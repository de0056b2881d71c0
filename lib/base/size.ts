/** Sizes of pictures and of models' inputs, read in one way. */
import { expected } from '../errors.js'
import { checkedObject, checkedWhole } from './checks.js'

/** In pixels. */
export interface Size {
  /** The width, in pixels. */
  readonly width: number
  /** The height, in pixels. */
  readonly height: number
}

/** A square's side, or two sides, in pixels. */
export type Sides = number | Size

/**
 * The most pixels along a side, of a picture, of an input and of a box that is cut out: what is made for each of them
 * is made on the event loop.
 */
export const longest = 2 ** 20

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedSize(value: unknown, name: string, most = longest, what?: string): Size {
  if (ArrayBuffer.isView(value)) throw expected(what ?? 'an object with width and height', name, value)
  const { width, height } = checkedObject(value, name, what) as Size
  return {
    width: checkedWhole(width, `${name}.width`, 1, most),
    height: checkedWhole(height, `${name}.height`, 1, most),
  }
}

/** A size, or the side of a square. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function sizeOf(size: unknown, name = 'size', most = longest): Size {
  if (typeof size !== 'number') return checkedSize(size, name, most, 'a number of pixels or { width, height }')
  const side = checkedWhole(size, name, 1, most)
  return { width: side, height: side }
}
