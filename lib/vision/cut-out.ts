import type { NativePainted, NativeVision } from '../backend/native-vision.js'
import { unshared } from '../base/bytes.js'
import type { Cut } from '../base/cancellation.js'
import { checkedCall, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import { checkedColor, checkedImage } from './checks.js'
import { type Alpha, checkedPlacedOrAlpha, type PlacedMask } from './placed-mask.js'
import { edgesIn, paintedBytes } from './painted.js'
import { madeOf, type ManyOptions, manyRows, onEach, type Picture } from './picture.js'
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

export interface CutOutOptions<B extends Color | Image | undefined = Color | Image | undefined> extends ManyOptions {
  /** Instead of transparency: a colour, or a picture of the same size. */
  readonly background?: B
  /** Rejects the call at once with the signal's reason; what a thread has begun it ends. */
  readonly signal?: AbortSignal | undefined
}

/** What {@link cutOut} gives: with a background RGB, else RGBA. */
export type CutOutImage<B> = B extends undefined ? AlphaImage : Image

const table = {
  background: option((background) => background),
  ...manyRows,
} satisfies OptionTable<CutOutOptions>

/**
 * The pixels of a picture that a mask names, without what is around them: transparent there, which {@link encodeImage}
 * writes as PNG or WebP, or before another background. With a mask of bytes all that is not zero is kept; with an
 * {@link Alpha} as much as it says. It runs on a thread; what is given is read until the promise settles.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_OUT_OF_MEMORY
 */
export function cutOut<B extends Color | Image | undefined = undefined>(
  picture: Picture,
  mask: PlacedMask | Alpha,
  options?: CutOutOptions<B>,
): Promise<CutOutImage<B>>
export function cutOut<B extends Color | Image | undefined = undefined>(
  pictures: readonly Picture[],
  masks: readonly (PlacedMask | Alpha)[],
  options?: CutOutOptions<B>,
): Promise<CutOutImage<B>[]>
export async function cutOut(pictures: unknown, masks: unknown, options?: unknown): Promise<unknown> {
  const { background, signal, onProgress } = checkedCall(options, table, 'cutOut')
  return onEach<PlacedMask | Alpha, Image | AlphaImage>({
    pictures,
    others: masks,
    what: 'masks',
    signal,
    onProgress,
    work: (picture, mask, name, cut) => madeOf(picture, name, cut, (image) => cutOutOne(image, mask, background, cut)),
  })
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
      addon.cutOut(picture, placed.data, edgesIn(placed.area), background),
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
  return unshared(picture.data)
}
