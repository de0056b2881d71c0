import { type Filter, kernelOf, type WholeFilter, wholeUnit } from './filters.js'
import type { Layout } from './layout.js'

/** How an output pixel maps to a source pixel, by the names of ONNX's Resize. */
export type Coordinates = 'half_pixel' | 'asymmetric' | 'align_corners'

/**
 * For each output pixel along one axis: the picture pixels that it is made of, and their weights. Output `i` sees the
 * pixels `first[i]` to `first[i] + taps - 1`, all of which are in the picture, with the weights from `weights[i *
 * taps]` on; what the pixels outside of the picture would weigh is in `outside`. Outputs before `begin` and from `end`
 * on see nothing of it.
 */
interface TapsOf<Weights> {
  readonly outputs: number
  readonly begin: number
  readonly end: number
  readonly taps: number
  readonly first: Int32Array
  readonly weights: Weights
  readonly outside: Weights
}

export type Taps = TapsOf<Float32Array>

/** Weights in units of 1 / {@link wholeUnit}. */
export type WholeTaps = TapsOf<Int32Array>

/**
 * One axis of a picture that is laid into an output: `source` (start and length in the picture) is shown at `target`
 * (start and length in the output, beyond which it may reach).
 */
export interface Axis {
  readonly source: readonly [start: number, length: number]
  readonly target: readonly [start: number, length: number]
  readonly imageLength: number
  readonly outputLength: number
}

export function axisOf(frame: Layout, side: 'width' | 'height'): Axis {
  const [start, length] = side === 'width' ? ([0, 2] as const) : ([1, 3] as const)
  return {
    source: [frame.source[start], frame.source[length]],
    target: [frame.target[start], frame.target[length]],
    imageLength: frame.image[side],
    outputLength: frame[side],
  }
}

/**
 * The pixels of the picture that an output pixel is made of, from `start` on in the source, and what each weighs;
 * `outside` is what those beyond the picture weigh.
 */
interface Window {
  readonly start: number
  readonly weights: readonly number[]
  readonly outside: number
}

/** The pixels from `start` to before `end` of the source, and what each weighs, not yet normalized. */
interface Weighing {
  readonly start: number
  readonly end: number
  readonly weightAt: (pixel: number) => number
}

type WeighingAt = (index: number) => Weighing

export function makeTaps(axis: Axis, filter: Filter, coordinates: Coordinates): Taps {
  const weighingAt = filter === 'linear' ? betweenTwo(axis, coordinates) : filtered(axis, filter)
  return gathered(axis, weighingAt, { unit: 1, ArrayType: Float32Array, counted: (weight) => weight })
}

/** The same in whole numbers, each weight to the nearest. */
export function makeWholeTaps(axis: Axis, filter: WholeFilter): WholeTaps {
  const counted = (weight: number): number => Math.trunc(weight * wholeUnit + (weight < 0 ? -0.5 : 0.5))
  return gathered(axis, filtered(axis, filter), { unit: wholeUnit, ArrayType: Int32Array, counted })
}

/** How weights, normalized to 1 in all, are stored. */
interface Storing<Weights> {
  readonly unit: number
  readonly ArrayType: new (length: number) => Weights
  readonly counted: (weight: number) => number
}

function gathered<Weights extends Float32Array | Int32Array>(
  axis: Axis,
  weighingAt: WeighingAt,
  storing: Storing<Weights>,
): TapsOf<Weights> {
  const begin = Math.min(Math.max(axis.target[0], 0), axis.outputLength)
  const end = Math.max(begin, Math.min(axis.target[0] + axis.target[1], axis.outputLength))
  const windows: Window[] = []
  for (let output = begin; output < end; output++)
    windows.push(windowOf(axis, weighingAt(output - axis.target[0]), storing.counted))
  return laidOut(windows, begin, axis, storing)
}

/**
 * The weights as far as they lie in the picture; what lies beyond it is added up, never kept: a box may reach far out.
 */
