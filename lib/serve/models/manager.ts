// Which models are served: loads, replaces and unloads them, as the files of the repositories or the front-ends ask for it. The way of a request sees the snapshot
// alone, which is replaced as a whole.
import { Fault, faultOf } from '../faults.js'
import type { ModelFolder } from '../repository/folder.js'
import { type Scan, scanRepositories } from '../repository/scan.js'
import type { ModelControl } from './control.js'
import type { LoadedVersion } from './engine-model.js'
import { type Generation, ModelEntry } from './entry.js'
import { Limit } from './limit.js'
import { type LoadContext, loadGeneration, loadOnEngines, type LoadSource, type LoadVersion } from './loading.js'
import { checkFileNames, writeTemporaryModel } from './overrides.js'
import type { Snapshot } from './servable.js'
import type { ModelsSettings } from './settings.js'
import { ModelSnapshot } from './snapshot.js'
import type { IndexEntry, LoadParameters } from '../public-types.js'

export class Models implements ModelControl, AsyncDisposable {
  readonly #settings: ModelsSettings
  readonly #entries = new Map<string, ModelEntry>()
  readonly #stopping = new AbortController()
  readonly #context: LoadContext
  /** Generations whose last requests are under way. */
  readonly #leaving = new Set<Promise<void>>()
  readonly #leavingVersions = new Set<Generation>()
  #snapshot: Snapshot = new ModelSnapshot(new Map())
  #scan: Scan = { models: new Map(), problems: new Map() }
  /** Fingerprints that the last poll saw, and those that a load or unload was begun for. */
  #seen: ReadonlyMap<string, string> = new Map()
  readonly #acted = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> = Promise.resolve()
  #started = false
  #closing: Promise<void> | undefined

  /** @param load how a version is opened, for tests */
  constructor(settings: ModelsSettings, load: LoadVersion = loadOnEngines) {
    this.#settings = settings
    this.#context = { settings, load, limit: new Limit(Math.max(1, settings.loadThreads)), signal: this.#stopping.signal }
  }

