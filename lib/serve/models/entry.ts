// What the manager knows of one model: its versions, what is in service, and what is asked of it, in order.
import type { LoadedVersion } from './servable.js'
import type { KnownModel } from './snapshot.js'
import type { IndexEntry, ModelState } from '../public-types.js'
import type { ModelFolder } from '../repository/folder.js'

/** A version as the index has it. */
interface VersionRecord {
  state: ModelState
  reason: string
}

/** Versions that were loaded together and leave together. */
export interface Generation {
  /** The lowest first. */
  readonly versions: readonly LoadedVersion[]
  /** Of the files that it was loaded from; nothing where a load brought a configuration or files. */
  readonly fingerprint: string | undefined
  /** Once all are closed. */
  dispose(): Promise<void>
}

export class ModelEntry {
  readonly name: string
  /** It should be ready: the last thing that was asked for was no unload. */
  wanted = false
  /** Why the last load failed; empty where it did not. */
  failure = ''
  /**
   * Why an ensemble was taken out of service though nobody asked for it: one of its steps is gone, and it comes back
   * with that. Else empty.
   */
  waits = ''
  /** It was loaded by its name, not as a step of an ensemble. */
  isExplicit = false
  /** Of an ensemble: the models of its steps, as its last load had them. */
  needs: readonly string[] = []
  /** The configuration that its last load brought. */
  override: string | undefined
  readonly #records = new Map<string, VersionRecord>()
  /** How many of a version wait for their last requests. */
  readonly #leaving = new Map<string, number>()
  #serving: Generation | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #pending = 0

  constructor(name: string) {
    this.name = name
  }

  get serving(): Generation | undefined {
    return this.#serving
  }

  /** Nothing is known of it that anyone could ask for. */
  get isBlank(): boolean {
    return this.#pending === 0 && !this.shouldBe && this.failure === '' && this.#records.size === 0
  }

  /** It is, or comes back once its steps are there. */
  get shouldBe(): boolean {
    return this.wanted || this.waits !== ''
  }

  get isReady(): boolean {
    return this.#serving !== undefined
  }

  /** Versions that answer requests, the lowest first. */
  get answering(): readonly LoadedVersion[] {
    return this.#serving?.versions.filter(({ failure }) => failure === undefined) ?? []
  }

  /** Why versions in service answer no more requests, by version. */
  get broken(): ReadonlyMap<string, string> {
    const versions = this.#serving?.versions ?? []
    return new Map(
      versions.flatMap(({ version, failure }) => (failure === undefined ? [] : [[version, failure] as const])),
    )
  }

  /** Why the last of them does not; empty where all do. */
  get breakage(): string {
    return [...this.broken.values()].at(-1) ?? ''
  }

  /** What is in service was loaded from these files, and nothing has failed since. */
  serves(folder: ModelFolder | undefined): boolean {
    return (
      this.failure === '' &&
      this.broken.size === 0 &&
      this.#serving !== undefined &&
      this.#serving.fingerprint === folder?.fingerprint
    )
  }

  /** Does it when all that was asked for before is done. */
  inOrder<T>(work: () => Promise<T>): Promise<T> {
    this.#pending++
    const done = this.#tail.then(work).finally(() => this.#pending--)
    this.#tail = done.catch(() => {})
    return done
  }

  /** Until all that was asked for is done. */
  async idle(): Promise<void> {
    while (this.#pending > 0) await this.#tail
  }

  /** Versions that are not in service are being loaded. */
  loading(versions: readonly string[]): void {
    for (const version of versions)
      if (!this.#serves(version)) this.#records.set(version, { state: 'LOADING', reason: '' })
  }

  /** What was in service goes on; of the versions that were being loaded each has its reason, or that of all. */
  failed(reason: string, byVersion: ReadonlyMap<string, string>): void {
    this.failure = reason
    const ofAll = byVersion.size === 0 ? reason : 'unloaded'
    for (const [version, record] of this.#records)
      if (record.state === 'LOADING')
        this.#records.set(version, { state: 'UNAVAILABLE', reason: byVersion.get(version) ?? ofAll })
  }

  /** Takes the place of what was in service, which it gives back. */
  take(generation: Generation): Generation | undefined {
    const before = this.#leave()
    this.failure = this.waits = ''
    this.#serving = generation
    for (const { version } of generation.versions) this.#records.set(version, { state: 'READY', reason: '' })
    return before
  }

  /** Takes all out of service. */
  unload(): Generation | undefined {
    this.failure = this.waits = ''
    this.wanted = this.isExplicit = false
    return this.#leave()
  }

  /** The same of an ensemble whose steps are gone. */
  suspend(reason: string): Generation | undefined {
    const { isExplicit } = this
    const before = this.unload()
    this.isExplicit = isExplicit
    this.waits = reason
    return before
  }

  #leave(): Generation | undefined {
    const before = this.#serving
    this.#serving = undefined
    for (const { version } of before?.versions ?? []) {
      this.#records.set(version, { state: 'UNLOADING', reason: '' })
      this.#leaving.set(version, (this.#leaving.get(version) ?? 0) + 1)
    }
    return before
  }

  /** The last request of a version has ended, and its engines are closed. */
  closed(version: string): void {
    const left = (this.#leaving.get(version) ?? 1) - 1
    if (left > 0) return void this.#leaving.set(version, left)
    this.#leaving.delete(version)
    if (this.#records.get(version)?.state === 'UNLOADING')
      this.#records.set(version, { state: 'UNAVAILABLE', reason: this.waits || 'unloaded' })
  }

  #serves(version: string): boolean {
    return this.#serving?.versions.some((each) => each.version === version) ?? false
  }

  known(): KnownModel {
    return { ready: this.answering, failures: this.broken, versions: new Set(this.#records.keys()) }
  }

  index(): readonly IndexEntry[] {
    if (this.#records.size === 0) {
      return [{ name: this.name, ...(this.failure !== '' && { state: 'UNAVAILABLE' as const, reason: this.failure }) }]
    }
    const { name, failure, broken } = this
    const versions = [...this.#records].sort(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1))
    return versions.map(([version, { state, reason }]) => {
      const why = broken.get(version)
      if (why !== undefined) return { name, version, state: 'UNAVAILABLE', reason: why }
      return { name, version, state, reason: state === 'READY' ? failure : reason }
    })
  }
}
