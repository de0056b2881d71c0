import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rename, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { headBytes } from './file-kinds.js'
import { lfsPointer } from './lfs.js'
import { readFully, writeFully } from './pieces.js'
import { sweepNowAndThen, temporaryOf, withTemporary } from './temporary.js'
import { TensorRTError } from '../errors.js'
import { isError, isSystemError, messageOf } from './kinds.js'

/**
 * Runs `body`; what the file system refuses becomes ERR_TRT_FILE, any other error and an abort's reason stay what they
 * are.
 */
export async function onFile<T>(what: string, path: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body()
  } catch (error) {
    if (!isOfPath(error)) throw error
    const why = await pathProblem(path, error, what.startsWith('read'))
    throw new TensorRTError('ERR_TRT_FILE', `Cannot ${what} ${shortened(path)}: ${why}`, {
      cause: error,
      details: { path, code: error.code },
    })
  }
}

const shortened = (path: string): string => (path.length > 300 ? `${path.slice(0, 297)}...` : path)

/**
 * Explains an error of the file system by the part of the path that is missing or of another kind.
 *
 * @param isRead The path itself has to exist. Default: `true`.
 */
export async function pathProblem(path: string, error: unknown, isRead = true): Promise<string> {
  const unexplained = messageOf(error).replace(path, shortened(path))
  if (!isSystemError(error)) return unexplained
  const { code, syscall } = error
  if (code === 'EISDIR') return 'it is a folder, and a file is expected'
  if (code !== 'ENOENT' && code !== 'ENOTDIR') return unexplained
  const folder = dirname(path)
  const nearest = await nearestEntry(folder)
  if (nearest !== undefined && !nearest.isFolder)
    return `${shortened(nearest.path)} is a file, and a folder is expected`
  const invalidName = await invalidNameText(path)
  if (invalidName !== undefined) return invalidName
  if (nearest?.path !== folder) return `there is no folder ${shortened(folder)}`
  if (code === 'ENOTDIR') return 'it is a file, and a folder is expected'
  const link = await readlink(path).catch(() => undefined)
  if (link !== undefined) return `it is a link to ${link}, which does not exist`
  if (!isRead || (await isThere(path))) return unexplained
  return `there is no such ${expectedKinds[syscall ?? ''] ?? 'file'}`
}

/** What a system call expects to find at a path, if that is not a file. */
const expectedKinds: Readonly<Record<string, string>> = {
  opendir: 'folder',
  scandir: 'folder',
  stat: 'file or folder',
}

/** Returns the longest part of a path that exists. */
async function nearestEntry(path: string): Promise<{ path: string; isFolder: boolean } | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined) return { path, isFolder: found.isDirectory() }
  return dirname(path) === path ? undefined : nearestEntry(dirname(path))
}

/** Why a path that a folder lists is missing: Node.js decodes names that are not UTF-8 to other names. */
export async function invalidNameText(path: string): Promise<string | undefined> {
  const parts = path.split('/')
  const at = parts.findIndex((part) => part.includes('\uFFFD'))
  if (at < 0) return undefined
  const folder = parts.slice(0, at).join('/') || (path.startsWith('/') ? '/' : '.')
  const names = await readdir(folder, { encoding: 'buffer' }).catch(() => [])
  const isInvalid = names.some((name) => name.toString() === parts[at] && !Buffer.from(name.toString()).equals(name))
  return isInvalid ? `the name ${JSON.stringify(parts[at])} is not valid UTF-8. To fix: rename it` : undefined
}

/** What the system says of a path, and what Node itself says of one with a zero in it. */
function isOfPath(error: unknown): error is NodeJS.ErrnoException {
  return isSystemError(error) || (isError(error) && 'code' in error && error.code === 'ERR_INVALID_ARG_VALUE')
}

export function isMissing(error: unknown): boolean {
  return isSystemError(error) && error.code === 'ENOENT'
}

/** Whether anything stands at a path, as far as that can be seen. */
export async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

/** A file that Git LFS has not fetched. */
export function pointed(path: string): TensorRTError {
  return new TensorRTError('ERR_TRT_FILE', `Cannot read ${path}: it is ${lfsPointer}`, { details: { path } })
}

function notAFile(path: string, found: Stats): TensorRTError {
  const message = found.isDirectory() ? `Expected a file but ${path} is a folder` : `${path} is not an ordinary file`
  return new TensorRTError('ERR_TRT_FILE', message, { details: { path } })
}

