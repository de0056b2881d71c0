import { isBigInt64Array, isBigUint64Array } from 'node:util/types'
import type { TensorInfo } from '../backend/backend.js'
import { checkedArray, checkedNumber, checkedObject } from '../base/checks.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { TensorRTError } from '../errors.js'
import { floatDTypes } from '../tensor/convert.js'
import { type DType, elementCount, type FloatDType, isPacked, Tensor, bytesOfTensor, typedDataOf } from '../tensor.js'

/** Of what random values: from and to, both reached. Floating-point numbers are from -1 to 1. */
const ranges: Readonly<Partial<Record<DType, readonly [from: number, to: number]>>> = {
  int8: [-128, 127],
  int16: [-128, 127],
  int32: [-128, 127],
  int64: [-128, 127],
  uint8: [0, 255],
  uint16: [0, 255],
  uint32: [0, 255],
  uint64: [0, 255],
  bool: [0, 1],
}

/**
 * So many numbers are different; then they come again, since a large tensor of them would hold up the event loop. Even,
 * as packed types need it.
 */
const period = 2 ** 20

/**
 * A tensor of evenly distributed numbers, as trtexec makes them: floating-point numbers from -1 to 1, signed integers
 * from -128 to 127, unsigned ones from 0 to 255, booleans, texts of such numbers; after the first 2^20 they come
 * again, but for texts. The same seed gives the same numbers.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_INVALID_ARGUMENT
 */
export function randomTensor(info: Pick<TensorInfo, 'dtype'>, shape: readonly number[], seed: number): Tensor {
  const { dtype } = checkedObject(info, 'info', saidOfInput) as Pick<TensorInfo, 'dtype'>
  checkedNumber(seed, 'seed')
  const tensor: Tensor = Tensor.zeros(dtype, shape)
  const count = elementCount(shape)
  if (dtype === 'string') {
    const next = uniform(seed)
    return new Tensor(
      'string',
      Array.from({ length: count }, () => String(Math.floor(next() * 256))),
      shape,
    )
  }
  const bytes = bytesOfTensor(tensor)
  const first = bytesOfTensor(randomNumbers(dtype, Math.min(count, period), uniform(seed)))
  bytes.set(first)
  for (let there = first.length; there > 0 && there < bytes.length; there *= 2) bytes.copyWithin(there, 0, there)
  if (isPacked(dtype) && count % 2 === 1) bytes[bytes.length - 1]! &= 0x0f
  return tensor
}

function randomNumbers(dtype: DType, count: number, next: () => number): Tensor {
  if (isFloat(dtype))
    return Tensor.fromFloat32(
      dtype,
      Float32Array.from({ length: count }, () => next() * 2 - 1),
    )
  const tensor: Tensor = Tensor.zeros(dtype, [count])
  const data = typedDataOf(tensor)
  // of packed types bytes of several numbers each
  const [from, to] = ranges[dtype] ?? [0, 255]
  const whole = (): number => from + Math.floor(next() * (to - from + 1))
  if (isBigInt64Array(data) || isBigUint64Array(data)) for (let i = 0; i < count; i++) data[i] = BigInt(whole())
  else for (let i = 0; i < data.length; i++) data[i] = whole()
  return tensor
}

const isFloat = (dtype: DType): dtype is FloatDType => (floatDTypes as readonly DType[]).includes(dtype)

/**
 * Numbers from 0 to below 1: a generator of 32 bits (Mulberry32), which is enough for inputs that only have to be
 * something, and for arrivals.
 */
export function uniform(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let z = Math.imul(state ^ (state >>> 15), 1 | state)
    z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Options of {@link randomInputs}. */
export interface RandomInputsOptions {
  /** Of inputs that the model leaves open, by name; else the best of the first profile. */
  readonly shapes?: Readonly<Record<string, readonly number[]>> | undefined
  /** Another seed gives other numbers; 1 unless given. */
  readonly seed?: number | undefined
}

const saidOfInput = 'what an engine says of an input'

function checkedInfo(info: unknown, name: string): TensorInfo {
  const { shape } = checkedObject(info, name, saidOfInput) as TensorInfo
  checkedArray(shape, `${name}.shape`)
  return info as TensorInfo
}

const table = {
  shapes: option((shapes, name) => checkedObject(shapes, name) as NonNullable<RandomInputsOptions['shapes']>, {}),
  seed: option(is.number(), 1),
} satisfies OptionTable<RandomInputsOptions>

/**
 * A random tensor for each input. @throws TensorRTError ERR_TRT_SHAPES_REQUIRED where a shape is open and nothing says
 * it; as {@link randomTensor}
 */
export function randomInputs(inputs: readonly TensorInfo[], options?: RandomInputsOptions): Record<string, Tensor> {
  const { shapes, seed } = checkedOptions(options, table, 'randomInputs')
  const what = 'an array of what an engine says of its inputs, Object.values(engine.inputs),'
  const infos = checkedArray(inputs, 'inputs', what).map((info, i) => checkedInfo(info, `inputs[${i}]`))
  return Object.fromEntries(
    infos.map((info, i) => [info.name, randomTensor(info, shapeFor(info, shapes[info.name]), seed * 1000 + i)]),
  )
}

function shapeFor({ name, shape, profiles }: TensorInfo, fixed: readonly number[] | undefined): readonly number[] {
  const known = fixed ?? (shape.includes(-1) ? profiles[0]?.opt : shape)
  if (known !== undefined) return known
  throw new TensorRTError(
    'ERR_TRT_SHAPES_REQUIRED',
    `Input '${name}' [${shape.join(', ')}] leaves its shape open: give one`,
  )
}
