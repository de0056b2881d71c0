import { checkedArray, checkedChoice, checkedNumber } from '../base/checks.js'
import { readOptions, unaborted } from '../base/options.js'
import { checkedBox, checkedColor } from './checks.js'
import type { ManyOptions, Picture } from './picture.js'
import { checkedPlaced, type PlacedMask } from './placed-mask.js'
import { edgesIn, edgesOf, type Copied, type InPlace, near, paintEach, paintedSync, type Painting } from './painted.js'
import type { Bounds } from './portable/cover.js'
import { hideMask, hideRegion, type HideStyle } from './portable/hide.js'
import type { Box, Color, Image, RawImage, Size } from './types.js'

/** Options of {@link blurMask}. */
export interface BlurMaskOptions {
  /**
   * Default `blur`, a gaussian, as OpenCV's GaussianBlur. `pixelate`: squares of one colour, the mean of what they
   * cover. `fill`: one colour, the only one of which nothing can be computed back.
   */
  readonly method?: 'blur' | 'pixelate' | 'fill' | undefined
  /**
   * The standard deviation of the gaussian, or the side of the squares (at least 2 pixels), as a part of the longer
   * side of what is hidden, 0.01 to 1; default 0.1.
   */
  readonly strength?: number | undefined
  /** Of `fill`; default black. */
  readonly color?: Color | undefined
  /** Rejects the call at once with the signal's reason; what a thread has begun it ends. */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link blurRegions}. */
export interface BlurOptions extends BlurMaskOptions {
  /** Default `ellipse`, the one that the box encloses. */
  readonly shape?: 'ellipse' | 'rectangle' | undefined
  /** How much the region is enlarged about its centre first, 0.1 to 10, 1 for not at all; default 1. */
  readonly grow?: number | undefined
  /**
   * Over what part of the region's half width and height the blur fades out, outside the region, 0 to 2; default 0.15.
   */
  readonly feather?: number | undefined
}

/**
 * A copy of the picture, or with `inPlace` the picture itself, in which regions cannot be recognized: by a gaussian
 * blur that fades out at the edges, squares of one colour, or one colour. What lies outside of the picture is ignored;
 * where regions overlap, each is made of what the ones before it left. It runs on a thread; `image.data` is read until
 * the promise settles. With `inPlace` a chroma sample of i420 and nv12 of which a part is hidden is blended by that
 * part.
 * @param picture the path, `file:` URL or bytes of a picture, or its pixels
 * @param regions the boxes: left, top, width, height, in pixels of the picture
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE,
 * ERR_TRT_OUT_OF_MEMORY; as {@link readImage} where a picture is to be read
 */
export function blurRegions<P extends Image | RawImage>(
  picture: P,
  regions: readonly Box[],
  options: BlurOptions & ManyOptions & InPlace,
): Promise<P>
export function blurRegions<P extends Image | RawImage>(
  pictures: readonly P[],
  regions: readonly (readonly Box[])[],
  options: BlurOptions & ManyOptions & InPlace,
): Promise<P[]>
export function blurRegions(
  picture: Picture,
  regions: readonly Box[],
  options?: BlurOptions & ManyOptions & Copied,
): Promise<Image>
export function blurRegions(
  pictures: readonly Picture[],
  regions: readonly (readonly Box[])[],
  options?: BlurOptions & ManyOptions & Copied,
): Promise<Image[]>
export async function blurRegions(pictures: unknown, regions: unknown, options?: unknown): Promise<unknown> {
  const {
    signal: given,
    onProgress,
    inPlace,
    ...rest
  } = readOptions(options, [...regionNames, 'inPlace', 'signal', 'onProgress'], 'blurRegions')
  const signal = unaborted(given)
  const style = regionStyle(rest)
  const painting = (_: Size, boxes: readonly Box[]): Painting => regionsHidden(boxes, style)
  return paintEach({ pictures, others: regions, what: 'regions', signal, onProgress, inPlace, painting })
}

/**
 * The same as {@link blurRegions} on the calling thread, which it blocks: for scripts.
 * @throws TensorRTError as {@link blurRegions}
 */
export function blurRegionsSync<P extends Image | RawImage>(
  image: P,
  regions: readonly Box[],
  options: Omit<BlurOptions, 'signal'> & InPlace,
): P
export function blurRegionsSync(
  image: Image,
  regions: readonly Box[],
  options?: Omit<BlurOptions, 'signal'> & Copied,
): Image
export function blurRegionsSync(image: Image | RawImage, regions: readonly Box[], options?: unknown): Image | RawImage {
  const { inPlace, ...rest } = readOptions(options, [...regionNames, 'inPlace'], 'blurRegionsSync')
  const style = regionStyle(rest)
  return paintedSync(image, inPlace, () => regionsHidden(regions, style))
}

