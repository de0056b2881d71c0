import { checkedArray, checkedNumber } from '../base/checks.js'
import { checkedOptions, option, type OptionTable } from '../base/option-table.js'
import { checkedSize, longest, sizeOf } from '../base/size.js'
import { expected } from '../errors.js'
import {
  centreCropped,
  type Layout,
  layoutChecks,
  letterboxed,
  type Position,
  type Rounding,
  squared,
  stretched,
  whole,
} from '../steps/pixels/layout.js'
import { checkedBox, checkedPoint } from './checks.js'
import { Frame } from './frame.js'
import type { Box, Color, Point, Size } from './types.js'
import { type Affine, boundsOf, inverse, similarity } from './affine.js'

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

const frameRows = { fill: option<Color>(layoutChecks.fill, [0, 0, 0]) } satisfies OptionTable<FrameOptions>

const letterboxRows = {
  ...frameRows,
  position: option(layoutChecks.position, 'center'),
  rounding: option(layoutChecks.rounding, 'nearest'),
  multipleOf: option(layoutChecks.multipleOf),
} satisfies OptionTable<LetterboxOptions>

const padRows = {
  ...frameRows,
  position: option(layoutChecks.position, 'start'),
} satisfies OptionTable<PadOptions>

const cropRows = { ...frameRows, resize: option(layoutChecks.shortSide) } satisfies OptionTable<CenterCropOptions>

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

/**
 * A turned part of the picture, cut out, turned upright and resized to the input's size. Values are interpolated
 * between the nearest pixels (the filter `linear`).
 * @param box the part before it is turned about its centre: left, top, width, height
 * @param degrees how far it is turned, clockwise
 * @param size the input's size, a number for a square
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function rotatedCrop(
  image: Size,
  box: Box,
  degrees: number,
  size: number | Size,
  options?: FrameOptions,
): Frame {
  const [x, y, width, height] = checkedBox(box, 'box')
  if (width === 0 || height === 0) throw expected('a box that is not empty', 'box', box)
  const turn = (checkedNumber(degrees, 'degrees', -360_000, 360_000) * Math.PI) / 180
  const to = sizeOf(size)
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)]
  const [scaleX, scaleY] = [width / to.width, height / to.height]
  const [a, b, d, e] = [cos * scaleX, -sin * scaleY, sin * scaleX, cos * scaleY]
  const centre: Point = [x + width / 2, y + height / 2]
  const transform: Affine = [
    a,
    b,
    centre[0] - (a * to.width + b * to.height) / 2,
    d,
    e,
    centre[1] - (d * to.width + e * to.height) / 2,
  ]
  return turned(image, to, transform, options, 'rotatedCrop')
}

/**
 * Where the eyes, the nose and the corners of the mouth (left ones first, as seen) stand in the 112 x 112 faces that
 * ArcFace and its like are trained with. @see https://github.com/deepinsight/insightface
 */
export const arcfacePoints: readonly Point[] = [
  [38.2946, 51.6963],
  [73.5318, 51.5014],
  [56.0252, 71.7366],
  [41.5493, 92.3655],
  [70.7299, 92.2041],
]

/**
 * The part of the picture that, turned, scaled and moved, has some points where a model wants them, by least squares: a
 * face by its landmarks, `alignedCrop(image, landmarks, arcfacePoints, 112)`. Values are interpolated between the
 * nearest pixels (the filter `linear`).
 * @param points two or more points, in pixels of the picture
 * @param template the same points in the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also where all points are in one place
 */
export function alignedCrop(
  image: Size,
  points: readonly Point[],
  template: readonly Point[],
  size: number | Size,
  options?: FrameOptions,
): Frame {
  const from = checkedPoints(template, 'template')
  const to = checkedPoints(points, 'points')
  if (from.length !== to.length) throw expected(`${from.length} points, as many as template has,`, 'points', to.length)
  const transform = similarity(from, to)
  if (transform === undefined) throw expected('points that are not all in one place', 'points and template', points)
  return turned(image, sizeOf(size), transform, options, 'alignedCrop')
}

function checkedPoints(value: unknown, name: string): readonly Point[] {
  const points = checkedArray(value, name, 'an array of points [x, y]').map((point, index) =>
    checkedPoint(point, `${name}[${index}]`),
  )
  if (points.length < 2) throw expected('two points or more', name, points.length)
  return points
}

function turned(image: Size, size: Size, transform: Affine, options: unknown, owner: string): Frame {
  const from = checkedSize(image, 'image')
  const fill = checkedFill(options, owner)
  const [x, y, width, height] = boundsOf(transform, whole(size))
  const reach = Math.max(width, height, ...boundsOf(inverse(transform), whole(from)).map(Math.abs))
  if (!(reach <= longest))
    throw expected(`a part of the picture of at most ${longest} pixels a side`, owner, `${width} x ${height}`)
  const [left, top] = [Math.floor(x), Math.floor(y)]
  const source: Box = [left, top, Math.ceil(x + width) - left, Math.ceil(y + height) - top]
  return new Frame(from, size, source, whole(size), fill, transform)
}
