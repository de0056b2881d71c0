/** The session option `externalData`: weights that a model keeps elsewhere, given as bytes, Blobs or paths. */
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, posix, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bytesIn, type BlobLike, bytesOfBlob, isBlobLike } from '../base/bytes.js'
import { pathProblem } from '../base/files.js'
import { loadExternalData } from '../onnx/external.js'
import type { ModelProto, TensorProto } from '../onnx/onnx_pb.js'
import { isExternal } from '../onnx/tensors.js'
import { tensorsOf } from '../onnx/walk.js'
import { refused, wrong } from './errors.js'

/** A file that a model names, and what is in it: its bytes, or where they are. */
export interface ExternalData {
  /** As the model names it. */
  readonly path: string
  readonly data: Uint8Array | BlobLike | string
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT by the name TypeError */
export function readExternalData(value: unknown): readonly ExternalData[] {
  if (value === null) return []
  const what = 'Invalid argument: sessionOptions.externalData'
  if (!Array.isArray(value)) throw wrong('TypeError', `${what} must be an array`, value)
  return value.map((each: unknown) => {
    if (typeof each === 'string') return { path: each, data: each }
    if (typeof each !== 'object' || each === null)
      throw wrong('TypeError', `${what} value must be a path, or an object with 'path' and 'data'`, each)
    const { path, data } = each as { readonly path?: unknown; readonly data?: unknown }
    if (typeof path !== 'string')
      throw wrong('TypeError', `${what} value must have a 'path' property of type string`, path)
    const bytes = typeof data === 'string' || isBlobLike(data) ? data : bytesIn(data)
    if (bytes === undefined)
      throw wrong('TypeError', `${what} value must have a 'data' property: bytes, a Blob or a path`, data)
    return { path, data: bytes }
  })
}

/**
 * Puts what was given into the model, and what else it keeps in files beside it.
 * @param folder that of the model's file; of bytes the one that the program works in
 * @throws TensorRTError ERR_TRT_FILE, ERR_TRT_ONNX_PARSE
 */
export async function embedExternalData(
  model: ModelProto,
  given: readonly ExternalData[],
  folder: string,
): Promise<void> {
  const external = [...tensorsOf(model)].filter(isExternal)
  const read = new Map<string, Promise<Uint8Array>>()
  for (const tensor of external) {
    const location = entryOf(tensor, 'location') ?? ''
    const file = given.find(({ path }) => sameFile(path, location))
    if (file === undefined) continue
    const bytes = read.get(file.path) ?? bytesOf(file, folder)
    read.set(file.path, bytes)
    embed(tensor, await bytes)
  }
  if (external.some(isExternal)) await loadExternalData(model, folder)
}

function embed(tensor: TensorProto, bytes: Uint8Array): void {
  const offset = Number(entryOf(tensor, 'offset') ?? 0)
  const length = Number(entryOf(tensor, 'length') ?? bytes.byteLength - offset)
  if (!(offset >= 0 && length >= 0 && offset + length <= bytes.byteLength)) {
    const message = `externalData has ${bytes.byteLength} bytes, too few for tensor ${JSON.stringify(tensor.name)} of ${length} at ${offset}`
    throw refused('ERR_TRT_FILE', message)
  }
  tensor.rawData = bytes.subarray(offset, offset + length)
  tensor.externalData = []
  tensor.dataLocation = 0
}

function entryOf(tensor: TensorProto, key: string): string | undefined {
  return tensor.externalData.find((pair) => pair.key === key)?.value
}

function sameFile(path: string, location: string): boolean {
  return posix.normalize(path) === posix.normalize(location)
}

async function bytesOf({ data }: ExternalData, folder: string): Promise<Uint8Array> {
  if (isBlobLike(data)) return bytesOfBlob(data, 'the data of externalData')
  if (typeof data !== 'string') return data
  const path = data.startsWith('file:') ? fileURLToPath(data) : isAbsolute(data) ? data : resolve(folder, data)
  try {
    return await readFile(path)
  } catch (cause) {
    throw refused('ERR_TRT_FILE', `Cannot read the external data ${path}: ${await pathProblem(path, cause)}`)
  }
}

/** The folder that a model's files are in. */
export function folderOf(model: string | Uint8Array): string {
  return typeof model === 'string' ? dirname(resolve(model)) : process.cwd()
}
