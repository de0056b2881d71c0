import { isUint8Array, isUint8ClampedArray } from 'node:util/types'
import { expectedBytes, isShared, unshared } from '../base/bytes.js'
import { checkedChoice, checkedWhole } from '../base/checks.js'
import { defined } from '../base/options.js'
import { expected, reworded } from '../errors.js'
import { yuvCoefficients, yuvMatrices, yuvRanges, type YuvToRgb } from '../steps/pixels/yuv.js'
import { Tensor } from '../tensor.js'
import { checkedBytes, checkedImage, checkedSize, checkStillThere } from './checks.js'
import type { Image, ImageDataLike, PixelFormat, RawImage } from './types.js'

/** In the order of the addon's numbers. */
const pixelFormats: readonly PixelFormat[] = ['rgb', 'bgr', 'rgba', 'bgra', 'gray', 'i420', 'nv12', 'i42010', 'p010']

/** Of 10 bits: words of 16 bits. */
const deepFormats: readonly PixelFormat[] = ['i42010', 'p010']

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

/**
 * Pixels in memory that is not shared: what lies in shared memory is copied. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function checkedPixels(image: Image | RawImage | ImageDataLike, name: string): Pixels {
  checkIsPicture(image, name)
  const { width, height } = checkedSize(image, name)
  const { format = isCanvas(image) ? 'rgba' : undefined } = image as Partial<RawImage>
  if (format === undefined) {
    const data = unshared(checkedImage(image as Image, name).data)
    return { format: 'rgb', width, height, stride: width * 3, data, yuv: yuvCoefficients('bt601', 'limited') }
  }
  const { stride, matrix = 'bt601', range = 'limited' } = image as RawImage
  const layout = checkedChoice(format, `${name}.format`, pixelFormats)
  const least = rowBytes(layout, width)
  const bytes = stride === undefined ? least : checkedStride(stride, layout, least, `${name}.stride`)
  const data = checkedBytes(unclamped(image.data), `${name}.data`)
  const wanted = pictureBytes(layout, width, height, bytes)
  if (data.length < wanted)
    throw expected(`${wanted} bytes (${layout}, ${width} x ${height}, stride ${bytes})`, `${name}.data`, data.length)
  const yuv = yuvCoefficients(
    checkedChoice(matrix, `${name}.matrix`, yuvMatrices),
    checkedChoice(range, `${name}.range`, yuvRanges),
    isDeep(layout) ? 10 : 8,
  )
  return { format: layout, width, height, stride: bytes, data: unshared(data), yuv }
}

/** The same picture; what lies in shared memory is copied. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function unsharedPicture(image: Image | RawImage | ImageDataLike, name: string): Image | RawImage {
  const { format, width, height, stride, data } = checkedPixels(image, name)
  if (!isShared(image.data)) return image as Image | RawImage
  const { matrix, range } = image as RawImage
  return { format, width, height, stride, data, ...defined({ matrix, range }) }
}

/**
 * Before pixels are painted where they are: a copy is not what the caller looks at. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function refuseShared(image: unknown, name: string): void {
  const { data } = Object(image) as { data?: unknown }
  if (ArrayBuffer.isView(data) && isShared(data))
    throw expected('memory that is not shared', `${name}.data`, 'a SharedArrayBuffer')
}

/**
 * What has nothing of a picture is told before any number of it is missed. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
function checkIsPicture(image: unknown, name: string): void {
  if (Tensor.is(image)) {
    const refused = expected('a picture', name, image)
    const way = '{ width: W, height: H, channels: 3, data: tensor.data } is one of a uint8 tensor [H, W, 3]'
    throw reworded(refused, `${refused.message}: ${way}`)
  }
  const { width, height, data } = Object(image) as Partial<Record<keyof Image, unknown>>
  if (typeof image === 'object' && (width !== undefined || height !== undefined || isUint8Array(data))) return
  throw expectedBytes('a picture (its path, the bytes of its file, or pixels: { width, height, data })', name, image)
}

/** ImageData, and what else has four samples for each pixel and says no format. */
function isCanvas({ channels, data, width, height }: Partial<Image> | ImageDataLike): boolean {
  if (channels !== undefined) return (channels as number) === 4
  return isUint8ClampedArray(data) || (isUint8Array(data) && data.length === Number(width) * Number(height) * 4)
}

