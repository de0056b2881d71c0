import { checkedBoolean, checkedNumber } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { expected } from '../errors.js'
import { checkedBox, checkedColor, checkedSize } from './checks.js'
import type { Box, Color, Size } from './types.js'

export interface FrameOptions {
  /** What is seen outside the picture, one value for all channels or [red, green, blue]; default 0, black. */
  readonly fill?: number | Color | undefined
}

export interface MapOptions {
  /** Cuts off what lies outside the picture; default false. */
  readonly clip?: boolean | undefined
}

/** How a picture is laid into a model's input, made by {@link letterbox}, {@link padToSquare}, {@link stretch} and {@link crop}. */
export class Frame implements Size {
  /** The size of the model's input. */
  readonly width: number
  readonly height: number
  /** The size of the picture. */
  readonly image: Size
  /** The part of the picture that is shown, in whole pixels of the picture; outside the picture it is filled. */
  readonly source: Box
  /** Where `source` is shown, in whole pixels of the model's input; around it, the input is filled. */
  readonly target: Box
  readonly fill: Color

  /** @internal */
  constructor(image: Size, size: Size, source: Box, target: Box, fill: Color) {
    this.width = size.width
    this.height = size.height
    this.image = image
    this.source = source
    this.target = target
    this.fill = fill
    Object.freeze(this)
  }

  /** A box in the model's input as a box in the picture. It is not clipped unless that is asked. */
  toImage(box: Box, options?: MapOptions): Box {
    const { clip = false } = readOptions(options, ['clip'], 'toImage')
    const mapped = mapBox(checkedBox(box, 'box'), this.target, this.source)
    return checkedBoolean(clip, 'clip') ? clipBox(mapped, this.image) : mapped
  }

  /** A box in the picture as a box in the model's input, not clipped. */
  toModel(box: Box): Box {
    return mapBox(checkedBox(box, 'box'), this.source, this.target)
  }
}

/** `box` by the linear map that takes `from` to `to`. */
function mapBox(box: Box, from: Box, to: Box): Box {
  const scaleX = to[2] / from[2]
  const scaleY = to[3] / from[3]
  return [to[0] + (box[0] - from[0]) * scaleX, to[1] + (box[1] - from[1]) * scaleY, box[2] * scaleX, box[3] * scaleY]
}

/** The part of `box` that lies within a picture of `size`; of width or height 0 when none does. */
export function clipBox(box: Box, size: Size): Box {
  const [x, y, width, height] = checkedBox(box, 'box')
  const limits = checkedSize(size, 'size')
  const left = clamp(x, limits.width)
  const top = clamp(y, limits.height)
  return [left, top, clamp(x + width, limits.width) - left, clamp(y + height, limits.height) - top]
}

function clamp(value: number, high: number): number {
  return Math.min(Math.max(value, 0), high)
}

function sizeOf(size: number | Size): Size {
  return checkedSize(typeof size === 'object' ? size : { width: size, height: size }, 'size')
}

function fillOf(options: unknown, owner: string): Color {
  return checkedColor(readOptions(options, ['fill'], owner).fill ?? 0, 'fill')
}

function whole(size: Size): Box {
  return [0, 0, size.width, size.height]
}

/** The picture is resized to the input, its proportions are not kept. @param size the input's size, a number for a square */
export function stretch(image: Size, size: number | Size): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  return new Frame(from, to, whole(from), whole(to), [0, 0, 0])
}

/** The picture is resized until it fits, keeping its proportions, and stands in the middle; an odd pixel goes right or below. */
export function letterbox(image: Size, size: number | Size, options?: FrameOptions): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  const scale = Math.min(to.width / from.width, to.height / from.height)
  const width = Math.max(1, Math.round(from.width * scale))
  const height = Math.max(1, Math.round(from.height * scale))
  const target: Box = [Math.floor((to.width - width) / 2), Math.floor((to.height - height) / 2), width, height]
  return new Frame(from, to, whole(from), target, fillOf(options, 'letterbox'))
}

/** The picture is made square by filling on the right or below, and that is resized: unlike with {@link letterbox}, the picture's edge blends with the fill. */
export function padToSquare(image: Size, size: number, options?: FrameOptions): Frame {
  const from = checkedSize(image, 'image')
  const to = sizeOf(size)
  if (to.width !== to.height) throw expected('a number', 'size', size)
  const side = Math.max(from.width, from.height)
  return new Frame(from, to, [0, 0, side, side], whole(to), fillOf(options, 'padToSquare'))
}

/** A part of the picture is cut out and resized to the input; `box` is widened to whole pixels and may reach outside the picture, which is filled. */
export function crop(image: Size, box: Box, size: number | Size, options?: FrameOptions): Frame {
  const from = checkedSize(image, 'image')
  const [x, y, width, height] = checkedBox(box, 'box')
  const left = Math.floor(x)
  const top = Math.floor(y)
  const right = Math.ceil(x + width)
  const bottom = Math.ceil(y + height)
  checkedNumber(right - left, "the box's width", 1, Number.MAX_SAFE_INTEGER)
  checkedNumber(bottom - top, "the box's height", 1, Number.MAX_SAFE_INTEGER)
  const to = sizeOf(size)
  return new Frame(from, to, [left, top, right - left, bottom - top], whole(to), fillOf(options, 'crop'))
}
