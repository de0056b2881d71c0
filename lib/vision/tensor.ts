import { releaseMemory } from '../backend/memory.js'
import { nativeSync } from '../backend/native.js'
import { within } from '../base/cancellation.js'
import { isOneOf } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { type Checked, checkedCall, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import { byteSize, type DType, expectedTensor, Tensor } from '../tensor.js'
import { Frame } from './frame.js'
import { inAll, isSource, type ManyOptions, manyRows, type Picture, pixelsOf } from './picture.js'
import { checkedPixels, type Pixels } from './raw.js'
import { resampled, resampleSync, type Resampling } from './resample.js'
import {
  checkedNormalization,
  type Normalization,
  type PixelType,
  pixelTypes,
  type TensorOptions,
  tensorRows,
} from '../steps/pixels/tensor-options.js'
import { pixelAddon } from './threads.js'
import type { Image, RawImage, Size } from './types.js'

/**
 * How a picture lies in the model's input: a {@link Frame}, or a function that makes one for a picture of this size,
 * such as `(size) => letterbox(size, 640)`.
 */
export type Framing = Frame | ((size: Size) => Frame)

/** Options of {@link toTensorSync}. */
export interface IntoOptions<D extends PixelType = PixelType> extends TensorOptions<D> {
  /**
   * A tensor to write to, such as one of {@link Engine.allocate}: [N, 3, height, width], or as `layout` and `order`
   * have it; default: a new one.
   */
  readonly into?: Tensor<D> | undefined
  /** The first row of `into` that is written; default 0. */
  readonly at?: number | undefined
}

/** Options of {@link toTensor}. */
export interface ToTensorOptions<D extends PixelType = PixelType> extends IntoOptions<D>, Abortable, ManyOptions {}

const intoTable = {
  ...tensorRows,
  into: option((into) => into),
  at: option(is.whole(0), 0),
} satisfies OptionTable<IntoOptions>

const table = { ...intoTable, ...manyRows } satisfies OptionTable<ToTensorOptions>

/**
 * Pictures as a model's input, in one pass over the pixels: resize, fill, (x - mean) / std, layout. It runs on threads,
 * several pictures at once; where the addon does not load, in JavaScript, picture by picture. What is read and written
 * has to be left alone, and not transferred to another thread, until the promise settles.
 * @param pictures one picture, or those of a batch: pixels, or what {@link readImage} takes
 * @param frames how each lies in the input: one for all, or as many as pictures, and all of one size
 * @returns a tensor of shape [N, 3, height, width]; with layout NHWC [N, height, width, 3]; with order GRAY one
 * channel; or `into`
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_DETACHED,
 * ERR_TRT_OUT_OF_MEMORY; ERR_TRT_IMAGE, ERR_TRT_FILE where a picture is to be read; or it is the reason of the signal,
 * after which `into` may still be written to. Where a picture fails, the call rejects when all have ended
 * @example
 * ```ts
 * import { letterbox, readImage, toTensor } from 'node-tensorrt/vision'
 *
 * const image = await readImage('photo.jpg')
 * const frame = letterbox(image, 640)
 * const tensor = await toTensor(image, frame, { range: '0-1' })
 * console.log(tensor.shape, frame.toImage([0, 0, 640, 640])) // the way back to pixels of the picture
 * ```
 */
export async function toTensor<D extends PixelType = 'float32'>(
  pictures: Picture | readonly Picture[],
  frames: Framing | readonly Framing[],
  options?: ToTensorOptions<D>,
): Promise<Tensor<D>> {
  const { signal, onProgress, ...given } = checkedCall(options, table, 'toTensor')
  const normalization = checkedNormalization(typed(given))
  const wanted = checkedFramings(pictures, frames)
  return within({ signal }, async (cut) => {
    const prepared = async (index: number): Promise<Framed> => {
      const each = wanted[index]!
      return framed(await pixelsOf(each.picture, each.name, cut), each)
    }
    const first = await prepared(0)
    const { tensor, rows } = room<D>(first.frame, wanted.length, normalization, given)
    const one = async ({ picture }: Wanted, index: number): Promise<void> => {
      const each = index === 0 ? first : await prepared(index)
      checkAlike(first.frame, each.frame)
      await resampled(jobOf(each, normalization, rows[index]!), cut)
      // only where it succeeded: what was cut may still be read
      if (isSource(picture)) releaseMemory(each.pixels.data)
    }
    await inAll(wanted, one, onProgress)
    return tensor
  })
}

/**
 * The same as {@link toTensor} on the calling thread, which it blocks: for scripts. It takes pixels only, and no
 * signal.
 * @throws TensorRTError as {@link toTensor}
 */
export function toTensorSync<D extends PixelType = 'float32'>(
  images: Image | RawImage | readonly (Image | RawImage)[],
  frames: Framing | readonly Framing[],
  options?: IntoOptions<D>,
): Tensor<D> {
  const given = checkedOptions(options, intoTable, 'toTensorSync')
  const normalization = checkedNormalization(typed(given))
  const wanted = checkedFramings(images, frames)
  const batch = wanted.map((each) => framed(checkedPixels(each.picture as Image, each.name), each))
  const { frame } = batch[0]!
  batch.forEach((each) => checkAlike(frame, each.frame))
  const { tensor, rows } = room<D>(frame, batch.length, normalization, given)
  batch.forEach((each, index) => resampleSync(jobOf(each, normalization, rows[index]!)))
  return tensor
}

interface Wanted {
  readonly picture: Picture
  readonly framing: Framing
  readonly name: string
  readonly frameName: string
}

function checkedFramings(pictures: Picture | readonly Picture[], frames: Framing | readonly Framing[]): Wanted[] {
  const isList = Array.isArray(pictures)
  const list = (isList ? pictures : [pictures]) as readonly Picture[]
  if (list.length === 0) throw expected('at least one picture', 'images', pictures)
  const framings = (Array.isArray(frames) ? frames : Array.from(list, () => frames)) as readonly Framing[]
  if (framings.length !== list.length)
    throw expected(`${list.length} (one for each picture)`, 'the number of frames', framings.length)
  // not map: it leaves out what an array lacks
  return Array.from(list, (picture, index) => {
    const framing = framings[index]
    if (!Frame.is(framing) && typeof framing !== 'function') throw expected('a Frame', `frames[${index}]`, framing)
    return { picture, framing, name: `images[${index}]`, frameName: `frames[${index}]` }
  })
}

interface Framed {
  readonly pixels: Pixels
  readonly frame: Frame
}

function framed(pixels: Pixels, { framing, frameName }: Wanted): Framed {
  const { width, height } = pixels
  const frame: unknown = typeof framing === 'function' ? framing({ width, height }) : framing
  if (!Frame.is(frame)) throw expected('a Frame', `what ${frameName} returns`, frame)
  if (frame.image.width !== width || frame.image.height !== height)
    throw expected(
      `a frame of a picture of ${width} x ${height}`,
      frameName,
      `${frame.image.width} x ${frame.image.height}`,
    )
  return { pixels, frame }
}

function checkAlike({ width, height }: Size, other: Size): void {
  if (width === other.width && height === other.height) return
  const sizes = `${width} x ${height} and ${other.width} x ${other.height}`
  throw new TensorRTError('ERR_TRT_SHAPE', `Expected frames of one size for a batch but received ${sizes}`)
}

/** Where `into` is given, its data type is the default. */
function typed(given: Checked<typeof intoTable>): Checked<typeof intoTable> {
  if (given.into === undefined) return given
  if (!Tensor.is(given.into)) throw expectedTensor('a Tensor', 'into', given.into)
  const { dtype } = given.into
  if (given.dtype !== undefined && given.dtype !== dtype) throw mismatch([given.dtype], dtype)
  if (!isOneOf(dtype, pixelTypes)) throw mismatch(pixelTypes, dtype)
  return { ...given, dtype }
}

function mismatch(wanted: readonly unknown[], received: DType): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_DTYPE',
    `Expected a tensor of ${wanted.join(', ')} for into but received ${received}`,
  )
}

