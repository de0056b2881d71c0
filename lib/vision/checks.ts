import { isFloat32Array, isUint8Array } from 'node:util/types'
import { unshared } from '../base/bytes.js'
import { checkedSize } from '../base/size.js'
import { expected, TensorRTError } from '../errors.js'
import { expectedTensor, Tensor } from '../tensor.js'
import type { Box, Image, Point, Size } from './types.js'

export { checkedSize } from '../base/size.js'
export { checkedColor, checkedPerChannel } from '../steps/pixels/types.js'

export function checkedPoint(value: unknown, name: string): Point {
  const numbers: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : []
  if (numbers.length !== 2 || !numbers.every((number) => Number.isFinite(number)))
    throw expected('a point [x, y] of finite numbers', name, value)
  return value as Point
}

/** A box of four finite numbers whose width and height are not negative. */
export function checkedBox(value: unknown, name: string): Box {
  const numbers: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : []
  const isBox =
    numbers.length === 4 &&
    numbers.every((number) => Number.isFinite(number)) &&
    Number(numbers[2]) >= 0 &&
    Number(numbers[3]) >= 0
  if (!isBox) throw expected('a box [x, y, width, height] of finite numbers, the last two not negative', name, value)
  return value as Box
}

/**
 * Bytes: what merely has the prototype of a Uint8Array, or is a proxy of one, throws when it is asked.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED
 */
export function checkedBytes(value: unknown, name: string): Uint8Array {
  if (!isUint8Array(value)) throw expected('a Uint8Array', name, value)
  if (value.length === 0 && isDetached(value)) throw detached(name)
  return value
}

/** Node 20 does not say it of a buffer; it refuses a view of one. */
function isDetached({ buffer }: Uint8Array): boolean {
  try {
    Reflect.construct(Uint8Array, [buffer])
    return false
  } catch {
    return true
  }
}

function detached(name: string): TensorRTError {
  const message = `The buffer of ${name} was transferred away or resized: leave it as it is until the promise settles`
  return new TensorRTError('ERR_TRT_DETACHED', message)
}

/**
 * Before data is used that was checked at the call: between them its owner may have transferred its buffer to another
 * thread, or resized it. `length`: what it had then.
 * @throws TensorRTError ERR_TRT_DETACHED
 */
export function checkStillThere(data: ArrayLike<number>, length: number, name: string): void {
  if (data.length < length) throw detached(name)
}

/** `image` itself, if it is a picture of so many channels whose data has the length that its size wants. */
export function checkedImage(image: Image, name?: string): Image
export function checkedImage<P extends Pixels>(image: P, name: string, channels: P['channels']): P
export function checkedImage(image: Pixels, name = 'image', channels = 3): Pixels {
  const { width, height } = checkedSize(image, name)
  if (image.channels !== channels) throw expected(`${channels}`, `${name}.channels`, image.channels)
  const bytes = width * height * channels
  if (checkedBytes(image.data, `${name}.data`).length !== bytes)
    throw expected(`${bytes} bytes (${width} x ${height} x ${channels})`, `${name}.data`, image.data.length)
  return image
}

interface Pixels extends Size {
  readonly channels: number
  readonly data: Uint8Array
}

export function numbersOf(value: unknown, name: string, length?: number): Float32Array {
  if (!isFloat32Array(value)) throw expected('a Float32Array', name, value)
  return length === undefined ? value : ofLength(value, name, length)
}

/**
 * The elements of a tensor of float32, in memory that is not shared. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT,
 * ERR_TRT_DTYPE
 */
export function floatsOf(tensor: unknown, name: string): { data: Float32Array; shape: readonly number[] } {
  if (!(tensor instanceof Tensor)) throw expectedTensor('a Tensor', name, tensor)
  const { data, dtype, shape } = tensor
  if (isFloat32Array(data)) return { data: unshared(data), shape }
  const message = `Expected a float32 tensor for ${name} but received ${dtype}: see toFloat32()`
  throw new TensorRTError('ERR_TRT_DTYPE', message)
}

export function ofLength<T extends Float32Array | Int32Array>(values: T, name: string, length: number): T {
  if (values.length === length) return values
  throw expected(`${length} elements`, name, values.length)
}

export function finite(values: Float32Array, name: string): Float32Array {
  const wrong = values.findIndex((value) => !Number.isFinite(value))
  if (wrong >= 0) throw expected('a finite number', `${name}[${wrong}]`, values[wrong])
  return values
}
