import { randomBytes } from 'node:crypto'
import { type FileHandle, link, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder, writeSynced } from '../../base/files.js'
import { temporaryOf, withTemporary } from '../../base/temporary.js'
import { TensorRTError } from '../../errors.js'
import { weightFilesOf } from '../external.js'
import type { TensorProto } from '../onnx_pb.js'
import { shortened } from '../scope.js'
import { content, inPieces, type Placed } from './weights.js'

/**
 * Writes the weights of a model to a new file in its folder: `NAME.data`, or one with a number where that is taken.
 * They have a temporary name until all of them are there, so that a saver that is killed leaves
 * nothing that stays.
 * @returns its path
 */
export async function writeDataFile(
  target: string,
  placed: ReadonlyMap<TensorProto, Placed>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const temporary = temporaryOf(`${target}.data`)
  return withTemporary(temporary, async () => {
    await writeSynced(temporary, pieces(placed, signal), target)
    const path = await named(temporary, target)
    await syncFolder(dirname(path))
    return path
  })
}

/** Gives a file its name for good, and never that of a file that is there. */
async function named(temporary: string, target: string): Promise<string> {
  const paths = [`${target}.data`, `${target}.${randomBytes(4).toString('hex')}.data`] as const
  for (const path of paths) if (await isNamed(temporary, path)) return path
  throw new TensorRTError('ERR_TRT_FILE', `${paths[1]} is there already`)
}

async function isNamed(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    if (isTaken(error)) return false
  }
  // a file system without links: an empty file takes the name, and is replaced
  let taken: FileHandle
  try {
    taken = await open(path, 'wx')
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
  await taken.close()
  await rename(temporary, path).catch(async (error: unknown) => {
    await rm(path, { force: true })
    throw error
  })
  return true
}

function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST'
}

function* pieces(placed: ReadonlyMap<TensorProto, Placed>, signal: AbortSignal | undefined): Generator<Uint8Array> {
  let at = 0
  for (const [tensor, { offset, length }] of placed) {
    if (offset > at) yield new Uint8Array(offset - at)
    const bytes = content(tensor)
    if (bytes.length !== length) throw changed(tensor)
    yield* inPieces(bytes, signal)
    at = offset + length
  }
}

function changed({ name }: TensorProto): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `Tensor ${shortened(name)} was changed while the model was saved`,
  )
}

/** The files that an earlier saving made for the model that is there now. */
export async function dataFiles(target: string): Promise<string[]> {
  const folder = dirname(target)
  const own = (await readdir(folder)).filter((name) => isDataFile(name, basename(target)))
  if (own.length === 0) return []
  const named = await weightFilesOf(target)
  return own.map((name) => join(folder, name)).filter((path) => named.includes(path))
}

/** Removes what the model that was replaced had, and the new one has not: each saving makes a new file. */
export async function removeReplaced(files: readonly string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true })
}

function isDataFile(name: string, model: string): boolean {
  return name.startsWith(`${model}.`) && /^([0-9a-f]{8}\.)?data$/.test(name.slice(model.length + 1))
}
