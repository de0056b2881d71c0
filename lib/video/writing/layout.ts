import { checkedPixels, checkPixelsThere, type Pixels } from '../../vision/raw.js'
import { expected, TensorRTError } from '../../errors.js'
import type { Size } from '../../base/size.js'
import type { Image, RawImage } from '../../vision/index.js'

type Format = Exclude<Pixels['format'], 'i42010' | 'p010'>

/** Pixels that can be written: of 8 bits. */
export type WritablePixels = Pixels & { readonly format: Format }

const bytesOfPixel: Readonly<Record<Format, number>> = { i420: 1, nv12: 1, gray: 1, rgb: 3, bgr: 3, rgba: 4, bgra: 4 }

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also for pixels of 10 bits */
export function writablePixels(frame: Image | RawImage): WritablePixels {
  const pixels = checkedPixels(frame, 'frame')
  if (isWritable(pixels)) return pixels
  throw expected(`pixels of 8 bits (${Object.keys(bytesOfPixel).join(', ')})`, 'frame.format', pixels.format)
}

function isWritable(pixels: Pixels): pixels is WritablePixels {
  return Object.hasOwn(bytesOfPixel, pixels.format)
}

/**
 * How all frames of a video lie in the pipe: as the first one lies in memory, so that it goes there without a copy;
 * ffmpeg cuts off what stands after each row.
 */
export class Layout {
  readonly format: Format
  readonly width: number
  readonly height: number
  /** Of a row in the pipe, in pixels: at least `width`. */
  readonly rowWidth: number
  /** The height in the pipe. */
  readonly rows: number
  readonly #pixel: number
  readonly #rowBytes: number

  /**
   * @param padded what is written where that is larger by one: the last column and the last row come twice, in a copy
   */
  constructor({ format, width, height, stride }: WritablePixels, padded: Size = { width, height }) {
    const pixel = bytesOfPixel[format]
    const isPadded = padded.width > width || padded.height > height
    this.#pixel = pixel
    this.format = format
    this.width = width
    this.height = height
    this.rowWidth = isPadded ? padded.width : stride % pixel === 0 ? stride / pixel : width
    this.rows = isPadded ? padded.height : height
    this.#rowBytes = this.rowWidth * pixel
  }

  /** How many bytes a frame has in the pipe. */
  get bytes(): number {
    return planesOf(this.format, this.rows, this.#rowBytes).reduce((sum, [rows, bytes]) => sum + rows * bytes, 0)
  }

  /** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also where it differs from the first frame */
  checked(frame: Image | RawImage): WritablePixels {
    const pixels = writablePixels(frame)
    const { format, width, height } = pixels
    if (format === this.format && width === this.width && height === this.height) return pixels
    const message = `Expected a frame as the first one, ${this.format} of ${this.width} x ${this.height}, but received ${format} of ${width} x ${height}: a video has one size, so scale it, or begin another file`
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
  }

  /**
   * The bytes for the pipe: those of the frame, or a copy where its rows are of another length than the first frame's.
   * @throws TensorRTError ERR_TRT_DETACHED
   */
  bytesOf(pixels: WritablePixels): Uint8Array {
    checkPixelsThere(pixels, 'frame')
    const { data, stride } = pixels
    const { bytes } = this
    if (stride === this.#rowBytes && this.rows === this.height && data.length >= bytes) return data.subarray(0, bytes)
    return this.#copy(pixels)
  }

  #copy({ data, stride, format, height, width }: WritablePixels): Uint8Array {
    const out = new Uint8Array(this.bytes)
    const target = planesOf(format, this.rows, this.#rowBytes)
    let from = 0
    let to = 0
    for (const [plane, [rows, bytes]] of planesOf(format, height, stride).entries()) {
      const [, into] = target[plane]!
      for (let row = 0; row < rows; row++) {
        const begin = from + row * bytes
        out.set(data.subarray(begin, begin + Math.min(bytes, into)), to + row * into)
      }
      if (plane === 0) this.#repeat(out, width)
      from += rows * bytes
      to += target[plane]![0] * into
    }
    return out
  }

  /**
   * Of the first plane: the others have half of its sides, rounded up, and that of an odd side is that of the even one
   * after it.
   */
  #repeat(out: Uint8Array, width: number): void {
    const { height, rows } = this
    const [pixel, rowBytes] = [this.#pixel, this.#rowBytes]
    if (rows === height && this.rowWidth !== width + 1) return
    const last = width * pixel
    if (rowBytes > last)
      for (let begin = 0; begin < height * rowBytes; begin += rowBytes)
        out.copyWithin(begin + last, begin + last - pixel, begin + last)
    if (rows > height) out.copyWithin(height * rowBytes, (height - 1) * rowBytes, height * rowBytes)
  }
}

/** Rows and bytes a row of each plane, from bytes a row of the first. */
function planesOf(format: Format, height: number, bytes: number): (readonly [rows: number, bytes: number])[] {
  const half = Math.ceil(height / 2)
  const chroma = Math.ceil(bytes / 2)
  if (format === 'i420') return [[height, bytes], [half, chroma], [half, chroma]] // prettier-ignore
  if (format === 'nv12') return [[height, bytes], [half, 2 * chroma]] // prettier-ignore
  return [[height, bytes]]
}
