// Which models are served: loads, replaces and unloads them, as the files of the repositories or the front-ends ask for
// it. The way of a request sees the snapshot alone, which is replaced as a whole.
import { performance } from 'node:perf_hooks'
import { stepFailure } from '../ensembles/find.js'
import { type EnsembleGraph, modelsOf } from '../ensembles/graph.js'
import { Fault, faultOf, invalid, placeOf } from '../faults.js'
import { allOf } from '../../base/turns.js'
import type { ModelControl, Snapshot } from './servable.js'
import { Repositories } from './repositories.js'
import type { ModelEntry } from './entry.js'
import { failureAtStart, type LoadContext, LoadFault, loadGeneration, type LoadSource, LoadTask } from './loading.js'
import type { LoadVersion, ModelsSettings } from './settings.js'
import { loadVersion } from './load-version.js'
import { checkName, checkOverride, sweepTemporaryModels, writeTemporaryModel } from './overrides.js'
import { Service } from './service.js'
import type { IndexEntry, LoadParameters } from '../public-types.js'
import { Turns } from '../../base/turns.js'

export class Models implements ModelControl, AsyncDisposable {
  readonly #settings: ModelsSettings
  readonly #stopping = new AbortController()
  readonly #context: LoadContext
  readonly #service: Service
  readonly #repositories: Repositories
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> = Promise.resolve()
  #started = false
  #closing: Promise<void> | undefined

