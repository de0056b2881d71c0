import { type FileHandle, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { clearField } from '@bufbuild/protobuf'
import { checkedText } from '../base/checks.js'
import { isMissing, openFile, pathProblem } from '../base/files.js'
import { isLfsPointer, lfsPointer } from '../base/lfs.js'
import { rememberFiles } from '../base/overwriting.js'
import { allocated, readFully } from '../base/pieces.js'
import { TensorRTError } from '../errors.js'
import { bytesOf, elementTypeName } from './element-type.js'
import { checkedModel, readModel } from './model.js'
import { type ModelProto, type TensorProto, TensorProtoSchema } from './onnx_pb.js'
import { isExternal } from './tensors.js'
import { tensorsOf } from './walk.js'

/**
 * The files beside the model that hold some of its tensors, as the model names them: paths from its folder. @throws
 * TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no model
 */
export function externalFiles(model: ModelProto): string[] {
  const files = new Set<string>()
  for (const tensor of tensorsOf(checkedModel(model)))
    if (isExternal(tensor)) files.add(entry(tensor, 'location') ?? '')
  return [...files]
}

/** A model that is larger keeps its weights inside, and has no other files. */
const mostModelBytes = 2 ** 28

/** The paths of the files that hold tensors of the model at `path`; none where no model is there. */
export async function weightFilesOf(path: string): Promise<string[]> {
  try {
    if ((await stat(path)).size > mostModelBytes) return []
    return externalFiles(await readModel(path)).map((name) => resolve(dirname(path), name))
  } catch (error) {
    if (isMissing(error) || error instanceof TensorRTError) return []
    throw error
  }
}

/**
 * Puts the tensors that a model keeps in other files into the model, which then needs those files no more (and must
 * stay below protobuf's 2 GiB when it is written). Files of any size are read; tensors that name the same place of a
 * file share their elements.
 * @param folder The folder of the model's file. Nothing outside of it is read.
 * @throws TensorRTError ERR_TRT_FILE when a file is missing, too short or no ordinary file, ERR_TRT_ONNX_PARSE when the
 * model names no file, one outside of the
 * folder, an impossible place in it, or one whose length is not that of the tensor; ERR_TRT_OUT_OF_MEMORY. Tensors that
 * were read before the error stay in the model.
 */
export async function loadExternalData(model: ModelProto, folder: string): Promise<void> {
  checkedText(folder, 'folder', 'the folder of the model')
  const read = new Map<string, Uint8Array<ArrayBuffer>>()
  const taken = new Map<string, number>()
  for (const tensor of tensorsOf(checkedModel(model))) {
    if (!isExternal(tensor)) continue
    const path = await fileIn(folder, tensor)
    const range = { path, offset: place(tensor, 'offset') ?? 0, length: lengthOf(tensor) }
    const key = `${range.offset} ${range.length} ${path}`
    const bytes = read.get(key) ?? (await readRange(range, tensor, taken))
    read.set(key, bytes)
    rememberFiles(model, path)
    tensor.rawData = bytes
    clearField(tensor, TensorProtoSchema.field.dataLocation)
    clearField(tensor, TensorProtoSchema.field.externalData)
  }
}

function entry(tensor: TensorProto, key: string): string | undefined {
  return tensor.externalData.find((pair) => pair.key === key)?.value
}

function place(tensor: TensorProto, key: 'offset' | 'length'): number | undefined {
  const text = entry(tensor, key)
  if (text === undefined) return undefined
  const number = /^\d+$/.test(text) ? Number(text) : NaN
  if (!Number.isSafeInteger(number)) throw invalid(tensor, `${key} ${JSON.stringify(text)} is no number of bytes`)
  return number
}

/** The bytes of the tensor, by its type and its shape, which the model's own number has to agree with. */
function lengthOf(tensor: TensorProto): number {
  const { dims, dataType } = tensor
  const type = elementTypeName(dataType)
  const elements = dims.reduce((product, dim) => product * Number(dim), 1)
  const wanted = dims.some((dim) => dim < 0n) ? undefined : bytesOf(type, elements)
  if (wanted === undefined || !Number.isSafeInteger(wanted))
    throw invalid(tensor, `a tensor of ${type} [${dims.join(', ')}] has no size that could be read`)
  const given = place(tensor, 'length')
  if (given !== undefined && given !== wanted)
    throw invalid(tensor, `length is ${given} bytes, and a tensor of ${type} [${dims.join(', ')}] has ${wanted}`)
  return wanted
}

/**
 * The real path of the tensor's file: a model from somewhere must not make us read what lies elsewhere, by `..` or
 * through a link.
 */
async function fileIn(folder: string, tensor: TensorProto): Promise<string> {
  const location = entry(tensor, 'location')
  if (!location) throw invalid(tensor, 'its file has no name')
  const root = await realpath(folder).catch((cause: unknown) => unreadable(folder, tensor, cause))
  const direct = resolve(root, location)
  if (!isInside(root, direct))
    throw invalid(tensor, `file ${JSON.stringify(location)} is outside of the model's folder`)
  const path = await realpath(direct).catch((cause: unknown) => unreadable(direct, tensor, cause))
  if (!isInside(root, path))
    throw invalid(tensor, `file ${JSON.stringify(location)} is a link to outside of the model's folder`)
  return path
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

interface Range {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** Of a file so many times its size may be read: tensors may overlap, but a small file is not to fill the memory. */
const mostOverlap = 4

/**
 * Checks that the files of a model's tensors are there and long enough, without reading them.
 * @returns The first error of each file, with the file's name in the model
 */
export async function externalDataErrors(
  model: ModelProto,
  folder: string,
): Promise<readonly (readonly [file: string, error: TensorRTError])[]> {
  const errors = new Map<string, TensorRTError>()
  for (const tensor of tensorsOf(model)) {
    const location = entry(tensor, 'location') ?? ''
    if (!isExternal(tensor) || errors.has(location)) continue
    try {
      const path = await fileIn(folder, tensor)
      await using file = await openFile(path).catch((cause: unknown) => unreadable(path, tensor, cause))
      await checkRange(file, { path, offset: place(tensor, 'offset') ?? 0, length: lengthOf(tensor) }, tensor)
    } catch (error) {
      if (!(error instanceof TensorRTError)) throw error
      errors.set(location, error)
    }
  }
  return [...errors]
}

/** Returns the size of the file in bytes. @throws TensorRTError ERR_TRT_FILE if it does not have the range */
async function checkRange(file: FileHandle, { path, offset, length }: Range, tensor: TensorProto): Promise<number> {
  const { size } = await file.stat()
  const head = new Uint8Array(Math.min(size, 64))
  await readFully(file, head)
  const name = JSON.stringify(tensor.name)
  if (isLfsPointer(head)) throw fileError(`Cannot read ${path} for tensor ${name}: it is ${lfsPointer}`)
  if (offset + length > size)
    throw fileError(`${path} has ${size} bytes, too few for tensor ${name} of ${length} at ${offset}`)
  return size
}

/** @param taken How many bytes of each file were read before. */
async function readRange(
  range: Range,
  tensor: TensorProto,
  taken: Map<string, number>,
): Promise<Uint8Array<ArrayBuffer>> {
  const { path, offset, length } = range
  await using file = await openFile(path).catch((cause: unknown) => unreadable(path, tensor, cause))
  const size = await checkRange(file, range, tensor)
  const sum = (taken.get(path) ?? 0) + length
  if (sum > mostOverlap * size)
    throw invalid(tensor, `with it the model takes ${sum} bytes of ${path}, which has ${size}`)
  taken.set(path, sum)
  const bytes = allocated(length, `tensor ${JSON.stringify(tensor.name)} of ${path}`)
  if ((await readFully(file, bytes, offset)) < length) throw fileError(`${path} became shorter while it was read`)
  return bytes
}

function fileError(message: string, cause?: unknown): TensorRTError {
  return new TensorRTError('ERR_TRT_FILE', message, cause === undefined ? {} : { cause })
}

async function unreadable(path: string, tensor: TensorProto, cause: unknown): Promise<never> {
  const why = await pathProblem(path, cause)
  throw fileError(`Cannot read ${path} for tensor ${JSON.stringify(tensor.name)}: ${why}`, cause)
}

function invalid(tensor: TensorProto, reason: string): TensorRTError {
  return new TensorRTError('ERR_TRT_ONNX_PARSE', `External data of tensor ${JSON.stringify(tensor.name)}: ${reason}`)
}
