import { type Checked, is, option, type OptionTable } from '../../base/option-table.js'
import { expected } from '../../errors.js'
import { checkedPerChannel, type Color } from './types.js'
import { type Filter, filters } from './filters.js'
import type { Coordinates } from './taps.js'

/** The data types that pixels become. */
export type PixelType = 'float32' | 'float16' | 'uint8'

export const pixelTypes: readonly PixelType[] = ['float32', 'float16', 'uint8']

/** How pixels become numbers. */
export interface TensorOptions<D extends PixelType = PixelType> {
  /**
   * How the picture is resized; default `linear`. Take the filter that the model was trained with: another changes its
   * answers by up to several percent.
   */
  readonly filter?: Filter | undefined
  /**
   * How output pixels map to picture pixels, by the names of ONNX's Resize; default `half_pixel`. Only of the filter
   * `linear`.
   */
  readonly coordinates?: Coordinates | undefined
  /**
   * Whether resized values are rounded to whole numbers of 0 to 255 before they are normalized, as where pictures are
   * resized as uint8 (PIL, cv2, torchvision's presets); default false. With `triangle`, `cubic` and `lanczos` they are
   * exactly PIL's.
   */
  readonly round?: boolean | undefined
  /**
   * The unit of `mean`, `scale` and `std`; default `0-255`: a pixel's own values. `0-1`: pixels are divided by 255
   * first, as torchvision's ToTensor does.
   *
   * ImageNet's are `{ range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }`, or `{ mean: [123.675,
   * 116.28, 103.53], std: [58.395, 57.12, 57.375] }`.
   */
  readonly range?: '0-255' | '0-1' | undefined
  /** What is subtracted: one value, or one for red, green, blue; default 0. Not for uint8. */
  readonly mean?: number | Color | undefined
  /** What the difference is multiplied with; default 1. Not for uint8, nor beside `std`. */
  readonly scale?: number | Color | undefined
  /** What the difference is divided by; default 1. Not for uint8, nor beside `scale`. */
  readonly std?: number | Color | undefined
  /** The layout of the tensor; default NCHW: planes. NHWC: pixels. */
  readonly layout?: 'NCHW' | 'NHWC' | undefined
  /**
   * The order of the channels; default RGB. `mean`, `scale` and `std` are in the order red, green, blue in either case.
   * GRAY: one channel, 0.299 R + 0.587 G + 0.114 B; where values are whole (`round`, uint8) that of the whole R, G and
   * B, exactly as PIL's convert('L') makes it.
   */
  readonly order?: 'RGB' | 'BGR' | 'GRAY' | undefined
  /**
   * The data type of the tensor; default float32, or that of `into`. float32 and float16 are not rounded to whole
   * numbers; uint8 is, as with `round`; halves go to even with `linear`.
   */
  readonly dtype?: D | undefined
}

/** What each may be; what goes together is for {@link checkedNormalization}. */
export const tensorRows = {
  filter: option(is.choice(...filters), 'linear'),
  coordinates: option(is.choice('half_pixel', 'asymmetric', 'align_corners')),
  round: option(is.boolean, false),
  range: option(is.choice('0-255', '0-1'), '0-255'),
  mean: option<Color | undefined>(checkedPerChannel),
  scale: option<Color | undefined>(checkedPerChannel),
  std: option<Color | undefined>(checkedPerChannel),
  layout: option(is.choice('NCHW', 'NHWC'), 'NCHW'),
  order: option(is.choice('RGB', 'BGR', 'GRAY'), 'RGB'),
  dtype: option(is.choice(...pixelTypes)),
} satisfies OptionTable<TensorOptions>

type Given = Checked<typeof tensorRows>

/** The options, checked: (value - mean) * scale by channel, of values of 0 to 255. */
export interface Normalization extends Pick<Given, 'filter' | 'round' | 'layout' | 'order'> {
  readonly dtype: PixelType
  readonly coordinates: Coordinates
  readonly scale: Color
  readonly mean: Color
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what does not go together */
export function checkedNormalization(given: Given): Normalization {
  const { filter, coordinates, round, dtype = 'float32', layout, order } = given
  if (coordinates !== undefined && filter !== 'linear')
    throw expected('no coordinates with a filter other than linear', 'the options of toTensor', coordinates)
  return { filter, coordinates: coordinates ?? 'half_pixel', round, dtype, layout, order, ...checkedFactors(given) }
}

function checkedFactors({ mean, scale, std, range, dtype, order }: Given): Pick<Normalization, 'scale' | 'mean'> {
  const unit = range === '0-1' ? 1 / 255 : 1
  if (dtype === 'uint8') {
    const given = mean ?? scale ?? std ?? (unit === 1 ? undefined : range)
    if (given !== undefined)
      throw expected('no mean, scale, std or range 0-1 with dtype uint8', 'the options of toTensor', given)
  }
  if (scale !== undefined && std !== undefined) throw expected('either scale or std', 'the options of toTensor', 'both')
  const means = mean ?? [0, 0, 0]
  const divisors = std ?? [1, 1, 1]
  if (divisors.includes(0)) throw expected('numbers other than 0', 'std', std)
  const factors = scale ?? [1, 1, 1]
  if (order === 'GRAY')
    for (const [name, each] of Object.entries({ mean: means, std: divisors, scale: factors }))
      if (new Set(each).size > 1) throw expected('one number with order GRAY', name, each.join(', '))
  const at = (make: (i: 0 | 1 | 2) => number): Color => [make(0), make(1), make(2)]
  return { scale: at((i) => (factors[i] / divisors[i]) * unit), mean: at((i) => means[i] / unit) }
}
