import type { BlobLike, Bytes } from '../base/bytes.js'
import { within } from '../base/cancellation.js'
import { type Abortable, checkedAbort } from '../base/options.js'
import { checkedPicture, inspected, opened } from './opened.js'
import type { Size } from './types.js'

/**
 * Where a picture comes from: the path or `file:` URL of a file in any format that sharp reads, the bytes of one, or
 * what gives them when it is asked: a Blob, a File, the Response of `fetch`.
 */
export type PictureSource = string | URL | Bytes | BlobLike

/**
 * What a picture's file says of it; width and height are those of the upright picture, with its EXIF orientation
 * applied.
 */
export interface ImageInfo extends Size {
  /** The format, by sharp's names: `jpeg`, `png`, `webp`, `gif`, `svg`, `tiff`, `heif`; `avif` for AVIF. */
  readonly format: string
  /** The channels of the file, alpha among them: 1 for grey, 4 for CMYK or RGB with alpha. */
  readonly channels: number
  /** Whether the picture has an alpha channel. */
  readonly hasAlpha: boolean
  /** Frames of an animation, pages of a TIFF; 1 where there is one picture. */
  readonly pages: number
  /** EXIF's orientation, 1 to 8: 1 is upright as it is stored; from 5 on width and height are swapped. */
  readonly orientation: number
}

/**
 * What the head of a picture file tells, without decoding it: a fraction of a millisecond. The rest of the file may be
 * damaged all the same. Needs the package sharp.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE when the file is missing or cannot be read; ERR_TRT_IMAGE when it
 * is no picture, or when sharp is not installed; ERR_TRT_INVALID_ARGUMENT
 */
export async function readImageInfo(source: PictureSource, options?: Abortable): Promise<ImageInfo> {
  const signal = checkedAbort(options, 'readImageInfo')
  const picture = checkedPicture(source)
  return within({ signal }, (cut) => opened(picture, cut, async ({ open }) => infoOf((await inspected(open)).found)))
}

/**
 * What sharp says of a picture, as far as it is told here; declared anew, so that who has no sharp can compile against
 * this package.
 */
interface Head extends Size {
  readonly format: string
  readonly compression?: string | undefined
  readonly channels: number
  readonly hasAlpha: boolean
  readonly pages?: number | undefined
  readonly orientation?: number | undefined
}

export function infoOf({
  width,
  height,
  format,
  compression,
  channels,
  hasAlpha,
  pages = 1,
  orientation = 1,
}: Head): ImageInfo {
  const isTurned = orientation >= 5 && orientation <= 8
  return {
    width: isTurned ? height : width,
    height: isTurned ? width : height,
    format: format === 'heif' && compression === 'av1' ? 'avif' : format,
    channels,
    hasAlpha,
    pages,
    orientation: orientation >= 1 && orientation <= 8 ? orientation : 1,
  }
}
