/** What segmentation models give, made as large as the picture. */
import { isFloat32Array } from 'node:util/types'
import { shapeText } from '../base/dims.js'
import { TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import {
  type Alpha,
  crop,
  type Filter,
  type Frame,
  type Mask,
  type RawImage,
  type Size,
  toTensor,
} from '../vision/index.js'

export interface MapForm {
  readonly layout: 'NCHW' | 'NHWC'
  /** Whether it is to have one channel. */
  readonly single: boolean
  /** How many channels it is to have, where that is known. */
  readonly classes?: number | undefined
  /** The size of the model's input. */
  readonly input: Size
}

/**
 * Of each picture a map, [N, C, height, width] or [N, height, width, C]; with one channel [N, height, width] is the
 * same.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE
 */
export function mapOf(tensor: Tensor, pictures: number, { layout, single, classes, input }: MapForm): Tensor {
  const { data, shape } = tensor
  const planar = layout === 'NCHW'
  const channels = single ? '1' : String(classes ?? 'C')
  const wanted = planar ? `[N, ${channels}, height, width]` : `[N, height, width, ${channels}]`
  if (!isFloat32Array(data))
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected float32 or float16, ${wanted}, but found ${tensor.dtype}`)
  const [rows = 0, ...sides] = shape.length === 3 && single ? withChannel(shape, planar) : shape
  const count = sides[planar ? 0 : 2] ?? 0
  if (sides.length !== 3 || rows < pictures || sides.some((side) => side < 1) || (single ? count !== 1 : count < 2))
    throw wrongMap(`${wanted}${single ? '' : ', C at least 2'}, N at least ${pictures}`, shape)
  if (classes !== undefined && count !== classes)
    throw wrongMap(
      `${wanted}, of ${classes} classes (output: { classes } says how many a model of one's own has),`,
      shape,
    )
  const [height, width] = (planar ? sides.slice(1) : sides) as [number, number]
  checkProportions({ width, height }, input, shape)
  const length = sides.reduce((product, side) => product * side, 1)
  const values = data.subarray(0, pictures * length)
  checkNumbers(values, shape)
  return new Tensor('float32', values, [pictures, ...sides])
}

/** Values that are looked at, evenly spread. */
const mostLookedAt = 4096

/**
 * @throws TensorRTError ERR_TRT_SHAPE where one of them is NaN: what is above nothing would be a mask without anything
 */
function checkNumbers(values: Float32Array, shape: readonly number[]): void {
  const step = Math.max(1, Math.floor(values.length / mostLookedAt))
  for (let at = 0; at < values.length; at += step)
    if (Number.isNaN(values[at]))
      throw wrongMap('numbers (a float16 model gives NaN where a value exceeds 65504)', shape, 'NaN in ')
}

function withChannel([rows = 0, height = 0, width = 0]: readonly number[], planar: boolean): number[] {
  return planar ? [rows, 1, height, width] : [rows, height, width, 1]
}

/**
 * A map covers the whole input, so that its sides are those of the input divided by one number, but for a cell that
 * rounding adds or takes.
 * @throws TensorRTError ERR_TRT_SHAPE
 */
function checkProportions({ width, height }: Size, input: Size, shape: readonly number[]): void {
  if (Math.abs(width * input.height - height * input.width) <= input.width + input.height) return
  throw wrongMap(`a map of the proportions of the input, ${input.width} x ${input.height} (width x height),`, shape)
}

function wrongMap(wanted: string, found: readonly number[], what = ''): TensorRTError {
  return new TensorRTError('ERR_TRT_SHAPE', `Expected ${wanted} but found ${what}${shapeText(found)}`, {
    details: { found },
  })
}

/** Less than this between the least and the greatest value: there is nothing to see, and what is stretched is noise. */
const faint = 1e-3

/**
 * Each picture's values of one channel stretched to 0 to 1, as U²-Net's and ISNet's own code does; where all are alike,
 * they stay as they are.
 */
export function stretchedMap(tensor: Tensor): Tensor {
  const { data, shape } = tensor.as('float32')
  const length = data.length / (shape[0] as number)
  const stretched = new Float32Array(data.length)
  for (let start = 0; start < data.length; start += length) {
    const values = data.subarray(start, start + length)
    const [low, high] = rangeOf(values)
    const isFlat = high - low < faint
    const [offset, factor] = isFlat ? [0, 1] : [low, 1 / (high - low)]
    for (let i = 0; i < length; i++) stretched[start + i] = Math.min(1, Math.max(0, (values[i]! - offset) * factor))
  }
  return new Tensor('float32', stretched, shape)
}

function rangeOf(values: Float32Array): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity]
  for (const value of values) {
    if (value < low) low = value
    if (value > high) high = value
  }
  return [low, high]
}

/**
 * Whole numbers of 0 to 255 as a picture's mask, each pixel the nearest one's. @throws TensorRTError ERR_TRT_SHAPE,
 * ERR_TRT_DTYPE
 */
