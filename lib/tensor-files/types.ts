import { extname } from 'node:path'
import { checkedChoice } from '../base/checks.js'
import { expected, TensorRTError } from '../errors.js'
import type { DType } from '../tensor.js'

/**
 * How tensors lie in a file. `npy` and `npz`: NumPy's. `raw`: the bytes alone, as `ndarray.tofile` writes them and
 * trtexec's `--loadInputs` reads them. `json`: trtexec's `--exportOutput`, or plain nested arrays.
 * @see https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
export type TensorFormat = 'npy' | 'npz' | 'raw' | 'json'

/**
 * What a tensor is to be: -1 for a dimension that may be of any length. {@link Engine.inputs} has one for each input.
 */
export interface TensorSpec {
  /** The data type. */
  readonly dtype: DType
  /** The dimensions, the outermost first. */
  readonly shape: readonly number[]
}

export const tensorFormats = ['npy', 'npz', 'raw', 'json'] as const satisfies readonly TensorFormat[]

const formatOfExtension: Readonly<Record<string, TensorFormat>> = {
  '.npy': 'npy',
  '.npz': 'npz',
  '.raw': 'raw',
  '.bin': 'raw',
  '.dat': 'raw',
  '.json': 'json',
}

/** How the names of tensor files end. */
export const tensorExtensions: readonly string[] = Object.keys(formatOfExtension)

/** The format that the name of a file says; nothing where it says none. */
export function formatOfName(path: string): TensorFormat | undefined {
  return formatOfExtension[extname(path).toLowerCase()]
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedFormat(format: unknown, path: string | undefined): TensorFormat {
  if (format !== undefined) return checkedChoice(format, 'format', tensorFormats)
  const found = path === undefined ? undefined : formatOfName(path)
  if (found !== undefined) return found
  if (path === undefined)
    throw expected(`format, one of ${tensorFormats.join(', ')}, beside bytes`, 'options', undefined)
  throw expected(`a path that ends in ${tensorExtensions.join(', ')}, or the option format,`, 'path', path)
}

/** What a file has is not what it must be. `name`: the file's path, or what the bytes are. */
export function damaged(name: string, why: string, cause?: unknown): TensorRTError {
  const options = cause === undefined ? {} : { cause }
  return new TensorRTError('ERR_TRT_FILE', `Cannot read ${name}: ${why}`, { details: { path: name }, ...options })
}
