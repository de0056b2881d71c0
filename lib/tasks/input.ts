import { shapeText } from '../base/dims.js'
import type { ProfileShapes, TensorInfo } from '../backend/backend.js'
import type { Engine } from '../engine.js'
import { expected, TensorRTError } from '../errors.js'
import { type Tensor } from '../tensor.js'
import { type Frame, type Image, type PixelType, type RawImage, type Size, toTensor } from '../vision/index.js'
import { isFixed, type PictureSize, sizeFor, type Steps } from './steps.js'

/** How many pictures a batch has at most where neither the model nor a profile says. */
const defaultRows = 16

/** How many pixels a batch has at most then, unless one picture has more: 16 of 640 x 640. */
const defaultPixels = defaultRows * 640 * 640

/** The input of a model that takes pictures. */
export class PictureInput {
  readonly name: string
  readonly dtype: PixelType
  readonly layout: 'NCHW' | 'NHWC'
  /** The most pictures of a batch. */
  readonly mostRows: number
  /** Of a picture that is read, as `readImage` takes it. */
  readonly limitPixels: number | undefined
  /** Where the model fixes how many pictures a batch has. */
  readonly fixedRows: number | undefined
  readonly #steps: Steps
  readonly #channels: number
  /** -1 where the model leaves it open. */
  readonly #width: number
  readonly #height: number
  readonly #size: Size | PictureSize | undefined
  /** Whether nothing says how many pictures a batch may have. */
  readonly #isFree: boolean

