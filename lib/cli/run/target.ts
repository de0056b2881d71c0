import { stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { makeFolder as makeFolders, onFile, saveText } from '../../base/files.js'
import { imageFormats } from '../../vision/encode.js'
import { jsonText } from '../output/format.js'
import { fileNames } from '../../tensor-files/write.js'
import { stemOf } from './inputs.js'

/** Where results are written: `--output`. */
export type Target =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string; /** In lower case, with its dot. */ readonly ending: string }

/** A folder where there is one, or where the name has no ending. */
export async function targetOf(path: string | undefined): Promise<Target | undefined> {
  if (path === undefined) return undefined
  const facts = await stat(path).catch(() => undefined)
  const ending = extname(path).toLowerCase()
  if (facts?.isDirectory() === true || /[/\\]$/.test(path) || (ending === '' && facts === undefined))
    return { kind: 'folder', path }
  return { kind: 'file', path, ending }
}

export function isPictureFile(target: Target): boolean {
  return target.kind === 'file' && Object.hasOwn(imageFormats, target.ending)
}

export async function makeFolder(path: string): Promise<void> {
  await onFile('make', path, () => makeFolders(path))
}

/** A file in the folder for each source, called as it is; no two alike. */
export function pathsIn(folder: string, sources: readonly string[], ending: (source: string) => string): string[] {
  const names = fileNames(sources.map((source) => stemOf(source)))
  return names.map((name, index) => join(folder, `${name}${ending(sources[index]!)}`))
}

/** All answers as one document of JSON. */
export async function saveAnswers(path: string, document: object): Promise<void> {
  await saveText(path, `${jsonText(document, 2)}\n`)
}
