import type { NativePainted, NativeVision, Painted } from '../backend/native-vision.js'
import { nativeSync } from '../backend/native.js'
import type { Cut } from '../base/cancellation.js'
import { checkedBoolean } from '../base/checks.js'
import { expected } from '../errors.js'
import { checkedImage, checkStillThere } from './checks.js'
import { leased } from './leases.js'
import { type Each, madeOf, onEach, type Picture } from './picture.js'
import type { Area, Bounds } from './portable/cover.js'
import { type Surface, surfaceOf } from './portable/surface.js'
import { bytesOfPixels, checkedPixels, checkPixelsThere, isDeep, nativePixels, type Pixels } from './raw.js'
import { onThread, pixelAddon } from './threads.js'
import type { Box, Image, RawImage, Size } from './types.js'

/** With these options the given picture itself is painted, and given back. */
export interface InPlace {
  /**
   * Instead of a copy as RGB, which is the default. The picture has to be pixels, of 8 bits: of `i420` and `nv12` Y, U
   * and V are painted, as their `matrix` and `range` have it; of `rgba` and `bgra` all but alpha. Until the call has
   * ended, also after an abort, its bytes are not to be used: another call of this module with them is
   * ERR_TRT_BUFFER_IN_USE.
   */
  readonly inPlace: true
}

/** With these a copy is painted. */
export interface Copied {
  /** Not given, or false. */
  readonly inPlace?: false | undefined
}

/** How a picture is painted: by the addon, or in JavaScript. */
export interface Painting {
  /** What it reads beside the picture. */
  readonly mask?: Uint8Array | undefined
  readonly native: <S extends boolean>(addon: NativeVision, sync: S, picture: NativePainted) => Painted<S>
  readonly portable: (surface: Surface) => void
}

/** Paintings of one picture or of many, each with what belongs to it. */
export interface PaintEach<A> extends Omit<Each<A, unknown>, 'work'> {
  readonly inPlace: unknown
  readonly painting: (size: Size, other: A, cut: Cut | undefined) => Painting | Promise<Painting>
}

/**
 * Copies of pictures, painted; or these themselves.
 * @throws TensorRTError ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE, what the addon throws; the signal's reason
 */
export function paintEach<A>({ inPlace, painting, ...each }: PaintEach<A>): Promise<unknown> {
  if (checkedInPlace(inPlace))
    return onEach<A, unknown>({
      ...each,
      work: (picture, other, name, cut) => paintInPlace(picture, name, (size) => painting(size, other, cut), cut),
    })
  const work = (picture: Picture, other: A, name: string, cut: Cut | undefined): Promise<Image> =>
    madeOf(picture, name, cut, async (image) => copyPainted(image, await painting(image, other, cut), cut))
  return onEach<A, Image>({ ...each, work })
}

export const checkedInPlace = (inPlace: unknown): boolean => inPlace !== undefined && checkedBoolean(inPlace, 'inPlace')

function copyPainted(image: Image, { mask, native, portable }: Painting, cut: Cut | undefined): Promise<Image> {
  const work = {
    image,
    others: { mask },
    native: (addon: NativeVision, picture: NativePainted) => native(addon, false, picture) as Promise<ArrayBuffer>,
    portable: () => inCopy(image, portable),
  }
  return paintedBytes(work, cut).then((data) => ({ width: image.width, height: image.height, channels: 3, data }))
}

/** Its bytes are leased from the call on until nobody paints them any more. */
async function paintInPlace<P>(
  picture: P,
  name: string,
  painting: (size: Size) => Painting | Promise<Painting>,
  cut: Cut | undefined,
): Promise<P> {
  const pixels = checkedPaintable(picture, name)
  const release = leased(bytesOfPixels(pixels), 'write', name)
  try {
    await paint(pixels, await painting(pixels), cut)
    return picture
  } finally {
    release()
  }
}

