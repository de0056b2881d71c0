import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { type Affine, applied, boundsOf, inverse } from './affine.js'
import { checkedBox, checkedPoint, checkedSize } from './checks.js'
import type { Box, Color, Point, Size } from './types.js'

/** Options of {@link Frame.toImage}. */
export interface MapOptions {
  /** Cuts off what lies outside the picture; default false. */
  readonly clip?: boolean | undefined
}

const mapRows = { clip: option(is.boolean, false) } satisfies OptionTable<MapOptions>

/**
 * How a picture is laid into a model's input, made by {@link letterbox}, {@link padToSquare}, {@link stretch}, {@link
 * crop}, {@link centerCrop}, {@link rotatedCrop} and {@link alignedCrop}.
 */
export class Frame implements Size {
  /** The width of the model's input, in pixels. */
  readonly width: number
  /** The height of the model's input, in pixels. */
  readonly height: number
  /** The size of the picture, in pixels. */
  readonly image: Size
  /**
   * The part of the picture that is shown, in whole pixels of the picture; outside the picture it is filled. Of a
   * turned part the upright box around it.
   */
  readonly source: Box
  /**
   * Where `source` is shown, in whole pixels of the model's input, beyond which it may reach; around it, the input is
   * filled.
   */
  readonly target: Box
  /** The colour around the picture: red, green, blue, 0 to 255. */
  readonly fill: Color
  /**
   * Where a turned part is shown: from the model's input to the picture, x' = a x + b y + c, y' = d x + e y + f. Else
   * `source` and `target` say it all.
   */
  readonly transform: Affine | undefined
  /** Tells a Frame from what only has its prototype. */
  readonly #genuine = true

  /** @internal */
  constructor(image: Size, size: Size, source: Box, target: Box, fill: Color, transform?: Affine) {
    this.width = size.width
    this.height = size.height
    this.image = image
    this.source = source
    this.target = target
    this.fill = fill
    this.transform = transform
    Object.freeze(this)
  }

  /** Whether `value` is a Frame. */
  static is(value: unknown): value is Frame {
    return typeof value === 'object' && value !== null && #genuine in value
  }

  /**
   * A box in the model's input as a box in the picture, of a turned part the upright box around it. It is not clipped
   * unless that is asked.
   */
  toImage(box: Box, options?: MapOptions): Box {
    const { clip } = checkedOptions(options, mapRows, 'toImage')
    const given = checkedBox(box, 'box')
    const mapped =
      this.transform === undefined ? mapBox(given, this.target, this.source) : boundsOf(this.transform, given)
    return clip ? clipBox(mapped, this.image) : mapped
  }

  /** A box in the picture as a box in the model's input, not clipped. */
  toModel(box: Box): Box {
    const given = checkedBox(box, 'box')
    return this.transform === undefined
      ? mapBox(given, this.source, this.target)
      : boundsOf(inverse(this.transform), given)
  }

  /** A point in the model's input, such as a landmark, as a point in the picture. */
  pointToImage(point: Point): Point {
    const given = checkedPoint(point, 'point')
    return this.transform === undefined ? mapPoint(given, this.target, this.source) : applied(this.transform, given)
  }

  /** A point in the picture as a point in the model's input. */
  pointToModel(point: Point): Point {
    const given = checkedPoint(point, 'point')
    return this.transform === undefined
      ? mapPoint(given, this.source, this.target)
      : applied(inverse(this.transform), given)
  }
}

function mapPoint([x, y]: Point, from: Box, to: Box): Point {
  const [left, top] = mapBox([x, y, 0, 0], from, to)
  return [left, top]
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
