import type { NativeVision, Pixels } from '../backend/native-vision.js'
import { nativeSync } from '../backend/native.js'
import { within } from '../base/cancellation.js'
import { checkStillThere } from './checks.js'
import type { Area, Bounds } from './portable/cover.js'
import { onThread, pixelAddon } from './threads.js'
import type { Box, Image } from './types.js'

/** How a picture is made of another, of the same size: by the addon, or in JavaScript in a copy of it. */
export interface Painting {
  /** What it reads beside the picture. */
  readonly mask?: ArrayLike<number>
  readonly native: <S extends boolean>(addon: NativeVision, sync: S) => Pixels<S>
  readonly portable: (copy: Image) => void
}

/** @throws TensorRTError ERR_TRT_DETACHED, what the addon throws; the signal's reason */
export async function painted(image: Image, { mask, native, portable }: Painting, signal: AbortSignal | undefined): Promise<Image> {
  const work = { image, others: { mask }, native: (addon: NativeVision) => native(addon, false), portable: () => inCopy(image, portable) }
  return of(image, await paintedBytes(work, signal))
}

/** The same at once. */
export function paintedSync(image: Image, { native, portable }: Painting): Image {
  const addon = pixelAddon()
  if (addon === undefined) return of(image, inCopy(image, portable))
  return of(image, new Uint8Array(nativeSync(() => native(addon, true))))
}

/** Bytes that are made of a picture, and of what else is read, by name. */
export interface PaintingOfBytes {
  readonly image: Image
  readonly others: Readonly<Record<string, ArrayLike<number> | undefined>>
  readonly native: (addon: NativeVision) => Promise<ArrayBuffer>
  readonly portable: () => Uint8Array
}

/**
 * @throws TensorRTError ERR_TRT_DETACHED where something is gone when its turn comes; what the addon throws; the
 * signal's reason
 */
export function paintedBytes({ image, others, native, portable }: PaintingOfBytes, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const lengths = Object.entries(others).flatMap(([name, data]) => (data === undefined ? [] : [{ name, data, length: data.length }]))
  const checkThere = (): void => {
    checkStillThere(image.data, image.width * image.height * 3, 'a picture')
    for (const { name, data, length } of lengths) checkStillThere(data, length, name)
  }
  return within({ signal }, async (cut) => {
    checkThere()
    const addon = pixelAddon()
    if (addon === undefined) return portable()
    const made = await onThread(async () => {
      checkThere()
      return native(addon)
    }, cut)
    return new Uint8Array(made)
  })
}

const of = ({ width, height }: Image, data: Uint8Array): Image => ({ width, height, channels: 3, data })

function inCopy(image: Image, portable: (copy: Image) => void): Uint8Array {
  const copy = of(image, new Uint8Array(image.data))
  portable(copy)
  return copy.data
}

/** No picture is that large, and sums of such numbers are exact. */
const far = 1e9

/** A number that is not too far away to count with. */
export const near = (value: number): number => Math.min(Math.max(value, -far), far)

/** [left, top, right, bottom] of a box. */
export function edgesOf([x, y, width, height]: Box): Bounds {
  return [near(x), near(y), near(x + width), near(y + height)]
}

/** The same of whole pixels, as the addon takes them. */
export const edgesIn = ({ left, top, right, bottom }: Area): Float64Array => Float64Array.of(left, top, right, bottom)
