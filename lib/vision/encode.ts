import { writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Sharp } from 'sharp'
import { type Cut, within } from '../base/cancellation.js'
import { checkedBoolean, checkedChoice, checkedText, checkedWhole } from '../base/checks.js'
import { onFile } from '../base/files.js'
import { readOptions, unaborted } from '../base/options.js'
import { localPath } from '../base/source.js'
import { expected } from '../errors.js'
import { checkedBytes, checkedImage, checkedSize } from './checks.js'
import type { AlphaImage } from './cut-out.js'
import { imageFailure, openImage, turns } from './sharp.js'
import type { Image } from './types.js'

export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'tiff'

export interface EncodeOptions {
  /** Gives up encoding; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** 1 to 100, for lossy formats (PNG has none); the default is the format's own in sharp, for JPEG 90. */
  readonly quality?: number | undefined
  /** Of JPEG and AVIF: whether colours are kept for each pixel (`4:4:4`) or for each two by two; the default is sharp's, `4:2:0` for JPEG and `4:4:4` for AVIF. */
  readonly chromaSubsampling?: '4:4:4' | '4:2:0' | undefined
  /** Of JPEG: a file smaller by about a tenth with the same pixels, in three times the time; default false, as OpenCV and PIL have it. */
  readonly optimize?: boolean | undefined
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

interface Encoding {
  readonly signal: AbortSignal | undefined
  readonly quality: number | undefined
  readonly chromaSubsampling: '4:4:4' | '4:2:0' | undefined
  readonly optimize: boolean
}

function checkedEncoding(options: unknown): Encoding {
  const given = readOptions(options, ['signal', 'quality', 'chromaSubsampling', 'optimize'], 'encodeImage')
  const { quality, chromaSubsampling, optimize = false } = given
  return {
    signal: unaborted(given.signal),
    quality: quality === undefined ? undefined : checkedWhole(quality, 'quality', 1, 100),
    chromaSubsampling:
      chromaSubsampling === undefined ? undefined : checkedChoice(chromaSubsampling, 'chromaSubsampling', ['4:4:4', '4:2:0']),
    optimize: checkedBoolean(optimize, 'optimize'),
  }
}

/**
 * The bytes of a picture file, with transparency where the picture has it and the format is not JPEG. The picture's data is read until the promise settles: leave it as it is until then.
 * @throws TensorRTError ERR_TRT_IMAGE when sharp fails or is not installed; ERR_TRT_INVALID_ARGUMENT
 */
export async function encodeImage(image: Image | AlphaImage, format: ImageFormat, options?: EncodeOptions): Promise<Uint8Array> {
  const encoding = checkedEncoding(options)
  checkedFor(image, checkedChoice(format, 'format', formats))
  return encoded(image, format, encoding)
}

/** A picture, with transparency only where the format has it. */
function checkedFor(image: Image | AlphaImage, format: ImageFormat): void {
  if ((image as Partial<AlphaImage> | undefined)?.channels !== 4) return void checkedImage(image as Image)
  if (format === 'jpeg') throw expected('3 (a jpeg has no transparency)', 'image.channels', 4)
  checkedAlphaImage(image as AlphaImage)
}

function checkedAlphaImage(image: AlphaImage): void {
  const { width, height } = checkedSize(image, 'image')
  if (checkedBytes(image.data, 'image.data').length !== width * height * 4)
    throw expected(`${width * height * 4} bytes (${width} x ${height} x 4)`, 'image.data', image.data.length)
}

/** sharp cannot be stopped: what was given up ends unheard. */
function encoded(image: Image | AlphaImage, format: ImageFormat, encoding: Encoding): Promise<Uint8Array> {
  return within(encoding, (cut) => turns.take(() => encode(image, format, encoding, cut), cut))
}

async function encode(image: Image | AlphaImage, format: ImageFormat, encoding: Encoding, cut: Cut | undefined): Promise<Uint8Array> {
  try {
    const pipeline = await openImage(image, `encode ${format}`)
    cut?.throwIfHappened()
    return await arranged(pipeline, format, encoding).toBuffer()
  } catch (error) {
    throw imageFailure(error, `encode a ${format} of ${image.width} x ${image.height}`)
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
 * Writes a picture file; the path's extension says the format: .jpg, .png, .webp, .avif, .tiff.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for another extension, ERR_TRT_FILE when the file cannot be written; what {@link encodeImage} throws
 */
export async function writeImage(image: Image | AlphaImage, path: string, options?: EncodeOptions): Promise<void> {
  const encoding = checkedEncoding(options)
  const target = localPath(checkedText(path, 'path', 'a path'), 'path')
  const format = formatOfExtension[extname(target).toLowerCase()]
  if (format === undefined) throw expected(`a path that ends in ${Object.keys(formatOfExtension).join(', ')}`, 'path', path)
  checkedFor(image, format)
  const bytes = await encoded(image, format, encoding)
  encoding.signal?.throwIfAborted()
  await onFile('write', target, () => writeFile(target, bytes))
}
