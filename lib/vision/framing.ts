import { checkedNumber, checkedWhole } from '../base/checks.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { checkedSize, longest, sizeOf } from '../base/size.js'
import { expected } from '../errors.js'
import { checkedColor } from '../steps/pixels/checks.js'
import {
  centreCropped,
  type Layout,
  letterboxed,
  type Position,
  positions,
  type Rounding,
  roundingNames,
  squared,
  stretched,
  whole,
} from '../steps/pixels/layout.js'
import { checkedBox } from './checks.js'
import { Frame } from './frame.js'
import type { Box, Color, Size } from './types.js'

export type { Position, Rounding } from '../steps/pixels/layout.js'

/** What all framing functions take. */
export interface FrameOptions {
  /** The colour around the picture, 0 to 255: one value for all channels, or [red, green, blue]; default 0, black. */
  readonly fill?: number | Color | undefined
}

/** Options of {@link letterbox}. */
export interface LetterboxOptions extends FrameOptions {
  /** Where the picture lies; default `center` (YOLO); `start`: at the top left, as YOLOX and EfficientDet have it. */
  readonly position?: Position | undefined
  /** How the sides of the resized picture are rounded; default `nearest`. */
  readonly rounding?: Rounding | undefined
  /**
   * The input has only as much fill as makes its sides multiples of this (ultralytics' `auto`, 32), instead of the
   * whole size; default: the whole size.
   */
  readonly multipleOf?: number | undefined
}

/** Options of {@link padToSquare}. */
export interface PadOptions extends FrameOptions {
  /**
   * Where the picture lies; default `start`: it is filled on the right or below. `center`: half of that on the left or
   * above, the smaller half where it is odd.
   */
  readonly position?: Position | undefined
}

/** Options of {@link centerCrop}. */
export interface CenterCropOptions extends FrameOptions {
  /**
   * The picture's shorter side is resized to so many pixels first, the longer one in proportion, rounded down
   * (torchvision's Resize(256)); a size: both sides; default: not at all.
   */
  readonly resize?: number | Size | undefined
}

const frameRows = { fill: option<Color>(checkedColor, [0, 0, 0]) } satisfies OptionTable<FrameOptions>

const letterboxRows = {
  ...frameRows,
  position: option(is.choice(...positions), 'center'),
  rounding: option(is.choice(...roundingNames), 'nearest'),
  multipleOf: option(is.whole(1, longest)),
} satisfies OptionTable<LetterboxOptions>

const padRows = {
  ...frameRows,
  position: option(is.choice(...positions), 'start'),
} satisfies OptionTable<PadOptions>

const cropRows = { ...frameRows, resize: option(checkedResize) } satisfies OptionTable<CenterCropOptions>

/** What was chosen for `fill`. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedFill(options: unknown, owner: string): Color {
  return checkedOptions(options, frameRows, owner).fill
}

/**
 * The whole picture, resized to the input's size: its proportions are not kept.
 * @param size the input's size, a number for a square
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function stretch(image: Size, size: number | Size): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  return framed(stretched(from, to), [0, 0, 0])
}

function framed({ image, source, target, ...size }: Layout, fill: Color): Frame {
  return new Frame(image, size, source, target, fill)
}

/**
 * The whole picture, resized until it fits, in its proportions, and filled up to the input's size. With position
 * `center` an odd pixel of fill goes right or below.
 * @param image the picture, or its size
 * @param size the input's size, a number for a square
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function letterbox(image: Size, size: number | Size, options?: LetterboxOptions): Frame {
  const from = checkedSize(image, 'image')
  const most = sizeOf(size)
  const { fill, ...how } = checkedOptions(options, letterboxRows, 'letterbox')
  return framed(letterboxed(from, most, how), fill)
}

/**
 * The whole picture, made square by filling, and then resized: unlike with {@link letterbox}, the picture's edge blends
 * with the fill.
 * @param size the side of the input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function padToSquare(image: Size, size: number, options?: PadOptions): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  if (to.width !== to.height) throw expected('a number', 'size', size)
  const { fill, position } = checkedOptions(options, padRows, 'padToSquare')
  return framed(squared(from, to, position), fill)
}

/**
 * The middle of the picture, which may be resized before: torchvision's `Resize(256), CenterCrop(224)` is
 * `centerCrop(image, 224, { resize: 256 })`, the same pixels with the filter `triangle`. Where the picture is smaller
 * than the input, it is filled around.
 * @param size the input's size, a number for a square
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 * @see https://pytorch.org/vision/stable/generated/torchvision.transforms.CenterCrop.html
 */
export function centerCrop(image: Size, size: number | Size, options?: CenterCropOptions): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  const { fill, resize } = checkedOptions(options, cropRows, 'centerCrop')
  return framed(centreCropped(from, to, resize), fill)
}

function checkedResize(resize: unknown): number | Size {
  return typeof resize === 'object' ? checkedSize(resize, 'resize') : checkedWhole(resize, 'resize', 1, longest)
}

/**
 * A part of the picture, resized to the input's size. It is widened to whole pixels. What lies outside of the picture
 * is filled.
 * @param box the part: left, top, width, height, in pixels of the picture
 * @param size the input's size, a number for a square
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function crop(image: Size, box: Box, size: number | Size, options?: FrameOptions): Frame {
  const from = checkedSize(image, 'image')
  const fill = checkedFill(options, 'crop')
  const [x, y, width, height] = checkedBox(box, 'box')
  const left = Math.floor(x)
  const top = Math.floor(y)
  const right = Math.ceil(x + width)
  const bottom = Math.ceil(y + height)
  checkedNumber(right - left, "the box's width", 1, longest)
  checkedNumber(bottom - top, "the box's height", 1, longest)
  const to = sizeOf(size)
  return new Frame(from, to, [left, top, right - left, bottom - top], whole(to), fill)
}
