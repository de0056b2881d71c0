import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isMissing, syncFolder, writeAll } from '../../base/files.js'
import { TensorRTError } from '../../errors.js'
import { externalFiles } from '../external.js'
import { readModel } from '../model.js'
import type { TensorProto } from '../onnx_pb.js'
import { shortened } from '../scope.js'
import { inPieces } from './pieces.js'
import { content, type Moved } from './weights.js'

/** A model that is larger keeps its weights inside, and has no other files. */
const mostModelBytes = 2 ** 28

/** A file that was made for the weights, and is empty. */
export interface DataFile {
  readonly path: string
  readonly handle: FileHandle
}

/** Makes a new file for the weights of a model: `NAME.data`, or one with a number where that is taken. */
export async function newDataFile(target: string): Promise<DataFile> {
  const paths = [`${target}.data`, `${target}.${randomBytes(4).toString('hex')}.data`] as const
  const handle = await open(paths[0], 'wx').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  })
  return handle === undefined ? { path: paths[1], handle: await open(paths[1], 'wx') } : { path: paths[0], handle }
}

/** Writes the tensors to their places, makes that last, and closes the file. */
export async function writeDataFile(
  { path, handle }: DataFile,
  moved: ReadonlyMap<TensorProto, Moved>,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await writeAll(handle, pieces(moved, signal))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncFolder(dirname(path))
}

function* pieces(moved: ReadonlyMap<TensorProto, Moved>, signal: AbortSignal | undefined): Generator<Uint8Array> {
  let at = 0
  for (const [tensor, { offset, length }] of moved) {
    if (offset > at) yield new Uint8Array(offset - at)
    const bytes = content(tensor)
    if (bytes.length !== length) throw changed(tensor)
    yield* inPieces(bytes, signal)
    at = offset + length
  }
}

function changed({ name }: TensorProto): TensorRTError {
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Tensor ${shortened(name)} was changed while the model was saved`)
}

/** The files that an earlier saving made for the model that is there now. */
export async function dataFiles(target: string): Promise<string[]> {
  const folder = dirname(target)
  const own = (await readdir(folder)).filter((name) => isDataFile(name, basename(target)))
  if (own.length === 0) return []
  const named = await namedBy(target)
  return own.filter((name) => named.includes(name)).map((name) => join(folder, name))
}

/** Removes what the model that was replaced had, and the new one has not: each saving makes a new file. */
export async function removeReplaced(files: readonly string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true })
}

function isDataFile(name: string, model: string): boolean {
  return name.startsWith(`${model}.`) && /^([0-9a-f]{8}\.)?data$/.test(name.slice(model.length + 1))
}

async function namedBy(target: string): Promise<string[]> {
  try {
    if ((await stat(target)).size > mostModelBytes) return []
    return externalFiles(await readModel(target))
  } catch (error) {
    // What is no model, or not there, has no weights elsewhere.
    if (isMissing(error) || error instanceof TensorRTError) return []
    throw error
  }
}
