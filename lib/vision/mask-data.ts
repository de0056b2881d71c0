import { unshared } from '../base/bytes.js'
import { checkedObject } from '../base/checks.js'
import { expected } from '../errors.js'
import { checkedBytes, checkedSize } from './checks.js'
import type { Size } from './types.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'

/**
 * What each pixel of a picture is: `data[y * width + x]`, 0 for nothing (the background), else 1 or the number of a
 * class.
 */
export interface Mask extends Size {
  /** One byte for each pixel, row-major. */
  readonly data: Uint8Array
}

/** In memory that is not shared. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedMask(mask: unknown, name = 'mask'): Mask {
  const { width, height } = checkedSize(mask, name)
  const data = checkedBytes((checkedObject(mask, name) as { data?: unknown }).data, `${name}.data`)
  if (data.length !== width * height)
    throw expected(`${width * height} bytes (${width} x ${height})`, `${name}.data`, data.length)
  return { width, height, data: unshared(data) }
}

/** Options of {@link maskIoU}. */
export interface MaskIoUOptions {
  /** Only pixels of this value count; default: all but 0. */
  readonly classIndex?: number | undefined
}

const table = { classIndex: option(is.whole(0, 255), -1) } satisfies OptionTable<MaskIoUOptions>

/**
 * The pixels that two masks of one size share over those that they cover together, 0 to 1; 0 when both are empty.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function maskIoU(a: Mask, b: Mask, options?: MaskIoUOptions): number {
  const { width, height, data } = checkedMask(a, 'a')
  const other = checkedMask(b, 'b')
  if (other.width !== width || other.height !== height)
    throw expected(`a mask of ${width} x ${height}, as a is,`, 'b', `${other.width} x ${other.height}`)
  const { classIndex: only } = checkedOptions(options, table, 'maskIoU')
  let [shared, all] = [0, 0]
  for (let i = 0; i < data.length; i++) {
    const inA = only < 0 ? data[i] !== 0 : data[i] === only
    const inB = only < 0 ? other.data[i] !== 0 : other.data[i] === only
    if (inA && inB) shared++
    if (inA || inB) all++
  }
  return all === 0 ? 0 : shared / all
}
