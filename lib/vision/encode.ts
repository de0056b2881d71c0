import { extname } from 'node:path'
import type { Sharp } from 'sharp'
import { unshared } from '../base/bytes.js'
import { type Cut, within } from '../base/cancellation.js'
import { checkedArray, checkedChoice } from '../base/checks.js'
import { saveFile } from '../base/files.js'
import { type Checked, checkedCall, is, option, type OptionTable } from '../base/option-table.js'
import { type OverwriteOptions, refuseOverwriting } from '../base/overwriting.js'
import { checkedPath } from '../base/source.js'
import { expected } from '../errors.js'
import { checkedImage, checkStillThere } from './checks.js'
import type { AlphaImage } from './cut-out.js'
import { leased } from './leases.js'
import { imageOf, type ManyOptions, manyRows, onEach } from './picture.js'
import { imageFailure, openImage, turns } from './sharp.js'
import type { Image, RawImage } from './types.js'

/** A format that pictures can be written in. */
export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'tiff'

/** Pixels that can be encoded, those with transparency also. */
export type EncodableImage = Image | RawImage | AlphaImage

export interface EncodeOptions extends ManyOptions {
  /** Gives up encoding; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** 1 to 100, for lossy formats (PNG has none); the default is the format's own in sharp, for JPEG 90. */
  readonly quality?: number | undefined
  /**
   * Of JPEG and AVIF: whether colours are kept for each pixel (`4:4:4`) or for each two by two; the default is sharp's,
   * `4:2:0` for JPEG and `4:4:4` for AVIF.
   */
  readonly chromaSubsampling?: '4:4:4' | '4:2:0' | undefined
  /**
   * Of JPEG: a file smaller by about a tenth with the same pixels, in three times the time; default false, as OpenCV
   * and PIL have it.
   */
  readonly optimize?: boolean | undefined
}

export interface WriteImageOptions extends EncodeOptions, OverwriteOptions {}

/** The format that the ending of a name says. */
export const imageFormats: Readonly<Record<string, ImageFormat>> = {
  '.jpg': 'jpeg',
  '.jpeg': 'jpeg',
  '.png': 'png',
  '.webp': 'webp',
  '.avif': 'avif',
  '.tif': 'tiff',
  '.tiff': 'tiff',
}

const formats: readonly ImageFormat[] = [...new Set(Object.values(imageFormats))]

const encodeTable = {
  quality: option(is.whole(1, 100)),
  chromaSubsampling: option(is.choice('4:4:4', '4:2:0')),
  optimize: option(is.boolean, false),
  ...manyRows,
} satisfies OptionTable<EncodeOptions>

type Encoding = Checked<typeof encodeTable>

const writeTable = {
  ...encodeTable,
  overwrite: option(is.boolean, false),
} satisfies OptionTable<WriteImageOptions>

/**
 * The bytes of a picture file, with transparency where the picture has it and the format is not JPEG. The data is read
 * until the promise settles: leave it alone until then. Needs the package sharp.
 * @throws TensorRTError (as a rejection) ERR_TRT_IMAGE when sharp fails or is not installed; ERR_TRT_INVALID_ARGUMENT,
 * ERR_TRT_DETACHED; or it is the reason of the signal
 */
export async function encodeImage(
  image: EncodableImage,
  format: ImageFormat,
  options?: EncodeOptions,
): Promise<Uint8Array>
/** The bytes of many picture files. */
export async function encodeImage(
  images: readonly EncodableImage[],
  format: ImageFormat,
  options?: EncodeOptions,
): Promise<Uint8Array[]>
export async function encodeImage(images: unknown, format: ImageFormat, options?: unknown): Promise<unknown> {
  const encoding = checkedCall(options, encodeTable, 'encodeImage')
  const checked = checkedChoice(format, 'format', formats)
  return onEach({
    pictures: images,
    onProgress: encoding.onProgress,
    work: (image, _, name) => encoded(image as EncodableImage, checked, encoding, name),
  })
}

/** RGB, or RGBA only where the format has transparency. */
async function pixelsFor(
  image: EncodableImage,
  format: ImageFormat,
  name: string,
  cut: Cut | undefined,
): Promise<Image | AlphaImage> {
  if ((image as Partial<AlphaImage> | undefined)?.channels !== 4) return imageOf(image, name, cut)
  if (format === 'jpeg') throw expected('3 (a jpeg has no transparency)', `${name}.channels`, 4)
  const checked = checkedImage(image as AlphaImage, name, 4)
  return { ...checked, data: unshared(checked.data) }
}