function windowOf(
  { source, imageLength }: Axis,
  { start, end, weightAt }: Weighing,
  counted: Storing<unknown>['counted'],
): Window {
  const [low, high] = [
    Math.min(Math.max(start, -source[0]), end),
    Math.max(Math.min(end, imageLength - source[0]), start),
  ]
  const weights: number[] = []
  let sum = 0
  for (let pixel = start; pixel < end; pixel++) {
    const weight = weightAt(pixel)
    sum += weight
    if (pixel >= low && pixel < high) weights.push(weight)
  }
  let outside = 0
  for (let pixel = start; pixel < low; pixel++) outside += counted(weightAt(pixel) / sum)
  for (let pixel = Math.max(high, low); pixel < end; pixel++) outside += counted(weightAt(pixel) / sum)
  return { start: low, weights: weights.map((weight) => counted(weight / sum)), outside }
}

function laidOut<Weights extends Float32Array | Int32Array>(
  windows: readonly Window[],
  begin: number,
  { source, imageLength, outputLength }: Axis,
  { unit, ArrayType }: Storing<Weights>,
): TapsOf<Weights> {
  let taps = 1
  for (const { weights } of windows) taps = Math.max(taps, weights.length)
  const result = {
    first: new Int32Array(outputLength),
    weights: new ArrayType(outputLength * taps),
    outside: new ArrayType(outputLength),
  }
  result.outside.fill(unit)
  windows.forEach(({ start, weights, outside }, index) => {
    const output = begin + index
    const from = source[0] + start
    const first = Math.max(0, Math.min(from, imageLength - taps))
    result.first[output] = first
    result.outside[output] = outside
    if (weights.length > 0) result.weights.set(weights, output * taps + from - first)
  })
  return { outputs: outputLength, begin, end: begin + windows.length, taps, ...result }
}

/** The two pixels beside a position, as ONNX's Resize in mode `linear`. */
function betweenTwo({ source, target }: Axis, coordinates: Coordinates): WeighingAt {
  const toSource = sourceCoordinate(coordinates, source[1], target[1])
  const last = source[1] - 1
  return (index) => {
    const position = Math.min(Math.max(toSource(index), 0), last)
    const before = Math.floor(position)
    const fraction = position - before
    const weightAt = (pixel: number): number => (pixel === before ? 1 - fraction : fraction)
    return { start: before, end: fraction === 0 ? before + 1 : before + 2, weightAt }
  }
}

/** In single precision, as runtimes compute it: at a width of 4000, that moves a tap by up to 0.0004 pixels. */
function sourceCoordinate(
  coordinates: Coordinates,
  sourceLength: number,
  targetLength: number,
): (index: number) => number {
  const ratio = Math.fround(sourceLength / targetLength)
  if (coordinates === 'asymmetric') return (index) => Math.fround(index * ratio)
  if (coordinates === 'half_pixel') return (index) => Math.fround(Math.fround((index + 0.5) * ratio) - 0.5)
  const step = targetLength === 1 ? 0 : Math.fround((sourceLength - 1) / (targetLength - 1))
  return (index) => Math.fround(index * step)
}

/**
 * All pixels below a filter that is as wide as an output pixel, and its weights normalized to 1: PIL's resize, and
 * torch's with antialias.
 */
function filtered({ source, target }: Axis, filter: Exclude<Filter, 'linear'>): WeighingAt {
  const ratio = source[1] / target[1]
  if (filter === 'nearest') return nearest(source[1], target[1])
  const { support, weight } = kernelOf(filter)
  const scale = Math.max(ratio, 1)
  const inverse = 1 / scale
  return (index) => {
    const centre = (index + 0.5) * ratio
    const start = Math.max(0, Math.floor(centre - support * scale + 0.5))
    const end = Math.min(source[1], Math.floor(centre + support * scale + 0.5))
    // in PIL's order, whose last bits these are
    return { start, end, weightAt: (pixel) => weight((pixel - centre + 0.5) * inverse) }
  }
}

/**
 * The pixel below an output pixel's centre; positions are added up one by one, as PIL does, whose result is another
 * where they fall between two pixels.
 */
function nearest(sourceLength: number, targetLength: number): WeighingAt {
  const ratio = sourceLength / targetLength
  const pixels = new Int32Array(targetLength)
  let position = ratio * 0.5
  for (let index = 0; index < targetLength; index++, position += ratio)
    pixels[index] = Math.min(Math.floor(position), sourceLength - 1)
  return (index) => ({ start: pixels[index]!, end: pixels[index]! + 1, weightAt: () => 1 })
}
