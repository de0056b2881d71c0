import { checkedArray } from '../base/checks.js'
import { is, option, type OptionTable } from '../base/option-table.js'
import { checkedBox, checkedColor } from './checks.js'
import { checkedPlaced, type PlacedMask } from './placed-mask.js'
import { edgesIn, edgesOf, near, painter } from './painted.js'
import type { Bounds } from './portable/cover.js'
import { hideMask, hideRegion, type HideStyle } from './portable/hide.js'
import type { Box, Color } from './types.js'

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

/** Their order is that of the addon's. */
const methods = ['blur', 'pixelate', 'fill'] as const

/** Options of {@link blurMask}. */
export const hideTable = {
  method: option(is.choice(...methods), 'blur'),
  strength: option(is.number(0.01, 1), 0.1),
  color: option<Color>(checkedColor, [0, 0, 0]),
} satisfies OptionTable<Omit<BlurMaskOptions, 'signal'>>

/** Options of {@link blurRegions}. */
export const regionTable = {
  ...hideTable,
  shape: option(is.choice('ellipse', 'rectangle'), 'ellipse'),
  grow: option(is.number(0.1, 10), 1),
  feather: option(is.number(0, 2), 0.15),
} satisfies OptionTable<Omit<BlurOptions, 'signal'>>

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
export const blurRegions = painter<readonly Box[], BlurOptions, typeof regionTable>('blurRegions', {
  what: 'regions',
  table: regionTable,
  painting: (style) => (_, regions) => {
    const boxes = checkedArray(regions, 'regions').map((region, index) => checkedBox(region, `regions[${index}]`))
    const bounds = boxes.map((box) => enlarged(edgesOf(box), style.grow))
    return {
      native: (addon, picture) => addon.hideRegions(picture, Float64Array.from(bounds.flat()), numbersOf(style)),
      portable: (surface) => bounds.forEach((region) => hideRegion(surface, region, style)),
    }
  },
})

/**
 * A copy of the picture, or with `inPlace` the picture itself, in which the pixels of a mask cannot be recognized:
 * those that are not zero in it. Only the smallest rectangle around them is changed, and `strength` is a part of its
 * longer side: where there are several objects, use a mask for each. The edge is sharp.
 * @param mask as large as the picture, or a part of it that begins at its `x` and `y`
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE,
 * ERR_TRT_OUT_OF_MEMORY
 */
export const blurMask = painter<PlacedMask, BlurMaskOptions, typeof hideTable>('blurMask', {
  what: 'masks',
  table: hideTable,
  painting: (options) => (size, mask) => {
    const placed = checkedPlaced(mask, size)
    const style = { ...options, shape: 'rectangle', feather: 0 } as const
    return {
      mask: placed.data,
      native: (addon, picture) => addon.hideMask(picture, placed.data, edgesIn(placed.area), numbersOf(style)),
      portable: (surface) => hideMask(surface, placed, style),
    }
  },
})

const numbersOf = ({ method, shape, strength, feather, color }: HideStyle): Float64Array =>
  Float64Array.of(methods.indexOf(method), shape === 'ellipse' ? 1 : 0, strength, feather, ...color.map(Math.round))

function enlarged([left, top, right, bottom]: Bounds, factor: number): Bounds {
  const [dx, dy] = [((right - left) * (factor - 1)) / 2, ((bottom - top) * (factor - 1)) / 2]
  return [near(left - dx), near(top - dy), near(right + dx), near(bottom + dy)]
}
