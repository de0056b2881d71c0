import { isUint8ClampedArray } from 'node:util/types'
import type { Taps, WholeTaps } from '../steps/pixels/taps.js'
import { grayWeights, wholeUnit } from '../steps/pixels/filters.js'
import { type Affine, applied } from './affine.js'
import type { Color, Size } from './types.js'

/** An output, and what is made of its values. */
export interface Writing extends Size {
  readonly fill: Color
  readonly layout: 'NCHW' | 'NHWC'
  readonly order: 'RGB' | 'BGR' | 'GRAY'
  readonly round: boolean
  readonly scale: Color
  readonly mean: Color
}

/** Its rows and columns. */
interface Sampling extends Writing {
  readonly columns: Taps
  readonly rows: Taps
}

/**
 * What native/vision/resample.cc does, in JavaScript: the way where there is no addon, and the second opinion of tests.
 * @param data RGB, `width` pixels a row
 * @param out an array that rounds by itself (uint8), or floats
 */
export function sample(data: Uint8Array, width: number, plan: Sampling, out: Float32Array | Uint8ClampedArray): void {
  const row = new Float32Array(width * 3)
  const planes = planesOf(plan.columns.outputs)
  for (let y = 0; y < plan.rows.outputs; y++) {
    if (y >= plan.rows.begin && y < plan.rows.end) combineRows(data, plan, y, row)
    planes.forEach((plane, channel) => {
      sampleColumns(row, plan.columns, channel, plane)
      addFill(plan, y, plan.fill[channel as 0 | 1 | 2], plane)
    })
    writeRow(planes, plan, y, out)
  }
}

function combineRows(data: Uint8Array, { rows }: Sampling, y: number, row: Float32Array): void {
  row.fill(0)
  for (let k = 0; k < rows.taps; k++) {
    const weight = rows.weights[y * rows.taps + k]!
    if (weight === 0) continue
    const from = (rows.first[y]! + k) * row.length
    for (let i = 0; i < row.length; i++) row[i] = row[i]! + weight * data[from + i]!
  }
}

/** One channel of a row; 0 where it does not see the picture. */
function sampleColumns(row: Float32Array, columns: Taps, channel: number, plane: Float32Array): void {
  const { begin, end, taps, first, weights } = columns
  for (let x = begin; x < end; x++) {
    let sum = 0
    for (let k = 0; k < taps; k++) sum += weights[x * taps + k]! * row[(first[x]! + k) * 3 + channel]!
    plane[x] = sum
  }
}

/** What lies outside of the picture weighs as much as a row or a column of it does there, not twice at a corner. */
function addFill({ columns, rows }: Sampling, y: number, fill: number, plane: Float32Array): void {
  const outsideRow = rows.outside[y]!
  if (y < rows.begin || y >= rows.end) plane.fill(fill)
  else {
    plane.fill(fill, 0, columns.begin)
    plane.fill(fill, columns.end)
    for (let x = columns.begin; x < columns.end; x++) {
      const outsideColumn = columns.outside[x]!
      plane[x] = plane[x]! + (outsideRow + outsideColumn - outsideRow * outsideColumn) * fill
    }
  }
}

/** A row of an output: red, green, blue. */
type Planes = readonly [Float32Array, Float32Array, Float32Array]

export function planesOf(width: number): Planes {
  return [new Float32Array(width), new Float32Array(width), new Float32Array(width)]
}

export function writeRow(planes: Planes, plan: Writing, y: number, out: Float32Array | Uint8ClampedArray): void {
  const { layout, order, round, scale, mean, width, height } = plan
  const isWhole = round || isUint8ClampedArray(out)
  const seen: readonly Channel[] = isWhole ? planes.map((plane) => Uint8ClampedArray.from(plane)) : planes
  const written = order === 'GRAY' ? [grayOf(seen, isWhole)] : seen
  const channels = written.length
  for (let place = 0; place < channels; place++) {
    const channel = (order === 'BGR' ? 2 - place : place) as 0 | 1 | 2
    const values = written[channel]!
    const planar = layout === 'NCHW'
    let to = planar ? (place * height + y) * width : y * width * channels + place
    for (let x = 0; x < width; x++, to += planar ? 1 : channels) out[to] = (values[x]! - mean[channel]) * scale[channel]
  }
}

type Channel = Float32Array | Uint8ClampedArray