type Row = Float32Array | Uint16Array | Uint8Array

/** The tensor that is written, and the part of it that each picture is written to. */
function room<D extends PixelType>(
  { width, height }: Size,
  count: number,
  { layout, order, dtype }: Normalization,
  { into, at: first }: { readonly into: unknown; readonly at: number },
): { readonly tensor: Tensor<D>; readonly rows: readonly Row[] } {
  const channels = order === 'GRAY' ? 1 : 3
  const shape = layout === 'NCHW' ? [channels, height, width] : [height, width, channels]
  const tensor = into === undefined ? emptyTensor(dtype, [first + count, ...shape], first) : (into as Tensor<PixelType>)
  if (into !== undefined) checkRoom(tensor, shape, first + count)
  const length = width * height * channels
  const rows = Array.from({ length: count }, (_, index) =>
    tensor.data.subarray((first + index) * length, (first + index + 1) * length),
  )
  return { tensor: tensor as Tensor as Tensor<D>, rows }
}

/** To be filled from row `first` on; those before are zeros. */
function emptyTensor(dtype: PixelType, shape: readonly number[], first: number): Tensor<PixelType> {
  const addon = first === 0 ? pixelAddon() : undefined
  return addon === undefined
    ? Tensor.zeros(dtype, shape)
    : Tensor.fromBytes(
        dtype,
        nativeSync(() => addon.pixelMemory(byteSize(dtype, shape))),
        shape,
      )
}

function checkRoom({ shape, data }: Tensor, row: readonly number[], rows: number): void {
  const fits =
    shape.length === 4 && shape.slice(1).every((size, axis) => size === row[axis]) && Number(shape[0]) >= rows
  if (!fits) {
    const wanted = `[${rows} or more, ${row.join(', ')}]`
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected a tensor of shape ${wanted} for into but received ${shapeText(shape)}`,
    )
  }
  if (data.length === 0) throw expected('a tensor whose memory is not detached', 'into', 'a detached one')
}

function jobOf({ pixels, frame }: Framed, normalization: Normalization, out: Row): Resampling {
  const { filter, coordinates } = normalization
  if (frame.transform !== undefined && (filter !== 'linear' || coordinates !== 'half_pixel'))
    throw expected(
      'the filter linear, by half_pixel, for a turned part of a picture',
      'filter',
      `${filter}, ${coordinates}`,
    )
  return { pixels, frame, normalization, out }
}
