// Which models a repository has: a folder for each, with a folder for each version.
import { createHash, type Hash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { chosenVersions, type ModelFile, type ModelFolder, versionPath, withoutPath } from './folder.js'
import { onPlace, repositoryPlace } from './places.js'
import { isModelName } from './single-file.js'
import { backendOfFile, isVersion, misplacedText, unnamedHint, versionlessHint } from './misplaced.js'
import { readConfigText } from '../config/read.js'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'
import { invalid, unsupported } from '../faults.js'
import { isMissing, isThere, onFile, readText } from '../../base/files.js'
import { messageOf } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'
import { clone, create } from '@bufbuild/protobuf'
import { completeBackend, undetermined } from '../config/backends.js'
import { checkFields } from '../config/fields.js'
import { checkConfig, checkTensors } from '../config/validate.js'

export interface Scan {
  readonly models: ReadonlyMap<string, ModelFolder>
  /** Why a folder is no model, by its name. */
  readonly problems: ReadonlyMap<string, Problem>
  /** Texts for the log about files that are in no model folder, and about repositories without models. */
  readonly notes: readonly string[]
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
  /** What to do about a folder without versions. */
  readonly hint?: string | undefined
}

/** How deep files below a model's folder are looked at: links may lead in circles. */
const deepest = 16

/**
 * @param files models that are served from a file of their own
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE where one is no folder
 */
export async function scanRepositories(folders: readonly string[], files: readonly ModelFile[] = []): Promise<Scan> {
  const repositories = await Promise.all(different(folders).map(scanRepository))
  const single = await Promise.all(files.map(singleFile))
  const notes = repositories.flatMap(({ note = [] }) => note)
  return scanOf([...repositories.flatMap(({ models }) => models), ...single.filter(isThereNow)], notes)
}

/** The same of the folders of one name alone. A repository that is not there has none. */
export async function scanModel(
  folders: readonly string[],
  name: string,
  files: readonly ModelFile[] = [],
): Promise<Scan> {
  if (!isModelName(name)) return scanOf([])
  const found = [
    ...different(folders).map((folder) => folderOf(folder, name)),
    ...files.filter((file) => file.name === name).map(singleFile),
  ]
  return scanOf((await Promise.all(found)).filter(isThereNow))
}

function isThereNow<T>(found: T | undefined): found is T {
  return found !== undefined
}

/** A scan in which one model is as another scan has it. */
export function withModel(scan: Scan, name: string, { models, problems }: Omit<Scan, 'notes'>): Scan {
  const replaced = <T>(all: ReadonlyMap<string, T>, found: T | undefined): ReadonlyMap<string, T> => {
    const others = [...all].filter(([each]) => each !== name)
    return new Map(found === undefined ? others : [...others, [name, found]])
  }
  return {
    models: replaced(scan.models, models.get(name)),
    problems: replaced(scan.problems, problems.get(name)),
    notes: scan.notes,
  }
}

function different(folders: readonly string[]): readonly string[] {
  return [...new Set(folders.map((folder) => resolve(folder)))]
}

function scanOf(found: readonly SeenFolder[], notes: readonly string[] = []): Scan {
  const models = new Map<string, ModelFolder>()
  const problems = new Map<string, Problem>()
  for (const folder of found) {
    const twice = found.filter(({ name }) => name === folder.name)
    if (twice.length > 1) problems.set(folder.name, inSeveral(twice))
    else if (folder.unreadable !== undefined) problems.set(folder.name, folder.unreadable)
    else if (folder.versions.length === 0) problems.set(folder.name, withoutVersions(folder))
    else models.set(folder.name, folder)
  }
  return { models, problems, notes }
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
  if (folder.file !== undefined) return prepareConfig(folder, create(ModelConfigSchema))
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

interface SeenRepository {
  readonly models: readonly SeenFolder[]
  readonly note?: string | undefined
}

async function scanRepository(repository: string): Promise<SeenRepository> {
  const entries = await onPlace(repositoryPlace(repository), () => readdir(repository, { withFileTypes: true }))
  const visible = entries.filter(({ name }) => isModelName(name))
  const folders = await Promise.all(
    visible.map(async (entry) => {
      const path = join(repository, entry.name)
      return (await isFolder(path, entry)) ? modelFolder(path, entry.name) : undefined
    }),
  )
  const models = folders.filter(isThereNow)
  const others = entries.map(({ name }) => name).filter((name) => !models.some((model) => model.name === name))
  return { models, note: await misplacedText(repository, others.sort(), models.length > 0) }
}

/** A model that is one file: version 1, without a config. It is not there where the file is not. */
async function singleFile({ name, path }: ModelFile): Promise<SeenFolder | undefined> {
  const place = { name, path: dirname(resolve(path)), file: basename(path), versions: ['1'] }
  try {
    const { size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return { ...place, fingerprint: [size, mtimeNs, ctimeNs].join(' ') }
  } catch (error) {
    if (isMissing(error)) return undefined
    const withPaths = `Cannot read ${path}: ${messageOf(error)}`
    return { ...place, fingerprint: '', unreadable: { text: withoutPath(place, withPaths), withPaths } }
  }
}

async function folderOf(repository: string, name: string): Promise<SeenFolder | undefined> {
  const path = join(repository, name)
  return (await isFolderAt(path)) ? modelFolder(path, name) : undefined
}

async function modelFolder(path: string, name: string): Promise<SeenFolder> {
  try {
    const hash = createHash('sha256')
    await digest(hash, path, '', 0)
    const versions = await versionsIn(path)
    const hint = versions.length > 0 ? undefined : await hintFor(path, name)
    return { name, path, versions, fingerprint: hash.digest('hex'), hint }
  } catch (error) {
    const withPaths = `Cannot read ${path}: ${messageOf(error)}`
    const unreadable = { text: withoutPath({ name, path, versions: [] }, withPaths), withPaths }
    return { name, path, versions: [], fingerprint: '', unreadable }
  }
}

async function hintFor(path: string, name: string): Promise<string> {
  const entries = await entriesOf(path)
  const folders = new Map<string, readonly string[]>()
  for (const entry of entries)
    if (entry.isDirectory())
      folders.set(
        entry.name,
        (await entriesOf(join(path, entry.name))).map((each) => each.name),
      )
  const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name)
  return versionlessHint(name, files, folders)
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
  const name = folders[0]?.name ?? ''
  const file = folders.find((folder) => folder.file !== undefined)
  const paths = folders.map((folder) => `'${join(folder.path, folder.file ?? '')}'`).join(', ')
  if (file === undefined) {
    const text = `model '${name}' is in several repositories`
    return { text, withPaths: `${text}: ${paths}` }
  }
  const text = `the name '${name}' is given to a file (--model; in a program: models) and to a folder of the model repository`
  return { text, withPaths: `${text}: ${paths}. To fix: serve the file under another name` }
}

function withoutVersions({ name, path, hint = '' }: SeenFolder): Problem {
  const text = (folder: string): string =>
    `at least one version must be available under the version policy of model '${name}': ${folder} needs a folder such as 1 with model.plan, model.onnx or model.js${hint}`
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
  if (folder.file === undefined) await completeFromFolder(config, folder)
  else completeFromFile(config, folder.name, folder.file)
  checkConfig(config)
  checkTensors(config, false)
  checkFields(config)
  return config
}

async function completeFromFolder(config: ModelConfig, folder: ModelFolder): Promise<void> {
  const version = chosenVersions(config, folder.versions).at(-1) ?? folder.versions.at(-1)
  const found = version === undefined ? [] : await namesIn(versionPath(folder, version))
  refuseBatchingLibrary(folder, [...found, ...(await namesIn(folder.path))])
  completeBackend(config, found)
  if (version === undefined || config.backend !== '' || config.platform !== '') return
  const hint = await unnamedHint(versionPath(folder, version), [...found].sort())
  if (hint !== '') throw undetermined(folder.name, hint)
}

/**
 * The config of a load may say all but which files are read: beside the model there may be anything.
 * @throws Fault INVALID_ARG
 */
function completeFromFile(config: ModelConfig, name: string, file: string): void {
  const refuse = (what: string): never => {
    throw invalid(`${what} of model '${name}' is not served: the model is the file ${file}, without a folder`)
  }
  if (config.defaultModelFilename !== '' && config.defaultModelFilename !== file) refuse('default_model_filename')
  if (config.output.some(({ labelFilename }) => labelFilename !== '')) refuse('label_filename')
  if (config.modelWarmup.length > 0) refuse('model_warmup')
  if (config.backend === '' && config.platform === '') config.backend = backendOfFile(file) ?? ''
  config.defaultModelFilename = file
  completeBackend(config, [file])
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
