import { open, realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { clearField } from '@bufbuild/protobuf'
import { isLfsPointer, lfsPointer } from '../base/lfs.js'
import { TensorRTError } from '../errors.js'
import { checkedModel } from './model.js'
import type { ModelProto, TensorProto } from './onnx_pb.js'
import { TensorProtoSchema } from './onnx_pb.js'
import { isExternal } from './tensors.js'
import { tensorsOf } from './walk.js'

/** The files beside the model that hold some of its tensors, as the model names them: paths from its folder. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no model */
export function externalFiles(model: ModelProto): string[] {
  const files = new Set<string>()
  for (const tensor of tensorsOf(checkedModel(model))) if (isExternal(tensor)) files.add(entry(tensor, 'location') ?? '')
  return [...files]
}

/**
 * Puts the tensors that a model keeps in other files into the model, which then needs those files no more (and must stay below protobuf's 2 GiB
 * when it is written).
 * @param folder The folder of the model's file. Nothing outside of it is read.
 * @throws TensorRTError ERR_TRT_FILE when a file is missing or too short, ERR_TRT_ONNX_PARSE when the model names no file, one outside of the
 * folder, or an impossible place in it. Tensors that were read before the error stay in the model.
 */
export async function loadExternalData(model: ModelProto, folder: string): Promise<void> {
  for (const tensor of tensorsOf(checkedModel(model))) {
    if (!isExternal(tensor)) continue
    tensor.rawData = await readRange(await fileIn(folder, tensor), place(tensor, 'offset') ?? 0, place(tensor, 'length'), tensor)
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

/** The real path of the tensor's file: a model from somewhere must not make us read what lies elsewhere, by `..` or through a link. */
async function fileIn(folder: string, tensor: TensorProto): Promise<string> {
  const location = entry(tensor, 'location')
  if (!location) throw invalid(tensor, 'its file has no name')
  const root = await realpath(folder).catch((cause: unknown) => unreadable(folder, tensor, cause))
  const direct = resolve(root, location)
  if (!isInside(root, direct)) throw invalid(tensor, `file ${JSON.stringify(location)} is outside of the model's folder`)
  const path = await realpath(direct).catch((cause: unknown) => unreadable(direct, tensor, cause))
  if (!isInside(root, path)) throw invalid(tensor, `file ${JSON.stringify(location)} is a link to outside of the model's folder`)
  return path
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

async function readRange(path: string, offset: number, length: number | undefined, tensor: TensorProto): Promise<Uint8Array<ArrayBuffer>> {
  await using file = await open(path).catch((cause: unknown) => unreadable(path, tensor, cause))
  const { size } = await file.stat()
  const wanted = length ?? size - offset
  const head = new Uint8Array(Math.min(size, 64))
  await file.read(head, 0, head.length, 0)
  if (isLfsPointer(head))
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read ${path} for tensor ${JSON.stringify(tensor.name)}: it is ${lfsPointer}`)
  if (wanted < 0 || offset + wanted > size) {
    throw new TensorRTError('ERR_TRT_FILE', `${path} has ${size} bytes, too few for tensor ${JSON.stringify(tensor.name)} at ${offset}`)
  }
  const bytes = new Uint8Array(wanted)
  let done = 0
  while (done < wanted) {
    const { bytesRead } = await file.read(bytes, done, wanted - done, offset + done)
    if (bytesRead === 0) throw new TensorRTError('ERR_TRT_FILE', `${path} became shorter while it was read`)
    done += bytesRead
  }
  return bytes
}

function unreadable(path: string, tensor: TensorProto, cause: unknown): never {
  const reason = (cause as Error).message
  throw new TensorRTError('ERR_TRT_FILE', `Cannot read ${path} for tensor ${JSON.stringify(tensor.name)}: ${reason}`, { cause })
}

function invalid(tensor: TensorProto, reason: string): TensorRTError {
  return new TensorRTError('ERR_TRT_ONNX_PARSE', `External data of tensor ${JSON.stringify(tensor.name)}: ${reason}`)
}
