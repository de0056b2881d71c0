import { readFile, writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { type Cut, within } from '../base/cancellation.js'
import { checkedChoice, checkedNumber, checkedText } from '../base/checks.js'
import { isLfsPointer, lfsPointer } from '../base/lfs.js'
import { readOptions, unaborted } from '../base/options.js'
import { localPath } from '../base/source.js'
import { expected } from '../errors.js'
import { onFile, pointed } from '../base/files.js'
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
 * @param source a path or `file:` URL, or the bytes of a file
 * @throws TensorRTError ERR_TRT_FILE when the file is missing or cannot be read; ERR_TRT_IMAGE when it is no picture, damaged or truncated, or when sharp is not
 * installed; ERR_TRT_INVALID_ARGUMENT
 */
export async function readImage(source: string | URL | Uint8Array, options?: ReadImageOptions): Promise<Image> {
  const signal = unaborted(readOptions(options, ['signal'], 'readImage').signal)
  const from = checkedPicture(source)
  const name = typeof from === 'string' ? from : `picture of ${from.length} bytes`
  // sharp cannot be stopped: an aborted decoding ends unheard
  return within({ signal }, (cut) => decode(from, name, cut))
}

async function decode(source: string | Uint8Array, name: string, cut: Cut | undefined): Promise<Image> {
  try {
    const sharp = await loadSharp(`read ${name}`)
    cut?.throwIfHappened()
    const bytes = typeof source === 'string' ? await onFile('read', source, () => readFile(source)) : source
    cut?.throwIfHappened()
    if (bytes.length === 0) throw new Error('it is empty')
    if (isLfsPointer(bytes)) throw typeof source === 'string' ? pointed(source) : new Error(`it is ${lfsPointer}`)
    // 'error' finds truncated and damaged pictures, and lets those pass at which decoders merely grumble.
    return await toImage(sharp(bytes, { failOn: 'error' }).autoOrient())
  } catch (error) {
    throw imageFailure(error, `read ${name}`)
  }
}

function checkedPicture(source: unknown): string | Uint8Array {
  if ((typeof source === 'string' && source !== '') || source instanceof URL) return localPath(source, 'source')
  if (source instanceof Uint8Array) return source
  throw expected('a path, a file: URL or a Uint8Array', 'source', source)
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
  const target = localPath(checkedText(path, 'path', 'a path'), 'path')
  const format = formatOfExtension[extname(target).toLowerCase()]
  if (format === undefined) throw expected(`a path that ends in ${Object.keys(formatOfExtension).join(', ')}`, 'path', path)
  const bytes = await encodeImage(image, format, options)
  await onFile('write', target, () => writeFile(target, bytes))
}
