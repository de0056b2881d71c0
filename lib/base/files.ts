import { randomBytes } from 'node:crypto'
import { constants, rmSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isText } from './checks.js'
import { lfsPointer } from './lfs.js'
import { localPath } from './source.js'
import { expected, TensorRTError } from '../errors.js'

/** An absolute path, from a path or a `file:` URL: a later chdir changes nothing. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedPath(path: unknown, name = 'path'): string {
  if (isText(path) || path instanceof URL) return resolve(localPath(path, name))
  throw expected('a path or a file: URL', name, path)
}

/** Runs `body`; what the file system refuses becomes ERR_TRT_FILE, any other error and an abort's reason stay what they are. */
export async function onFile<T>(what: string, path: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body()
  } catch (error) {
    if (!isSystemError(error)) throw error
    const shown = path.length > 300 ? `${path.slice(0, 297)}...` : path
    throw new TensorRTError('ERR_TRT_FILE', `Cannot ${what} ${shown}: ${error.message.replace(path, shown)}`, {
      cause: error,
      details: { path, code: error.code },
    })
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && ('syscall' in error || ('code' in error && error.code === 'ERR_INVALID_ARG_VALUE'))
}

export function isMissing(error: unknown): boolean {
  return isSystemError(error) && error.code === 'ENOENT'
}

/** A file that Git LFS has not fetched. */
export function pointed(path: string): TensorRTError {
  return new TensorRTError('ERR_TRT_FILE', `Cannot read ${path}: it is ${lfsPointer}`, { details: { path } })
}

function notAFile(path: string, found: Stats): TensorRTError {
  const what = found.isDirectory() ? 'a folder (EISDIR)' : 'not an ordinary file'
  return new TensorRTError('ERR_TRT_FILE', `${path} is ${what}`, { details: { path } })
}

/** Opens an ordinary file for reading; a pipe or a device, which may never answer, is refused. */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const found = await file.stat()
  if (found.isFile()) return file
  await file.close()
  throw notAFile(path, found)
}

/** All of an ordinary file. */
export async function readOrdinary(path: string): Promise<Buffer> {
  const file = await openFile(path)
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Where a file is to be written: the file that links lead to, or a new one in a folder that is there. */
export async function writeTarget(path: string): Promise<string> {
  try {
    await lstat(path)
  } catch (error) {
    if (!isMissing(error)) throw error
    return join(await realpath(dirname(path)), basename(path))
  }
  const real = await realpath(path)
  const found = await stat(real)
  if (!found.isFile()) throw notAFile(path, found)
  return real
}

/** Makes what was renamed in a folder last through a loss of power. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Writes a file that was not there, and makes it last through a loss of power. */
export async function writeSynced(path: string, chunks: Chunks): Promise<void> {
  const file = await open(path, 'wx')
  try {
    await writeAll(file, chunks)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Writes to the end of what an open file has, piece by piece. */
export async function writeAll(file: FileHandle, chunks: Chunks): Promise<void> {
  for await (const chunk of chunks) await writeWhole(file, chunk)
}

/** A write may take less than it was given: a disk that is nearly full, a signal. */
async function writeWhole(file: FileHandle, chunk: Uint8Array): Promise<void> {
  let at = 0
  while (at < chunk.length) at += (await file.write(chunk, at, chunk.length - at)).bytesWritten
}

/** Puts a new file in the place of the one that may be there: whoever looks finds the old one or the new one, whole. `temporary`: a name in the same folder that nobody else uses. */
export async function replaceFile(path: string, temporary: string, chunks: Chunks): Promise<void> {
  await withTemporary(temporary, async () => {
    await writeSynced(temporary, chunks)
    await rename(temporary, path)
    await syncFolder(dirname(path))
  })
}

/** Files under temporary names that are being written. */
const unfinished = new Set<string>()

/** Who calls process.exit() waits for nothing. */
function removeUnfinished(): void {
  for (const path of unfinished) {
    try {
      rmSync(path, { force: true })
    } catch {
      // nobody is there to be told
    }
  }
}

/** Work with a file under a temporary name, which is gone in the end, whatever ends the work but a signal that kills. */
export async function withTemporary(temporary: string, work: () => Promise<void>): Promise<void> {
  if (unfinished.size === 0) process.on('exit', removeUnfinished)
  unfinished.add(temporary)
  try {
    await work()
  } finally {
    await rm(temporary, { force: true })
    unfinished.delete(temporary)
    if (unfinished.size === 0) process.off('exit', removeUnfinished)
  }
}

/** Writes a file, the one that links lead to, whole or not at all, whatever ends the work before. @throws TensorRTError ERR_TRT_FILE, or it is what `chunks` throws */
export async function saveFile(path: string, chunks: Chunks): Promise<void> {
  await onFile('write', path, async () => {
    const target = await writeTarget(path)
    await replaceFile(target, temporaryOf(target), chunks)
  })
}

/** The same of text. @throws TensorRTError ERR_TRT_FILE */
export async function saveText(path: string, text: string): Promise<void> {
  await saveFile(path, [Buffer.from(text)])
}

/** A name beside a file that nobody else uses. */
export function temporaryOf(target: string): string {
  return join(dirname(target), `.${basename(target)}.${randomBytes(4).toString('hex')}.tmp`)
}
