import type { Cut } from '../base/cancellation.js'
import { nativeSync } from '../backend/native.js'
import type { NativeTarget, NativeVision } from '../backend/native-vision.js'
import { Tensor } from '../tensor.js'
import type { Frame } from './frame.js'
import { nativePixels, type Pixels, rgbOf } from './raw.js'
import { sample, sampleTurned } from './sample.js'
import { axisOf, makeTaps, type Taps } from '../pixels/taps.js'
import { type Normalization, pixelTypes } from '../pixels/tensor-options.js'
import { onThread, pixelAddon } from './threads.js'
import { Turns } from './turns.js'

/** One picture on its way into a tensor. */
export interface Resampling {
  readonly pixels: Pixels
  readonly frame: Frame
  readonly normalization: Normalization
  /** As long as the picture is, of the data type's array. */
  readonly out: Float32Array | Uint16Array | Uint8Array
}

/** Picture by picture, so that others have their turn between them. */
const portableTurns = new Turns(1)

/** On a thread of the addon; without one, in JavaScript. */
export async function resampled(job: Resampling, cut: Cut | undefined): Promise<void> {
  const addon = pixelAddon()
  if (addon !== undefined) return onThread(async () => byAddon(addon, job, false), cut)
  await portableTurns.take(async () => {
    await new Promise(setImmediate)
    cut?.throwIfHappened()
    resamplePortably(job)
  }, cut)
}

/** On the calling thread, by the addon or without it. */
export function resampleSync(job: Resampling): void {
  const addon = pixelAddon()
  if (addon === undefined) resamplePortably(job)
  else nativeSync(() => void byAddon(addon, job, true))
}

function byAddon(addon: NativeVision, job: Resampling, sync: boolean): Promise<void> | undefined {
  const { frame, normalization, pixels } = job
  const target = nativeTarget(job)
  if (frame.transform !== undefined) {
    const { width, height, transform } = frame
    return addon.warp({ ...target, width, height, matrix: Float64Array.from(transform) }, nativePixels(pixels), sync)
  }
  const roundedBetween = roundsBetween(normalization) ? 1 : 0
  return addon.resample({ ...target, ...axes(frame, normalization), roundedBetween }, nativePixels(pixels), sync)
}

/** In JavaScript. */
function resamplePortably({ pixels, frame, normalization, out }: Resampling): void {
  const rgb = rgbOf(pixels)
  const write = (to: Float32Array | Uint8ClampedArray): void => {
    const plan = { ...normalization, fill: frame.fill, width: frame.width, height: frame.height }
    if (frame.transform !== undefined) return sampleTurned(rgb, frame.image, plan, frame.transform, to)
    sample(rgb, pixels.width, { ...plan, ...axes(frame, normalization), roundsBetween: roundsBetween(normalization) }, to)
  }
  if (out instanceof Uint8Array) write(new Uint8ClampedArray(out.buffer, out.byteOffset, out.length))
  else if (out instanceof Float32Array) write(out)
  else {
    const values = new Float32Array(out.length)
    write(values)
    out.set(Tensor.fromFloat32('float16', values).data)
  }
}

/** Where whole values are wanted of weights below 0, PIL's order of things counts: columns, rounded, then rows. */
function roundsBetween({ filter, round, dtype }: Normalization): boolean {
  return (filter === 'cubic' || filter === 'lanczos') && (round || dtype === 'uint8')
}

/** In the order of native/vision/resample.h. */
const orders = ['RGB', 'BGR', 'GRAY'] as const

function nativeTarget({ frame, normalization, out }: Resampling): NativeTarget {
  const { dtype, order, layout, round, scale, mean } = normalization
  return {
    fill: frame.fill,
    number: pixelTypes.indexOf(dtype),
    channels: orders.indexOf(order),
    planar: layout === 'NCHW' ? 1 : 0,
    rounded: round ? 1 : 0,
    scale,
    mean,
    out,
  }
}

function axes(frame: Frame, { filter, coordinates }: Normalization): { columns: Taps; rows: Taps } {
  const tapsOf = (side: 'width' | 'height'): Taps => {
    const axis = axisOf(frame, side)
    return remembered(JSON.stringify([axis, filter, coordinates]), () => makeTaps(axis, filter, coordinates))
  }
  return { columns: tapsOf('width'), rows: tapsOf('height') }
}

/** Of the last frames that were used: those of a video or of a folder are alike. */
const made = new Map<string, Taps>()
const mostMade = 16

function remembered(key: string, make: () => Taps): Taps {
  const taps = made.get(key) ?? make()
  made.delete(key)
  made.set(key, taps)
  const [oldest] = made.keys()
  if (made.size > mostMade && oldest !== undefined) made.delete(oldest)
  return taps
}