/** The same bytes: numbers beyond 255 come from nowhere here. */
function unclamped(data: unknown): unknown {
  return isUint8ClampedArray(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : data
}

function checkedStride(stride: unknown, format: PixelFormat, least: number, name: string): number {
  const bytes = checkedWhole(stride, name, least, 2 ** 31 - 1)
  if (bytes % sampleBytes(format) !== 0) throw expected(`whole words of 16 bits (${format})`, name, stride)
  return bytes
}

/** Of pixels that are still as they were checked. @throws TensorRTError ERR_TRT_DETACHED */
export function checkPixelsThere({ format, width, height, stride, data }: Pixels, name: string): void {
  checkStillThere(data, pictureBytes(format, width, height, stride), name)
}

/** From the first byte to the last, gaps included. */
export function bytesOfPixels({ format, width, height, stride, data }: Pixels): Uint8Array {
  return data.subarray(0, pictureBytes(format, width, height, stride))
}

/** Whether samples have 10 bits. */
export const isDeep = (format: PixelFormat): boolean => deepFormats.includes(format)

const sampleBytes = (format: PixelFormat): 1 | 2 => (isDeep(format) ? 2 : 1)

const hasPlanes = (format: PixelFormat): boolean => isDeep(format) || format === 'i420' || format === 'nv12'

function channelsOf(format: PixelFormat): number {
  if (format === 'rgb' || format === 'bgr') return 3
  return format === 'rgba' || format === 'bgra' ? 4 : 1
}

function rowBytes(format: PixelFormat, width: number): number {
  return width * channelsOf(format) * sampleBytes(format)
}

function pictureBytes(format: PixelFormat, width: number, height: number, stride: number): number {
  if (!hasPlanes(format)) return (height - 1) * stride + rowBytes(format, width)
  // a row of U and one of V, be they apart or in turns
  return height * stride + Math.ceil(height / 2) * 2 * halfRow(format, stride)
}

/** Bytes of a row of U, or of V. */
function halfRow(format: PixelFormat, stride: number): number {
  const bytes = sampleBytes(format)
  return Math.ceil(stride / bytes / 2) * bytes
}

/** Where U and V lie, in bytes from the picture's first one. */
export interface Chroma {
  readonly u: number
  readonly v: number
  /** From one row to the next. */
  readonly row: number
  /** From one sample to the next. */
  readonly step: number
}

/** None of what has no planes of U and V. */
export function chromaOf({ format, height, stride }: Pick<Pixels, 'format' | 'height' | 'stride'>): Chroma | undefined {
  if (!hasPlanes(format)) return undefined
  const [u, half, bytes] = [height * stride, halfRow(format, stride), sampleBytes(format)]
  if (format === 'nv12' || format === 'p010') return { u, v: u + bytes, row: 2 * half, step: 2 * bytes }
  return { u, v: u + Math.ceil(height / 2) * half, row: half, step: bytes }
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

function writerOf(pixels: Pixels): Write {
  const { format, stride, data } = pixels
  const chroma = chromaOf(pixels)
  if (chroma !== undefined) return yuvWriter(pixels, chroma)
  const { step, places } = packingOf(format)
  return (x, y, out, at) => {
    const from = y * stride + x * step
    places.forEach((place, channel) => (out[at + channel] = data[from + place]!))
  }
}

/** Bytes from one pixel to the next, and where in one red, green and blue are. */
export function packingOf(format: PixelFormat): {
  readonly step: number
  readonly places: readonly [number, number, number]
} {
  const step = channelsOf(format)
  if (format === 'gray') return { step, places: [0, 0, 0] }
  return { step, places: format === 'bgr' || format === 'bgra' ? [2, 1, 0] : [0, 1, 2] }
}

function yuvWriter({ format, stride, data, yuv }: Pixels, chroma: Chroma): Write {
  const bytes = sampleBytes(format)
  const sampleAt = sampleReader(format, data)
  return (x, y, out, at) => {
    const pair = (y >> 1) * chroma.row + (x >> 1) * chroma.step
    const luma = yuv.luma * (sampleAt(y * stride + x * bytes) * yuv.sample - yuv.black)
    const u = sampleAt(chroma.u + pair) * yuv.sample - yuv.centre
    const v = sampleAt(chroma.v + pair) * yuv.sample - yuv.centre
    out[at] = byteOf(luma + yuv.red * v)
    out[at + 1] = byteOf(luma - yuv.greenU * u - yuv.greenV * v)
    out[at + 2] = byteOf(luma + yuv.blue * u)
  }
}

/** Of words the lower ten bits, of p010's the upper ones. */
function sampleReader(format: PixelFormat, data: Uint8Array): (at: number) => number {
  if (!isDeep(format)) return (at) => data[at]!
  const shift = format === 'p010' ? 6 : 0
  return (at) => ((data[at]! | (data[at + 1]! << 8)) >> shift) & 1023
}

function byteOf(value: number): number {
  return Math.floor(Math.min(Math.max(value + 0.5, 0), 255))
}
