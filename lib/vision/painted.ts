import type { NativeVision, Pixels } from '../backend/native-vision.js'
import { nativeSync } from '../backend/native.js'
import { within } from '../base/cancellation.js'
import type { Area, Bounds } from './portable/cover.js'
import { onThread, pixelAddon } from './threads.js'
import type { Box, Image } from './types.js'

/** How a picture is made of another, of the same size: by the addon, or in JavaScript in a copy of it. */
export interface Painting {
  readonly native: <S extends boolean>(addon: NativeVision, sync: S) => Pixels<S>
  readonly portable: (copy: Image) => void
}

/** @throws TensorRTError what the addon throws; the signal's reason */
export async function painted(image: Image, { native, portable }: Painting, signal: AbortSignal | undefined): Promise<Image> {
  return of(image, await paintedBytes((addon) => native(addon, false), () => inCopy(image, portable), signal)) // prettier-ignore
}

/** The same at once. */
export function paintedSync(image: Image, { native, portable }: Painting): Image {
  const addon = pixelAddon()
  if (addon === undefined) return of(image, inCopy(image, portable))
  return of(image, new Uint8Array(nativeSync(() => native(addon, true))))
}

/** @throws TensorRTError what the addon throws; the signal's reason */
export function paintedBytes(
  native: (addon: NativeVision) => Promise<ArrayBuffer>,
  portable: () => Uint8Array,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  return within({ signal }, async (cut) => {
    const addon = pixelAddon()
    return addon === undefined ? portable() : new Uint8Array(await onThread(() => native(addon), cut))
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
