import { bytesIn, isBlobLike, remedyFor } from '../base/bytes.js'
import { type Cut, within } from '../base/cancellation.js'
import { checkedArray } from '../base/checks.js'
import { isIterable } from '../base/iterables.js'
import { checkedRows, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { inheritFiles } from '../base/overwriting.js'
import { allOf } from '../base/turns.js'
import { isUrl } from '../base/kinds.js'
import { expected, TensorRTError } from '../errors.js'
import { stretch } from './framing.js'
import { readImage } from './image.js'
import type { PictureSource } from './info.js'
import { checkedPixels, checkPixelsThere, type Pixels } from './raw.js'
import { resampled } from './resample.js'
import { checkedNormalization, tensorRows } from '../steps/pixels/tensor-options.js'
import type { Image, ImageDataLike, RawImage } from './types.js'

/** A picture: pixels, or what {@link readImage} takes, which is read as that does by default. */
export type Picture = Image | RawImage | ImageDataLike | PictureSource

/** How far a call with several pictures is. */
export interface ManyProgress {
  /** Pictures that are done. */
  readonly done: number
  /** How many pictures there are; of a stream as many as are done. */
  readonly total: number
}

/** What work on many pictures takes. */
export interface ManyOptions {
  /** Called after each picture; what it throws rejects the call. */
  readonly onProgress?: ((progress: ManyProgress) => void) | undefined
}

/** Error codes of an image that cannot be read or has no valid pixels. */
const imageCodes: readonly string[] = [
  'ERR_TRT_DETACHED',
  'ERR_TRT_FILE',
  'ERR_TRT_IMAGE',
  'ERR_TRT_INVALID_ARGUMENT',
  'ERR_TRT_SHAPE',
]

/** Whether an error of reading an image concerns only that image, so that the others can be processed. */
export function isImageError(error: unknown): error is TensorRTError {
  return error instanceof TensorRTError && imageCodes.includes(error.code)
}

/** The options that all calls with many pictures have. */
export const manyRows = {
  signal: signalOption,
  onProgress: option(is.listener<NonNullable<ManyOptions['onProgress']>>()),
} satisfies OptionTable<ManyOptions & Abortable>

/** Whether it is to be decoded. */
export function isSource(picture: Picture): picture is PictureSource {
  return typeof picture === 'string' || isUrl(picture) || bytesIn(picture) !== undefined || isBlobLike(picture)
}

/**
 * Whether it gives pictures one after another, and is no array. Bytes can be iterated, too, and are a picture; what
 * gives the bytes of one, such as a file's stream or a picture of sharp, is none of it.
 */
export function isPictureStream(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  // a proxy of bytes, or what has their prototype, cannot be iterated
  // eslint-disable-next-line no-restricted-syntax -- those of this realm are meant
  if (!isIterable(value) || Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof Uint8Array)
    return false
  // a stream of Node whose chunks are no bytes has pictures
  const { readableObjectMode } = value as { readableObjectMode?: unknown }
  return readableObjectMode === true || remedyFor(value) === undefined
}

/** Decoded where it is to be. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_FILE, ERR_TRT_IMAGE */
export async function pixelsOf(picture: Picture, name: string, cut: Cut | undefined): Promise<Pixels> {
  const image = isSource(picture) ? await readImage(picture) : picture
  cut?.throwIfHappened()
  return inheritFiles(checkedPixels(image, name), image)
}

const asItIs = checkedNormalization(checkedRows({ dtype: 'uint8', layout: 'NHWC' }, tensorRows))

/**
 * As RGB without gaps: what is that already is not copied.
 * @throws TensorRTError ERR_TRT_DETACHED, and as {@link pixelsOf}
 */
export async function imageOf(picture: Picture, name: string, cut: Cut | undefined): Promise<Image> {
  const pixels = await pixelsOf(picture, name, cut)
  checkPixelsThere(pixels, `${name}.data`)
  const { format, width, height, stride, data } = pixels
  const bytes = width * height * 3
  if (format === 'rgb' && stride === width * 3)
    return inheritFiles<Image>(
      { width, height, channels: 3, data: data.length === bytes ? data : data.subarray(0, bytes) },
      pixels,
    )
  const out = new Uint8Array(bytes)
  await resampled({ pixels, frame: stretch(pixels, pixels), normalization: asItIs, out }, cut)
  return inheritFiles<Image>({ width, height, channels: 3, data: out }, pixels)
}

/** One picture, or an array of them, each with what belongs to it. */
export interface Each<A, R> {
  readonly pictures: unknown
  /** What belongs to the picture, or as many as there are pictures; nothing where a call takes pictures alone. */
  readonly others?: unknown
  /** What messages call these. */
  readonly what?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress: ManyOptions['onProgress']
  readonly work: (picture: Picture, other: A, name: string, cut: Cut | undefined) => Promise<R>
}

/**
 * Work on one picture, or on each of an array, all at once as far as each kind of work allows. Where one fails, this
 * rejects when all have ended.
 * @returns what the work gives; of an array an array
 */
export function onEach<A, R>({ pictures, others, what, signal, onProgress, work }: Each<A, R>): Promise<R | R[]> {
  return within<R | R[]>({ signal }, async (cut) => {
    if (!Array.isArray(pictures)) return work(pictures as Picture, others as A, 'image', cut)
    const list = what === undefined ? [] : checkedArray(others, what)
    if (what !== undefined && list.length !== pictures.length)
      throw expected(`${pictures.length} (one for each picture)`, `the number of ${what}`, list.length)
    const one = (picture: unknown, index: number): Promise<R> =>
      work(picture as Picture, list[index] as A, `images[${index}]`, cut)
    return inAll(pictures, one, onProgress)
  })
}

/** What is made of a picture as RGB. Where that was read from a file, it is not to be written over it unasked. */
export async function madeOf<R extends object>(
  picture: Picture,
  name: string,
  cut: Cut | undefined,
  work: (image: Image) => Promise<R>,
): Promise<R> {
  const image = await imageOf(picture, name, cut)
  return inheritFiles(await work(image), image)
}

/** All of them at once; `onProgress` hears of none after one has failed. */
export function inAll<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
  onProgress: ManyOptions['onProgress'],
): Promise<R[]> {
  let done = 0
  let failed = false
  const one = async (item: T, index: number): Promise<R> => {
    try {
      const result = await work(item, index)
      if (!failed) onProgress?.({ done: ++done, total: items.length })
      return result
    } catch (error) {
      failed = true
      throw error
    }
  }
  // Array.from, since map leaves out what an array lacks
  return allOf(Array.from(items, one))
}
