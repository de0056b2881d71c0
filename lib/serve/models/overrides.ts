// Files that a load brings: a model's folder that is gone with the model.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { invalid, unsupported } from '../faults.js'
import { refuseModuleFiles } from '../node/overrides.js'
import type { ModelFolder } from '../repository/folder.js'
import { onFile } from '../../base/files.js'
import { sweepTemporaries, temporaryOf } from '../../base/temporary.js'

export interface TemporaryModel {
  readonly folder: ModelFolder
  readonly remove: () => Promise<void>
}

/** @throws Fault INVALID_ARG for a name that is not `<version>/<path>`, whatever it would lead to */
export function checkFileNames(files: ReadonlyMap<string, Uint8Array>): void {
  for (const name of files.keys())
    if (!isBelowVersion(name))
      throw invalid(
        `Invalid file parameter 'file:${name}': it must stay within model directory, as <version>/<file name> without '..'`,
      )
}

/** @throws Fault INVALID_ARG for what no model's name may be */
export function checkName(name: string): void {
  if (name.trim() === '') throw invalid('Model name cannot be empty. Please enter a valid name to deploy.')
  if (name.trim() === '..' || name.includes('/'))
    throw invalid(`invalid model name '${name}', model name must not contain path traversal characters`)
}

/**
 * What a load may bring.
 *
 * @param config the JSON that comes with the files
 * @throws Fault UNSUPPORTED, INVALID_ARG
 */
export function checkOverride(
  name: string,
  files: ReadonlyMap<string, Uint8Array>,
  config: string | undefined,
  isAllowed: boolean,
): void {
  checkFileNames(files)
  refuseModuleFiles(name, files.keys(), config)
  if (!isAllowed)
    throw unsupported(
      'file override is not allowed: the files of a model are code; start the server with --allow-file-override',
    )
  if (config === undefined) throw invalid("Load parameter 'config' must be specified for model file override")
}

function isBelowVersion(name: string): boolean {
  const [version = '', ...rest] = name.split('/')
  return isVersion(version) && rest.length > 0 && rest.every(isPlain)
}

function isVersion(name: string): boolean {
  return /^(0|[1-9]\d{0,18})$/.test(name)
}

// eslint-disable-next-line no-control-regex -- they have no place in the name of a file
const unsafe = /[\\\0-\x1f]/

function isPlain(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..' && !unsafe.test(part) && Buffer.byteLength(part) <= 255
}

/** Removes the files of models whose servers were killed. */
export function sweepTemporaryModels(): Promise<void> {
  return sweepTemporaries(tmpdir())
}

/** @throws Fault (as a rejection) as checkFileNames; TensorRTError ERR_TRT_FILE */
export async function writeTemporaryModel(
  name: string,
  files: ReadonlyMap<string, Uint8Array>,
): Promise<TemporaryModel> {
  checkFileNames(files)
  const path = temporaryOf(join(tmpdir(), 'node-tensorrt-model'))
  await onFile('make a folder', path, () => mkdir(path, { mode: 0o700 })) // for this user alone
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true })
  try {
    for (const [file, bytes] of files) await writeBelow(path, file, bytes)
    return { folder: { name, path, versions: versionsOf(files), fingerprint: '' }, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function writeBelow(folder: string, file: string, bytes: Uint8Array): Promise<void> {
  const path = join(folder, file)
  await onFile('write', path, async () => {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, bytes, { flag: 'wx' })
  })
}

function versionsOf(files: ReadonlyMap<string, Uint8Array>): readonly string[] {
  const versions = [...new Set([...files.keys()].map((name) => name.split('/')[0] ?? ''))]
  return versions.sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
}
