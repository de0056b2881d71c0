import type { NativePainted, NativeVision } from '../backend/native-vision.js'
import type { Cut } from '../base/cancellation.js'
import { type Checked, checkedCall, is, option, type Rows } from '../base/option-table.js'
import { expected } from '../errors.js'
import { checkStillThere } from './checks.js'
import { leased } from './leases.js'
import { isSource, madeOf, type ManyOptions, manyRows, onEach, type Picture } from './picture.js'
import type { Area, Bounds } from './portable/cover.js'
import { type Surface, surfaceOf } from './portable/surface.js'
import {
  bytesOfPixels,
  checkedPixels,
  checkPixelsThere,
  isDeep,
  nativePixels,
  type Pixels,
  refuseShared,
} from './raw.js'
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
  readonly native: (addon: NativeVision, picture: NativePainted) => Promise<ArrayBuffer | undefined>
  readonly portable: (surface: Surface) => void
}

/**
 * A call that paints one picture by what belongs to it, or an array of pictures by as many of that: copies, or with
 * `inPlace` the pictures themselves.
 */
export interface Painter<Other, Options> {
  <P extends Image | RawImage>(picture: P, other: Other, options: Options & ManyOptions & InPlace): Promise<P>
  <P extends Image | RawImage>(
    pictures: readonly P[],
    others: readonly Other[],
    options: Options & ManyOptions & InPlace,
  ): Promise<P[]>
  (picture: Picture, other: Other, options?: Options & ManyOptions & Copied): Promise<Image>
  (pictures: readonly Picture[], others: readonly Other[], options?: Options & ManyOptions & Copied): Promise<Image[]>
}

/** How a painter goes about it. */
interface Manner<Other, Table> {
  /** What messages call that which belongs to the pictures. */
  readonly what: string
  readonly table: Table
  readonly painting: (
    options: Checked<Table>,
  ) => (size: Size, other: Other, cut: Cut | undefined) => Painting | Promise<Painting>
}

const callRows = { inPlace: option(is.boolean, false), ...manyRows }

/**
 * The painter of this name.
 * @throws TensorRTError (as a rejection of the call) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE,
 * what the addon throws; the signal's reason
 */
export function painter<Other, Options, Table extends Rows>(
  name: string,
  { what, table, painting }: Manner<Other, Table>,
): Painter<Other, Options> {
  const rows = { ...table, ...callRows }
  const call = async (pictures: unknown, others: unknown, given?: unknown): Promise<unknown> => {
    const options = checkedCall(given, rows, name) as Checked<Table> & Checked<typeof callRows>
    const { inPlace, signal, onProgress } = options
    const paintingFor = painting(options)
    const work = (picture: Picture, other: Other, of: string, cut: Cut | undefined): Promise<unknown> => {
      const paintingOf = (size: Size): Painting | Promise<Painting> => paintingFor(size, other, cut)
      if (inPlace) return paintInPlace(picture, of, paintingOf, cut)
      return madeOf(picture, of, cut, async (image) => copyPainted(image, await paintingOf(image), cut))
    }
    return onEach({ pictures, others, what, signal, onProgress, work })
  }
  return call as Painter<Other, Options>
}

function copyPainted(image: Image, { mask, native, portable }: Painting, cut: Cut | undefined): Promise<Image> {
  const work = {
    image,
    others: { mask },
    native: (addon: NativeVision, picture: NativePainted) => native(addon, picture) as Promise<ArrayBuffer>,
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
      return native(addon, nativePainted(pixels, true))
    }, cut)
  } finally {
    release?.()
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkedPaintable(picture: unknown, name: string): Pixels {
  if (isSource(picture as Picture)) throw expected('pixels (a file is not painted in place)', name, picture)
  refuseShared(picture, name)
  const pixels = checkedPixels(picture as RawImage, name)
  if (isDeep(pixels.format))
    throw expected('a format of 8 bits (10 bits are not painted in place)', `${name}.format`, pixels.format)
  return pixels
}

const nativePainted = (pixels: Pixels, inPlace: boolean): NativePainted => ({
  ...nativePixels(pixels),
  inPlace: inPlace ? 1 : 0,
})

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
