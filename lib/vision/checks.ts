import { checkedNumber, checkedObject, checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import type { Box, Color, Image, Size } from './types.js'

/** A number for all channels, or one for each. */
export function checkedPerChannel(value: unknown, name: string, low?: number, high?: number): Color {
  const values: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : [value, value, value]
  if (values.length !== 3) throw expected('a number or three numbers', name, value)
  const [red, green, blue] = values
  return [checkedNumber(red, name, low, high), checkedNumber(green, name, low, high), checkedNumber(blue, name, low, high)]
}

export function checkedColor(value: unknown, name: string): Color {
  return checkedPerChannel(value, name, 0, 255)
}

export function checkedSize(value: unknown, name: string): Size {
  const { width, height } = checkedObject(value, name) as Size
  return { width: checkedWhole(width, `${name}.width`, 1), height: checkedWhole(height, `${name}.height`, 1) }
}

/** A box of four finite numbers whose width and height are not negative. */
export function checkedBox(value: unknown, name: string): Box {
  const numbers: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : []
  const isBox =
    numbers.length === 4 && numbers.every((number) => Number.isFinite(number)) && Number(numbers[2]) >= 0 && Number(numbers[3]) >= 0
  if (!isBox) throw expected('a box [x, y, width, height] of finite numbers, the last two not negative', name, value)
  return value as Box
}

/** `image` itself, if it is a picture whose data has the length that its size wants. */
export function checkedImage(image: Image, name = 'image'): Image {
  const { width, height } = checkedSize(image, name)
  if (image.channels !== 3) throw expected('3', `${name}.channels`, image.channels)
  if (!(image.data instanceof Uint8Array)) throw expected('a Uint8Array', `${name}.data`, image.data)
  if (image.data.length !== width * height * 3)
    throw expected(`${width * height * 3} bytes (${width} x ${height} x 3)`, `${name}.data`, image.data.length)
  return image
}