/** sharp cannot be stopped: what was given up ends unheard. */
function encoded(image: EncodableImage, format: ImageFormat, encoding: Encoding, name: string): Promise<Uint8Array> {
  return within(encoding, async (cut) => {
    const pixels = await pixelsFor(image, format, name, cut)
    return turns.take(() => encode(pixels, format, encoding, cut), cut)
  })
}

async function encode(
  image: Image | AlphaImage,
  format: ImageFormat,
  encoding: Encoding,
  cut: Cut | undefined,
): Promise<Uint8Array> {
  const release = leased(image.data, 'read', 'a picture')
  try {
    const pipeline = await openImage(image, `encode ${format}`)
    cut?.throwIfHappened()
    return await arranged(pipeline, format, encoding).toBuffer()
  } catch (error) {
    checkStillThere(image.data, image.width * image.height * image.channels, 'a picture')
    throw imageFailure(error, `encode a ${format} of ${image.width} x ${image.height}`)
  } finally {
    release()
  }
}

function arranged(pipeline: Sharp, format: ImageFormat, { quality, chromaSubsampling, optimize }: Encoding): Sharp {
  const lossy = quality === undefined ? {} : { quality }
  const colors = chromaSubsampling === undefined ? {} : { chromaSubsampling }
  switch (format) {
    case 'jpeg':
      return pipeline.jpeg({ quality: 90, ...lossy, ...colors, optimiseCoding: optimize })
    case 'avif':
      return pipeline.avif({ ...lossy, ...colors })
    case 'png':
      // with a quality, sharp would make a palette
      return pipeline.png()
    default:
      return pipeline.toFormat(format, lossy)
  }
}

/**
 * Writes a picture file, whole or not at all. The extension of the path says the format: .jpg, .png, .webp, .avif,
 * .tiff. Needs the package sharp.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT for another extension; ERR_TRT_FILE when a file
 * cannot be written, or is the one that the picture was read from, unless `overwrite` allows it; what {@link
 * encodeImage} throws
 */
export async function writeImage(image: EncodableImage, path: string, options?: WriteImageOptions): Promise<void>
/**
 * Writes many picture files, each whole or not at all. Where one of them fails, the others are written all the same.
 * @param paths as many as pictures, no two the same
 */
export async function writeImage(
  images: readonly EncodableImage[],
  paths: readonly string[],
  options?: WriteImageOptions,
): Promise<void>
export async function writeImage(images: unknown, paths: unknown, options?: unknown): Promise<void> {
  const writing = checkedCall(options, writeTable, 'writeImage')
  await onEach({
    pictures: images,
    others: Array.isArray(images) ? checkedTargets(paths) : checkedTarget(paths, 'path'),
    what: 'paths',
    onProgress: writing.onProgress,
    work: (image, target: Target, name) => written(image as EncodableImage, target, writing, name),
  })
}

function checkedTargets(paths: unknown): Target[] {
  const targets = checkedArray(paths, 'paths').map((path, index) => checkedTarget(path, `paths[${index}]`))
  const again = targets.findIndex(({ path }, index) => targets.findIndex((other) => other.path === path) < index)
  if (again >= 0) throw expected('a path of its own', `paths[${again}]`, targets[again]?.path)
  return targets
}

interface Target {
  readonly path: string
  readonly format: ImageFormat
}

function checkedTarget(path: unknown, name: string): Target {
  const target = checkedPath(path, name)
  const format = imageFormats[extname(target).toLowerCase()]
  if (format === undefined) throw expected(`a path that ends in ${Object.keys(imageFormats).join(', ')}`, name, path)
  return { path: target, format }
}

async function written(
  image: EncodableImage,
  { path, format }: Target,
  writing: Checked<typeof writeTable>,
  name: string,
): Promise<void> {
  if (!writing.overwrite && typeof image === 'object') await refuseOverwriting(image, [path])
  const bytes = await encoded(image, format, writing, name)
  writing.signal?.throwIfAborted()
  await saveFile(path, [bytes])
}