export async function classesOf(
  tensor: Tensor,
  frames: readonly Frame[],
  signal: AbortSignal | undefined,
): Promise<Mask[]> {
  const { data, shape, dtype } = tensor
  const wanted = '[N, height, width] or [N, 1, height, width]'
  const [rows = 0, ...rest] = shape
  const [height = 0, width = 0] =
    rest.length === 3 && rest[0] === 1
      ? rest.slice(1)
      : rest.length === 3 && rest[2] === 1
        ? rest
        : rest.length === 2
          ? rest
          : []
  if (!(dtype === 'uint8' || dtype === 'bool' || dtype === 'int8' || dtype === 'int32' || dtype === 'int64'))
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected whole numbers, ${wanted}, but found ${dtype}`)
  if (rows < frames.length || height < 1 || width < 1) throw wrongMap(`${wanted}, N at least ${frames.length}`, shape)
  checkProportions({ width, height }, frames[0] ?? { width, height }, shape)
  const length = height * width
  return Promise.all(
    frames.map(async (frame, index) => {
      const bytes = bytesOf(data.subarray(index * length, (index + 1) * length))
      return maskOf({ format: 'gray', width, height, data: bytes }, frame, signal)
    }),
  )
}

/** Numbers of classes as a mask has them. @throws TensorRTError ERR_TRT_DTYPE for one that is no byte */
function bytesOf(numbers: Tensor['data']): Uint8Array {
  const bytes = new Uint8Array(numbers.length)
  for (let i = 0; i < bytes.length; i++) {
    const number = Number(numbers[i])
    if (number < 0 || number > 255)
      throw new TensorRTError(
        'ERR_TRT_DTYPE',
        `Expected numbers of classes from 0 to 255, as a mask has them, but found ${number}`,
      )
    bytes[i] = number
  }
  return bytes
}

async function maskOf(map: RawImage, frame: Frame, signal: AbortSignal | undefined): Promise<Mask> {
  const { data, area } = await overSource(map, frame, { dtype: 'uint8', filter: 'nearest', signal })
  return { ...frame.image, data: onPicture(data as Uint8Array, area, frame, Uint8Array) }
}

/**
 * A map of one channel as the picture's matte, in 255 steps as rembg has it.
 * @param values [N, 1, height, width] or [N, height, width, 1], as `layout` has it, 0 to 1
 */
export async function matteOf(
  values: Tensor,
  index: number,
  frame: Frame,
  { layout, filter }: { readonly layout: 'NCHW' | 'NHWC'; readonly filter: Filter },
  signal: AbortSignal | undefined,
): Promise<Alpha> {
  const { data, shape } = values.as('float32')
  const [height, width] = (layout === 'NCHW' ? shape.slice(2) : shape.slice(1)) as [number, number]
  const length = height * width
  const bytes = Uint8Array.from(data.subarray(index * length, (index + 1) * length), (value) => value * 255)
  const map: RawImage = { format: 'gray', width, height, data: bytes }
  const { data: alpha, area } = await overSource(map, frame, {
    dtype: 'float32',
    range: '0-1',
    round: true,
    filter,
    signal,
  })
  const limited = (alpha as Float32Array).map((value) => Math.min(1, Math.max(0, value)))
  return { ...frame.image, data: onPicture(limited, area, frame, Float32Array) }
}

interface Resized {
  readonly data: Uint8Array | Float32Array
  /** The size of the frame's source. */
  readonly area: Size
}

interface Resizing {
  readonly dtype: 'uint8' | 'float32'
  readonly range?: '0-1' | undefined
  readonly round?: boolean | undefined
  readonly filter: Filter
  readonly signal: AbortSignal | undefined
}

/** The part of a map that the frame's target covers, as large as its source: the padding has no say. */
async function overSource(map: RawImage, frame: Frame, options: Resizing): Promise<Resized> {
  const [, , width, height] = frame.source
  const [x, y, across, down] = frame.target
  const [scaleX, scaleY] = [map.width / frame.width, map.height / frame.height]
  const shown = crop(map, [x * scaleX, y * scaleY, across * scaleX, down * scaleY], { width, height })
  const tensor = await toTensor(map, shown, { ...options, order: 'GRAY' })
  return { data: tensor.data, area: { width, height } }
}

/** What lies over the picture of what covers the frame's source; nothing where the model has not seen the picture. */
function onPicture<T extends Uint8Array | Float32Array>(
  values: T,
  area: Size,
  frame: Frame,
  make: new (length: number) => T,
): T {
  const [left, top] = frame.source
  const { width, height } = frame.image
  if (left === 0 && top === 0 && area.width === width && area.height === height) return values
  const whole = new make(width * height)
  const first = Math.max(0, left)
  const end = Math.min(width, left + area.width)
  for (let row = Math.max(0, top); row < Math.min(height, top + area.height); row++) {
    const from = (row - top) * area.width - left
    whole.set(values.subarray(from + first, from + end), row * width + first)
  }
  return whole
}