  /**
   * @param asked whether the steps' size is the user's own word, rather than a preset's
   * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE where the model's input takes no pictures, or not those of the
   * steps
   */
  constructor(info: TensorInfo, steps: Steps, asked: boolean) {
    this.name = info.name
    this.dtype = pixelTypeOf(info)
    this.#steps = steps
    this.#channels = steps.checked.order === 'GRAY' ? 1 : 3
    this.layout = layoutOf(info, this.#channels, steps.layout)
    const [rows = -1, ...sides] = info.shape
    const [height = -1, width = -1] = this.layout === 'NCHW' ? sides.slice(1) : sides
    this.#width = width
    this.#height = height
    this.fixedRows = rows < 0 ? undefined : rows
    this.#isFree = rows < 0 && info.profiles.length === 0
    this.limitPixels = steps.limitPixels
    this.mostRows = rows < 0 ? mostRowsOf(info.profiles) : rows
    this.#size = asked ? steps.size : (profileSize(info, this.layout, steps.size) ?? steps.size)
    checkLeast(info, { width: this.#width, height: this.#height }, steps.minSide)
    this.#checkSize(info, asked)
    if (steps.ownMaximum && this.dtype !== 'float32')
      throw expected('a model whose input is float32', 'ownMaximum', this.dtype)
  }

  #checkSize({ name, shape }: TensorInfo, asked: boolean): void {
    const size = this.#size
    const isStatic = this.#width >= 0 && this.#height >= 0
    if (
      asked &&
      isStatic &&
      size !== undefined &&
      isFixed(size) &&
      (size.width !== this.#width || size.height !== this.#height)
    )
      throw expected(
        `${this.#width} x ${this.#height}, which the model fixes,`,
        'input.size',
        `${size.width} x ${size.height}`,
      )
    if (this.#steps.isBounded && this.size !== undefined)
      throw expected('no maxSide where the input has one size for all pictures', 'input.maxSide', this.#steps.maxSide)
    if (size !== undefined || isStatic) return
    throw new TensorRTError(
      'ERR_TRT_SHAPES_REQUIRED',
      `The input ${JSON.stringify(name)} of the model, ${shapeText(shape)}, leaves its size open: give it as input: { size }, or by a preset of one scale, such as 'efficientnet:b0'`,
    )
  }

  /** The size of the input for every picture, where it is one for all. */
  get size(): Size | undefined {
    const size = this.#size
    if (this.#width >= 0 && this.#height >= 0) return { width: this.#width, height: this.#height }
    return size !== undefined && isFixed(size) ? this.#within(size) : undefined
  }

  frame(picture: Size): Frame {
    return this.#steps.frame(
      picture,
      this.size ?? this.#within(sizeFor(picture, this.#size as PictureSize, this.#steps.maxSide)),
    )
  }

  /** What the model fixes goes first. */
  #within({ width, height }: Size): Size {
    return { width: this.#width < 0 ? width : this.#width, height: this.#height < 0 ? height : this.#height }
  }

  /** How many pictures run together in an input of this size: of large ones fewer, where nothing says how many. */
  rowsOf({ width, height }: Size): number {
    return this.#isFree
      ? Math.min(this.mostRows, Math.max(1, Math.floor(defaultPixels / (width * height))))
      : this.mostRows
  }

  /** The shape of a batch of so many pictures, in an input of this size. */
  shape(pictures: number, { width, height }: Size): number[] {
    const rows = this.fixedRows ?? pictures
    return this.layout === 'NCHW' ? [rows, this.#channels, height, width] : [rows, height, width, this.#channels]
  }

  /** Pictures written to the first rows of `into`. */
  async write(
    pictures: readonly (Image | RawImage)[],
    frames: readonly Frame[],
    into: Tensor,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { pixels, ownMaximum } = this.#steps
    const { filter, coordinates, round, order } = pixels
    // uint8 is what a pixel is: a model that takes it normalizes by itself
    const raw = this.dtype === 'uint8' || ownMaximum
    const values = raw ? { filter, coordinates, round, order } : pixels
    await toTensor(pictures, frames, { ...values, layout: this.layout, into: into as Tensor<PixelType>, signal })
    if (ownMaximum) this.#normalizeByMaximum(into.data as Float32Array, pictures.length)
    const { fillAfter, resize } = this.#steps.checked
    // the mean's colour is not 0 where it was rounded, or divided by the picture's maximum
    if (fillAfter && resize !== 'padToSquare' && this.dtype !== 'uint8')
      frames.forEach((frame, index) => this.#clearAround(into.data as Float32Array | Uint16Array, index, frame))
  }

  /** Zeros around what is seen of a picture. */
  #clearAround(
    data: Float32Array | Uint16Array,
    index: number,
    { width, height, target: [x, y, across, down] }: Frame,
  ): void {
    const [left, right] = [Math.max(0, x), Math.min(width, x + across)]
    const [above, below] = [Math.max(0, y), Math.min(height, y + down)]
    if (left === 0 && above === 0 && right === width && below === height) return
    const [planes, step] = this.layout === 'NCHW' ? [this.#channels, 1] : [1, this.#channels]
    for (let row = 0; row < planes * height; row++) {
      const start = (index * planes * height + row) * width * step
      const isSeen = row % height >= above && row % height < below
      data.fill(0, start, start + (isSeen ? left : width) * step)
      if (isSeen) data.fill(0, start + right * step, start + width * step)
    }
  }

  #normalizeByMaximum(data: Float32Array, pictures: number): void {
    const { order, mean, scale } = this.#steps.checked
    const channels = order === 'BGR' ? [2, 1, 0] : [0, 1, 2].slice(0, this.#channels)
    const length = data.length / (this.fixedRows ?? pictures)
    for (let picture = 0; picture < pictures; picture++) {
      const values = data.subarray(picture * length, (picture + 1) * length)
      const factor = 255 / (maximumOf(values) || 1)
      channels.forEach((color, channel) => {
        const [start, end, step] =
          this.layout === 'NCHW' ? planeOf(channel, length / this.#channels) : [channel, length, this.#channels]
        for (let at = start; at < end; at += step) values[at] = (values[at]! * factor - mean[color]!) * scale[color]!
      })
    }
  }
}

function planeOf(channel: number, length: number): [start: number, end: number, step: number] {
  return [channel * length, (channel + 1) * length, 1]
}

function maximumOf(values: Float32Array): number {
  let most = 0
  for (const value of values) if (value > most) most = value
  return most
}

function pixelTypeOf({ name, dtype }: TensorInfo): PixelType {
  if (dtype === 'float32' || dtype === 'float16' || dtype === 'uint8') return dtype
  throw new TensorRTError(
    'ERR_TRT_DTYPE',
    `Expected float32, float16 or uint8 for the input ${JSON.stringify(name)} of the model but found ${dtype}`,
  )
}

function layoutOf({ name, shape }: TensorInfo, channels: number, wanted: 'NCHW' | 'NHWC' | undefined): 'NCHW' | 'NHWC' {
  const fits = (axis: number): boolean => shape.length === 4 && (shape[axis] === channels || shape[axis] === -1)
  const possible = (['NCHW', 'NHWC'] as const).filter((layout) => fits(layout === 'NCHW' ? 1 : 3))
  const [first] = wanted === undefined ? possible : possible.filter((layout) => layout === wanted)
  if (first !== undefined) return first
  const planes = `[N, ${channels}, height, width]`
  const pixels = `[N, height, width, ${channels}]`
  const shapes = wanted === undefined ? `${planes} or ${pixels}` : wanted === 'NCHW' ? planes : pixels
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected shape ${shapes} for the input ${JSON.stringify(name)} of the model but found ${shapeText(shape)}`,
    { details: { expected: shapes, found: shape } },
  )
}

/**
 * A network sees nothing in pictures that are smaller than it works with, and what it does not find would pass for what
 * is not there. @throws TensorRTError ERR_TRT_SHAPE
 */
function checkLeast({ name, shape }: TensorInfo, { width, height }: Size, least: number | undefined): void {
  if (least === undefined || ![width, height].some((side) => side >= 0 && side < least)) return
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected at least ${least} x ${least} for pictures but the model fixes its input ${JSON.stringify(name)} at ${shapeText(shape)}, in which little is found: ${openingRemedy}`,
    { details: { expected: [least, least], found: shape, remedy: openingRemedy } },
  )
}

/** What helps against a size that is too small. */
const openingRemedy =
  "give the task the ONNX model itself, whose sizes it opens, or open them before: openSizes() of 'node-tensorrt/onnx', trt convert --open-sizes, or the exporter's dynamic axes; a plan is then built again. " +
  'Of a model that is meant for pictures so small, input: { minSide } says so'

function mostRowsOf(profiles: readonly ProfileShapes[]): number {
  return profiles.length === 0 ? defaultRows : Math.max(...profiles.map(({ max }) => max[0] ?? 1))
}

/**
 * A profile's best size; nothing without profiles, and where sizes follow from the picture and the profile leaves room
 * for that.
 */
function profileSize(
  { profiles: [profile], shape }: TensorInfo,
  layout: 'NCHW' | 'NHWC',
  wanted: Steps['size'],
): Size | undefined {
  if (profile === undefined || shape.length !== 4) return undefined
  const [row, column] = layout === 'NCHW' ? [2, 3] : [1, 2]
  const { min, opt, max } = profile
  const isOne = min[row] === max[row] && min[column] === max[column]
  if (!isOne && wanted !== undefined && !isFixed(wanted)) return undefined
  return { width: opt[column] as number, height: opt[row] as number }
}

/** The input of `engine` that takes the pictures: the only one of four dimensions. */
export function pictureInputOf({ inputs, inputNames }: Engine): TensorInfo {
  const infos = inputNames.map((name) => inputs[name] as TensorInfo)
  const [first, ...others] = infos.filter(({ shape }) => shape.length === 4)
  if (first !== undefined && others.length === 0) return first
  const found = infos.map(({ name, shape }) => `${JSON.stringify(name)} ${shapeText(shape)}`).join(', ')
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected a model with one input of pictures, of four dimensions, but found ${found || 'none'}`,
  )
}
