import { isPlainObject } from '../base/kinds.js'
import { expected, reworded, TensorRTError } from '../errors.js'
import { dtypes, isDType, isTypedArray, type DType } from './dtypes.js'
import { expectedDType } from './words.js'

/**
 * What looks like a tensor and is none of ours: onnxruntime's (`type`, `dims`), or a Tensor that lost its class on its
 * way through `postMessage`.
 */
export type TensorLike =
  | {
      /** The data type, by onnxruntime's name. */
      readonly type: string
      /** The dimensions, the outermost first. */
      readonly dims: readonly number[]
      /** A typed array. */
      readonly data: unknown
    }
  | {
      /** The data type, by this package's name. */
      readonly dtype: string
      /** The dimensions, the outermost first. */
      readonly shape: readonly number[]
      /** A typed array. */
      readonly data: unknown
    }

/** A foreign tensor's parts, of which only the data type was checked. */
interface ForeignTensor {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly data: unknown
}

const ours =
  'an object with the fields of a Tensor (of another copy of node-tensorrt, or one that came through postMessage)'
const runtimes = 'a tensor of onnxruntime'
const onDevice = 'a DeviceTensor'

function kindOf(
  value: unknown,
): { readonly what: string; readonly dtype: string; readonly shape: readonly number[] } | undefined {
  if (typeof value !== 'object' || value === null || isTypedArray(value)) return undefined
  const own = (name: string): unknown =>
    Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
  const dtype = own('dtype')
  const type = typeof dtype === 'string' ? undefined : own('type')
  const shape = typeof dtype === 'string' ? own('shape') : typeof type === 'string' ? own('dims') : undefined
  if (!Array.isArray(shape)) return undefined
  if ((value as { location?: unknown }).location === 'device')
    return { what: onDevice, dtype: String(dtype), shape: shape as number[] }
  if (typeof dtype === 'string') return { what: ours, dtype, shape: shape as number[] }
  if (typeof type === 'string') return { what: runtimes, dtype: type, shape: shape as number[] }
  return undefined
}

/**
 * The error where `what`, such as 'a Tensor', was expected: of what looks like a tensor it says what it is and how to
 * make a Tensor of it, and of a record of tensors, such as `infer` returns, which one to pass.
 */
export function expectedTensor(what: string, name: string, value: unknown): TensorRTError {
  const likeness = describeLikeness(value)
  if (likeness === undefined) {
    const error = expected(what, name, value)
    const output = firstTensorOf(value)
    const place =
      output !== undefined && /^[a-zA-Z_$][\w$]*$/.test(output) ? `.${output}` : `[${JSON.stringify(output)}]`
    return output === undefined
      ? error
      : reworded(error, `${error.message}. To fix: pass one of its tensors, such as outputs${place}`)
  }
  const way =
    likeness === onDevice ? 'await its toHost()' : 'Tensor.from(it) makes a Tensor of it, over the same memory'
  const message = `Expected ${what} for ${name} but received ${likeness}: ${way}`
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}

/** Returns the name of the first tensor of a plain record. */
function firstTensorOf(value: unknown): string | undefined {
  if (!isPlainObject(value)) return undefined
  return Object.keys(value).find((name) => isTensorLike(Object.getOwnPropertyDescriptor(value, name)?.value))
}

/** Whether it looks like a tensor and is none of ours. */
export function isTensorLike(value: unknown): boolean {
  return describeLikeness(value) !== undefined
}

function describeLikeness(value: unknown): string | undefined {
  try {
    return kindOf(value)?.what
  } catch {
    return undefined // a getter that throws: it is described as any object
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE */
export function readForeign(value: unknown): ForeignTensor {
  const kind = kindOf(value)
  if (kind === undefined) throw notTyped(value)
  const { what, dtype, shape } = kind
  if (what === onDevice) throw expectedTensor('what looks like a tensor on the host', 'data', value)
  if (!isDType(dtype)) {
    const refused = expectedDType(`one of ${dtypes.join(', ')}`, `the data type of ${what}`, dtype, dtypes)
    throw new TensorRTError('ERR_TRT_DTYPE', refused.message)
  }
  return { dtype, shape, data: dataOf(value as { readonly data: unknown }, what) }
}

function notTyped(value: unknown): TensorRTError {
  const refused = expected(
    'a Float32Array, Int32Array, BigInt64Array, Int8Array, Uint8Array, Float64Array, Int16Array, Uint32Array or BigUint64Array ' +
      '(other data types, float16, bfloat16 and uint16 among them: new Tensor(dtype, data, shape)), or what looks like a tensor',
    'data',
    value,
  )
  if (!Array.isArray(value)) return refused
  const values = value.some(Array.isArray) ? 'values.flat(Infinity)' : 'values'
  return reworded(refused, `${refused.message}: of plain numbers new Tensor(dtype, ${values}, shape) makes one`)
}

/** onnxruntime's getter throws for data that is not on the CPU. */
function dataOf(tensor: { readonly data: unknown }, what: string): unknown {
  try {
    return tensor.data
  } catch (cause) {
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `The data of ${what} cannot be read: ${(cause as Error).message}`,
      { cause },
    )
  }
}
