import { resolve } from 'node:path'
import type { Metadata, Sharp } from 'sharp'
import { type Cut, within } from '../base/cancellation.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { rememberFiles } from '../base/overwriting.js'
import { sizeOf } from '../base/size.js'
import { checkedColor } from './checks.js'
import { isSrgb } from './icc.js'
import { infoOf, type PictureSource } from './info.js'
import { checkedPicture, inspected, type Inspected, opened, type Opened } from './opened.js'
import { toImage } from './sharp.js'
import { TensorRTError } from '../errors.js'
import type { Color, Image, Size } from './types.js'

/** Options of {@link readImage}. */
export interface ReadImageOptions {
  /** Rejects the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /**
   * What is done with a colour profile; default `convert`.
   *
   * - `convert`: the colours of a picture with a profile (Display P3 of a telephone) become those of sRGB. A profile
   *   that is sRGB itself is not computed.
   * - `ignore`: the numbers as they are stored, as PIL, torchvision and OpenCV take them, and with them the training of
   *   most models.
   *
   * CMYK is converted in either case, by its own profile or that of a printing press; PIL multiplies instead, and gives
   * other colours, by up to 99 of 255 (21 on average).
   */
  readonly icc?: 'convert' | 'ignore' | undefined
  /**
   * The most pixels that a picture may have, by what its head says, before anything is decoded; default 268,402,689
   * (16,383 x 16,383).
   */
  readonly limitPixels?: number | undefined
  /**
   * The colour that shows through where a picture is transparent, 0 to 255. Default: alpha is dropped, and the colour
   * is seen that lies under it, often black.
   */
  readonly background?: number | Color | undefined
  /** The frame of an animation or the page of a TIFF, from 0; default 0 (of AVIF the primary picture). */
  readonly page?: number | undefined
  /** Whether the picture is turned upright by its EXIF orientation; default true. */
  readonly orient?: boolean | undefined
  /**
   * The least size that is needed, a number for both sides; default: the picture's own. JPEG and WebP without alpha are
   * then decoded at a 3rd, 5th or 9th of their sides, where that is at least so large, in a third of the time and with
   * down to a hundredth of the memory. Pixels differ by a few of 255 from those of decoding and resizing with
   * antialias; for four-tap resizing, leave it out. Other formats are decoded whole.
   */
  readonly shrink?: number | Size | undefined
}

/** A picture that was read; `width` and `height` are smaller than those of `original` where it was shrunk. */
export interface ReadImage extends Image {
  /** The size before shrinking, upright if the picture is. */
  readonly original: Size
  /** Frames of the animation or pages of the TIFF, of which this is one. Absent if the file has one picture. */
  readonly pages?: number | undefined
}

/**
 * Decodes a picture in any format that sharp reads: upright, in sRGB, three channels of 8 bits. Alpha is dropped; of an
 * animation the first picture is taken. Needs the package sharp.
 * @param source the path or `file:` URL of a file, or its bytes
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE when the file is missing or cannot be read; ERR_TRT_IMAGE when it
 * is no picture, damaged or truncated, has more pixels than `limitPixels`, has no such page, or floating-point samples,
 * or when sharp is not installed; ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
 * @see https://sharp.pixelplumbing.com for the formats
 * @example
 * ```ts
 * import { readImage } from 'node-tensorrt/vision'
 *
 * const { width, height, data } = await readImage('photo.jpg')
 * console.log(width, height, data.length === width * height * 3)
 * ```
 */
export async function readImage(source: PictureSource, options?: ReadImageOptions): Promise<ReadImage> {
  return readChecked(source, checkedOptions(options, readingRows, 'readImage'))
}

/** sharp's own. */
const mostPixels = 0x3fff ** 2

export const readingRows = {
  signal: signalOption,
  icc: option(is.choice('convert', 'ignore'), 'convert'),
  limitPixels: option(is.whole(1), mostPixels),
  background: option<Color | undefined>(checkedColor),
  page: option(is.whole(0, 100_000), 0),
  orient: option(is.boolean, true),
  shrink: option<Size | undefined>(sizeOf),
} satisfies OptionTable<ReadImageOptions>

/** {@link ReadImageOptions} that were checked, with what was left out. */
export type Reading = Checked<typeof readingRows>