/**
 * A copy of the picture, or with `inPlace` the picture itself, in which the pixels of a mask cannot be recognized:
 * those that are not zero in it. Only the smallest rectangle around them is changed, and `strength` is a part of its
 * longer side: where there are several objects, use a mask for each. The edge is sharp.
 * @param mask as large as the picture, or a part of it that begins at its `x` and `y`
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE,
 * ERR_TRT_OUT_OF_MEMORY
 */
export function blurMask<P extends Image | RawImage>(
  picture: P,
  mask: PlacedMask,
  options: BlurMaskOptions & ManyOptions & InPlace,
): Promise<P>
export function blurMask<P extends Image | RawImage>(
  pictures: readonly P[],
  masks: readonly PlacedMask[],
  options: BlurMaskOptions & ManyOptions & InPlace,
): Promise<P[]>
export function blurMask(
  picture: Picture,
  mask: PlacedMask,
  options?: BlurMaskOptions & ManyOptions & Copied,
): Promise<Image>
export function blurMask(
  pictures: readonly Picture[],
  masks: readonly PlacedMask[],
  options?: BlurMaskOptions & ManyOptions & Copied,
): Promise<Image[]>
export async function blurMask(pictures: unknown, masks: unknown, options?: unknown): Promise<unknown> {
  const names = ['method', 'strength', 'color', 'inPlace', 'signal', 'onProgress'] as const
  const { signal: given, onProgress, inPlace, ...rest } = readOptions(options, names, 'blurMask')
  const signal = unaborted(given)
  const style = { ...hideStyle(rest), shape: 'rectangle', feather: 0 } as const
  const painting = (size: Size, mask: PlacedMask): Painting => maskHidden(size, mask, style)
  return paintEach({ pictures, others: masks, what: 'masks', signal, onProgress, inPlace, painting })
}

function maskHidden(size: Size, mask: PlacedMask, style: HideStyle): Painting {
  const placed = checkedPlaced(mask, size)
  return {
    mask: placed.data,
    native: (addon, sync, picture) =>
      addon.hideMask(sync, picture, placed.data, edgesIn(placed.area), numbersOf(style)),
    portable: (surface) => hideMask(surface, placed, style),
  }
}

type RegionStyle = HideStyle & { readonly grow: number }

const regionNames = ['shape', 'strength', 'grow', 'feather', 'method', 'color'] as const

function regionStyle(given: Partial<Record<(typeof regionNames)[number], unknown>>): RegionStyle {
  const { shape = 'ellipse', grow = 1, feather = 0.15 } = given
  return {
    ...hideStyle(given),
    shape: checkedChoice(shape, 'shape', ['ellipse', 'rectangle']),
    grow: checkedNumber(grow, 'grow', 0.1, 10),
    feather: checkedNumber(feather, 'feather', 0, 2),
  }
}

function hideStyle(given: {
  method?: unknown
  strength?: unknown
  color?: unknown
}): Pick<HideStyle, 'method' | 'strength' | 'color'> {
  const { method = 'blur', strength = 0.1, color = [0, 0, 0] } = given
  return {
    method: checkedChoice(method, 'method', methods),
    strength: checkedNumber(strength, 'strength', 0.01, 1),
    color: checkedColor(color, 'color'),
  }
}

/** Their order is that of the addon's. */
const methods = ['blur', 'pixelate', 'fill'] as const

const numbersOf = ({ method, shape, strength, feather, color }: HideStyle): Float64Array =>
  Float64Array.of(methods.indexOf(method), shape === 'ellipse' ? 1 : 0, strength, feather, ...color.map(Math.round))

function regionsHidden(regions: readonly Box[], style: RegionStyle): Painting {
  const boxes = checkedArray(regions, 'regions').map((region, index) => checkedBox(region, `regions[${index}]`))
  const bounds = boxes.map((box) => enlarged(edgesOf(box), style.grow))
  return {
    native: (addon, sync, picture) =>
      addon.hideRegions(sync, picture, Float64Array.from(bounds.flat()), numbersOf(style)),
    portable: (surface) => bounds.forEach((region) => hideRegion(surface, region, style)),
  }
}

function enlarged([left, top, right, bottom]: Bounds, factor: number): Bounds {
  const [dx, dy] = [((right - left) * (factor - 1)) / 2, ((bottom - top) * (factor - 1)) / 2]
  return [near(left - dx), near(top - dy), near(right + dx), near(bottom + dy)]
}
