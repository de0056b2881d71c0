// Paths that a server is given: repositories, model files, certificates. An error says what was expected, and what is
// at the path or in the nearest folder above it.
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { onFile } from '../../base/files.js'
import { isSystemError } from '../../base/kinds.js'
import { nearName } from '../../base/options.js'
import { TensorRTError } from '../../errors.js'
import type { ModelFile } from './folder.js'
import { backendOfFile, listText } from './misplaced.js'

/** What a path is for. */
export interface Place {
  readonly wanted: 'a folder' | 'a file'
  /** Completes "Expected a folder for …". */
  readonly purpose: string
  readonly path: string
  /** Added if the path is there and of another kind. */
  readonly remedy?: string | undefined
}

export function repositoryPlace(path: string): Place {
  const remedy =
    backendOfFile(path) === undefined
      ? undefined
      : `serve one model by --model NAME=${basename(path)} (in a program: models)`
  return { wanted: 'a folder', purpose: 'the model repository', path, remedy }
}

/** @throws TensorRTError ERR_TRT_FILE (as a rejection) */
export async function checkPlaces(repositories: readonly string[], files: readonly ModelFile[]): Promise<void> {
  for (const path of repositories) await checkPlace(repositoryPlace(path))
  const remedy = 'serve a folder of models by --model-repository (in a program: modelRepository)'
  for (const { name, path } of files) await checkPlace({ wanted: 'a file', purpose: `model '${name}'`, path, remedy })
}

async function checkPlace(place: Place): Promise<void> {
  const found = await onPlace(place, () => stat(place.path))
  const fits = place.wanted === 'a folder' ? found.isDirectory() : found.isFile()
  if (!fits) throw await placeError(place)
}

/** Runs `body`, which reads the path. @throws TensorRTError ERR_TRT_FILE (as a rejection) */
export async function onPlace<T>(place: Place, body: () => Promise<T>): Promise<T> {
  try {
    return await onFile(`read ${place.purpose}`, place.path, body)
  } catch (error) {
    const cause = (error as Error).cause
    const isOther = isSystemError(cause) && ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(cause.code ?? '')
    throw isOther ? await placeError(place, cause) : error
  }
}

async function placeError({ wanted, purpose, path, remedy }: Place, cause?: unknown): Promise<TensorRTError> {
  const kind = await kindOf(path)
  const received = kind === undefined ? `does not exist: ${await surroundings(resolve(path))}` : `is ${kind}`
  const toFix = kind === undefined || remedy === undefined ? '' : `. To fix: ${remedy}`
  const message = `Expected ${wanted} for ${purpose} but '${path}' ${received}${toFix}`
  return new TensorRTError('ERR_TRT_FILE', message, { cause, details: { path } })
}

async function kindOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return undefined
  if (found.isDirectory()) return 'a folder'
  return found.isFile() ? 'a file' : 'not an ordinary file'
}

/** The nearest folder above a missing path, and the names in it. */
async function surroundings(path: string): Promise<string> {
  const folder = dirname(path)
  const kind = await kindOf(folder)
  if (kind === undefined) return folder === path ? 'nothing does' : `'${folder}' does not exist`
  if (kind !== 'a folder') return `'${folder}' is ${kind}`
  const names = (await readdir(folder).catch(() => [])).sort()
  if (names.length === 0) return `'${folder}' is empty`
  const near = nearName(basename(path), names)
  return `'${folder}' has ${listText(names)}${near === undefined ? '' : `. Did you mean '${near}'?`}`
}
