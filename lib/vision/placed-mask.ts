import { isFloat32Array, isUint8Array } from 'node:util/types'
import { unshared } from '../base/bytes.js'
import { checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import { checkedBytes, checkedSize } from './checks.js'
import type { Mask } from './mask-data.js'
import type { Placed } from './portable/overlay.js'
import type { Size } from './types.js'

/** A mask of the picture's size, or of a part of it that begins at pixel (x, y). */
export interface PlacedMask extends Mask {
  /** The column of the picture at which it begins; default 0. */
  readonly x?: number | undefined
  /** The row of the picture at which it begins; default 0. */
  readonly y?: number | undefined
}

/** The same with an opacity from 0 to 1 for each pixel: what a model that mattes gives. */
export interface Alpha extends Size {
  /** The column of the picture at which it begins; default 0. */
  readonly x?: number | undefined
  /** The row of the picture at which it begins; default 0. */
  readonly y?: number | undefined
  /** How opaque each pixel is, 0 to 1, row-major. */
  readonly data: Float32Array
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where it is no mask of bytes that lies within the picture */
export function checkedPlaced(mask: PlacedMask, picture: Size, name = 'mask'): Placed {
  const { width, height } = checkedSize(mask, name)
  return placed(mask, { width, height }, picture, checkedBytes(mask.data, `${name}.data`), name)
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedPlacedOrAlpha(
  mask: PlacedMask | Alpha,
  picture: Size,
  name = 'mask',
): Placed<Uint8Array | Float32Array> {
  const { width, height } = checkedSize(mask, name)
  const { data }: { data: unknown } = mask
  if (!isUint8Array(data) && !isFloat32Array(data))
    throw expected('a Uint8Array or a Float32Array', `${name}.data`, data)
  return placed(mask, { width, height }, picture, data, name)
}

function placed<T extends Uint8Array | Float32Array>(
  { x, y }: { readonly x?: unknown; readonly y?: unknown },
  { width, height }: Size,
  picture: Size,
  data: T,
  name: string,
): Placed<T> {
  if (x === undefined && y === undefined && (width !== picture.width || height !== picture.height))
    throw expected(`the picture's size (${picture.width} x ${picture.height})`, name, `${width} x ${height}`)
  if (data.length !== width * height)
    throw expected(`${width * height} values (${width} x ${height})`, `${name}.data`, data.length)
  const left = checkedWhole(
    x ?? 0,
    `${name}.x`,
    0,
    picture.width - width,
    `where all of it lies in the picture of ${picture.width} pixels`,
  )
  const top = checkedWhole(
    y ?? 0,
    `${name}.y`,
    0,
    picture.height - height,
    `where all of it lies in the picture of ${picture.height} rows`,
  )
  return { data: unshared(data), area: { left, top, right: left + width, bottom: top + height } }
}