/** Opens an ordinary file for reading; a pipe or a device, which may never answer, is refused. */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const found = await file.stat()
  if (found.isFile()) return file
  await file.close()
  throw notAFile(path, found)
}

/** Refuses what somebody else would open, and wait for: a pipe, a device. Nothing there is for that one to say. */
export async function refuseOdd(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && !found.isFile()) throw notAFile(path, found)
}

/** As many bytes as tell what an ordinary file is, see file-kinds.ts. */
export async function headOfFile(path: string): Promise<Uint8Array> {
  await using file = await openFile(path)
  const head = new Uint8Array(headBytes)
  return head.subarray(0, await readFully(file, head))
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

/** The text of an ordinary file. */
export async function readText(path: string): Promise<string> {
  return (await readOrdinary(path)).toString('utf8')
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

/**
 * Makes a folder, and those above it, where there is none; mkdir's own option `recursive` never ends where a folder is
 * there and takes none, as /proc does.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  const make = async (): Promise<string | undefined> => {
    try {
      await mkdir(folder, { mode })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return code
      if (code !== 'EEXIST') throw error
      if (!(await stat(folder)).isDirectory())
        throw new TensorRTError('ERR_TRT_FILE', `${folder} is not a folder`, { details: { path: folder } })
    }
    return undefined
  }
  if ((await make()) === undefined) return
  if (dirname(folder) !== folder) await makeFolder(dirname(folder), mode)
  if ((await make()) !== undefined)
    throw new TensorRTError('ERR_TRT_FILE', `no folder can be made in ${dirname(folder)}`)
}

/**
 * What systems answer that cannot sync a folder, Windows among them; and a folder that may be written to, but not
 * listed.
 */
const unsyncable: readonly string[] = ['EPERM', 'EACCES', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EBADF']

/** Makes what was renamed in a folder last through a loss of power, where the system can. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, constants.O_RDONLY)
    await handle.sync()
  } catch (error) {
    if (!isSystemError(error) || !unsyncable.includes(error.code ?? '')) throw error
  }
}

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/**
 * Writes a file that was not there, and makes it last through a loss of power.
 * @param like A file that may be there: the new one has its mode and its owner, before anything is in it.
 */
export async function writeSynced(path: string, chunks: Chunks, like?: string): Promise<void> {
  const file = await createLike(path, like)
  try {
    await writeAll(file, chunks)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes a new, empty file with the mode and the owner of another one, if that is there. */
export async function createLike(path: string, like: string | undefined): Promise<FileHandle> {
  const old = like === undefined ? undefined : await stat(like).catch(() => undefined)
  if (old === undefined) return open(path, 'wx')
  // nobody who may not read the old file opens the new one meanwhile
  const file = await open(path, 'wx', 0o600)
  try {
    await takeAfter(file, old)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

async function takeAfter(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const now = await file.stat()
  const isSame = now.uid === uid && now.gid === gid
  // only root gives files away; a program that runs as its owner must not become one that runs as somebody else
  const isOurs = isSame || (await file.chown(uid, gid).then(() => true, () => false)) // prettier-ignore
  await file.chmod(mode & (isOurs ? 0o7777 : 0o777)).catch((error: unknown) => {
    if (!isSystemError(error) || !unsyncable.includes(error.code ?? '')) throw error
  })
}

/** Writes to the end of what an open file has, chunk by chunk. */
export async function writeAll(file: FileHandle, chunks: Chunks): Promise<void> {
  for await (const chunk of chunks) await writeFully(file, chunk)
}

/**
 * Puts a new file in the place of the one that may be there, with its mode and its owner: whoever looks finds the old
 * one or the new one, whole.
 * @param temporary A name in the same folder that nobody else uses.
 */
export async function replaceFile(path: string, chunks: Chunks, temporary = temporaryOf(path)): Promise<void> {
  await sweepNowAndThen(dirname(path))
  await withTemporary(temporary, async () => {
    await writeSynced(temporary, chunks, path)
    await rename(temporary, path)
    await syncFolder(dirname(path))
  })
}

/**
 * Writes a file, the one that links lead to, whole or not at all, whatever ends the work before. @throws TensorRTError
 * ERR_TRT_FILE, or it is what `chunks` throws
 */
export async function saveFile(path: string, chunks: Chunks): Promise<void> {
  await onFile('write', path, async () => replaceFile(await writeTarget(path), chunks))
}

/** The same of text. @throws TensorRTError ERR_TRT_FILE */
export async function saveText(path: string, text: string): Promise<void> {
  await saveFile(path, [Buffer.from(text)])
}
