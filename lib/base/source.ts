import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expected, reworded, type TensorRTError } from '../errors.js'
import { type Bytes, bytesIn, expectedBytes } from './bytes.js'
import { checkedArray, isText } from './checks.js'
import { isUrl } from './kinds.js'

/** Where a model comes from: the path or `file:` URL of a file, or the bytes of one. */
export type ModelSource = string | URL | Bytes

/** A source that was checked, as native code takes it. */
export type OnnxSource = { readonly model: Uint8Array } | { readonly path: string }

/**
 * A path made absolute (a later chdir changes nothing), or a copy of the bytes (the caller may reuse its own). @throws
 * TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function checkedSource(
  source: unknown,
  name = 'source',
  what = 'a path, a file: URL, a Uint8Array or an ArrayBuffer',
): string | Uint8Array {
  if ((typeof source === 'string' && source !== '') || isUrl(source)) return resolve(localPath(source, name))
  const bytes = bytesIn(source)
  if (bytes !== undefined) return bytes.length === 0 ? new Uint8Array() : new Uint8Array(bytes)
  throw expectedBytes(what, name, source)
}

/** The same for native code. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function onnxSource(source: unknown, name: string): OnnxSource {
  const checked = checkedSource(source, name)
  return typeof checked === 'string' ? { path: checked } : { model: checked }
}

/**
 * What every option that takes a path takes: a path, a `file:` URL, or that URL written out; as an absolute path, so
 * that a later chdir changes nothing. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function checkedPath(path: unknown, name = 'path'): string {
  if (isText(path) || isUrl(path)) return resolve(localPath(path, name))
  throw expected('a path or a file: URL', name, path)
}

/** A list of such paths. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedPaths(paths: unknown, name: string): readonly string[] {
  return checkedArray(paths, name, 'an array of paths').map((path, i) => checkedPath(path, `${name}[${i}]`))
}

/**
 * The path that text (a path, or a `file:` URL written out) or a URL names, as it stands. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT for what is not on this machine
 */
export function localPath(value: string | URL, name: string): string {
  const text = isUrl(value) ? value.href : value
  // "file:x" is the name of a file; with two letters and more before "://", no path of any system is meant
  const isFile = isUrl(value) ? value.protocol === 'file:' : /^file:\//i.test(value)
  if (isFile) return pathOfUrl(text, name)
  if (/^data:[^,]*,/i.test(text)) throw notAPath(name, text, 'a data: URL: decode it into a Buffer first')
  if (!isUrl(value) && !/^[a-z][a-z0-9+.-]+:\/\//i.test(value)) return value
  throw notAPath(name, text, 'it is no file of this machine, download it first')
}

/** Of text that names no file, and why. */
export function notAPath(name: string, text: string, why: string): TensorRTError {
  const refused = expected('a path or a file: URL', name, text)
  return reworded(refused, `${refused.message}: ${why}`)
}

function pathOfUrl(text: string, name: string): string {
  try {
    return fileURLToPath(text)
  } catch (error) {
    const refused = expected('a file: URL of this machine', name, text)
    throw reworded(refused, `${refused.message}: ${(error as Error).message}`)
  }
}
