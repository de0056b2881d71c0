import { isInt32Array } from 'node:util/types'
import type { NativeInstanceMask } from '../backend/native-vision.js'
import { unshared } from '../base/bytes.js'
import { type Cut, within } from '../base/cancellation.js'
import { checkedChoice, checkedObject, isWhole } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { type Checked, checkedCall, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { finite, floatsOf, numbersOf } from './checks.js'
import type { Frame } from './frame.js'
import { maskAxis, uprightFrame, writePortably } from './mask-pass.js'
import type { Mask } from './mask-data.js'
import { onThread, pixelAddon } from './threads.js'
import type { Box } from './types.js'

/** What a model such as YOLO-seg says of each instance. */
export interface InstanceCandidates {
  /** Four finite numbers for each, in pixels of the model's input. */
  readonly boxes: Float32Array
  /** Default `xywh`: left, top, width, height; `xyxy`: left, top, right, bottom. */
  readonly format?: 'xywh' | 'xyxy' | undefined
  /** Of each as many as there are prototypes. */
  readonly coefficients: Float32Array
}

/** Options of {@link instanceMasks}. */
export interface InstanceMasksOptions extends Abortable {
  /** Which of the candidates, such as {@link suppress} gives them; default: all. */
  readonly indices?: Int32Array | undefined
  /** A pixel whose value is greater belongs to the instance; default 0, of logits. */
  readonly threshold?: number | undefined
}

const table = {
  indices: option((indices) => indices),
  threshold: option(is.number(), 0),
  signal: signalOption,
} satisfies OptionTable<InstanceMasksOptions>

/**
 * A mask of a part of the picture, whose first pixel lies at x and y of the picture. Nothing is left of one outside of
 * it: width and height are 0.
 */
export interface InstanceMask extends Mask {
  /** The column of its first pixel in the picture. */
  readonly x: number
  /** The row of its first pixel in the picture. */
  readonly y: number
}

/**
 * The masks of instances: prototypes times coefficients, taken without the padding, resized to the picture, then
 * decided, each within its box (the pixels whose numbers are from its left and top to below its right and bottom, as
 * ultralytics' `process_mask_native` has it). Off the event loop; where there is no addon, in JavaScript. What is read
 * is to be left alone until the promise settles.
 * @param prototypes float32, [1, P, height, width] or [P, height, width]
 * @param frame how the picture lay in the input, not turned
 * @returns a mask for each candidate, or for each of `indices`
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE, ERR_TRT_DTYPE; or it is the reason of
 * the signal
 */
export async function instanceMasks(
  candidates: InstanceCandidates,
  prototypes: Tensor,
  frame: Frame,
  options?: InstanceMasksOptions,
): Promise<InstanceMask[]> {
  const { signal, ...rules } = checkedCall(options, table, 'instanceMasks')
  const jobs = jobsOf(candidates, prototypes, frame, rules)
  return within({ signal }, async (cut) => {
    await Promise.all(jobs.map((job) => written(job, cut)))
    return jobs.map(({ mask }) => mask)
  })
}

interface Job {
  readonly mask: InstanceMask
  /** None where there is nothing to decide. */
  readonly work: NativeInstanceMask | undefined
}

async function written({ work }: Job, cut: Cut | undefined): Promise<void> {
  const addon = pixelAddon()
  if (work === undefined) return
  if (addon !== undefined) return await onThread(async () => addon.makeInstanceMask(work), cut)
  combinePortably(work)
}

/** As native/vision/masks.cc does it. */
function combinePortably({
  prototypes,
  coefficients,
  width,
  height,
  count,
  left,
  top,
  across,
  down,
  ...output
}: NativeInstanceMask): void {
  const sums = new Float64Array(across * down)
  for (let number = 0; number < count; number++) {
    const factor = coefficients[number]!
    for (let row = 0; row < down; row++) {
      const from = (number * height + top + row) * width + left
      for (let column = 0; column < across; column++)
        sums[row * across + column]! += factor * prototypes[from + column]!
    }
  }
  writePortably({ ...output, values: Float32Array.from(sums), width: across, height: down, channels: 1, planar: 1 })
}

function jobsOf(
  candidates: unknown,
  prototypes: unknown,
  givenFrame: unknown,
  { indices, threshold }: Omit<Checked<typeof table>, 'signal'>,
): Job[] {
  const { data, count, height, width } = checkedPrototypes(prototypes)
  const frame = uprightFrame(givenFrame, 'frame')
  const {
    boxes,
    format = 'xywh',
    coefficients,
  } = checkedObject(candidates, 'candidates') as Partial<Record<keyof InstanceCandidates, unknown>>
  const all = finite(numbersOf(boxes, 'boxes'), 'boxes')
  const instances = Math.floor(all.length / 4)
  numbersOf(all, 'boxes', instances * 4)
  const factors = unshared(numbersOf(coefficients, 'coefficients', instances * count))
  const isCorners = checkedChoice(format, 'format', ['xywh', 'xyxy']) === 'xyxy'
  return checkedIndices(indices, instances).map((index) => {
    const [x, y, third, fourth] = all.subarray(index * 4, index * 4 + 4) as unknown as [number, number, number, number]
    const box: Box = isCorners
      ? [x, y, Math.max(0, third - x), Math.max(0, fourth - y)]
      : [x, y, Math.max(0, third), Math.max(0, fourth)]
    const part = {
      prototypes: data,
      count,
      height,
      width,
      coefficients: factors.subarray(index * count, (index + 1) * count),
    }
    return jobOf(frame, frame.toImage(box), part, threshold)
  })
}

type Part = Pick<NativeInstanceMask, 'prototypes' | 'coefficients' | 'width' | 'height' | 'count'>

/** Only the prototypes that have a say in the box are looked at. */
function jobOf(frame: Frame, [x, y, width, height]: Box, part: Part, threshold: number): Job {
  const columns = maskAxis(frame, 'width', part.width, [Math.ceil(x), Math.ceil(x + width)])
  const rows = maskAxis(frame, 'height', part.height, [Math.ceil(y), Math.ceil(y + height)])
  if (columns.count === 0 || rows.count === 0)
    return { mask: { x: 0, y: 0, width: 0, height: 0, data: new Uint8Array() }, work: undefined }
  const out = new Uint8Array(columns.count * rows.count)
  const [across, left] = fromFirst(columns)
  const [down, top] = fromFirst(rows)
  const work = {
    ...part,
    threshold,
    columns: across,
    rows: down,
    left,
    top,
    across: across.last + 1,
    down: down.last + 1,
    out,
    stride: columns.count,
  }
  return { mask: { x: columns.begin, y: rows.begin, width: columns.count, height: rows.count, data: out }, work }
}

type Axis = ReturnType<typeof maskAxis>

/** The axis, counted from the first place that it needs, and this place. */
function fromFirst(axis: Axis): [Axis, number] {
  const start = axis.first[0]!
  const last = Math.min(axis.first.at(-1)! + 1, axis.last)
  return [{ ...axis, first: axis.first.map((place) => place - start), last: last - start }, start]
}

function checkedIndices(indices: unknown, instances: number): number[] {
  if (indices === undefined) return Array.from({ length: instances }, (_, index) => index)
  if (!isInt32Array(indices)) throw expected('an Int32Array', 'indices', indices)
  const wrong = indices.findIndex((index) => !isWhole(index, 0, instances - 1))
  if (wrong >= 0) throw expected(`the index of one of ${instances} candidates`, `indices[${wrong}]`, indices[wrong])
  return [...indices]
}

function checkedPrototypes(prototypes: unknown): {
  readonly data: Float32Array
  readonly count: number
  readonly height: number
  readonly width: number
} {
  const { data, shape } = floatsOf(prototypes, 'prototypes')
  const [count = 0, height = 0, width = 0] = shape.slice(-3)
  const isOne = shape.length === 3 || (shape.length === 4 && shape[0] === 1)
  if (isOne && data.length > 0 && count <= 65536) return { data, count, height, width }
  const wanted = 'Expected shape [1, P, height, width] or [P, height, width] for prototypes'
  throw new TensorRTError('ERR_TRT_SHAPE', `${wanted} but received ${shapeText(shape)}`)
}
