import { type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isAnyArrayBuffer, isUint8Array } from 'node:util/types'
import type { NativeOnnxSource } from './backend/native.js'
import { expected, TensorRTError } from './errors.js'

/** Where a model comes from: the path or `file:` URL of a file, or the bytes of one. */
export type ModelSource = string | URL | Uint8Array | ArrayBuffer

/** A model that was looked at just enough to know what it is. */
export type Model =
  | { readonly kind: 'plan'; readonly label: string; readonly bytes: Uint8Array }
  /** A path stays one: weights in files beside an ONNX file are found only from there. */
  | { readonly kind: 'onnx'; readonly label: string; readonly data: Uint8Array | string }

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
export function onnxSource(source: unknown, name: string): NativeOnnxSource {
  const checked = checkedSource(source, name)
  return typeof checked === 'string' ? { path: checked } : { model: checked }
}

/** @throws TensorRTError ERR_TRT_FILE, ERR_TRT_MODEL_FORMAT */
export async function openModel(source: string | Uint8Array): Promise<Model> {
  if (typeof source !== 'string') {
    const label = `the model of ${source.length} bytes`
    const kind = modelKind(source, label)
    return kind === 'plan' ? { kind, label, bytes: source } : { kind, label, data: source }
  }
  try {
    return await openFile(source)
  } catch (error) {
    if (error instanceof TensorRTError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read ${source}: ${reason}`, { cause: error, details: { path: source } })
  }
}

async function openFile(path: string): Promise<Model> {
  const file = await open(path)
  try {
    const kind = modelKind(await readBytes(file, 8), path)
    if (kind === 'onnx') return { kind, label: path, data: path }
    return { kind, label: path, bytes: await readBytes(file, (await file.stat()).size) }
  } finally {
    await file.close()
  }
}

/** The first `length` bytes, or as many as there are; fs.readFile would refuse more than 2 GiB. */
async function readBytes(file: FileHandle, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, Math.min(length - done, 2 ** 30), done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}

/** The first bytes of a plan: of TensorRT, and of its version-compatible form. */
const planMagic = ['ftrt', 'vtrt']

/**
 * The tags (field number × 8 + wire type) of ModelProto's fields that fit in one byte. Writers put them in the order of the fields, so one of them opens every ONNX file.
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto ModelProto
 */
const onnxTags = new Set([0x08, 0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72])

function modelKind(head: Uint8Array, label: string): Model['kind'] {
  if (planMagic.includes(String.fromCharCode(...head.subarray(0, 4)))) return 'plan'
  if (head.length > 1 && onnxTags.has(head[0] ?? 0)) return 'onnx'
  const found = head.length === 0 ? 'nothing' : `the bytes ${Buffer.from(head.subarray(0, 8)).toString('hex')}`
  throw new TensorRTError('ERR_TRT_MODEL_FORMAT', `Expected ONNX or a TensorRT plan in ${label} but found ${found} at its beginning`)
}
