import { checkedChoice, checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import { yuvCoefficients, yuvMatrices, yuvRanges, type YuvToRgb } from '../pixels/yuv.js'
import { checkedBytes, checkedImage, checkedSize, checkStillThere } from './checks.js'
import type { Image, PixelFormat, RawImage } from './types.js'

/** In the order of the addon's numbers. */
const pixelFormats: readonly PixelFormat[] = ['rgb', 'bgr', 'rgba', 'bgra', 'gray', 'i420', 'nv12']

/** Pixels that were checked, whatever their layout. */
export interface Pixels {
  readonly format: PixelFormat
  readonly width: number
  readonly height: number
  readonly stride: number
  readonly data: Uint8Array
  readonly yuv: YuvToRgb
}

/** As the addon takes them. */
export function nativePixels({ format, ...pixels }: Pixels): Omit<Pixels, 'format'> & { readonly format: number } {
  return { ...pixels, format: pixelFormats.indexOf(format) }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedPixels(image: Image | RawImage, name: string): Pixels {
  const { width, height } = checkedSize(image, name)
  const { format } = image as Partial<RawImage>
  if (format === undefined) {
    const { data } = checkedImage(image as Image, name)
    return { format: 'rgb', width, height, stride: width * 3, data, yuv: yuvCoefficients('bt601', 'limited') }
  }
  const { data, stride, matrix = 'bt601', range = 'limited' } = image as RawImage
  const layout = checkedChoice(format, `${name}.format`, pixelFormats)
  const least = rowBytes(layout, width)
  const bytes = stride === undefined ? least : checkedWhole(stride, `${name}.stride`, least, 2 ** 31 - 1)
  checkedBytes(data, `${name}.data`)
  const wanted = pictureBytes(layout, width, height, bytes)
  if (data.length < wanted)
    throw expected(`${wanted} bytes (${layout}, ${width} x ${height}, stride ${bytes})`, `${name}.data`, data.length)
  const yuv = yuvCoefficients(checkedChoice(matrix, `${name}.matrix`, yuvMatrices), checkedChoice(range, `${name}.range`, yuvRanges))
  return { format: layout, width, height, stride: bytes, data, yuv }
}

/** Of pixels that are still as they were checked. @throws TensorRTError ERR_TRT_DETACHED */
export function checkPixelsThere({ format, width, height, stride, data }: Pixels, name: string): void {
  checkStillThere(data, pictureBytes(format, width, height, stride), name)
}

function channelsOf(format: PixelFormat): number {
  if (format === 'rgb' || format === 'bgr') return 3
  return format === 'rgba' || format === 'bgra' ? 4 : 1
}

function rowBytes(format: PixelFormat, width: number): number {
  return width * channelsOf(format)
}

function pictureBytes(format: PixelFormat, width: number, height: number, stride: number): number {
  // a row of U and one of V, be they apart or in turns
  if (format === 'i420' || format === 'nv12') return height * stride + Math.ceil(height / 2) * 2 * Math.ceil(stride / 2)
  return (height - 1) * stride + rowBytes(format, width)
}

/** The same pixels as RGB without gaps, in JavaScript; those that are it already are not copied. */
export function rgbOf(pixels: Pixels): Uint8Array {
  const { format, width, height, stride, data } = pixels
  if (format === 'rgb' && stride === width * 3) return data
  const out = new Uint8Array(width * height * 3)
  const write = writerOf(pixels)
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) write(x, y, out, (y * width + x) * 3)
  return out
}

type Write = (x: number, y: number, out: Uint8Array, at: number) => void

function writerOf({ format, height, stride, data, yuv, ...rest }: Pixels): Write {
  if (format === 'i420' || format === 'nv12') return yuvWriter({ format, height, stride, data, yuv, ...rest })
  const step = channelsOf(format)
  const red = format === 'bgr' || format === 'bgra' ? 2 : 0
  const [green, blue] = format === 'gray' ? [0, 0] : [1, 2 - red]
  return (x, y, out, at) => {
    const from = y * stride + x * step
    out[at] = data[from + red]!
    out[at + 1] = data[from + green]!
    out[at + 2] = data[from + blue]!
  }
}

function yuvWriter({ format, height, stride, data, yuv }: Pixels): Write {
  const chroma = height * stride
  const planar = format === 'i420'
  const row = Math.ceil(stride / 2) * (planar ? 1 : 2)
  const step = planar ? 1 : 2
  const toV = planar ? Math.ceil(height / 2) * row : 1
  return (x, y, out, at) => {
    const pair = chroma + (y >> 1) * row + (x >> 1) * step
    const luma = yuv.luma * (data[y * stride + x]! - yuv.black)
    const u = data[pair]! - 128
    const v = data[pair + toV]! - 128
    out[at] = byteOf(luma + yuv.red * v)
    out[at + 1] = byteOf(luma - yuv.greenU * u - yuv.greenV * v)
    out[at + 2] = byteOf(luma + yuv.blue * u)
  }
}

function byteOf(value: number): number {
  return Math.floor(Math.min(Math.max(value + 0.5, 0), 255))
}
