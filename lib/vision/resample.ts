import { setImmediate } from 'node:timers/promises'
import { isFloat32Array, isUint8Array } from 'node:util/types'
import type { Cut } from '../base/cancellation.js'
import { nativeSync } from '../backend/native.js'
import type { NativeTarget, NativeVision } from '../backend/native-vision.js'
import { Tensor } from '../tensor.js'
import type { Frame } from './frame.js'
import { checkStillThere } from './checks.js'
import { leased } from './leases.js'
import { bytesOfPixels, checkPixelsThere, nativePixels, type Pixels, rgbOf } from './raw.js'
import { sample, sampleTurned, sampleWhole } from './sample.js'
import { type Axis, axisOf, makeTaps, makeWholeTaps, type Taps, type WholeTaps } from '../steps/pixels/taps.js'
import { type Normalization, pixelTypes } from '../steps/pixels/tensor-options.js'
import { isWhole, wholeColor, type WholeFilter } from '../steps/pixels/filters.js'
import { onThread, pixelAddon } from './threads.js'
import { Turns } from '../base/turns.js'

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

/**
 * On a thread of the addon; without one, in JavaScript.
 * @throws TensorRTError ERR_TRT_DETACHED where what is read, or written, is gone when its turn comes;
 * ERR_TRT_BUFFER_IN_USE where the picture is painted
 */
export async function resampled(job: Resampling, cut: Cut | undefined): Promise<void> {
  checkPixelsThere(job.pixels, 'a picture')
  const release = leased(bytesOfPixels(job.pixels), 'read', 'a picture')
  try {
    await inTurn(job, cut)
  } finally {
    release()
  }
}

async function inTurn(job: Resampling, cut: Cut | undefined): Promise<void> {
  const room = job.out.length
  const checkThere = (): void => {
    checkPixelsThere(job.pixels, 'a picture')
    checkStillThere(job.out, room, 'into')
  }
  checkThere()
  const addon = pixelAddon()
  if (addon !== undefined)
    return onThread(async () => {
      checkThere()
      return byAddon(addon, job, false)
    }, cut)
  await portableTurns.take(async () => {
    await setImmediate()
    cut?.throwIfHappened()
    checkThere()
    resamplePortably(job)
  }, cut)
}

/** On the calling thread, by the addon or without it. */
export function resampleSync(job: Resampling): void {
  leased(bytesOfPixels(job.pixels), 'read', 'a picture')()
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
  const whole = wholeFilterOf(normalization)
  const how =
    whole === undefined
      ? ({ ...axes(frame, normalization), whole: 0 } as const)
      : ({ ...wholeAxes(frame, whole), fill: wholeColor(frame.fill), whole: 1 } as const)
  return addon.resample({ ...target, ...how }, nativePixels(pixels), sync)
}

/** In JavaScript. */
function resamplePortably({ pixels, frame, normalization, out }: Resampling): void {
  const rgb = rgbOf(pixels)
  const write = (to: Float32Array | Uint8ClampedArray): void => {
    const plan = { ...normalization, fill: frame.fill, width: frame.width, height: frame.height }
    if (frame.transform !== undefined) return sampleTurned(rgb, frame.image, plan, frame.transform, to)
    const whole = wholeFilterOf(normalization)
    if (whole === undefined) return sample(rgb, pixels.width, { ...plan, ...axes(frame, normalization) }, to)
    sampleWhole(rgb, pixels.width, { ...plan, ...wholeAxes(frame, whole), fill: wholeColor(frame.fill) }, to)
  }
  if (isUint8Array(out)) write(new Uint8ClampedArray(out.buffer, out.byteOffset, out.length))
  else if (isFloat32Array(out)) write(out)
  else {
    const values = new Float32Array(out.length)
    write(values)
    out.set(Tensor.fromFloat32('float16', values).data)
  }
}

function wholeFilterOf({ filter, round, dtype }: Normalization): WholeFilter | undefined {
  return isWhole(filter, round || dtype === 'uint8') ? filter : undefined
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

interface Axes<T> {
  readonly columns: T
  readonly rows: T
}

function axes(frame: Frame, { filter, coordinates }: Normalization): Axes<Taps> {
  return tapsOf.both(frame, [filter, coordinates], (axis) => makeTaps(axis, filter, coordinates))
}

function wholeAxes(frame: Frame, filter: WholeFilter): Axes<WholeTaps> {
  return wholeTapsOf.both(frame, [filter], (axis) => makeWholeTaps(axis, filter))
}

const mostMade = 16

/** Those of the last frames that were used: the frames of a video or of a folder are alike. */
class Remembered<T> {
  readonly #made = new Map<string, T>()

  both(frame: Frame, how: readonly string[], make: (axis: Axis) => T): Axes<T> {
    const of = (axis: Axis): T => this.#at(JSON.stringify([axis, how]), () => make(axis))
    return { columns: of(axisOf(frame, 'width')), rows: of(axisOf(frame, 'height')) }
  }

  #at(key: string, make: () => T): T {
    const taps = this.#made.get(key) ?? make()
    this.#made.delete(key)
    this.#made.set(key, taps)
    const [oldest] = this.#made.keys()
    if (this.#made.size > mostMade && oldest !== undefined) this.#made.delete(oldest)
    return taps
  }
}

const tapsOf = new Remembered<Taps>()
const wholeTapsOf = new Remembered<WholeTaps>()
