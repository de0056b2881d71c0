import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { checkedBoolean } from '../base/checks.js'
import { onFile, replaceFile, writeTarget } from '../base/files.js'
import { checkedPath } from '../base/source.js'
import { checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { type OverwriteOptions, refuseOverwriting } from '../base/overwriting.js'
import { TensorRTError } from '../errors.js'
import { dataFiles, removeReplaced, writeDataFile } from './save/data-file.js'
import { contentBytes, inPieces, movable, type Placed, withoutWeights } from './save/weights.js'
import { checkedModel, writeModel } from './model.js'
import type { ModelProto, TensorProto } from './onnx_pb.js'
import { shortened } from './scope.js'
import { isExternal } from './tensors.js'
import { tensorsOf } from './walk.js'

/** Options of {@link saveModel}. */
export interface SaveOptions extends OverwriteOptions {
  /**
   * Whether weights go into a file of their own, beside the model's; `'auto'`, the default: when one file would have 2
   * GiB or more, which protobuf cannot.
   */
  externalData?: boolean | 'auto' | undefined
  /** Ends the saving with the signal's reason; what was there before stays. */
  signal?: AbortSignal | undefined
}

/** Readers of protobuf take no more. */
export const mostBytes = 2 ** 31 - 1

/**
 * Writes a model into a file: whoever looks finds the old one or the new one, whole, also after a loss of power. With
 * `externalData`, the initializers of the main graph from 1 KiB on go to `NAME.data` in the same folder (with a number
 * in its name where that file is there already, since a model that is being replaced needs it until then), tensor by
 * tensor: the weights are in memory once. The model that was given stays as it is. A file that is replaced keeps its
 * mode and its owner.
 * @param path A path or file URL.
 * @throws TensorRTError ERR_TRT_FILE: also where the model, or what it was made of, was read from that very file,
 * unless `overwrite` allows it; ERR_TRT_INVALID_ARGUMENT: also for a model whose weights are in other files and were
 * not loaded, and for one that is too large without them
 * @see https://onnx.ai/onnx/repo-docs/ExternalData.html
 */
export async function saveModel(model: ModelProto, path: string | URL, options?: SaveOptions): Promise<void> {
  await saveWithin(mostBytes, model, path, options)
}

/** @param limit The most bytes of a file; tests have no 2 GiB. */
export async function saveWithin(
  limit: number,
  model: ModelProto,
  path: string | URL,
  options?: SaveOptions,
): Promise<void> {
  const { externalData: choice, overwrite, signal } = checkedOptions(options, table, 'saveModel')
  const file = checkedPath(path)
  signal?.throwIfAborted()
  checkLoaded(checkedModel(model))
  await onFile('save the model as', file, async () => {
    const target = await writeTarget(file)
    const before = await dataFiles(target)
    if (!overwrite) await refuseOverwriting(model, [target, ...before])
    const large = movable(model)
    const isOutside = choice === 'auto' ? totalBytes(model, large) > limit : choice
    if (isOutside) await saveInTwo(target, model, large, limit, signal)
    else await replaceModel(target, model, limit, signal)
    await removeReplaced(before)
  })
}

async function saveInTwo(
  target: string,
  model: ModelProto,
  large: readonly TensorProto[],
  limit: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const placed = placesOf(large)
  const data = await writeDataFile(target, placed, signal)
  try {
    await replaceModel(target, withoutWeights(model, placed, basename(data)), limit, signal)
  } catch (error) {
    await rm(data, { force: true })
    throw error
  }
}

/** Where the tensors lie in their file: large ones where a page begins, so that they can be mapped. */
function placesOf(tensors: readonly TensorProto[]): Map<TensorProto, Placed> {
  let end = 0
  return new Map(
    tensors.map((tensor) => {
      const length = contentBytes(tensor)
      const alignment = length >= 2 ** 20 ? 4096 : 64
      const offset = Math.ceil(end / alignment) * alignment
      end = offset + length
      return [tensor, { offset, length }]
    }),
  )
}

async function replaceModel(
  target: string,
  model: ModelProto,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  checkFits(bytesOfModel(model), limit)
  const bytes = writeModel(model)
  checkFits(bytes.length, limit)
  await replaceFile(target, inPieces(bytes, signal))
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a model that protobuf does not take as a whole */
export function checkFits(bytes: number, limit: number): void {
  if (bytes <= limit) return
  const message = `The model would be a file of ${bytes} bytes, and protobuf takes ${limit}: save it with externalData`
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message, { details: { bytes, limit } })
}

/** What the whole model takes in one file, up to some bytes for each tensor. */
export function bytesOfModel(model: ModelProto): number {
  return totalBytes(model, movable(model))
}

function totalBytes(model: ModelProto, large: readonly TensorProto[]): number {
  const placed = new Map(large.map((tensor) => [tensor, { offset: 0, length: 0 }]))
  return large.reduce((sum, tensor) => sum + contentBytes(tensor), writeModel(withoutWeights(model, placed, '')).length)
}

function checkedExternal(value: unknown, name: string): boolean | 'auto' {
  return value === 'auto' ? value : checkedBoolean(value, name, "true, false or 'auto'")
}

const table = {
  externalData: option(checkedExternal, 'auto'),
  overwrite: option(is.boolean, false),
  signal: signalOption,
} satisfies OptionTable<SaveOptions>

function checkLoaded(model: ModelProto): void {
  for (const tensor of tensorsOf(model)) {
    if (!isExternal(tensor)) continue
    const message = `The elements of tensor ${shortened(tensor.name)} are in another file: call loadExternalData() before the model is saved`
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
  }
}