  /** @param load how a version is opened, for tests */
  constructor(settings: ModelsSettings, load: LoadVersion = loadVersion) {
    this.#settings = settings
    this.#service = new Service(settings.onEvent)
    this.#repositories = new Repositories(settings.repositories, settings.files)
    this.#context = {
      settings,
      load,
      turns: new Turns(Math.max(1, settings.loadThreads)),
      signal: this.#stopping.signal,
      onBroken: (model, version, text) => this.#onBroken(model, version, text),
    }
  }

  /** Of a version that is not in service, not yet or no more, nobody needs to know. */
  #onBroken(model: string, version: string, text: string): void {
    if (this.#service.broken(model, version)) this.#settings.onEvent({ what: 'broken', model, version, text })
  }

  get mode(): ModelsSettings['mode'] {
    return this.#settings.mode
  }

  get snapshot(): Snapshot {
    return this.#service.snapshot
  }

  /** Requests that have a version, of those too that another has taken the place of. */
  get inFlight(): number {
    return this.#service.inFlight
  }

  /**
   * Loads what is to be there at the beginning.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE where a repository is no folder, before anything is loaded;
   * Fault INTERNAL where a model fails and `exitOnError` is set: then all are closed again
   */
  async start(): Promise<void> {
    await this.#repositories.look()
    this.#reportNotes()
    await sweepTemporaryModels()
    if (this.#closing !== undefined) throw shuttingDown()
    const names = this.#namesToBegin()
    this.#repositories.begin(names)
    const loads = await Promise.allSettled(names.map((name) => this.#loadFirst(name)))
    const failures = loads
      .filter((load) => load.status === 'rejected')
      .map(({ reason }) => failureAtStart(faultOf(reason)))
    if (failures.length > 0 && this.#settings.exitOnError) {
      await this.close()
      throw new Fault('INTERNAL', `failed to load all models: ${failures.join('; ')}`)
    }
    this.#started = true
    this.#repositories.newProblems() // loads have told them
    this.#pollLater()
  }

  #namesToBegin(): readonly string[] {
    const all = this.#repositories.names
    const { mode, loadModels } = this.#settings
    if (mode !== 'explicit') return all
    if (!loadModels.includes('*')) return [...new Set(loadModels)]
    if (loadModels.some((name) => name !== '*'))
      throw invalid("Wildcard model name '*' must be the ONLY startup model if specified at all.")
    return all
  }

  async #loadFirst(name: string): Promise<void> {
    const entry = this.#service.entry(name)
    entry.wanted = entry.isExplicit = true
    await entry.inOrder(() =>
      this.#telling(name, async () => {
        try {
          return await this.#replace(
            entry,
            { folder: this.#repositories.folder(name), config: undefined },
            new LoadTask(),
          )
        } catch (error) {
          if (entry.failure === '')
            entry.failed(error instanceof LoadFault ? error.reason : faultOf(error).message, new Map())
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
      const failed = {
        what: 'failed',
        model,
        text: text.trimEnd(),
        at: placeOf(error),
        durationMs: performance.now() - begun,
      } as const
      if (this.#closing === undefined) onEvent(failed)
      throw error
    }
  }

  isReady(): boolean {
    if (!this.#started || this.#closing !== undefined) return false
    return !this.#settings.strictReadiness || this.notReady.length === 0
  }

  get notReady(): readonly string[] {
    const missing = this.#service.entries.filter(
      ({ wanted, isReady, broken }) => wanted && (!isReady || broken.size > 0),
    )
    return missing.map(({ name }) => name)
  }

  index(onlyReady: boolean): readonly IndexEntry[] {
    const entries = this.#service.index(this.#repositories.scan)
    return onlyReady ? entries.filter(({ state }) => state === 'READY') : entries
  }

  /**
   * Looks at the repositories again, so that index() knows what has come and gone. @throws Fault (as a rejection)
   * INTERNAL, without the paths of this machine
   */
  async refresh(): Promise<void> {
    try {
      await this.#repositories.look()
    } catch (error) {
      this.#warn(error)
      throw new Fault('INTERNAL', 'failed to poll from model repository', error)
    }
  }

  async load(name: string, parameters: LoadParameters = {}): Promise<void> {
    const files = parameters.files ?? new Map<string, Uint8Array>()
    this.#orRefused(name, 'load', () => this.#checkLoad(name, files, parameters))
    const entry = this.#service.entry(name)
    const task = new LoadTask()
    try {
      await entry.inOrder(async () => {
        entry.isExplicit = true
        await this.#telling(name, () => this.#load(entry, parameters, files, task))
      })
    } finally {
      this.#service.forgetBlank(entry)
      await this.#resume(task)
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
    if (files.size > 0) checkOverride(name, files, parameters.config, this.#settings.allowFileOverride)
  }

  async #load(
    entry: ModelEntry,
    { config }: LoadParameters,
    files: ReadonlyMap<string, Uint8Array>,
    task: LoadTask,
  ): Promise<boolean> {
    if (files.size > 0) {
      const { folder, remove } = await writeTemporaryModel(entry.name, files)
      return this.#replace(entry, { folder, config, remove }, task)
    }
    await this.#repositories.lookAt(entry.name)
    const folder = this.#repositories.folder(entry.name)
    if (config !== undefined || !entry.serves(folder)) return this.#replace(entry, { folder, config }, task)
    const ensemble = entry.serving?.versions[0]?.ensemble
    if (ensemble !== undefined) await this.#ensure(entry, ensemble.graph, task) // its steps may have changed
    return false
  }

  /** Loads the models of an ensemble's steps; where all are loaded anyway, waits for them. */
  async #ensure(entry: ModelEntry, graph: EnsembleGraph, task: LoadTask): Promise<void> {
    await allOf(modelsOf(graph).map((model) => this.#ensureStep(entry, graph, model, task)))
  }

  async #ensureStep(entry: ModelEntry, graph: EnsembleGraph, model: string, task: LoadTask): Promise<void> {
    const step = this.#service.entry(model)
    const isLoadedAnyway = this.mode !== 'explicit' || (!this.#started && step.isExplicit)
    try {
      await this.#service.dependencies.waitFor(entry.name, model, () =>
        step.inOrder(async () => isLoadedAnyway || this.#loadStep(step, task)),
      )
    } catch (error) {
      const { kind, message } = faultOf(error)
      if (kind === 'NOT_FOUND') return // the ensemble finds that itself
      throw stepFailure(graph, model, step.isReady, error instanceof LoadFault ? error.reason : message)
    } finally {
      this.#service.forgetBlank(step)
    }
  }

  /** One that was loaded with a configuration or files of its own stays as it is. */
  async #loadStep(step: ModelEntry, task: LoadTask): Promise<unknown> {
    if (step.serving !== undefined && step.serving.fingerprint === undefined) return
    await this.#repositories.lookAt(step.name)
    const folder = this.#repositories.find(step.name)
    const isPlain = step.serving?.versions[0]?.ensemble === undefined
    return isPlain && step.serves(folder)
      ? undefined
      : this.#telling(step.name, () => this.#load(step, {}, new Map(), task))
  }

  /** Ensembles that failed or went for want of these models come back with them. */
  async #resume({ loaded, tried }: LoadTask): Promise<void> {
    const waiting = this.#service.dependencies.awaiting(loaded).filter(({ name }) => !tried.has(name))
    if (waiting.length === 0) return
    const task = new LoadTask([...tried])
    const again = async (entry: ModelEntry): Promise<unknown> => {
      if (entry.isReady || !entry.shouldBe || this.#closing !== undefined) return
      return this.#telling(entry.name, () =>
        this.#replace(entry, { folder: this.#repositories.folder(entry.name), config: entry.override }, task),
      )
    }
    await Promise.allSettled(waiting.map((entry) => entry.inOrder(() => again(entry))))
    await this.#resume(task)
  }

  /** What is at work goes on until the other is ready, and where that fails. */
  async #replace(entry: ModelEntry, source: LoadSource, task: LoadTask): Promise<true> {
    task.tried.add(entry.name)
    const steps = {
      source: this.#service.dependencies,
      ensure: (each: ModelEntry, graph: EnsembleGraph) => this.#ensure(each, graph, task),
    }
    try {
      await loadGeneration(entry, source, this.#context, steps, (generation) =>
        this.#service.take(entry, generation, task.tried, this.#stopping.signal),
      )
      task.loaded.push(entry.name)
      // before it was in service
      for (const [version, reason] of entry.broken) this.#onBroken(entry.name, version, reason)
      return true
    } finally {
      entry.wanted = true
      this.#service.publish()
    }
  }

  async unload(name: string, unloadDependents = false): Promise<void> {
    this.#orRefused(name, 'unload', () => this.#refuseControl())
    const entry = this.#service.find(name)
    if (entry === undefined) return this.#unloadUnknown(name)
    await entry.inOrder(async () => this.#service.unload(entry))
    if (unloadDependents) await this.#unloadSteps(entry)
    this.#service.forgetBlank(entry)
  }

  /** Those that were loaded as steps alone, and are steps of nothing else. */
  async #unloadSteps({ needs }: ModelEntry): Promise<void> {
    for (const step of needs.map((model) => this.#service.find(model)).filter((each) => each !== undefined)) {
      const isUnused = await step.inOrder(async () => {
        if (step.isExplicit || !(step.isReady || step.shouldBe) || this.#service.dependencies.isNeeded(step.name))
          return false
        this.#service.unload(step)
        return true
      })
      if (isUnused) await this.#unloadSteps(step)
      this.#service.forgetBlank(step)
    }
  }

  /** What was never loaded. */
  async #unloadUnknown(name: string): Promise<void> {
    await this.#repositories.lookAt(name)
    this.#orRefused(name, 'unload', () => {
      if (this.#repositories.find(name) !== undefined) return
      throw new Fault('NOT_FOUND', `failed to unload '${name}', it is in no model repository and was never loaded`)
    })
    this.#settings.onEvent({ what: 'unloaded', model: name })
  }

  #refuseControl(): void {
    if (this.#closing !== undefined) throw shuttingDown()
    if (this.mode !== 'explicit')
      throw new Fault(
        'UNAVAILABLE',
        `explicit model load / unload is not allowed if polling is enabled: model-control-mode is ${this.mode}, and has to be explicit`,
      )
  }

  #warn(error: unknown): void {
    this.#settings.onEvent({ what: 'warning', model: '', text: faultOf(error).message })
  }

  #reportNotes(): void {
    for (const text of this.#repositories.newNotes()) this.#settings.onEvent({ what: 'warning', model: '', text })
  }

  /** Files of the repositories that are not served, and repositories without models: texts for the log. */
  get notes(): readonly string[] {
    return this.#repositories.scan.notes
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
   * Looks at the repositories, and loads and unloads what has changed and was the same at the look before: so nothing
   * is loaded that is half copied. Fulfilled when all of that is done, or has failed.
   */
  poll(): Promise<void> {
    return (this.#polling = this.#polling.then(() => this.#poll()))
  }

  async #poll(): Promise<void> {
    if (this.#closing !== undefined) return
    try {
      await this.#repositories.look()
    } catch (error) {
      this.#warn(error)
      return // a repository that is not there for a moment takes no model away
    }
    this.#reportNotes()
    const followed = this.#repositories.changed()
    for (const [model, { withPaths }] of this.#repositories.newProblems())
      this.#settings.onEvent({ what: 'failed', model, text: withPaths })
    const task = new LoadTask(followed)
    await Promise.allSettled(followed.map((name) => this.#follow(name, task)))
    await this.#resume(task)
  }

  /** Does what the files of a model ask for. */
  async #follow(name: string, task: LoadTask): Promise<void> {
    const entry = this.#service.entry(name)
    const folder = this.#repositories.act(name)
    if (folder === undefined) {
      await entry.inOrder(async () => this.#service.unload(entry))
      return this.#service.forgetBlank(entry)
    }
    entry.isExplicit = true
    return entry.inOrder(() => this.#telling(name, () => this.#replace(entry, { folder, config: undefined }, task)))
  }

  /**
   * Not ready from now on: loads under way are given up, and each model closes after its last request. Fulfilled when
   * all are closed. A second call waits for the same.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#stopping.abort(shuttingDown())
    await this.#polling
    await Promise.all(this.#service.entries.map((entry) => entry.idle()))
    await this.#service.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function shuttingDown(): Fault {
  return new Fault('UNAVAILABLE', 'the server is shutting down')
}
