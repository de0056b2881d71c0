import type { NativePainted, NativeVision } from '../backend/native-vision.js'
import type { Cut } from '../base/cancellation.js'
import { readOptions, unaborted } from '../base/options.js'
import { expected } from '../errors.js'
import { checkedColor, checkedImage } from './checks.js'
import { type Alpha, checkedPlacedOrAlpha, type PlacedMask } from './placed-mask.js'
import { edgesIn, paintedBytes } from './painted.js'
import { madeOf, type ManyOptions, onEach, type Picture } from './picture.js'
import { cutOutBytes } from './portable/overlay.js'
import type { Color, Image, Size } from './types.js'

/**
 * A picture with transparency: RGBA, 8 bit, row-major, `data[(y * width + x) * 4 + channel]`; colours are not
 * multiplied by alpha.
 */
export interface AlphaImage extends Size {
  /** Red, green, blue and alpha. */
  readonly channels: 4
  /** 8 bits a sample, row-major: `data[(y * width + x) * 4 + channel]`. */
  readonly data: Uint8Array
}

export interface CutOutOptions extends ManyOptions {
  /** Instead of transparency: a colour, or a picture of the same size. */
  readonly background?: Color | Image | undefined
  /** Rejects the call at once with the signal's reason; what a thread has begun it ends. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The pixels of a picture that a mask names, without what is around them: transparent there, which {@link encodeImage}
 * writes as PNG or WebP, or before another background. With a mask of bytes all that is not zero is kept; with an
 * {@link Alpha} as much as it says. It runs on a thread; what is given is read until the promise settles.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_OUT_OF_MEMORY
 */
export function cutOut(
  picture: Picture,
  mask: PlacedMask | Alpha,
  options: CutOutOptions & { readonly background: Color | Image },
): Promise<Image>
export function cutOut(
  picture: Picture,
  mask: PlacedMask | Alpha,
  options?: CutOutOptions & { readonly background?: undefined },
): Promise<AlphaImage>
export function cutOut(
  pictures: readonly Picture[],
  masks: readonly (PlacedMask | Alpha)[],
  options: CutOutOptions & { readonly background: Color | Image },
): Promise<Image[]>
export function cutOut(
  pictures: readonly Picture[],
  masks: readonly (PlacedMask | Alpha)[],
  options?: CutOutOptions & { readonly background?: undefined },
): Promise<AlphaImage[]>
export function cutOut(picture: Picture, mask: PlacedMask | Alpha, options?: CutOutOptions): Promise<Image | AlphaImage>
export async function cutOut(pictures: unknown, masks: unknown, options?: unknown): Promise<unknown> {
  const {
    background,
    signal: given,
    onProgress,
  } = readOptions(options, ['background', 'signal', 'onProgress'], 'cutOut')
  const signal = unaborted(given)
  const work = (
    picture: Picture,
    mask: PlacedMask | Alpha,
    name: string,
    cut: Cut | undefined,
  ): Promise<Image | AlphaImage> => madeOf(picture, name, cut, (image) => cutOutOne(image, mask, background, cut))
  return onEach({ pictures, others: masks, what: 'masks', signal, onProgress, work })
}

async function cutOutOne(
  image: Image,
  mask: PlacedMask | Alpha,
  given: unknown,
  cut: Cut | undefined,
): Promise<Image | AlphaImage> {
  const { width, height } = checkedImage(image)
  const placed = checkedPlacedOrAlpha(mask, image)
  const background = backgroundOf(given, image)
  const work = {
    image,
    others: { mask: placed.data, background },
    native: (addon: NativeVision, picture: NativePainted) =>
      addon.cutOut(false, picture, placed.data, edgesIn(placed.area), background),
    portable: () => cutOutBytes(image, placed, background),
  }
  const data = await paintedBytes(work, cut)
  return { width, height, channels: background.length === 0 ? 4 : 3, data }
}

/** Three bytes of a colour, those of a picture, or none. */
function backgroundOf(given: unknown, { width, height }: Size): Uint8Array {
  if (given === undefined) return new Uint8Array(0)
  if (Array.isArray(given)) return Uint8Array.from(checkedColor(given, 'background'), Math.round)
  const picture = checkedImage(given as Image, 'background')
  if (picture.width !== width || picture.height !== height)
    throw expected(`the picture's size (${width} x ${height})`, 'background', `${picture.width} x ${picture.height}`)
  return picture.data
}
