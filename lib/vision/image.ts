import { readFile, writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { type Cut, within } from '../base/cancellation.js'
import { unaborted } from '../base/options.js'
import { describe, expected, TensorRTError } from '../errors.js'
import { checkedChoice, checkedNumber, checkedObject, checkedSize } from './checks.js'
import { imageFailure, loadSharp, openImage, toImage } from './sharp.js'
import type { Image } from './types.js'

export interface ReadImageOptions {
  /** Gives up reading; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'tiff'

export interface EncodeOptions {
  /** 1 to 100, for lossy formats; the default is the format's own in sharp, for JPEG 90. */
  readonly quality?: number | undefined
}

const formatOfExtension: Readonly<Record<string, ImageFormat>> = {
  '.jpg': 'jpeg',
  '.jpeg': 'jpeg',
  '.png': 'png',
  '.webp': 'webp',
  '.avif': 'avif',
  '.tif': 'tiff',
  '.tiff': 'tiff',
}

const formats: readonly ImageFormat[] = [...new Set(Object.values(formatOfExtension))]

/** `image` itself, if it is a picture whose data has the length that its size wants. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedImage(image: Image, name = 'image'): Image {
  const { width, height } = checkedSize(image, name)
  if (image.channels !== 3) throw expected('3', `${name}.channels`, image.channels)
  if (!(image.data instanceof Uint8Array)) throw expected('a Uint8Array', `${name}.data`, image.data)
  if (image.data.length !== width * height * 3)
    throw expected(`${width * height * 3} bytes (${width} x ${height} x 3)`, `${name}.data`, image.data.length)
  return image
}

/**
 * Decodes a picture in any format that sharp reads: upright (its EXIF orientation is applied), in sRGB, 8 bit, three channels; alpha is dropped,
 * of an animation the first picture is taken.
 * @param source a path, or the bytes of a file
 * @throws TensorRTError ERR_TRT_IMAGE when the file is missing, no picture, damaged or truncated, or when sharp is not installed
 */
export async function readImage(source: string | Uint8Array, options: ReadImageOptions = {}): Promise<Image> {
  if (typeof source !== 'string' && !(source instanceof Uint8Array)) throw expected('a path or a Uint8Array', 'source', source)
  checkedObject(options, 'options')
  const signal = unaborted(options.signal, 'options.signal')
  const name = typeof source === 'string' ? source : `picture of ${source.length} bytes`
  // sharp cannot be stopped: an aborted decoding ends unheard
  return within({ signal }, (cut) => decode(source, name, cut))
}

async function decode(source: string | Uint8Array, name: string, cut: Cut | undefined): Promise<Image> {
  try {
    const sharp = await loadSharp(`read ${name}`)
    cut?.throwIfHappened()
    const bytes = typeof source === 'string' ? await readFile(source) : source
    cut?.throwIfHappened()
    if (bytes.length === 0) throw new Error('it is empty')
    // 'error' finds truncated and damaged pictures, and lets those pass at which decoders merely grumble.
    return await toImage(sharp(bytes, { failOn: 'error' }).autoOrient())
  } catch (error) {
    throw imageFailure(error, `read ${name}`)
  }
}

/** The bytes of a picture file. @throws TensorRTError ERR_TRT_IMAGE when sharp fails or is not installed */
export async function encodeImage(image: Image, format: ImageFormat, options: EncodeOptions = {}): Promise<Uint8Array> {
  checkedImage(image)
  checkedChoice(format, 'format', formats)
  checkedObject(options, 'options')
  const quality = options.quality ?? (format === 'jpeg' ? 90 : undefined)
  if (quality !== undefined) checkedNumber(quality, 'options.quality', 1, 100)
  try {
    const pipeline = await openImage(image, `encode ${format}`)
    return await pipeline.toFormat(format, quality === undefined ? {} : { quality }).toBuffer()
  } catch (error) {
    throw imageFailure(error, `encode a ${format} of ${image.width} x ${image.height}`)
  }
}

/**
 * Writes a picture file; the path's extension says the format: .jpg, .png, .webp, .avif, .tiff.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for another extension, ERR_TRT_FILE when the file cannot be written
 */
export async function writeImage(image: Image, path: string, options: EncodeOptions = {}): Promise<void> {
  if (typeof path !== 'string') throw expected('a path', 'path', path)
  const format = formatOfExtension[extname(path).toLowerCase()]
  if (format === undefined) throw expected(`a path that ends in ${Object.keys(formatOfExtension).join(', ')}`, 'path', path)
  const bytes = await encodeImage(image, format, options)
  try {
    await writeFile(path, bytes)
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_FILE', `Cannot write ${path}: ${cause instanceof Error ? cause.message : describe(cause)}`, { cause })
  }
}
