import { readFile, writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { checkedChoice, checkedNumber, checkedText } from '../base/checks.js'
import { checkedAbort, readOptions } from '../base/options.js'
import { describe, expected, TensorRTError } from '../errors.js'
import { checkedImage } from './checks.js'
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

/**
 * Decodes a picture in any format that sharp reads: upright (its EXIF orientation is applied), in sRGB, 8 bit, three channels; alpha is dropped,
 * of an animation the first picture is taken.
 * @param source a path, or the bytes of a file
 * @throws TensorRTError ERR_TRT_IMAGE when the file is missing, no picture, damaged or truncated, or when sharp is not installed
 */
export async function readImage(source: string | Uint8Array, options?: ReadImageOptions): Promise<Image> {
  if (typeof source !== 'string' && !(source instanceof Uint8Array)) throw expected('a path or a Uint8Array', 'source', source)
  const signal = checkedAbort(options, 'readImage')
  signal?.throwIfAborted()
  const name = typeof source === 'string' ? source : `picture of ${source.length} bytes`
  try {
    return await unlessAborted(decode(source, name, signal), signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw imageFailure(error, `read ${name}`)
  }
}

async function decode(source: string | Uint8Array, name: string, signal: AbortSignal | undefined): Promise<Image> {
  const sharp = await loadSharp(`read ${name}`)
  const bytes = typeof source === 'string' ? await readFile(source, { signal }) : source
  if (bytes.length === 0) throw new Error('it is empty')
  // 'error' finds truncated and damaged pictures, and lets those pass at which decoders merely grumble.
  return toImage(sharp(bytes, { failOn: 'error' }).autoOrient())
}

/** sharp cannot be stopped: an aborted decoding ends unheard. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  let onAbort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** The bytes of a picture file. @throws TensorRTError ERR_TRT_IMAGE when sharp fails or is not installed */
export async function encodeImage(image: Image, format: ImageFormat, options?: EncodeOptions): Promise<Uint8Array> {
  checkedImage(image)
  checkedChoice(format, 'format', formats)
  const { quality = format === 'jpeg' ? 90 : undefined } = readOptions(options, ['quality'], 'encodeImage')
  const encoding = quality === undefined ? {} : { quality: checkedNumber(quality, 'quality', 1, 100) }
  try {
    const pipeline = await openImage(image, `encode ${format}`)
    return await pipeline.toFormat(format, encoding).toBuffer()
  } catch (error) {
    throw imageFailure(error, `encode a ${format} of ${image.width} x ${image.height}`)
  }
}

/**
 * Writes a picture file; the path's extension says the format: .jpg, .png, .webp, .avif, .tiff.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for another extension, ERR_TRT_FILE when the file cannot be written
 */
export async function writeImage(image: Image, path: string, options?: EncodeOptions): Promise<void> {
  const format = formatOfExtension[extname(checkedText(path, 'path', 'a path')).toLowerCase()]
  if (format === undefined) throw expected(`a path that ends in ${Object.keys(formatOfExtension).join(', ')}`, 'path', path)
  const bytes = await encodeImage(image, format, options)
  try {
    await writeFile(path, bytes)
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_FILE', `Cannot write ${path}: ${cause instanceof Error ? cause.message : describe(cause)}`, { cause })
  }
}
