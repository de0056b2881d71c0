import { checkedObject, checkedWhole } from '../base/checks.js'
import { checkedOptions, checkedRows, is, option, type OptionTable } from '../base/option-table.js'
import { readOptions } from '../base/options.js'
import { longest } from '../base/size.js'
import { expected } from '../errors.js'
import {
  checkedPreprocessing,
  type CheckedSteps,
  type PreprocessingSteps,
  preprocessingStepNames,
} from '../steps/input.js'
import { centerCrop, type Frame, letterbox, padToSquare, type Size, stretch } from '../vision/index.js'

/**
 * An input's size that follows from the picture's, in this order: a side as asked, then both to a multiple. The
 * proportions are those of the picture, but for the multiple.
 */
export interface PictureSize {
  /** The shorter side becomes so long, the longer one in proportion, rounded down (torchvision's Resize). */
  readonly shortSide?: number | undefined
  /** A shorter side below this becomes so long; what is larger keeps its size. */
  readonly leastShortSide?: number | undefined
  /** A longer side beyond this becomes so long; what is smaller keeps its size. */
  readonly mostLongSide?: number | undefined
  /** Both sides become multiples of this; at least one of it. */
  readonly multipleOf?: number | undefined
  /** To which multiple; default `up`. `nearest`: halves to even, as Python's round. */
  readonly rounding?: 'up' | 'nearest' | undefined
}

/**
 * The input's size where the model leaves it open: a number for a square, a size, or what makes one of each picture's.
 */
export type InputSize = number | Size | PictureSize

/** How a picture becomes the model's input: the steps of `withPreprocessing`, and what only the host does. */
export interface InputSteps extends PreprocessingSteps {
  /** Where the model leaves its input's size open; a model's own size goes first. */
  readonly size?: InputSize | undefined
  /**
   * Pixels are divided by the greatest value of the resized picture instead of 255, as U²-Net's own code does; with
   * `range: '0-1'`. Default false.
   */
  readonly ownMaximum?: boolean | undefined
  /**
   * Where the size follows from the picture: a longer side beyond this becomes so long, before both sides become
   * multiples (torchvision's `max_size`). It bounds the memory that one picture takes; what is smaller
   * than the network sees after that is not found. Default 1920, or `mostLongSide` of the size where that is more.
   */
  readonly maxSide?: number | undefined
  /**
   * The least width and height that the family works with: of a model that fixes less, sizes are opened (`openSizes` of
   * `node-tensorrt/onnx`), or it is refused. Default: none.
   */
  readonly minSide?: number | undefined
  /**
   * How many pixels a picture may have that is read from a file or its bytes, by what its head says: `limitPixels` of
   * `readImage`, and its default.
   */
  readonly limitPixels?: number | undefined
}

const layoutNames: readonly string[] = ['position', 'rounding', 'multipleOf', 'shortSide', 'fill', 'fillAfter']

/**
 * A preset's steps and one's own, which go first; `scale` and `std` are two words for one, and `fill` and `fillAfter`
 * exclude each other.
 */
export function mergedSteps(preset: InputSteps | undefined, own: InputSteps | undefined): InputSteps {
  // another way to lay the picture has words of its own
  const isLaidAnew = own?.resize !== undefined && own.resize !== preset?.resize
  const kept = Object.entries(preset ?? {}).filter(([name]) => !isLaidAnew || !layoutNames.includes(name))
  const result: Record<string, unknown> = Object.fromEntries(kept)
  if (own?.scale !== undefined) delete result['std']
  if (own?.std !== undefined) delete result['scale']
  if (own?.fill !== undefined) delete result['fillAfter']
  if (own?.fillAfter === true) delete result['fill']
  for (const [name, value] of Object.entries(own ?? {})) if (value !== undefined) result[name] = value
  return result
}

/** Steps that were checked. */
export interface Steps {
  /** As toTensor takes them. */
  readonly pixels: Pick<InputSteps, 'filter' | 'coordinates' | 'round' | 'range' | 'mean' | 'scale' | 'std' | 'order'>
  readonly layout: 'NCHW' | 'NHWC' | undefined
  readonly size: Size | PictureSize | undefined
  readonly ownMaximum: boolean
  /** The longest side of a size that follows from the picture, and whether that is somebody's word. */
  readonly maxSide: number
  readonly isBounded: boolean
  readonly minSide: number | undefined
  readonly limitPixels: number | undefined
  readonly frame: (picture: Size, input: Size) => Frame
  /** The same as complete numbers: (value - mean) * scale. */
  readonly checked: CheckedSteps
}

const side = option(is.whole(1, longest))

const hostTable = {
  size: option(checkedInputSize),
  ownMaximum: option(is.boolean, false),
  maxSide: side,
  minSide: side,
  limitPixels: option(is.whole(1)),
} satisfies OptionTable<Omit<InputSteps, keyof PreprocessingSteps>>

/** The names of all steps. */
export const inputStepNames: readonly string[] = [...preprocessingStepNames, ...Object.keys(hostTable)]