export async function readChecked(source: unknown, reading: Reading): Promise<ReadImage> {
  reading.signal?.throwIfAborted()
  const picture = checkedPicture(source)
  const image = await within(reading, (cut) => opened(picture, cut, (open) => decode(open, reading, cut)))
  if (typeof picture.from === 'string') rememberFiles(image, resolve(picture.from))
  return image
}

async function decode(picture: Opened, reading: Reading, cut: Cut | undefined): Promise<ReadImage> {
  const { found, pipeline } = await pageOf(picture, reading)
  cut?.throwIfHappened()
  checkDecodable(found, picture.name, reading)
  const info = infoOf(found)
  const { width, height } = reading.orient ? info : found
  const image = await toImage(arranged(pipeline, found, { width, height }, reading))
  return { ...image, original: { width, height }, ...(info.pages > 1 && { pages: info.pages }) }
}

/**
 * The page that is asked for. What is left out of sharp's options is the primary picture of an AVIF, and the first of
 * all others.
 */
async function pageOf({ open, name }: Opened, { page, icc }: Reading): Promise<Inspected> {
  const ignoreIcc = icc === 'ignore'
  const first = await inspected(open, { ignoreIcc })
  if (page === 0) return ignoreIcc ? first : withoutNeedlessProfile(first, open)
  const { pages } = infoOf(first.found)
  if (page < pages) return inspected(open, { ignoreIcc, page })
  throw refused(name, `it has ${pages === 1 ? 'one page' : `${pages} pages`}, counted from 0, and none is ${page}`, {
    page,
    pages,
  })
}

/** Where the profile says what would be taken for granted without it. */
function withoutNeedlessProfile({ found, pipeline }: Inspected, open: Opened['open']): Inspected {
  const isNeedless = found.space === 'srgb' && found.icc !== undefined && isSrgb(found.icc)
  return { found, pipeline: isNeedless ? open({ ignoreIcc: true }) : pipeline }
}

/** @throws TensorRTError ERR_TRT_IMAGE */
function checkDecodable({ width, height, depth }: Metadata, name: string, { limitPixels }: Reading): void {
  const pixels = width * height
  if (pixels > limitPixels)
    throw refused(name, `it has ${pixels} pixels (${width} x ${height}), limitPixels allows ${limitPixels}`, {
      pixels,
      limitPixels,
    })
  // libvips would take it for linear light with 1 for white, which is right for some of such files only
  if (depth !== 'uchar' && depth !== 'ushort')
    throw refused(name, `its samples are ${depth}, not 8 or 16 bit, and what is white is not said`)
}

function refused(name: string, why: string, details: Readonly<Record<string, unknown>> = {}): TensorRTError {
  return new TensorRTError('ERR_TRT_IMAGE', `Cannot read ${name}: ${why}`, { details })
}

function arranged(pipeline: Sharp, found: Metadata, size: Size, { orient, background, shrink, icc }: Reading): Sharp {
  if (orient) pipeline.autoOrient()
  if (background !== undefined) {
    // of a picture in grey sharp would take the brightness of the background, unless it has colours by then
    if (found.space === 'b-w' || found.space === 'grey16')
      pipeline.pipelineColourspace(found.space === 'b-w' ? 'srgb' : 'rgb16')
    pipeline.flatten({ background: { r: background[0], g: background[1], b: background[2] } })
  }
  // sharp takes 16 bit to Display P3 and the numbers for those of sRGB, unless it is told what they are to become
  if (found.space === 'rgb16' && found.hasProfile && icc === 'convert') pipeline.withIccProfile('srgb')
  const smaller = shrink === undefined ? undefined : shrunk(found, size, shrink)
  return smaller === undefined ? pipeline : pipeline.resize({ ...smaller, fit: 'fill', kernel: 'lanczos3' })
}

/**
 * sharp has libjpeg decode at an 8th, 4th or half where the picture becomes smaller than that by one more: what is left
 * to its own resize costs little and hides what libjpeg's averages add.
 */
const factors = [9, 5, 3] as const

/** The smallest size that is cheap and covers `least`. With alpha, colours would be averaged by how opaque they are. */
function shrunk({ format, hasAlpha }: Metadata, { width, height }: Size, least: Size): Size | undefined {
  if ((format !== 'jpeg' && format !== 'webp') || hasAlpha) return undefined
  return factors
    .map((factor) => ({ width: Math.floor(width / factor), height: Math.floor(height / factor) }))
    .find((size) => size.width >= least.width && size.height >= least.height)
}
