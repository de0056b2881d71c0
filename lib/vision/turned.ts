import { checkedArray, checkedNumber } from '../base/checks.js'
import { checkedSize, longest, sizeOf } from '../base/size.js'
import { expected } from '../errors.js'
import { type Affine, boundsOf, inverse, similarity } from './affine.js'
import { checkedBox, checkedPoint } from './checks.js'
import { Frame } from './frame.js'
import { whole } from '../steps/pixels/layout.js'
import { checkedFill, type FrameOptions } from './framing.js'
import type { Box, Point, Size } from './types.js'

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
