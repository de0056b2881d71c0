import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { invalidNameText, isMissing, onFile } from '../../base/files.js'
import { filesFitting, isPattern, noFile } from '../../base/globs.js'
import { plural } from '../../benchmark/report/numbers.js'
import type { PicturesOptions } from '../../vision/index.js'
import { shortened } from '../output/format.js'
import type { Session } from '../session.js'

/** What files a command is given: all that a folder has of the other kind is passed over. */
export type FileKind = 'pictures' | 'tensors'

type OnSkip = NonNullable<PicturesOptions['onSkip']>

/**
 * Files as they are named, those of folders, and those that a pattern fits: each once, in the order of the command
 * line. @throws TensorRTError ERR_TRT_FILE where one is missing, or a folder or a pattern gives none
 */
export async function filesOf(paths: readonly string[], kind: FileKind, onSkip?: OnSkip): Promise<string[]> {
  const found: string[][] = []
  for (const path of paths) found.push(await filesAt(path, kind, onSkip))
  return [...new Set(found.flat())]
}

/** Those of one of them. */
export async function filesAt(path: string, kind: FileKind, onSkip?: OnSkip): Promise<string[]> {
  const facts = await onFile('read', path, () => stat(path).catch(ifMissing))
  if (facts === undefined) return matching(path)
  if (!facts.isDirectory()) return [path]
  if (kind === 'pictures') return (await import('../../vision/pictures.js')).filesOfFolder(path, onSkip)
  const { formatOfName, tensorExtensions } = await import('../../tensor-files/types.js')
  const entries = await onFile('read', path, () => readdir(path, { withFileTypes: true }))
  const visible = entries.filter(({ name }) => !name.startsWith('.'))
  const files = visible.map(({ name }) => name).filter((name) => formatOfName(name) !== undefined)
  if (files.length === 0) throw noFile(path, `it has no tensors (files that end in ${tensorExtensions.join(', ')})`)
  for (const entry of visible)
    if (!files.includes(entry.name)) onSkip?.(join(path, entry.name), entry.isDirectory() ? 'folder' : 'ending')
  return files.sort().map((name) => join(path, name))
}

/** A shell that has no patterns of its own, or was kept from them by quotes, hands them on. */
async function matching(path: string): Promise<string[]> {
  if (!(await isPattern(path))) throw noFile(path, (await invalidNameText(path)) ?? 'there is no such file')
  return filesFitting(path)
}

function ifMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

/** Returns the shortest ends of paths that tell them apart: `a.jpg`, `x/b.jpg` and `y/b.jpg`. */
export function distinctNames(paths: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  let open = [...new Set(paths)]
  for (let count = 1; open.length > 0; count++) {
    const ends = open.map((path) => path.split('/').slice(-count).join('/'))
    const times = new Map<string, number>()
    for (const end of ends) times.set(end, (times.get(end) ?? 0) + 1)
    open = open.filter((path, index) => {
      const end = ends[index]!
      if (times.get(end)! > 1 && end !== path) return true
      names.set(path, end)
      return false
    })
  }
  return names
}

/** Entries of folders that a command does not read, to report them once it is known that it runs. */
export class SkippedEntries {
  readonly #byFolder = new Map<string, Record<'folder' | 'ending', string[]>>()

  readonly add: OnSkip = (path, reason) => {
    const folder = dirname(path)
    const entries = this.#byFolder.get(folder) ?? { folder: [], ending: [] }
    this.#byFolder.set(folder, entries)
    entries[reason].push(basename(path))
  }

  report(session: Session, kind: FileKind): void {
    const endings = kind === 'pictures' ? '{jpg,jpeg,png}' : 'npy'
    for (const [path, { folder, ending }] of this.#byFolder) {
      if (folder.length > 0)
        session.warn(
          `${path}: ${plural(folder.length, 'folder')} not entered (${listText(folder)}). To enter: '${join(path, `**/*.${endings}`)}'`,
        )
      if (ending.length > 0)
        session.note(`${path}: ${plural(ending.length, 'file')} of another kind not read (${listText(ending)})`)
    }
  }
}

function listText(names: readonly string[]): string {
  return shortened(names.join(', '), 100)
}
