import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isAnyArrayBuffer, isUint8Array } from 'node:util/types'
import { expected } from '../errors.js'

/** Where a model comes from: the path or `file:` URL of a file, or the bytes of one. */
export type ModelSource = string | URL | Uint8Array | ArrayBuffer

/** A source that was checked, as native code takes it. */
export type OnnxSource = { readonly model: Uint8Array } | { readonly path: string }

/** A path made absolute (a later chdir changes nothing), or a copy of the bytes (the caller may reuse its own). @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedSource(source: unknown, name = 'source'): string | Uint8Array {
  if (typeof source === 'string' && source !== '') return resolve(source)
  if (source instanceof URL && source.protocol === 'file:') return fileURLToPath(source)
  if (source instanceof URL) throw expected('a file: URL', name, source.href)
  if (isUint8Array(source)) return new Uint8Array(source)
  if (isAnyArrayBuffer(source)) return new Uint8Array(new Uint8Array(source))
  throw expected('a path, a file: URL, a Uint8Array or an ArrayBuffer', name, source)
}

/** The same for native code. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function onnxSource(source: unknown, name: string): OnnxSource {
  const checked = checkedSource(source, name)
  return typeof checked === 'string' ? { path: checked } : { model: checked }
}