  get mode(): ModelsSettings['mode'] {
    return this.#settings.mode
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  /** Requests that have a version, of those too that another has taken the place of. */
  get inFlight(): number {
    const generations = [...this.#leavingVersions, ...[...this.#entries.values()].map(({ serving }) => serving)]
    return generations.flatMap((generation) => generation?.versions ?? []).reduce((sum, { inFlight }) => sum + inFlight, 0)
  }

  /**
   * Loads what is to be there at the beginning.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE where a repository is no folder, before anything is loaded; Fault INTERNAL where a model fails and
   * `exitOnError` is set: then all are closed again
   */
  async start(): Promise<void> {
    await this.refresh()
    const names = this.#namesToBegin()
    const loads = await Promise.allSettled(names.map((name) => this.#loadFirst(name)))
    const failures = loads.filter((load) => load.status === 'rejected').map(({ reason }) => faultOf(reason).message.trimEnd())
    if (failures.length > 0 && this.#settings.exitOnError) {
      await this.close()
      throw new Fault('INTERNAL', `failed to load all models: ${failures.join('; ')}`)
    }
    this.#started = true
    this.#pollLater()
  }

  #namesToBegin(): readonly string[] {
    const all = [...new Set([...this.#scan.models.keys(), ...this.#scan.problems.keys()])]
    const { mode, loadModels } = this.#settings
    if (mode !== 'explicit') return all
    if (!loadModels.includes('*')) return [...new Set(loadModels)]
    if (loadModels.some((name) => name !== '*'))
      throw new Fault('INVALID_ARG', "Wildcard model name '*' must be the ONLY startup model if specified at all.")
    return all
  }

  async #loadFirst(name: string): Promise<void> {
    const entry = this.#entry(name)
    entry.wanted = true
    const fingerprint = this.#scan.models.get(name)?.fingerprint
    if (fingerprint !== undefined) this.#acted.set(name, fingerprint)
    this.#seen = new Map([...this.#scan.models].map(([each, folder]) => [each, folder.fingerprint]))
    await entry.inOrder(async () => {
      try {
        await this.#replace(entry, { folder: this.#folder(name), config: undefined })
      } catch (error) {
        if (entry.failure === '') entry.failed(faultOf(error).message, new Map())
        throw error
      }
    })
  }

  isReady(): boolean {
    if (!this.#started || this.#closing !== undefined) return false
    return !this.#settings.strictReadiness || [...this.#entries.values()].every(({ wanted, isReady }) => !wanted || isReady)
  }

  index(onlyReady: boolean): readonly IndexEntry[] {
    const names = new Set([...this.#scan.models.keys(), ...this.#scan.problems.keys(), ...this.#entries.keys()])
    const entries = [...names].sort().flatMap((name) => this.#indexOf(name))
    return onlyReady ? entries.filter(({ state }) => state === 'READY') : entries
  }

  #indexOf(name: string): readonly IndexEntry[] {
    const entry = this.#entries.get(name)
    if (entry !== undefined) return entry.index()
    const problem = this.#scan.problems.get(name)
    return [problem === undefined ? { name } : { name, state: 'UNAVAILABLE', reason: problem }]
  }

  /** Looks at the repositories again, so that index() knows what has come and gone. @throws TensorRTError (as a rejection) ERR_TRT_FILE */
  async refresh(): Promise<void> {
    this.#scan = await scanRepositories(this.#settings.repositories)
  }

  async load(name: string, parameters: LoadParameters = {}): Promise<void> {
    this.#refuseControl()
    checkName(name)
    const files = parameters.files ?? new Map<string, Uint8Array>()
    if (files.size > 0) this.#checkOverride(files, parameters)
    const entry = this.#entry(name)
    try {
      await entry.inOrder(() => this.#load(entry, parameters, files))
    } finally {
      this.#forgetBlank(entry)
    }
  }

  #checkOverride(files: ReadonlyMap<string, Uint8Array>, { config }: LoadParameters): void {
    checkFileNames(files)
    if (!this.#settings.allowFileOverride)
      throw new Fault(
        'UNSUPPORTED',
        'file override is not allowed: the files of a model are code; start the server with --allow-file-override',
      )
    if (config === undefined) throw new Fault('INVALID_ARG', "Load parameter 'config' must be specified for model file override")
  }

  async #load(entry: ModelEntry, { config }: LoadParameters, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
    if (files.size > 0) {
      const { folder, remove } = await writeTemporaryModel(entry.name, files)
      return this.#replace(entry, { folder, config, remove })
    }
    await this.refresh()
    const folder = this.#folder(entry.name)
    const isUnchanged = config === undefined && entry.failure === '' && entry.serving?.fingerprint === folder.fingerprint
    if (!isUnchanged) await this.#replace(entry, { folder, config })
  }

  /** @throws Fault NOT_FOUND for what is in no repository, INVALID_ARG for what is no model there */
  #folder(name: string): ModelFolder {
    const folder = this.#scan.models.get(name)
    if (folder !== undefined) return folder
    const problem = this.#scan.problems.get(name)
    if (problem !== undefined) throw new Fault('INVALID_ARG', `load failed for model '${name}': ${problem}\n`)
    throw new Fault('NOT_FOUND', `failed to load '${name}', failed to poll from model repository`)
  }

  /** What is at work goes on until the other is ready, and where that fails. */
  async #replace(entry: ModelEntry, source: LoadSource): Promise<void> {
    try {
      const generation = await loadGeneration(entry, source, this.#context)
      const before = entry.take(generation)
      this.#publish()
      this.#retire(entry, before)
    } finally {
      entry.wanted = true
      this.#publish()
    }
  }

  /** Nothing depends on a model as long as there are no ensembles: `unloadDependents` of the interface has no effect. */
  async unload(name: string): Promise<void> {
    this.#refuseControl()
    const entry = this.#entries.get(name)
    if (entry === undefined) {
      await this.refresh()
      if (this.#scan.models.has(name)) return // it is not loaded
      throw new Fault('NOT_FOUND', `failed to unload '${name}', it is in no model repository and was never loaded`)
    }
    await entry.inOrder(async () => this.#unload(entry))
    this.#forgetBlank(entry)
  }

  #unload(entry: ModelEntry): void {
    const before = entry.unload()
    entry.wanted = false
    this.#publish()
    if (before !== undefined) this.#settings.onEvent({ what: 'unloading', model: entry.name })
    this.#retire(entry, before)
  }

  #refuseControl(): void {
    if (this.#closing !== undefined) throw shuttingDown()
    if (this.mode !== 'explicit') throw new Fault('UNAVAILABLE', 'explicit model load / unload is not allowed if polling is enabled')
  }

  /** Closes what is out of service once its last request has ended; nobody waits for it. */
  #retire(entry: ModelEntry, generation: Generation | undefined): void {
    if (generation === undefined) return
    this.#leavingVersions.add(generation)
    const left = this.#leave(entry, generation).finally(() => {
      this.#leaving.delete(left)
      this.#leavingVersions.delete(generation)
    })
    this.#leaving.add(left)
  }

  async #leave(entry: ModelEntry, generation: Generation): Promise<void> {
    const { onEvent } = this.#settings
    const close = async (version: LoadedVersion): Promise<void> => {
      await version.close().catch((error: unknown) => this.#warn(entry, error))
      entry.closed(version.version)
      onEvent({ what: 'unloaded', model: entry.name, version: version.version })
    }
    await Promise.all(generation.versions.map(close))
    await generation.dispose().catch((error: unknown) => this.#warn(entry, error))
  }

  #warn({ name: model }: Pick<ModelEntry, 'name'>, error: unknown): void {
    this.#settings.onEvent({ what: 'warning', model, text: faultOf(error).message })
  }

  #entry(name: string): ModelEntry {
    const known = this.#entries.get(name)
    if (known !== undefined) return known
    const entry = new ModelEntry(name)
    this.#entries.set(name, entry)
    return entry
  }

  /** Whoever asks for names that nobody has leaves nothing behind. */
  #forgetBlank(entry: ModelEntry): void {
    if (entry.isBlank) this.#entries.delete(entry.name)
  }

  #publish(): void {
    const known = [...this.#entries].map(([name, entry]) => [name, entry.known()] as const)
    this.#snapshot = new ModelSnapshot(new Map(known.filter(([, { versions }]) => versions.size > 0)))
  }

  #pollLater(): void {
    const { mode, pollSecs } = this.#settings
    if (mode !== 'poll' || pollSecs <= 0 || this.#closing !== undefined) return
    const poll = (): void => {
      const done = (): void => this.#pollLater()
      this.poll().then(done, done)
    }
    this.#timer = setTimeout(poll, pollSecs * 1000).unref()
  }

  /**
   * Looks at the repositories, and loads and unloads what has changed and was the same at the look before: so nothing is loaded that is half copied.
   * Fulfilled when all of that is done, or has failed.
   */
  poll(): Promise<void> {
    return (this.#polling = this.#polling.then(() => this.#poll()))
  }

  async #poll(): Promise<void> {
    if (this.#closing !== undefined) return
    try {
      await this.refresh()
    } catch (error) {
      this.#warn({ name: '' }, error)
      return // a repository that is not there for a moment takes no model away
    }
    const before = this.#seen
    const now = new Map([...this.#scan.models].map(([name, { fingerprint }]) => [name, fingerprint]))
    this.#seen = now
    const names = new Set([...now.keys(), ...this.#acted.keys()])
    const changed = [...names].filter((name) => now.get(name) === before.get(name) && now.get(name) !== this.#acted.get(name))
    await Promise.allSettled(changed.filter((name) => !this.#scan.problems.has(name)).map((name) => this.#follow(name)))
  }

  /** Does what the files of a model ask for. */
  async #follow(name: string): Promise<void> {
    const entry = this.#entry(name)
    const folder = this.#scan.models.get(name)
    if (folder === undefined) {
      this.#acted.delete(name)
      return entry.inOrder(async () => this.#unload(entry))
    }
    this.#acted.set(name, folder.fingerprint)
    return entry.inOrder(() => this.#replace(entry, { folder, config: undefined }))
  }

  /**
   * Not ready from now on: loads under way are given up, and each model closes after its last request. Fulfilled when all are closed. A second call waits for
   * the same.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#stopping.abort(shuttingDown())
    await this.#polling
    const entries = [...this.#entries.values()]
    await Promise.all(entries.map((entry) => entry.idle()))
    for (const entry of entries) this.#unload(entry)
    await Promise.all(this.#leaving)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function shuttingDown(): Fault {
  return new Fault('UNAVAILABLE', 'the server is shutting down')
}

function checkName(name: string): void {
  if (name.trim() === '') throw new Fault('INVALID_ARG', 'Model name cannot be empty. Please enter a valid name to deploy.')
  if (name.trim() === '..' || name.includes('/'))
    throw new Fault('INVALID_ARG', `invalid model name '${name}', model name must not contain path traversal characters`)
}
