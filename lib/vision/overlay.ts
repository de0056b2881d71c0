import { checkedArray, checkedNumber } from '../base/checks.js'
import { readOptions, unaborted } from '../base/options.js'
import { expected } from '../errors.js'
import { checkedColor } from './checks.js'
import { checkedPlaced, type PlacedMask } from './placed-mask.js'
import { type Copied, edgesIn, type InPlace, paintEach, type Painting } from './painted.js'
import type { ManyOptions, Picture } from './picture.js'
import { overlayClasses } from './portable/overlay.js'
import type { Color, Image, RawImage, Size } from './types.js'

/** Options of {@link overlay}. */
export interface OverlayOptions {
  /** One colour for all classes, 0 to 255. */
  readonly color?: Color | undefined
  /**
   * The colours of classes 1, 2, 3 …; of more classes than there are colours they begin anew. Default: colours far from
   * each other, the first of them [255, 64, 64].
   */
  readonly palette?: readonly Color[] | undefined
  /** How opaque the colours are, 0 to 1; default 0.5. */
  readonly opacity?: number | undefined
  /** Rejects the call at once with the signal's reason; what a thread has begun it ends. */
  readonly signal?: AbortSignal | undefined
}

/**
 * A copy of the picture, or with `inPlace` the picture itself, with the pixels of a mask coloured: by class where the
 * mask has classes. Pixels that are 0 in the mask stay as they are. It runs on a thread; what is given is read until
 * the promise settles.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE,
 * ERR_TRT_OUT_OF_MEMORY
 */
export function overlay<P extends Image | RawImage>(
  picture: P,
  mask: PlacedMask,
  options: OverlayOptions & ManyOptions & InPlace,
): Promise<P>
export function overlay<P extends Image | RawImage>(
  pictures: readonly P[],
  masks: readonly PlacedMask[],
  options: OverlayOptions & ManyOptions & InPlace,
): Promise<P[]>
export function overlay(
  picture: Picture,
  mask: PlacedMask,
  options?: OverlayOptions & ManyOptions & Copied,
): Promise<Image>
export function overlay(
  pictures: readonly Picture[],
  masks: readonly PlacedMask[],
  options?: OverlayOptions & ManyOptions & Copied,
): Promise<Image[]>
export async function overlay(pictures: unknown, masks: unknown, options?: unknown): Promise<unknown> {
  const given = readOptions(options, ['color', 'palette', 'opacity', 'inPlace', 'signal', 'onProgress'], 'overlay')
  const signal = unaborted(given.signal)
  const palette = bytesOf(colorsOf(given))
  const opacity = checkedNumber(given.opacity ?? 0.5, 'opacity', 0, 1)
  const painting = (size: Size, mask: PlacedMask): Painting => classesLaid(size, mask, palette, opacity)
  return paintEach({
    pictures,
    others: masks,
    what: 'masks',
    signal,
    onProgress: given.onProgress,
    inPlace: given.inPlace,
    painting,
  })
}

function classesLaid(size: Size, mask: PlacedMask, palette: Uint8Array, opacity: number): Painting {
  const placed = checkedPlaced(mask, size)
  return {
    mask: placed.data,
    native: (addon, sync, picture) =>
      addon.overlayMask(sync, picture, placed.data, edgesIn(placed.area), palette, opacity),
    portable: (surface) => overlayClasses(surface, placed, palette, opacity),
  }
}

const classes = 256

function colorsOf({ color, palette }: { color?: unknown; palette?: unknown }): readonly Color[] {
  if (color !== undefined && palette !== undefined) throw expected('color or palette', 'the options of overlay', 'both')
  if (color !== undefined) return [checkedColor(color, 'color')]
  if (palette === undefined) return Array.from({ length: classes - 1 }, (_, index) => distinct(index))
  const colors = checkedArray(palette, 'palette').map((each, index) => checkedColor(each, `palette[${index}]`))
  if (colors.length === 0) throw expected('at least one colour', 'palette', palette)
  return colors
}

/** For each class, 0 included. */
function bytesOf(colors: readonly Color[]): Uint8Array {
  return Uint8Array.from({ length: classes * 3 }, (_, i) =>
    i < 3 ? 0 : Math.round(colors[(Math.floor(i / 3) - 1) % colors.length]![(i % 3) as 0 | 1 | 2]),
  )
}

/** Hues the golden angle apart: each far from those before it. */
function distinct(index: number): Color {
  const hue = ((index * 137.508) % 360) / 60
  const channel = (shift: number): number => 64 + 191 * Math.min(Math.max(Math.abs(((hue + shift) % 6) - 3) - 1, 0), 1)
  return [channel(0), channel(4), channel(2)]
}
