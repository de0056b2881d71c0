import { checkedChoice, checkedNumber, checkedWhole } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { expected } from '../errors.js'
import { checkedBox, checkedColor, checkedSize, longest } from './checks.js'
import { Frame } from './frame.js'
import type { Box, Color, Point, Size } from './types.js'

export interface FrameOptions {
  /** What is seen outside the picture, one value for all channels or [red, green, blue]; default 0, black. */
  readonly fill?: number | Color | undefined
}

/** Where a picture stands in what is larger: in the middle, or at the top left. */
export type Position = 'center' | 'start'

/**
 * How a length that is no whole number of pixels becomes one: `nearest` (halves up), `even` (halves to even, as Python's round: ultralytics), `down` (as Python's int: YOLOX, effdet,
 * automl's EfficientDet).
 */
export type Rounding = 'nearest' | 'even' | 'down'

export interface LetterboxOptions extends FrameOptions {
  /** Default `center` (YOLO); `start`: the picture at the top left, as YOLOX and EfficientDet have it. */
  readonly position?: Position | undefined
  /** Of the resized picture's sides; default `nearest`. */
  readonly rounding?: Rounding | undefined
  /** The input has only as much fill as makes its sides multiples of this (ultralytics' `auto`, 32), instead of the whole size; default: the whole size. */
  readonly multipleOf?: number | undefined
}

export interface PadOptions extends FrameOptions {
  /** Default `start`: filled on the right or below; `center`: half of it on the left or above, the smaller half where it is odd. */
  readonly position?: Position | undefined
}

export interface CenterCropOptions extends FrameOptions {
  /** The picture's shorter side is resized to so many pixels first, the longer one in proportion, rounded down (torchvision's Resize(256)); a size: both sides; default: not at all. */
  readonly resize?: number | Size | undefined
}

export function sizeOf(size: number | Size): Size {
  return checkedSize(typeof size === 'object' ? size : { width: size, height: size }, 'size')
}

export function whole(size: Size): Box {
  return [0, 0, size.width, size.height]
}

/** The picture is resized to the input, its proportions are not kept. @param size the input's size, a number for a square */
export function stretch(image: Size, size: number | Size): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  return new Frame(from, to, whole(from), whole(to), [0, 0, 0])
}

/**
 * The picture is resized until it fits, keeping its proportions, and filled up to the input's size. In the middle, an odd pixel goes right or below.
 * @param size the input's size, a number for a square
 */
export function letterbox(image: Size, size: number | Size, options?: LetterboxOptions): Frame {
  const from = checkedSize(image, 'image')
  const most = sizeOf(size)
  const given = readOptions(options, ['fill', 'position', 'rounding', 'multipleOf'], 'letterbox')
  const { position = 'center', rounding = 'nearest', multipleOf } = given
  const rounded = roundings[checkedChoice(rounding, 'rounding', ['nearest', 'even', 'down'])]
  const scale = Math.min(most.width / from.width, most.height / from.height)
  const width = Math.max(1, rounded(from.width * scale))
  const height = Math.max(1, rounded(from.height * scale))
  const to = multipleOf === undefined ? most : filledUp({ width, height }, checkedWhole(multipleOf, 'multipleOf', 1, longest))
  const [left, top] = placeIn(to, { width, height }, position)
  return new Frame(from, to, whole(from), [left, top, width, height], checkedColor(given.fill ?? 0, 'fill'))
}

const roundings: Readonly<Record<Rounding, (value: number) => number>> = {
  nearest: Math.round,
  even: roundHalfEven,
  down: Math.floor,
}

/** As Python's round(). */
function roundHalfEven(value: number): number {
  const down = Math.floor(value)
  const isHalf = value - down === 0.5
  return isHalf ? down + (down % 2 === 0 ? 0 : 1) : Math.round(value)
}

function filledUp({ width, height }: Size, unit: number): Size {
  return { width: Math.ceil(width / unit) * unit, height: Math.ceil(height / unit) * unit }
}

/** Where something stands in something larger. */
function placeIn(outer: Size, inner: Size, position: unknown): Point {
  if (checkedChoice(position, 'position', ['center', 'start']) === 'start') return [0, 0]
  return [Math.floor((outer.width - inner.width) / 2), Math.floor((outer.height - inner.height) / 2)]
}

/** The picture is made square by filling, and that is resized: unlike with {@link letterbox}, the picture's edge blends with the fill. */
export function padToSquare(image: Size, size: number, options?: PadOptions): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  if (to.width !== to.height) throw expected('a number', 'size', size)
  const { fill = 0, position = 'start' } = readOptions(options, ['fill', 'position'], 'padToSquare')
  const side = Math.max(from.width, from.height)
  const [left, top] = placeIn({ width: side, height: side }, from, position)
  return new Frame(from, to, [0 - left, 0 - top, side, side], whole(to), checkedColor(fill, 'fill'))
}

/**
 * The middle of the picture, which may be resized before: torchvision's `Resize(256), CenterCrop(224)` is `centerCrop(image, 224, { resize: 256 })`, to the pixel with the filter `triangle`.
 * Where the picture is smaller than the input, it is filled around.
 * @see https://pytorch.org/vision/stable/generated/torchvision.transforms.CenterCrop.html
 */
export function centerCrop(image: Size, size: number | Size, options?: CenterCropOptions): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  const { fill = 0, resize } = readOptions(options, ['fill', 'resize'], 'centerCrop')
  const resized = resize === undefined ? from : resizedTo(from, resize)
  const target: Box = [centred(to.width, resized.width), centred(to.height, resized.height), resized.width, resized.height]
  return new Frame(from, to, whole(from), target, checkedColor(fill, 'fill'))
}

function resizedTo(image: Size, resize: unknown): Size {
  if (typeof resize === 'object') return checkedSize(resize, 'resize')
  const side = checkedWhole(resize, 'resize', 1, longest)
  const { width, height } = image
  return width <= height
    ? { width: side, height: Math.trunc((side * height) / width) }
    : { width: Math.trunc((side * width) / height), height: side }
}

/** Where what is `inner` long begins in the middle of what is `outer` long, rounded as torchvision does. */
function centred(outer: number, inner: number): number {
  return inner < outer ? Math.floor((outer - inner) / 2) : 0 - roundHalfEven((inner - outer) / 2)
}

/** A part of the picture is cut out and resized to the input; `box` is widened to whole pixels and may reach outside the picture, which is filled. */
export function crop(image: Size, box: Box, size: number | Size, options?: FrameOptions): Frame {
  const from = checkedSize(image, 'image')
  const { fill = 0 } = readOptions(options, ['fill'], 'crop')
  const [x, y, width, height] = checkedBox(box, 'box')
  const left = Math.floor(x)
  const top = Math.floor(y)
  const right = Math.ceil(x + width)
  const bottom = Math.ceil(y + height)
  checkedNumber(right - left, "the box's width", 1, longest)
  checkedNumber(bottom - top, "the box's height", 1, longest)
  const to = sizeOf(size)
  return new Frame(from, to, [left, top, right - left, bottom - top], whole(to), checkedColor(fill, 'fill'))
}
