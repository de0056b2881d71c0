import { isPromise } from 'node:util/types'
/** What a model gave, as decoders read it: which tensor is which is told by shapes. */
import { shapeText } from '../../base/dims.js'
import { expected, TensorRTError } from '../../errors.js'
import { elementCount, expectedTensor, Tensor } from '../../tensor.js'

/**
 * One tensor, several, or those that `infer` gives by name. Names say nothing: shapes do, and the order where shapes
 * are the same.
 */
export type Outputs = Tensor | readonly Tensor[] | Readonly<Record<string, Tensor>>

export interface Output {
  readonly shape: readonly number[]
  readonly data: Float32Array
  /** Whole numbers, which some models give as classes. */
  readonly isWhole: boolean
}

const wholeTypes: readonly string[] = ['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64']
const floatTypes: readonly string[] = ['float32', 'float16', 'bfloat16', 'float64']

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE */
export function outputsOf(given: unknown): Output[] {
  if (given instanceof Tensor) return [outputOf(given, 'outputs')]
  if (typeof given !== 'object' || given === null || isPromise(given))
    throw expected('a Tensor, an array of them or an object of them', 'outputs', given)
  const entries: [string, unknown][] = Array.isArray(given)
    ? Array.from(given as unknown[]).map((tensor, index) => [`outputs[${index}]`, tensor])
    : Object.entries(given).map(([name, tensor]) => [`outputs.${name}`, tensor])
  if (entries.length === 0) throw expected('at least one Tensor', 'outputs', given)
  return entries.map(([name, tensor]) => outputOf(tensor, name))
}

function outputOf(tensor: unknown, name: string): Output {
  if (!(tensor instanceof Tensor)) throw expectedTensor('a Tensor', name, tensor)
  const isWhole = wholeTypes.includes(tensor.dtype)
  if (!isWhole && !floatTypes.includes(tensor.dtype))
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected a tensor of floats for ${name} but received ${tensor.dtype}`)
  return { shape: tensor.shape, data: tensor.toFloat32().data, isWhole }
}

/**
 * Those that were given, for a message: "[1, 84, 6300] and [1, 32, 160, 160]"; of one that no decoder takes for floats,
 * that too.
 */
export function shapesText(outputs: readonly Output[]): string {
  return outputs.map(({ shape, isWhole }) => shapeText(shape) + (isWhole ? ' of whole numbers' : '')).join(' and ')
}

/** An error about shapes. */
export function wrongShape(wanted: string, outputs: readonly Output[]): TensorRTError {
  return new TensorRTError('ERR_TRT_SHAPE', `Expected ${wanted} but received ${shapesText(outputs)}`, {
    details: { shapes: outputs.map(({ shape }) => shape) },
  })
}

/** The only one, of floats, with so many dimensions. */
export function onlyOutput(outputs: readonly Output[], rank: number, wanted: string): Output {
  const [only] = outputs
  if (outputs.length === 1 && only !== undefined && only.shape.length === rank && !only.isWhole) return only
  throw wrongShape(wanted, outputs)
}

/** The part of a tensor that belongs to one picture of its batch. */
export function pictureOf({ data, shape }: Output, index: number): Float32Array {
  const length = elementCount(shape.slice(1))
  return data.subarray(index * length, (index + 1) * length)
}

/** How many pictures all of them have. */
export function batchOf(outputs: readonly Output[], wanted: string): number {
  const batch = outputs[0]?.shape[0] ?? 0
  if (outputs.every(({ shape }) => shape[0] === batch)) return batch
  throw wrongShape(`${wanted}, of one N`, outputs)
}

export function forEachPicture<T>(batch: number, decode: (index: number) => T): T[] {
  return Array.from({ length: batch }, (_, index) => decode(index))
}
