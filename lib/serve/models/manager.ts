// Which models are served: loads, replaces and unloads them, as the files of the repositories or the front-ends ask for it. The way of a request sees the snapshot
// alone, which is replaced as a whole.
import { performance } from 'node:perf_hooks'
import { Fault, faultOf } from '../faults.js'
import type { ModelFolder } from '../repository/folder.js'
import { type Scan, scanModel, scanRepositories, withModel } from '../repository/scan.js'
import type { ModelControl } from './control.js'
import { type Generation, ModelEntry } from './entry.js'
import { type LoadContext, LoadFault, loadGeneration, type LoadSource } from './loading.js'
import { loadVersion, type LoadVersion } from './load-version.js'
import { checkFileNames, sweepTemporaryModels, writeTemporaryModel } from './overrides.js'
import type { LoadedVersion, Snapshot } from './servable.js'
import type { ModelsSettings } from './settings.js'
import { ModelSnapshot } from './snapshot.js'
import type { IndexEntry, LoadParameters } from '../public-types.js'
import { Turns } from '../../base/turns.js'

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
  /** Problems that the log has. */
  #told: Scan['problems'] = new Map()
  /** Fingerprints that the last poll saw, and those that a load or unload was begun for. */
  #seen: ReadonlyMap<string, string> = new Map()
  readonly #acted = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> = Promise.resolve()
  #started = false
  #closing: Promise<void> | undefined

  /** @param load how a version is opened, for tests */
  constructor(settings: ModelsSettings, load: LoadVersion = loadVersion) {
    this.#settings = settings
    this.#context = { settings, load, turns: new Turns(Math.max(1, settings.loadThreads)), signal: this.#stopping.signal }
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
    await this.#look()
    await sweepTemporaryModels()
    if (this.#closing !== undefined) throw shuttingDown()
    const names = this.#namesToBegin()
    const loads = await Promise.allSettled(names.map((name) => this.#loadFirst(name)))
    const failures = loads.filter((load) => load.status === 'rejected').map(({ reason }) => failureAtStart(faultOf(reason)))
    if (failures.length > 0 && this.#settings.exitOnError) {
      await this.close()
      throw new Fault('INTERNAL', `failed to load all models: ${failures.join('; ')}`)
    }
    this.#started = true
    this.#told = this.#scan.problems
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
    this.#acted.set(name, this.#scan.models.get(name)?.fingerprint ?? '') // one that is no model is followed, too, when it goes
    this.#seen = new Map([...this.#scan.models].map(([each, folder]) => [each, folder.fingerprint]))
    await entry.inOrder(() =>
      this.#telling(name, async () => {
        try {
          return await this.#replace(entry, { folder: this.#folder(name), config: undefined })
        } catch (error) {
          if (entry.failure === '') entry.failed(error instanceof LoadFault ? error.reason : faultOf(error).message, new Map())
          throw error
        }
      }),
    )
  }

  /** What becomes of a load goes to the log, as a line. `load` gives whether there was anything to do. */
  async #telling(model: string, load: () => Promise<boolean>): Promise<void> {
    const { onEvent } = this.#settings
    const begun = performance.now()
    onEvent({ what: 'loading', model })
    try {
      const isNew = await load()
      onEvent({ what: 'loaded', model, durationMs: isNew ? performance.now() - begun : undefined })
    } catch (error) {
      const text = error instanceof LoadFault ? error.withPaths : faultOf(error).message
      // what a shutdown gives up has not failed
      if (this.#closing === undefined) onEvent({ what: 'failed', model, text: text.trimEnd(), durationMs: performance.now() - begun })
      throw error
    }
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
    return [problem === undefined ? { name } : { name, state: 'UNAVAILABLE', reason: problem.text }]
  }

  /** Looks at the repositories again, so that index() knows what has come and gone. @throws Fault (as a rejection) INTERNAL, without the paths of this machine */
  async refresh(): Promise<void> {
    try {
      await this.#look()
    } catch (error) {
      this.#warn({ name: '' }, error)
      throw new Fault('INTERNAL', 'failed to poll from model repository', error)
    }
  }

  /** @throws TensorRTError (as a rejection) ERR_TRT_FILE */
  async #look(): Promise<void> {
    this.#scan = await scanRepositories(this.#settings.repositories)
  }

  /** The same of one model alone. */
  async #lookAt(name: string): Promise<void> {
    const found = await scanModel(this.#settings.repositories, name)
    this.#scan = withModel(this.#scan, name, found)
  }

  async load(name: string, parameters: LoadParameters = {}): Promise<void> {
    const files = parameters.files ?? new Map<string, Uint8Array>()
    this.#orRefused(name, 'load', () => this.#checkLoad(name, files, parameters))
    const entry = this.#entry(name)
    try {
      await entry.inOrder(() => this.#telling(name, () => this.#load(entry, parameters, files)))
    } finally {
      this.#forgetBlank(entry)
    }
  }

  /** What is refused before it begins is a line of the log, too. */
  #orRefused<T>(name: string, what: 'load' | 'unload', check: () => T): T {
    try {
      return check()
    } catch (error) {
      this.#settings.onEvent({ what: 'warning', model: name, text: `refused to ${what}: ${faultOf(error).message}` })
      throw error
    }
  }

  #checkLoad(name: string, files: ReadonlyMap<string, Uint8Array>, parameters: LoadParameters): void {
    this.#refuseControl()
    checkName(name)
    if (files.size > 0) this.#checkOverride(files, parameters)
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

  async #load(entry: ModelEntry, { config }: LoadParameters, files: ReadonlyMap<string, Uint8Array>): Promise<boolean> {
    if (files.size > 0) {
      const { folder, remove } = await writeTemporaryModel(entry.name, files)
      return this.#replace(entry, { folder, config, remove })
    }
    await this.#lookAt(entry.name)
    const folder = this.#folder(entry.name)
    const isUnchanged = config === undefined && entry.failure === '' && entry.serving?.fingerprint === folder.fingerprint
    return !isUnchanged && this.#replace(entry, { folder, config })
  }

  /** @throws Fault NOT_FOUND for what is in no repository, INVALID_ARG for what is no model there */
  #folder(name: string): ModelFolder {
    const folder = this.#scan.models.get(name)
    if (folder !== undefined) return folder
    const problem = this.#scan.problems.get(name)
    if (problem !== undefined) throw new LoadFault(name, problem.text, problem.withPaths)
    throw new Fault('NOT_FOUND', `failed to load '${name}', failed to poll from model repository`)
  }

  /** What is at work goes on until the other is ready, and where that fails. */
  async #replace(entry: ModelEntry, source: LoadSource): Promise<true> {
    try {
      const generation = await loadGeneration(entry, source, this.#context)
      const before = entry.take(generation)
      this.#publish()
      this.#retire(entry, before)
      return true
    } finally {
      entry.wanted = true
      this.#publish()
    }
  }

  /** Nothing depends on a model as long as there are no ensembles: `unloadDependents` of the interface has no effect. */
  async unload(name: string): Promise<void> {
    this.#orRefused(name, 'unload', () => this.#refuseControl())
    const entry = this.#entries.get(name)
    if (entry === undefined) return this.#unloadUnknown(name)
    await entry.inOrder(async () => this.#unload(entry))
    this.#forgetBlank(entry)
  }

  /** What was never loaded. */
  async #unloadUnknown(name: string): Promise<void> {
    await this.#lookAt(name)
    this.#orRefused(name, 'unload', () => {
      if (this.#scan.models.has(name)) return
      throw new Fault('NOT_FOUND', `failed to unload '${name}', it is in no model repository and was never loaded`)
    })
    this.#settings.onEvent({ what: 'unloaded', model: name })
  }

  /** Its versions are told of when they are closed; of a model without any it is told at once. */
  #unload(entry: ModelEntry): void {
    const before = entry.unload()
    entry.wanted = false
    this.#publish()
    this.#settings.onEvent({ what: before === undefined ? 'unloaded' : 'unloading', model: entry.name })
    this.#retire(entry, before)
  }

  #refuseControl(): void {
    if (this.#closing !== undefined) throw shuttingDown()
    if (this.mode !== 'explicit')
      throw new Fault(
        'UNAVAILABLE',
        `explicit model load / unload is not allowed if polling is enabled: model-control-mode is ${this.mode}, and has to be explicit`,
      )
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
      await this.#look()
    } catch (error) {
      this.#warn({ name: '' }, error)
      return // a repository that is not there for a moment takes no model away
    }
    const before = this.#seen
    const now = new Map([...this.#scan.models].map(([name, { fingerprint }]) => [name, fingerprint]))
    this.#seen = now
    const names = new Set([...now.keys(), ...this.#acted.keys()])
    const changed = [...names].filter((name) => now.get(name) === before.get(name) && now.get(name) !== this.#acted.get(name))
    this.#tellProblems()
    await Promise.allSettled(changed.filter((name) => !this.#scan.problems.has(name)).map((name) => this.#follow(name)))
  }

  /** Folders that are no models, once each. */
  #tellProblems(): void {
    const before = this.#told
    this.#told = this.#scan.problems
    for (const [model, { withPaths }] of this.#told)
      if (before.get(model)?.withPaths !== withPaths) this.#settings.onEvent({ what: 'failed', model, text: withPaths })
  }

  /** Does what the files of a model ask for. */
  async #follow(name: string): Promise<void> {
    const entry = this.#entry(name)
    const folder = this.#scan.models.get(name)
    if (folder === undefined) {
      this.#acted.delete(name)
      await entry.inOrder(async () => this.#unload(entry))
      return this.#forgetBlank(entry)
    }
    this.#acted.set(name, folder.fingerprint)
    return entry.inOrder(() => this.#telling(name, () => this.#replace(entry, { folder, config: undefined })))
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
    for (const entry of entries.filter(({ isReady }) => isReady)) this.#unload(entry)
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

function failureAtStart({ kind, message }: Fault): string {
  return kind === 'NOT_FOUND' ? `${message}: no model repository has a folder of this name` : message.trimEnd()
}
