import { kernelOf, type Filter } from './filters.js'
import type { Layout } from './layout.js'

/** How an output pixel maps to a source pixel, by the names of ONNX's Resize. */
export type Coordinates = 'half_pixel' | 'asymmetric' | 'align_corners'

/**
 * For each output pixel along one axis: the picture pixels that it is made of, and their weights. Output `i` sees the pixels `first[i]` to `first[i] + taps - 1`, all of which are in the
 * picture, with the weights from `weights[i * taps]` on; what the pixels outside of the picture would weigh is in `outside`. Outputs before `begin` and from `end` on see nothing of it.
 */
export interface Taps {
  readonly outputs: number
  readonly begin: number
  readonly end: number
  readonly taps: number
  readonly first: Int32Array
  readonly weights: Float32Array
  readonly outside: Float32Array
}

/** One axis of a picture that is laid into an output: `source` (start and length in the picture) is shown at `target` (start and length in the output, beyond which it may reach). */
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

/** The pixels of the picture that an output pixel is made of, from `start` on in the source, and what each weighs; `outside` is what those beyond the picture weigh. */
interface Window {
  readonly start: number
  readonly weights: readonly number[]
  readonly outside: number
}

export function makeTaps(axis: Axis, filter: Filter, coordinates: Coordinates): Taps {
  const windowAt = filter === 'linear' ? linearWindow(axis, coordinates) : filteredWindow(axis, filter)
  const begin = Math.min(Math.max(axis.target[0], 0), axis.outputLength)
  const end = Math.max(begin, Math.min(axis.target[0] + axis.target[1], axis.outputLength))
  const windows: Window[] = []
  for (let output = begin; output < end; output++) windows.push(windowAt(output - axis.target[0]))
  return gathered(windows, begin, axis)
}

/** The window of the weights of the source's pixels from `start` to before `end`, as far as they lie in the picture; what lies beyond it is counted, never kept: a box may reach far out. */
function windowOf({ source, imageLength }: Axis, start: number, end: number, weightAt: (pixel: number) => number): Window {
  const [low, high] = [Math.min(Math.max(start, -source[0]), end), Math.max(Math.min(end, imageLength - source[0]), start)]
  const weights: number[] = []
  let [sum, inside] = [0, 0]
  for (let pixel = start; pixel < end; pixel++) {
    const weight = weightAt(pixel)
    sum += weight
    if (pixel < low || pixel >= high) continue
    weights.push(weight)
    inside += weight
  }
  const normalized = sum === 1 ? weights : weights.map((weight) => weight / sum)
  return { start: low, weights: normalized, outside: low === start && high === end ? 0 : (sum - inside) / sum }
}

function gathered(windows: readonly Window[], begin: number, { source, imageLength, outputLength }: Axis): Taps {
  let taps = 1
  for (const { weights } of windows) taps = Math.max(taps, weights.length)
  const result = {
    first: new Int32Array(outputLength),
    weights: new Float32Array(outputLength * taps),
    outside: new Float32Array(outputLength).fill(1),
  }
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
function linearWindow(axis: Axis, coordinates: Coordinates): (index: number) => Window {
  const { source, target } = axis
  const toSource = sourceCoordinate(coordinates, source[1], target[1])
  const last = source[1] - 1
  return (index) => {
    const position = Math.min(Math.max(toSource(index), 0), last)
    const before = Math.floor(position)
    const fraction = position - before
    return windowOf(axis, before, fraction === 0 ? before + 1 : before + 2, (pixel) => (pixel === before ? 1 - fraction : fraction))
  }
}

/** In single precision, as runtimes compute it: at a width of 4000, that moves a tap by up to 0.0004 pixels. */
function sourceCoordinate(coordinates: Coordinates, sourceLength: number, targetLength: number): (index: number) => number {
  const ratio = Math.fround(sourceLength / targetLength)
  if (coordinates === 'asymmetric') return (index) => Math.fround(index * ratio)
  if (coordinates === 'half_pixel') return (index) => Math.fround(Math.fround((index + 0.5) * ratio) - 0.5)
  const step = targetLength === 1 ? 0 : Math.fround((sourceLength - 1) / (targetLength - 1))
  return (index) => Math.fround(index * step)
}

/** All pixels below a filter that is as wide as an output pixel, and its weights normalized to 1: PIL's resize, and torch's with antialias. */
function filteredWindow(axis: Axis, filter: Exclude<Filter, 'linear'>): (index: number) => Window {
  const { source, target } = axis
  const ratio = source[1] / target[1]
  if (filter === 'nearest') return nearestWindow(axis)
  const { support, weight } = kernelOf(filter)
  const scale = Math.max(ratio, 1)
  return (index) => {
    const centre = (index + 0.5) * ratio
    const start = Math.max(0, Math.floor(centre - support * scale + 0.5))
    const end = Math.min(source[1], Math.floor(centre + support * scale + 0.5))
    return windowOf(axis, start, end, (pixel) => weight((pixel + 0.5 - centre) / scale))
  }
}

/** The pixel below an output pixel's centre; positions are added up one by one, as PIL does, whose result is another where they fall between two pixels. */
function nearestWindow(axis: Axis): (index: number) => Window {
  const [sourceLength, targetLength] = [axis.source[1], axis.target[1]]
  const ratio = sourceLength / targetLength
  const pixels = new Int32Array(targetLength)
  let position = ratio * 0.5
  for (let index = 0; index < targetLength; index++, position += ratio) pixels[index] = Math.min(Math.floor(position), sourceLength - 1)
  return (index) => windowOf(axis, pixels[index]!, pixels[index]! + 1, () => 1)
}
