/** Tensors of onnxruntime-common and of this package: the same memory in the other's form. */
import type { OnnxValue, SessionHandler, Tensor as OrtTensor } from 'onnxruntime-common'
import { named, refused, wrong } from './errors.js'
import { reworded, TensorRTError } from '../errors.js'
import { type DType, isDType, isTypedArray, isWhole, Tensor, type TypedData } from '../tensor.js'

/** The data types that both have, by the same names. */
const common: ReadonlySet<string> = new Set<DType & OrtTensor.Type>([
  'float32',
  'uint8',
  'int8',
  'uint16',
  'int16',
  'int32',
  'int64',
  'bool',
  'float16',
  'float64',
  'uint32',
  'uint64',
  'int4',
  'string',
])

/** onnxruntime-common's name of a data type. @throws TensorRTError ERR_TRT_DTYPE where it has none */
export function ortTypeOf(dtype: DType): OrtTensor.Type {
  if (common.has(dtype)) return dtype as OrtTensor.Type
  throw refused('ERR_TRT_DTYPE', `Unsupported data type: ${dtype}. No Tensor of onnxruntime-common can hold it`)
}

/**
 * A tensor over the same memory as one of onnxruntime's, of whichever copy; or of what has `type`, `data`, `dims` and
 * `location` as it has.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT by the name TypeError, ERR_TRT_DTYPE, ERR_TRT_SHAPE
 */
export function fromOrt(value: unknown, name: string): Tensor {
  if (typeof value !== 'object' || value === null) throw wrong('TypeError', `Tensor must be an object: ${name}`, value)
  const { dims, location, type } = value as Partial<OrtTensor>
  if (!Array.isArray(dims)) throw wrong('TypeError', `Tensor.dims must be an array: ${name}`, dims)
  for (let i = 0; i < dims.length; i++) checkDimension(dims[i], i, name)
  if (typeof location !== 'string') throw wrong('TypeError', `Tensor.location must be a string: ${name}`, location)
  if (location !== 'cpu' && location !== 'cpu-pinned')
    throw wrong('RangeError', `Tensor.location is not supported: ${name} has to be on the CPU`, location)
  if (typeof type !== 'string') throw wrong('TypeError', `Tensor.type must be a string: ${name}`, type)
  if (type === 'uint4')
    throw refused(
      'ERR_TRT_DTYPE',
      `${name} has the type uint4, which node-tensorrt does not have: it has int4 and uint8`,
    )
  if (!common.has(type) || !isDType(type)) throw wrong('TypeError', `Tensor.type is not supported: ${name}`, type)
  const { data } = value as { readonly data?: unknown }
  const own = type === 'string' ? textsIn(data, name) : data
  if (type !== 'string' && !isTypedArray(own))
    throw wrong('TypeError', `Tensor.data must be a typed array for numeric tensor: ${name}`, own)
  try {
    return new Tensor(type, own as never, dims as readonly number[])
  } catch (error) {
    throw unfit(error, name)
  }
}

function checkDimension(dim: unknown, i: number, name: string): void {
  if (typeof dim !== 'number') throw wrong('TypeError', `Tensor.dims[${i}] is not a number: ${name}`, dim)
  if (!Number.isInteger(dim) || dim < 0 || dim > 0xffff_ffff)
    throw wrong('RangeError', `Tensor.dims[${i}] is invalid: ${name}`, dim)
}

/** Of data that is of another type or length than a tensor says: what is wrong, and with which. */
function unfit(error: unknown, name: string): unknown {
  if (!(error instanceof TensorRTError)) return error
  if (error.code !== 'ERR_TRT_DTYPE') return named('Error', reworded(error, `${name}: ${error.message}`))
  return named('TypeError', reworded(error, `Tensor.data is not of Tensor.type: ${name}: ${error.message}`))
}

function textsIn(data: unknown, name: string): readonly string[] {
  if (!Array.isArray(data)) throw wrong('TypeError', `Tensor.data must be an array for string tensors: ${name}`, data)
  const other = data.findIndex((text) => typeof text !== 'string')
  if (other >= 0) throw wrong('TypeError', `Tensor.data[${other}] must be a string: ${name}`, data[other])
  return data as string[]
}

/**
 * What a run gives for an output. onnxruntime-common makes a Tensor of it, of the very class of the copy that the
 * program has; float16 becomes a Float16Array there where the program has one.
 */
export function toOrt({ dtype, data, shape }: Tensor): OnnxValue {
  // texts are frozen in a Tensor of this package, and no program of onnxruntime-node knows such
  const own = dtype === 'string' ? [...data] : data
  return { type: ortTypeOf(dtype), data: own, dims: [...shape] } as unknown as OnnxValue
}

/** What a run is to write to: tensors for some outputs, and those that the caller's memory lies under, too. */
export interface Targets {
  /** By output: memory of its own, which results are written to at once. */
  readonly direct: Record<string, Tensor>
  /**
   * By output: memory that a feed or another output has a part in, which results are copied to in the end. And texts,
   * which are only looked at: a result of texts is new, as onnxruntime-node gives it.
   */
  readonly copied: Record<string, Tensor>
}

/** The outputs that are wanted into memory of the caller. @throws TensorRTError as {@link fromOrt} */
export function targetsOf(fetches: SessionHandler.FetchesType, feeds: Readonly<Record<string, Tensor>>): Targets {
  const targets: Targets = { direct: {}, copied: {} }
  const taken = new Set(Object.values(feeds).flatMap(({ data }) => ('buffer' in data ? [data.buffer] : [])))
  for (const [name, value] of Object.entries(fetches)) {
    if (value === null) continue
    const tensor = fromOrt(value, `the fetch '${name}'`)
    if (!('buffer' in tensor.data)) {
      targets.copied[name] = tensor
      continue
    }
    const { buffer } = tensor.data
    ;(taken.has(buffer) ? targets.copied : targets.direct)[name] = tensor
    taken.add(buffer)
  }
  return targets
}

/**
 * @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_SHAPE where the result is another than there is a place for;
 * ERR_TRT_DETACHED where the place is gone by now
 */
export function copyTo(target: Tensor, result: Tensor, name: string): void {
  if (target.dtype !== result.dtype)
    throw refused('ERR_TRT_DTYPE', `Unexpected output data type for ${name}: ${target.dtype}, expected ${result.dtype}`)
  if (target.shape.length !== result.shape.length || target.shape.some((size, i) => size !== result.shape[i]))
    throw refused(
      'ERR_TRT_SHAPE',
      `Got invalid dimensions for output: ${name} [${target.shape.join(', ')}], expected [${result.shape.join(', ')}]`,
    )
  if (target.dtype === 'string') return
  if (!isWhole(target)) {
    const message = `Expected ${target.byteLength} bytes behind the fetch '${name}' but its buffer was transferred away or resized`
    throw refused('ERR_TRT_DETACHED', message)
  }
  ;(target.data as TypedData & { set(from: TypedData): void }).set(result.data as TypedData)
}