/** Of whole values as PIL's convert('L'). */
function grayOf([red, green, blue]: readonly Channel[], isWhole: boolean): Float32Array {
  const [r, g, b] = isWhole ? grayWeights : [0.299, 0.587, 0.114]
  const sum = Float32Array.from(red!, (value, x) => r * value + g * green![x]! + b * blue![x]!)
  return isWhole ? sum.map((value) => Math.floor(value + 0.5)) : sum
}

/**
 * What native/vision/warp.cc does: each output pixel is what lies between the four pixels around its place in the
 * picture.
 */
export function sampleTurned(
  data: Uint8Array,
  image: Size,
  plan: Writing,
  transform: Affine,
  out: Float32Array | Uint8ClampedArray,
): void {
  const planes = planesOf(plan.width)
  for (let row = 0; row < plan.height; row++) {
    for (let column = 0; column < plan.width; column++) {
      const [x, y] = applied(transform, [column + 0.5, row + 0.5])
      for (const channel of [0, 1, 2] as const)
        planes[channel][column] = between(data, image, plan.fill[channel], channel, x - 0.5, y - 0.5)
    }
    writeRow(planes, plan, row, out)
  }
}

/** Outside of the picture it is the fill. */
function between(
  data: Uint8Array,
  { width, height }: Size,
  fill: number,
  channel: number,
  x: number,
  y: number,
): number {
  const [left, top] = [Math.floor(x), Math.floor(y)]
  const at = (px: number, py: number): number =>
    px >= 0 && py >= 0 && px < width && py < height ? data[(py * width + px) * 3 + channel]! : fill
  const [right, below] = [x - left, y - top]
  const above = (1 - right) * at(left, top) + right * at(left + 1, top)
  return (1 - below) * above + below * ((1 - right) * at(left, top + 1) + right * at(left + 1, top + 1))
}

interface WholeSampling extends Writing {
  readonly columns: WholeTaps
  readonly rows: WholeTaps
}

/**
 * What native/vision/resample_bytes.cc does, in JavaScript, to the same bytes.
 * @param data RGB, `width` pixels a row
 * @param out an array that rounds by itself (uint8), or floats
 */
export function sampleWhole(
  data: Uint8Array,
  width: number,
  plan: WholeSampling,
  out: Float32Array | Uint8ClampedArray,
): void {
  const { columns, rows, fill } = plan
  const narrow = narrowed(data, width, plan)
  const planes = planesOf(columns.outputs)
  for (let y = 0; y < rows.outputs; y++) {
    const isSeen = y >= rows.begin && y < rows.end
    planes.forEach((plane, channel) => {
      plane.fill(fill[channel as 0 | 1 | 2])
      if (isSeen) combineWholeRows(narrow, plan, y, channel as 0 | 1 | 2, plane)
    })
    writeRow(planes, plan, y, out)
  }
}

/** The rows of the picture that are seen, as narrow as the output; others, and what lies beyond the picture, are 0. */
function narrowed(data: Uint8Array, width: number, { columns, rows, fill }: WholeSampling): Uint8Array {
  const { outputs, begin, end, taps, first, weights, outside } = columns
  const firstRows = rows.first.subarray(rows.begin, rows.end)
  const last = firstRows.reduce((most, row) => Math.max(most, row + rows.taps), 0)
  const out = new Uint8Array(last * outputs * 3)
  for (let y = firstRows.reduce((least, row) => Math.min(least, row), last); y < last; y++) {
    for (let x = begin; x < end; x++) {
      const from = (y * width + first[x]!) * 3
      for (const channel of [0, 1, 2] as const) {
        let sum = outside[x]! * fill[channel]
        for (let k = 0; k < taps; k++) sum += weights[x * taps + k]! * data[from + 3 * k + channel]!
        out[(y * outputs + x) * 3 + channel] = byteOf(sum)
      }
    }
  }
  return out
}

function combineWholeRows(
  narrow: Uint8Array,
  { columns, rows, fill }: WholeSampling,
  y: number,
  channel: 0 | 1 | 2,
  plane: Float32Array,
): void {
  const { taps, first, weights, outside } = rows
  const [length, from] = [columns.outputs * 3, first[y]! * columns.outputs * 3 + channel]
  for (let x = columns.begin; x < columns.end; x++) {
    let sum = outside[y]! * fill[channel]
    for (let k = 0; k < taps; k++) sum += weights[y * taps + k]! * narrow[from + k * length + x * 3]!
    plane[x] = byteOf(sum)
  }
}

function byteOf(sum: number): number {
  return Math.min(255, Math.max(0, Math.floor(sum / wholeUnit + 0.5)))
}
