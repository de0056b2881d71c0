import { Tensor, type DType } from '../../lib/index.js'
import { elementCount, typedDataOf } from '../../lib/tensor.js'
import { Random } from './random.js'

/** The shapes of an optimization profile. */
export const range = (
  min: number[],
  opt: number[],
  max: number[],
): { min: number[]; opt: number[]; max: number[] } => ({ min, opt, max })

/** A list of numbers. */
export const floats = (...values: number[]): Tensor<'float32'> =>
  new Tensor('float32', Float32Array.from(values), [values.length])

/** A list of whole numbers, and a single one, as ONNX has shapes and indices. */
export const ints = (...values: number[]): Tensor<'int64'> =>
  new Tensor('int64', BigInt64Array.from(values, BigInt), [values.length])
export const int = (value: number): Tensor<'int64'> => new Tensor('int64', BigInt64Array.of(BigInt(value)), [])

/** A number without dimensions. */
export const scalar = (value: number): Tensor<'float32'> => new Tensor('float32', Float32Array.of(value), [])

/** As many numbers as the shape has elements, from -scale to below it, the same for the same seed. */
export function randomFloats(shape: readonly number[], seed: number | Random, scale = 1): Float32Array<ArrayBuffer> {
  const random = typeof seed === 'number' ? new Random(seed) : seed
  return Float32Array.from({ length: elementCount(shape) }, () => random.around() * scale)
}

export function randomTensor(shape: readonly number[], seed: number | Random, scale = 1): Tensor<'float32'> {
  return new Tensor('float32', randomFloats(shape, seed, scale), shape)
}

/** A tensor of the shape with reproducible elements, of any data type; numbers stay small. */
export function pattern<D extends DType>(dtype: D, shape: readonly number[]): Tensor<D> {
  const tensor = Tensor.zeros(dtype, shape)
  const data = typedDataOf(tensor)
  for (let i = 0, state = 1; i < data.length; i++) {
    state = (state * 48271) % 0x7fffffff
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[i] = BigInt(state) - 2n ** 40n
    else
      data[i] =
        dtype === 'float32' || dtype === 'float64'
          ? state / 0x7fffffff - 0.5
          : dtype === 'float16'
            ? state % 0x7c00
            : dtype === 'bool'
              ? state % 2
              : state
  }
  return tensor
}

/** Numbers of any type that are the same for the same seed; all bit patterns, but for bool. */
export function bits<D extends DType>(dtype: D, shape: readonly number[], seed = 1): Tensor<D> {
  const tensor = Tensor.zeros(dtype, shape)
  const data = typedDataOf(tensor)
  const bytes = new Uint8Array((data as NodeJS.TypedArray).buffer)
  bytes.set(new Random(seed).bytes(bytes.length))
  if (dtype === 'bool') for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] as number) & 1
  return tensor
}

/** The bytes of a tensor, where it is. */
export const bytesOf = (tensor: Tensor | undefined): Buffer =>
  tensor === undefined
    ? Buffer.alloc(0)
    : Buffer.from(
        (tensor.data as NodeJS.TypedArray).buffer,
        (tensor.data as NodeJS.TypedArray).byteOffset,
        (tensor.data as NodeJS.TypedArray).byteLength,
      )

/** The probability's logit, which a sigmoid turns back. */
export const logit = (probability: number): number => Math.log(probability / (1 - probability))

/** How alike two lists of numbers point; NaN where one is longer. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [ab, aa, bb] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number]
    ab += x * y
    aa += x * x
    bb += y * y
  }
  return a.length === b.length ? ab / Math.sqrt(aa * bb) : NaN
}

/** The largest difference between two results, by the largest number in the second. */
export function relativeDifference(a: Float32Array, b: Float32Array): number {
  let [most, scale] = [a.length === b.length ? 0 : Infinity, 0]
  for (let i = 0; i < b.length; i++) {
    const apart = Math.abs((a[i] as number) - (b[i] as number))
    if (!(apart <= most)) most = apart // NaN is no small difference
    scale = Math.max(scale, Math.abs(b[i] as number))
  }
  return most / scale
}

/** Takes a tensor's memory away, as a transfer to a worker does. */
export const detach = ({ data }: Tensor): void =>
  void structuredClone((data as NodeJS.TypedArray).buffer, {
    transfer: [(data as NodeJS.TypedArray).buffer as ArrayBuffer],
  })

/** Whether it is a record, and no instance of a class. */
export const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
