import type { Frame } from './frame.js'

/** How an output pixel maps to a source pixel, by the names of ONNX's Resize. */
export type Coordinates = 'half_pixel' | 'asymmetric' | 'align_corners'

/**
 * For each output pixel along one axis: two picture pixels and their weights. Taps outside the picture weigh 0 and point to pixel 0;
 * what they would have weighed is in `outside`.
 */
export interface Taps {
  readonly first: Int32Array
  readonly second: Int32Array
  readonly firstWeight: Float64Array
  readonly secondWeight: Float64Array
  readonly outside: Float64Array
}

/** One axis of a picture that is laid into an output: `source` (start and length in the picture) is shown at `target` (start and length in the output). */
export interface Axis {
  readonly source: readonly [start: number, length: number]
  readonly target: readonly [start: number, length: number]
  readonly imageLength: number
  readonly outputLength: number
}

export function axisOf(frame: Frame, side: 'width' | 'height'): Axis {
  const [start, length] = side === 'width' ? ([0, 2] as const) : ([1, 3] as const)
  return {
    source: [frame.source[start], frame.source[length]],
    target: [frame.target[start], frame.target[length]],
    imageLength: frame.image[side],
    outputLength: frame[side],
  }
}

/** The taps of linear interpolation along one axis. */
export function makeTaps({ source, target, imageLength, outputLength }: Axis, coordinates: Coordinates): Taps {
  const taps: Taps = {
    first: new Int32Array(outputLength),
    second: new Int32Array(outputLength),
    firstWeight: new Float64Array(outputLength),
    secondWeight: new Float64Array(outputLength),
    outside: new Float64Array(outputLength).fill(1),
  }
  const toSource = sourceCoordinate(coordinates, source[1], target[1])
  const last = source[1] - 1
  for (let index = 0; index < target[1]; index++) {
    const position = Math.min(Math.max(toSource(index), 0), last)
    const before = Math.floor(position)
    setTaps(taps, target[0] + index, source[0] + before, source[0] + Math.min(before + 1, last), position - before, imageLength)
  }
  return taps
}

/** In single precision, as runtimes compute it: at a width of 4000, that moves a tap by up to 0.0004 pixels. */
function sourceCoordinate(coordinates: Coordinates, sourceLength: number, targetLength: number): (index: number) => number {
  const ratio = Math.fround(sourceLength / targetLength)
  if (coordinates === 'asymmetric') return (index) => Math.fround(index * ratio)
  if (coordinates === 'half_pixel') return (index) => Math.fround(Math.fround((index + 0.5) * ratio) - 0.5)
  const step = targetLength === 1 ? 0 : Math.fround((sourceLength - 1) / (targetLength - 1))
  return (index) => Math.fround(index * step)
}

function setTaps(taps: Taps, at: number, first: number, second: number, fraction: number, imageLength: number): void {
  const firstInside = first >= 0 && first < imageLength
  const secondInside = second >= 0 && second < imageLength
  taps.first[at] = firstInside ? first : 0
  taps.second[at] = secondInside ? second : 0
  taps.firstWeight[at] = firstInside ? 1 - fraction : 0
  taps.secondWeight[at] = secondInside ? fraction : 0
  taps.outside[at] = (firstInside ? 0 : 1 - fraction) + (secondInside ? 0 : fraction)
}
