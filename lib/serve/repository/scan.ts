// Which models a repository has: a folder for each, with a folder for each version.
import { createHash, type Hash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { chosenVersions, type ModelFolder, withoutPath } from './folder.js'
import { readConfigText } from '../config/read.js'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'
import { invalid, unsupported } from '../faults.js'
import { isMissing, isThere, onFile, readText } from '../../base/files.js'
import { messageOf } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'
import { clone, create } from '@bufbuild/protobuf'
import { completeBackend } from '../config/backends.js'
import { checkFields } from '../config/fields.js'
import { checkConfig, checkTensors } from '../config/validate.js'

export interface Scan {
  readonly models: ReadonlyMap<string, ModelFolder>
  /** Why a folder is no model, by its name. */
  readonly problems: ReadonlyMap<string, Problem>
}

/** Why a folder is no model. */
export interface Problem {
  /** For clients, who see no paths of this machine. */
  readonly text: string
  /** For the log. */
  readonly withPaths: string
}

/** A folder that may be a model. */
interface SeenFolder extends ModelFolder {
  /** Why it could not be looked at. */
  readonly unreadable?: Problem | undefined
}

/** How deep files below a model's folder are looked at: links may lead in circles. */
const deepest = 16

/** @throws TensorRTError (as a rejection) ERR_TRT_FILE where one is no folder */
export async function scanRepositories(folders: readonly string[]): Promise<Scan> {
  return scanOf((await Promise.all(different(folders).map(scanRepository))).flat())
}

/** The same of the folders of one name alone. A repository that is not there has none. */
export async function scanModel(folders: readonly string[], name: string): Promise<Scan> {
  const found = isModelName(name) ? await Promise.all(different(folders).map((folder) => folderOf(folder, name))) : []
  return scanOf(found.filter((folder) => folder !== undefined))
}

/** A scan in which one model is as another scan has it. */
export function withModel(scan: Scan, name: string, { models, problems }: Scan): Scan {
  const replaced = <T>(all: ReadonlyMap<string, T>, found: T | undefined): ReadonlyMap<string, T> => {
    const others = [...all].filter(([each]) => each !== name)
    return new Map(found === undefined ? others : [...others, [name, found]])
  }
  return { models: replaced(scan.models, models.get(name)), problems: replaced(scan.problems, problems.get(name)) }
}

function different(folders: readonly string[]): readonly string[] {
  return [...new Set(folders.map((folder) => resolve(folder)))]
}

function scanOf(found: readonly SeenFolder[]): Scan {
  const models = new Map<string, ModelFolder>()
  const problems = new Map<string, Problem>()
  for (const folder of found) {
    const twice = found.filter(({ name }) => name === folder.name)
    if (twice.length > 1) problems.set(folder.name, inSeveral(twice))
    else if (folder.unreadable !== undefined) problems.set(folder.name, folder.unreadable)
    else if (folder.versions.length === 0) problems.set(folder.name, withoutVersions(folder))
    else models.set(folder.name, folder)
  }
  return { models, problems }
}

/**
 * The configuration of a model: its config.pbtxt, or an empty one; with name, backend, platform and file as far as the
 * folder tells them.
 *
 * @throws Fault (as a rejection) INVALID_ARG, or UNSUPPORTED for what is not served
 */
export async function readModelConfig(
  folder: ModelFolder,
  options: { readonly autoComplete?: boolean | undefined } = {},
): Promise<ModelConfig> {
  if (await isThere(join(folder.path, 'configs')))
    throw unsupported(
      `configs/ of model '${folder.name}' is not served: keep the one that is meant as config.pbtxt, and remove the folder`,
    )
  return prepareConfig(folder, await readFile(folder, options.autoComplete ?? true))
}

async function readFile(folder: ModelFolder, autoComplete: boolean): Promise<ModelConfig> {
  const path = join(folder.path, 'config.pbtxt')
  try {
    return readConfigText(await onFile('read', path, () => readText(path)), `${folder.name}/config.pbtxt`)
  } catch (error) {
    if (autoComplete && error instanceof TensorRTError && isMissing(error.cause)) return create(ModelConfigSchema)
    throw error
  }
}

async function scanRepository(repository: string): Promise<readonly SeenFolder[]> {
  const entries = await onFile('read', repository, () => readdir(repository, { withFileTypes: true }))
  const visible = entries.filter(({ name }) => isModelName(name))
  const folders = await Promise.all(
    visible.map(async (entry) => {
      const path = join(repository, entry.name)
      return (await isFolder(path, entry)) ? modelFolder(path, entry.name) : undefined
    }),
  )
  return folders.filter((folder) => folder !== undefined)
}

async function folderOf(repository: string, name: string): Promise<SeenFolder | undefined> {
  const path = join(repository, name)
  return (await isFolderAt(path)) ? modelFolder(path, name) : undefined
}

/** A plain name of a folder that is not hidden. */
function isModelName(name: string): boolean {
  return name !== '' && !name.startsWith('.') && !/[/\0]/.test(name)
}

async function modelFolder(path: string, name: string): Promise<SeenFolder> {
  try {
    const hash = createHash('sha256')
    await digest(hash, path, '', 0)
    return { name, path, versions: await versionsIn(path), fingerprint: hash.digest('hex') }
  } catch (error) {
    const withPaths = `Cannot read ${path}: ${messageOf(error)}`
    const unreadable = { text: withoutPath({ name, path, versions: [] }, withPaths), withPaths }
    return { name, path, versions: [], fingerprint: '', unreadable }
  }
}

async function isFolder(path: string, entry: Dirent): Promise<boolean> {
  return entry.isSymbolicLink() ? isFolderAt(path) : entry.isDirectory()
}

async function isFolderAt(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** What vanishes while it is looked at is not there. */
async function entriesOf(path: string): Promise<readonly Dirent[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function versionsIn(path: string): Promise<readonly string[]> {
  const entries = (await entriesOf(path)).filter(({ name }) => isVersion(name))
  const folders = await Promise.all(
    entries.map(async (entry) => ((await isFolder(join(path, entry.name), entry)) ? [entry.name] : [])),
  )
  return folders.flat().sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
}

/** A whole number of 63 bits, without leading zeros. */
function isVersion(name: string): boolean {
  return /^(0|[1-9]\d{0,18})$/.test(name) && BigInt(name) < 2n ** 63n
}

/**
 * Of files the time of a change, too: one that takes the place of another may have its size and time. Of folders the
 * names, since files that come and go touch them.
 */
async function digest(hash: Hash, path: string, below: string, depth: number): Promise<void> {
  for (const { name } of await entriesOf(path)) {
    const found = await stat(join(path, name), { bigint: true }).catch(() => undefined)
    const isFolder = found?.isDirectory() ?? false
    const facts = found === undefined || isFolder ? [] : [found.size, found.mtimeNs, found.ctimeNs]
    hash.update(`${below}${name}${isFolder ? '/' : ''}\0${facts.join(' ')}\0`)
    if (isFolder && depth < deepest) await digest(hash, join(path, name), `${below}${name}/`, depth + 1)
  }
}

function inSeveral(folders: readonly ModelFolder[]): Problem {
  const text = `model '${folders[0]?.name ?? ''}' is in several repositories`
  return { text, withPaths: `${text}: ${folders.map(({ path }) => path).join(', ')}` }
}

function withoutVersions({ name, path }: ModelFolder): Problem {
  const text = (folder: string): string =>
    `at least one version must be available under the version policy of model '${name}': ${folder} needs a folder such as 1 with model.plan, model.onnx or model.js`
  return { text: text(name), withPaths: text(path) }
}

// What a model's folder says of its configuration, before the model itself is opened.

/**
 * A copy with name, backend, platform and default_model_filename, as far as the folder tells them; also for the
 * `config` of a load.
 *
 * @throws Fault (as a rejection) INVALID_ARG for a name that is not the folder's, UNSUPPORTED for what is not served
 */
export async function prepareConfig(folder: ModelFolder, given: ModelConfig): Promise<ModelConfig> {
  const config = clone(ModelConfigSchema, given)
  if (config.name === '') config.name = folder.name
  if (config.name !== folder.name)
    throw invalid(
      `unexpected directory name '${folder.name}' for model '${config.name}', directory name must equal model name`,
    )
  const version = chosenVersions(config, folder.versions).at(-1) ?? folder.versions.at(-1)
  const found = version === undefined ? [] : await namesIn(join(folder.path, version))
  refuseBatchingLibrary(folder, [...found, ...(await namesIn(folder.path))])
  completeBackend(config, found)
  checkConfig(config)
  checkTensors(config, false)
  checkFields(config)
  return config
}

function namesIn(path: string): Promise<readonly string[]> {
  return onFile('read', path, () => readdir(path))
}

/** Triton loads it by its name alone. */
function refuseBatchingLibrary({ name }: ModelFolder, found: readonly string[]): void {
  const library = 'batchstrategy.so'
  if (found.includes(library))
    throw unsupported(
      `${library} of model '${name}' is not served, since it is native code: use dynamic_batching, and remove the file`,
    )
}