const sizeTable = {
  shortSide: side,
  leastShortSide: side,
  mostLongSide: side,
  multipleOf: side,
  rounding: option(is.choice('up', 'nearest')),
} satisfies OptionTable<PictureSize>

/**
 * Of the input of a picture whose size follows from it, unless somebody says more: what a photograph of a telephone
 * takes is then less than a gigabyte (CenterFace).
 */
const defaultMaxSide = 1920

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedSteps(steps: unknown): Steps {
  const names = [...preprocessingStepNames, ...(Object.keys(hostTable) as (keyof typeof hostTable)[])]
  const all = readOptions(steps, names, 'input')
  const { size: _size, ownMaximum: _own, maxSide: _most, minSide: _least, limitPixels: _limit, ...given } = all
  const checked = checkedPreprocessing(given)
  const { size, ownMaximum, maxSide, minSide, limitPixels } = checkedRows(all, hostTable)
  const { filter, coordinates, round, range, mean, scale, std, order } = given as PreprocessingSteps
  if (ownMaximum && range !== '0-1') throw expected("range '0-1' with ownMaximum", 'input', range)
  const mostLongSide = size !== undefined && !isFixed(size) ? (size.mostLongSide ?? 0) : 0
  return {
    pixels: { filter, coordinates, round, range, mean, scale, std, order },
    layout: given.layout as Steps['layout'],
    size,
    ownMaximum,
    maxSide: maxSide ?? Math.max(defaultMaxSide, mostLongSide),
    isBounded: maxSide !== undefined,
    minSide,
    limitPixels,
    frame: framingOf(checked),
    checked,
  }
}

function framingOf(steps: CheckedSteps): Steps['frame'] {
  const { position, rounding, multipleOf, shortSide } = steps
  // what is 0 after (value - mean) * scale is the mean before
  const fill = steps.fillAfter ? steps.mean : steps.fill
  switch (steps.resize) {
    case 'stretch':
      return stretch
    case 'letterbox':
      return (picture, input) => letterbox(picture, input, { fill, position, rounding, multipleOf })
    case 'padToSquare':
      return (picture, input) => padToSquare(picture, squareOf(input), { fill, position })
    case 'centerCrop':
      return (picture, input) => centerCrop(picture, input, { fill, resize: shortSide })
  }
}

function squareOf({ width, height }: Size): number {
  if (width === height) return width
  throw expected('a square input', "resize 'padToSquare'", `one of ${width} x ${height}`)
}

function checkedInputSize(size: unknown): Size | PictureSize {
  if (typeof size !== 'object') {
    const side = checkedWhole(
      size,
      'size',
      1,
      longest,
      'a number of pixels, a size, or what makes one of the picture’s',
    )
    return { width: side, height: side }
  }
  const given = checkedObject(size, 'size') as Partial<Size>
  if (given.width === undefined && given.height === undefined) return checkedOptions(given, sizeTable, 'size', 'size.')
  const { width, height } = readOptions(given, ['width', 'height'], 'size')
  return {
    width: checkedWhole(width, 'size.width', 1, longest),
    height: checkedWhole(height, 'size.height', 1, longest),
  }
}

export function isFixed(size: Size | PictureSize): size is Size {
  return 'width' in size
}

/** The input's size for a picture, whose longer side is at most `maxSide` before it becomes a multiple. */
export function sizeFor(picture: Size, { multipleOf, rounding = 'up', ...sides }: PictureSize, maxSide: number): Size {
  const wanted = askedSize(picture, sides)
  return inUnits(
    longSide(wanted) > maxSide ? scaled(picture, maxSide, longSide(picture)) : wanted,
    multipleOf,
    rounding,
  )
}

const longSide = ({ width, height }: Size): number => Math.max(width, height)

function askedSize(picture: Size, { shortSide, leastShortSide, mostLongSide }: PictureSize): Size {
  const short = Math.min(picture.width, picture.height)
  const long = longSide(picture)
  if (shortSide !== undefined) return scaled(picture, shortSide, short)
  if (mostLongSide !== undefined && long > mostLongSide) return scaled(picture, mostLongSide, long)
  if (leastShortSide !== undefined && short < leastShortSide) return scaled(picture, leastShortSide, short)
  return picture
}

/** By `side / of`, rounded down; the products come first, so that no side is a pixel short by what its ratio lost. */
function scaled({ width, height }: Size, side: number, of: number): Size {
  return { width: Math.max(1, Math.floor((width * side) / of)), height: Math.max(1, Math.floor((height * side) / of)) }
}

function inUnits({ width, height }: Size, unit: number | undefined, rounding: 'up' | 'nearest'): Size {
  if (unit === undefined) return { width, height }
  const rounded = (side: number): number =>
    Math.max(1, rounding === 'up' ? Math.ceil(side / unit) : halfEven(side / unit)) * unit
  return { width: rounded(width), height: rounded(height) }
}

function halfEven(value: number): number {
  const down = Math.floor(value)
  return value - down === 0.5 ? down + (down % 2) : Math.round(value)
}
