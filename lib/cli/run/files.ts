import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, onFile } from '../../base/files.js'
import { filesFitting, isPattern, noFile } from '../../base/globs.js'

/** What files a command is given: all that a folder has of the other kind is passed over. */
export type FileKind = 'pictures' | 'tensors'

/**
 * Files as they are named, those of folders, and those that a pattern fits: each once, in the order of the command
 * line. @throws TensorRTError ERR_TRT_FILE where one is missing, or a folder or a pattern gives none
 */
export async function filesOf(paths: readonly string[], kind: FileKind): Promise<string[]> {
  const found: string[][] = []
  for (const path of paths) found.push(await filesAt(path, kind))
  return [...new Set(found.flat())]
}

/** Those of one of them. */
export async function filesAt(path: string, kind: FileKind): Promise<string[]> {
  const facts = await onFile('read', path, () => stat(path).catch(ifMissing))
  if (facts === undefined) return matching(path)
  if (!facts.isDirectory()) return [path]
  if (kind === 'pictures') return (await import('../../vision/index.js')).pictureFiles(path)
  const { formatOfName, tensorExtensions } = await import('../../tensor-files/types.js')
  const entries = await onFile('read', path, () => readdir(path))
  const files = entries.filter((name) => !name.startsWith('.') && formatOfName(name) !== undefined).sort()
  if (files.length === 0) throw noFile(path, `it has no tensors (files that end in ${tensorExtensions.join(', ')})`)
  return files.map((name) => join(path, name))
}

/** A shell that has no patterns of its own, or was kept from them by quotes, hands them on. */
async function matching(path: string): Promise<string[]> {
  if (!(await isPattern(path))) throw noFile(path, 'there is no such file')
  return filesFitting(path)
}

function ifMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}
