import { checkedObject } from '../base/checks.js'
import { expected } from '../errors.js'
import { checkedBytes, checkedSize } from './checks.js'
import type { Size } from './types.js'

/**
 * What each pixel of a picture is: `data[y * width + x]`, 0 for nothing (the background), else 1 or the number of a
 * class.
 */
export interface Mask extends Size {
  /** One byte for each pixel, row-major. */
  readonly data: Uint8Array
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedMask(mask: unknown, name = 'mask'): Mask {
  const { width, height } = checkedSize(mask, name)
  const data = checkedBytes((checkedObject(mask, name) as { data?: unknown }).data, `${name}.data`)
  if (data.length !== width * height)
    throw expected(`${width * height} bytes (${width} x ${height})`, `${name}.data`, data.length)
  return { width, height, data }
}
