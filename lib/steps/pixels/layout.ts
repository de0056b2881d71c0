/**
 * How a picture lies in a model's input, as numbers: for the frames of lib/vision, and for the same steps inside of a
 * graph. All arguments were checked.
 */
import { checkedWhole } from '../../base/checks.js'
import { is } from '../../base/option-table.js'
import { checkedSize, longest } from '../../base/size.js'
import { type Box, checkedColor, type Point, type Size } from './types.js'

/**
 * `source` of the picture is shown at `target` of the input, both in whole pixels; either may reach beyond it. The
 * width and height are the input's.
 */
export interface Layout extends Size {
  readonly image: Size
  readonly source: Box
  readonly target: Box
}

/** Where a picture stands in what is larger: in the middle, or at the top left. */
export type Position = 'center' | 'start'

/**
 * How a length that is no whole number of pixels becomes one: `nearest` (halves up), `even` (halves to even, as
 * Python's round: ultralytics), `down` (as Python's int: YOLOX, effdet, automl's EfficientDet).
 */
export type Rounding = 'nearest' | 'even' | 'down'

const roundings: Readonly<Record<Rounding, (value: number) => number>> = {
  nearest: Math.round,
  even: roundHalfEven,
  down: Math.floor,
}

/** The checks of what says how a picture lies. */
export const layoutChecks = {
  position: is.choice<Position>('center', 'start'),
  rounding: is.choice(...(Object.keys(roundings) as Rounding[])),
  multipleOf: is.whole(1, longest),
  shortSide: (value: unknown, name: string): number | Size =>
    typeof value === 'object' ? checkedSize(value, name) : checkedWhole(value, name, 1, longest),
  fill: checkedColor,
} as const

export function whole(size: Size): Box {
  return [0, 0, size.width, size.height]
}

export function stretched(image: Size, size: Size): Layout {
  return { ...size, image, source: whole(image), target: whole(size) }
}

export interface Letterboxing {
  readonly position: Position
  readonly rounding: Rounding
  readonly multipleOf: number | undefined
}

export function letterboxed(image: Size, most: Size, { position, rounding, multipleOf }: Letterboxing): Layout {
  const rounded = roundings[rounding]
  const scale = Math.min(most.width / image.width, most.height / image.height)
  const width = Math.max(1, rounded(image.width * scale))
  const height = Math.max(1, rounded(image.height * scale))
  const to = multipleOf === undefined ? most : filledUp({ width, height }, multipleOf)
  const [left, top] = placeIn(to, { width, height }, position)
  return { ...to, image, source: whole(image), target: [left, top, width, height] }
}

export function squared(image: Size, size: Size, position: Position): Layout {
  const side = Math.max(image.width, image.height)
  const [left, top] = placeIn({ width: side, height: side }, image, position)
  return { ...size, image, source: [0 - left, 0 - top, side, side], target: whole(size) }
}

/** @param resize the shorter side, or both sides, that the picture is resized to before */
export function centreCropped(image: Size, size: Size, resize: number | Size | undefined): Layout {
  const resized = resize === undefined ? image : typeof resize === 'object' ? resize : shortSideTo(image, resize)
  const target: Box = [
    centred(size.width, resized.width),
    centred(size.height, resized.height),
    resized.width,
    resized.height,
  ]
  return { ...size, image, source: whole(image), target }
}

/** As torchvision's Resize: the longer side is rounded down. */
function shortSideTo({ width, height }: Size, side: number): Size {
  return width <= height
    ? { width: side, height: Math.trunc((side * height) / width) }
    : { width: Math.trunc((side * width) / height), height: side }
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
function placeIn(outer: Size, inner: Size, position: Position): Point {
  if (position === 'start') return [0, 0]
  return [Math.floor((outer.width - inner.width) / 2), Math.floor((outer.height - inner.height) / 2)]
}

/** Where what is `inner` long begins in the middle of what is `outer` long, rounded as torchvision does. */
function centred(outer: number, inner: number): number {
  return inner < outer ? Math.floor((outer - inner) / 2) : 0 - roundHalfEven((inner - outer) / 2)
}