async function paint(pixels: Pixels, { mask, native, portable }: Painting, cut: Cut | undefined): Promise<void> {
  const release = mask === undefined ? undefined : leased(mask, 'read', 'mask')
  const checkThere = (): void => {
    checkPixelsThere(pixels, 'a picture')
    if (mask !== undefined) checkStillThere(mask, length, 'mask')
  }
  const length = mask?.length ?? 0
  try {
    cut?.throwIfHappened()
    checkThere()
    const addon = pixelAddon()
    if (addon === undefined) return portable(surfaceOf(pixels))
    await onThread(async () => {
      checkThere()
      return native(addon, false, nativePainted(pixels, true))
    }, cut)
  } finally {
    release?.()
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkedPaintable(picture: unknown, name: string): Pixels {
  if (typeof picture === 'string' || picture instanceof URL || picture instanceof Uint8Array)
    throw expected('pixels (a file is not painted in place)', name, picture)
  const pixels = checkedPixels(picture as RawImage, name)
  if (isDeep(pixels.format))
    throw expected('a format of 8 bits (10 bits are not painted in place)', `${name}.format`, pixels.format)
  return pixels
}

const nativePainted = (pixels: Pixels, inPlace: boolean): NativePainted => ({
  ...nativePixels(pixels),
  inPlace: inPlace ? 1 : 0,
})

/** At once: the picture itself, or a copy of it. */
export function paintedSync<P extends Image | RawImage>(
  picture: P,
  given: unknown,
  paintingOf: (size: Size) => Painting,
): P | Image {
  const inPlace = checkedInPlace(given)
  const pixels = inPlace ? checkedPaintable(picture, 'image') : checkedPixels(checkedImage(picture as Image), 'image')
  const release = leased(bytesOfPixels(pixels), inPlace ? 'write' : 'read', 'image')
  try {
    const { native, portable } = paintingOf(pixels)
    const addon = pixelAddon()
    if (addon === undefined && !inPlace) return imageOf(pixels, inCopy(pixels, portable))
    if (addon === undefined) portable(surfaceOf(pixels))
    const made = addon === undefined ? undefined : nativeSync(() => native(addon, true, nativePainted(pixels, inPlace)))
    return made === undefined ? picture : imageOf(pixels, new Uint8Array(made))
  } finally {
    release()
  }
}

const imageOf = ({ width, height }: Size, data: Uint8Array): Image => ({ width, height, channels: 3, data })

/** Bytes that are made of a picture, and of what else is read, by name. */
export interface PaintingOfBytes {
  readonly image: Image
  readonly others: Readonly<Record<string, Uint8Array | Float32Array | undefined>>
  readonly native: (addon: NativeVision, picture: NativePainted) => Promise<ArrayBuffer>
  readonly portable: () => Uint8Array
}

/**
 * @throws TensorRTError ERR_TRT_DETACHED where something is gone when its turn comes; ERR_TRT_BUFFER_IN_USE where it is
 * painted; what the addon throws; the cut's reason
 */
export async function paintedBytes(
  { image, others, native, portable }: PaintingOfBytes,
  cut: Cut | undefined,
): Promise<Uint8Array> {
  const read = Object.entries(others).flatMap(([name, data]) =>
    data === undefined ? [] : [{ name, data, length: data.length }],
  )
  const checkThere = (): void => {
    checkStillThere(image.data, image.width * image.height * 3, 'a picture')
    for (const { name, data, length } of read) checkStillThere(data, length, name)
  }
  checkThere()
  const addon = pixelAddon()
  const releases: (() => void)[] = []
  try {
    releases.push(leased(image.data, 'read', 'a picture'))
    for (const { name, data } of read) releases.push(leased(data, 'read', name))
    if (addon === undefined) return portable()
    const made = await onThread(async () => {
      checkThere()
      return native(addon, nativePainted(checkedPixels(image, 'a picture'), false))
    }, cut)
    return new Uint8Array(made)
  } finally {
    for (const release of releases) release()
  }
}

function inCopy(picture: Image | Pixels, portable: (surface: Surface) => void): Uint8Array {
  const { width, height } = picture
  const data = new Uint8Array(picture.data)
  portable(surfaceOf(checkedPixels({ width, height, channels: 3, data }, 'image')))
  return data
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
