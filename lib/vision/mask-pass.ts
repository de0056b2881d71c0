/**
 * From what a model gives to the pixels of a mask, one picture at a time: by the addon, or in JavaScript, which gives
 * the same.
 */
import type { NativeMask, NativeMaskAxis } from '../backend/native-vision.js'
import type { Cut } from '../base/cancellation.js'
import { expected } from '../errors.js'
import { Frame } from './frame.js'
import { onThread, pixelAddon } from './threads.js'

/** A frame whose picture stands upright in the input. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function uprightFrame(frame: unknown, name: string): Frame {
  if (!Frame.is(frame)) throw expected('a Frame', name, frame)
  if (frame.transform !== undefined)
    throw expected('a Frame that does not turn the picture, as rotatedCrop and alignedCrop do,', name, frame)
  return frame
}

/** The values of one picture; without a threshold its greatest channel is taken. */
export interface MaskValues {
  readonly values: Float32Array
  readonly width: number
  readonly height: number
  readonly channels: number
  readonly planar: 0 | 1
  readonly threshold: number | undefined
}

interface MaskAxis extends NativeMaskAxis {
  /** The first pixel of the picture that the model has seen. */
  readonly begin: number
}

/**
 * Where each pixel of the picture lies among `length` values: `target` of the input, which these cover, is resized to
 * `source` (half-pixel), and nothing outside of `target` has a say. What the model has not seen is left out, and so is
 * what is not among `pixels`, if these are given: the first, and just beyond the last.
 */
export function maskAxis(
  frame: Frame,
  side: 'width' | 'height',
  length: number,
  pixels?: readonly [number, number],
): MaskAxis {
  const at = side === 'width' ? 0 : 1
  const [from, extent] = [frame.source[at], frame.source[at + 2]!]
  const step = length / frame[side]
  const [start, size] = [frame.target[at] * step, frame.target[at + 2]! * step]
  const low = Math.max(0, Math.floor(start))
  const last = Math.min(length, Math.ceil(start + size)) - 1
  const placeOf = (pixel: number): number => start + ((pixel + 0.5 - from) * size) / extent
  const [least, most] = pixels ?? [0, frame.image[side]]
  let begin = Math.max(0, from, least)
  let end = Math.min(frame.image[side], from + extent, most)
  while (begin < end && placeOf(begin) < 0) begin++
  while (end > begin && placeOf(end - 1) > length) end--
  const count = Math.max(0, end - begin)
  const [first, weights] = [new Int32Array(count), new Float64Array(count)]
  for (let i = 0; i < count; i++) {
    const place = Math.min(Math.max(placeOf(begin + i) - 0.5, low), last)
    first[i] = Math.floor(place)
    weights[i] = place - first[i]!
  }
  return { begin, count, last, first, weights }
}

function jobOf(values: MaskValues, frame: Frame, mask: Uint8Array): NativeMask {
  const columns = maskAxis(frame, 'width', values.width)
  const rows = maskAxis(frame, 'height', values.height)
  const stride = frame.image.width
  return { ...values, columns, rows, out: mask.subarray(rows.begin * stride + columns.begin), stride }
}

/** Writes `mask`, which is all 0, as large as the picture of `frame`. */
export async function writeMask(
  values: MaskValues,
  frame: Frame,
  mask: Uint8Array,
  cut: Cut | undefined,
): Promise<void> {
  const addon = pixelAddon()
  if (addon !== undefined) await onThread(async () => addon.makeMask(jobOf(values, frame, mask)), cut)
  else writePortably(jobOf(values, frame, mask))
}

/** As native/vision/masks.cc does it. */
export function writePortably({
  values,
  width,
  height,
  channels,
  planar,
  columns,
  rows,
  threshold,
  out,
  stride,
}: NativeMask): void {
  const [columnStep, channelStep] = planar === 1 ? [1, width * height] : [channels, 1]
  const rowStep = columnStep * width
  const decide = (valueAt: (offset: number) => number): number => {
    if (threshold !== undefined) return valueAt(0) > threshold ? 1 : 0
    let [found, greatest] = [0, valueAt(0)]
    for (let channel = 1; channel < channels; channel++) {
      const value = valueAt(channel * channelStep)
      if (value > greatest) [found, greatest] = [channel, value]
    }
    return found
  }
  const answers = new Uint8Array(width * height)
  for (let i = 0; i < answers.length; i++) answers[i] = decide((offset) => values[i * columnStep + offset]!)

  for (let row = 0; row < rows.count; row++) {
    const above = rows.first[row]!
    const under = Math.min(above + 1, rows.last)
    const below = rows.weights[row]!
    for (let column = 0; column < columns.count; column++) {
      const left = columns.first[column]!
      const right = Math.min(left + 1, columns.last)
      const answer = answers[above * width + left]!
      const same =
        answers[above * width + right] === answer &&
        answers[under * width + left] === answer &&
        answers[under * width + right] === answer
      if (same) {
        // what lies between values that mean the same means that, too
        out[row * stride + column] = answer
        continue
      }
      const [top, bottom] = [above * rowStep, under * rowStep]
      const [first, second, weight] = [left * columnStep, right * columnStep, columns.weights[column]!]
      out[row * stride + column] = decide((offset) => {
        const upper = (1 - weight) * values[top + first + offset]! + weight * values[top + second + offset]!
        const lower = (1 - weight) * values[bottom + first + offset]! + weight * values[bottom + second + offset]!
        return (1 - below) * upper + below * lower
      })
    }
  }
}
