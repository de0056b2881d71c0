import { checkedArray } from '../base/checks.js'
import { type Checked, is, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import { checkedColor } from './checks.js'
import { checkedPlaced, type PlacedMask } from './placed-mask.js'
import { edgesIn, painter } from './painted.js'
import { overlayClasses } from './portable/overlay.js'
import type { Color } from './types.js'

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

const table = {
  color: option<Color | undefined>(checkedColor),
  palette: option(checkedPalette),
  opacity: option(is.number(0, 1), 0.5),
} satisfies OptionTable<Omit<OverlayOptions, 'signal'>>

/**
 * A copy of the picture, or with `inPlace` the picture itself, with the pixels of a mask coloured: by class where the
 * mask has classes. Pixels that are 0 in the mask stay as they are. It runs on a thread; what is given is read until
 * the promise settles.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE,
 * ERR_TRT_OUT_OF_MEMORY
 */
export const overlay = painter<PlacedMask, OverlayOptions, typeof table>('overlay', {
  what: 'masks',
  table,
  painting: ({ opacity, ...colors }) => {
    const palette = bytesOf(colorsOf(colors))
    return (size, mask) => {
      const placed = checkedPlaced(mask, size)
      return {
        mask: placed.data,
        native: (addon, picture) => addon.overlayMask(picture, placed.data, edgesIn(placed.area), palette, opacity),
        portable: (surface) => overlayClasses(surface, placed, palette, opacity),
      }
    }
  },
})

const classes = 256

function checkedPalette(palette: unknown): readonly Color[] {
  const colors = checkedArray(palette, 'palette').map((each, index) => checkedColor(each, `palette[${index}]`))
  if (colors.length === 0) throw expected('at least one colour', 'palette', palette)
  return colors
}

function colorsOf({ color, palette }: Pick<Checked<typeof table>, 'color' | 'palette'>): readonly Color[] {
  if (color !== undefined && palette !== undefined) throw expected('color or palette', 'the options of overlay', 'both')
  if (color !== undefined) return [color]
  return palette ?? Array.from({ length: classes - 1 }, (_, index) => classColor(index))
}

/** For each class, 0 included. */
function bytesOf(colors: readonly Color[]): Uint8Array {
  return Uint8Array.from({ length: classes * 3 }, (_, i) =>
    i < 3 ? 0 : Math.round(colors[(Math.floor(i / 3) - 1) % colors.length]![(i % 3) as 0 | 1 | 2]),
  )
}

/** The default color of a class: hues the golden angle apart, each far from those before it. */
export function classColor(index: number): Color {
  const hue = ((index * 137.508) % 360) / 60
  const channel = (shift: number): number => 64 + 191 * Math.min(Math.max(Math.abs(((hue + shift) % 6) - 3) - 1, 0), 1)
  return [channel(0), channel(4), channel(2)]
}
