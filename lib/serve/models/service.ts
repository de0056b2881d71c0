// What is in service: models that are known, the snapshot that requests see, and what a change of one means for the
// others.
import { type Consequences, Dependencies } from '../ensembles/dependencies.js'
import type { IndexEntry } from '../public-types.js'
import type { Scan } from '../repository/scan.js'
import { type Generation, ModelEntry } from './entry.js'
import type { LoadedVersion, Snapshot } from './servable.js'
import type { ModelEvent } from './settings.js'
import { ModelSnapshot } from './snapshot.js'
import { faultOf } from '../faults.js'

export class Service {
  readonly #entries = new Map<string, ModelEntry>()
  readonly #onEvent: (event: ModelEvent) => void
  readonly #leaving: Leaving
  readonly dependencies = new Dependencies(this.#entries)
  #snapshot: Snapshot = new ModelSnapshot(new Map())

  constructor(onEvent: (event: ModelEvent) => void) {
    this.#onEvent = onEvent
    this.#leaving = new Leaving(onEvent)
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  get entries(): readonly ModelEntry[] {
    return [...this.#entries.values()]
  }

  /** Requests that have a version, of those too that another has taken the place of. */
  get inFlight(): number {
    const serving = this.entries.flatMap((entry) => entry.serving?.versions ?? [])
    return [...this.#leaving.versions, ...serving].reduce((sum, { inFlight }) => sum + inFlight, 0)
  }

  find(name: string): ModelEntry | undefined {
    return this.#entries.get(name)
  }

  entry(name: string): ModelEntry {
    const known = this.#entries.get(name)
    if (known !== undefined) return known
    const entry = new ModelEntry(name)
    this.#entries.set(name, entry)
    return entry
  }

  index({ models, problems }: Scan): readonly IndexEntry[] {
    const names = new Set([...models.keys(), ...problems.keys(), ...this.#entries.keys()])
    return [...names].sort().flatMap((name): readonly IndexEntry[] => {
      const entry = this.#entries.get(name)
      if (entry !== undefined) return entry.index()
      const problem = problems.get(name)
      return [problem === undefined ? { name } : { name, state: 'UNAVAILABLE', reason: problem.text }]
    })
  }

  /** Whoever asks for names that nobody has leaves nothing behind. */
  forgetBlank(entry: ModelEntry): void {
    if (entry.isBlank) this.#entries.delete(entry.name)
  }

  publish(): void {
    const known = [...this.#entries].map(([name, entry]) => [name, entry.known()] as const)
    this.#snapshot = new ModelSnapshot(new Map(known.filter(([, { versions }]) => versions.size > 0)))
  }

  /**
   * Takes the place of what was in service; ensembles of it go on with the new one. All at once, so that no request
   * sees a part of it, once all is started that ensembles need for it: they are as many as there are at that moment.
   *
   * @param renewed models that are loaded anew in the same go
   * @throws Fault INVALID_ARG (as a rejection) where its steps do not fit, or an ensemble of which it is a step, or
   * what that needs cannot be started; then all is as before
   */
  async take(entry: ModelEntry, loaded: Generation, renewed: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const prepared = new Set<LoadedVersion>()
    try {
      for (;;) {
        const generation = this.dependencies.bound(loaded)
        const consequences = this.dependencies.consequences(entry.name, generation.versions, renewed)
        const open = [...generation.versions, ...goingOn(consequences, renewed)].filter(isOpen)
        if (open.length === 0) return this.#put(entry, generation, consequences)
        for (const version of open) {
          prepared.add(version)
          await version.ensemble?.prepare(signal)
        }
      }
    } finally {
      const inService = new Set<LoadedVersion>(this.entries.flatMap((each) => each.serving?.versions ?? []))
      await Promise.all([...prepared].filter((version) => !inService.has(version)).map((version) => version.close()))
    }
  }

  #put(entry: ModelEntry, generation: Generation, consequences: Consequences): void {
    const before = entry.take(generation)
    this.#carryOut(consequences)
    this.#leaving.retire(entry, before)
  }

  /**
   * Its versions are told of when they are closed; of a model without any it is told at once. Ensembles of it go out of
   * service with it.
   */
  unload(entry: ModelEntry): void {
    const before = entry.unload()
    this.#onEvent({ what: before === undefined ? 'unloaded' : 'unloading', model: entry.name })
    this.#carryOut(this.dependencies.consequences(entry.name, [], new Set()))
    this.#leaving.retire(entry, before)
  }

  /**
   * A version in service answers no more requests: it is found no more, and ensembles of it go out of service until
   * another takes its place. @returns whether it was in service
   */
  broken(model: string, version: string): boolean {
    const entry = this.#entries.get(model)
    if (entry?.broken.has(version) !== true) return false
    const others = new Set(this.entries.map(({ name }) => name)) // none of them hinders what has happened
    this.#carryOut(this.dependencies.consequences(entry.name, entry.answering, others))
    return true
  }

  #carryOut({ rebound, suspended }: Consequences): void {
    const gone = [...suspended].map(([entry, reason]) => [entry, entry.suspend(reason), reason] as const)
    const replaced = [...rebound].map(([entry, generation]) => [entry, entry.take(generation)] as const)
    this.publish()
    for (const [entry, before, text] of gone) {
      this.#onEvent({ what: 'warning', model: entry.name, text })
      this.#onEvent({ what: 'unloading', model: entry.name })
      this.#leaving.retire(entry, before)
    }
    for (const [entry, before] of replaced)
      if (before !== undefined) this.#leaving.retire(entry, { ...before, dispose }, false)
  }

  /** Takes all out of service. Fulfilled when the last request has ended. */
  async end(): Promise<void> {
    for (const entry of this.entries.filter(({ isReady }) => isReady)) {
      this.#onEvent({ what: 'unloading', model: entry.name })
      this.#leaving.retire(entry, entry.unload())
    }
    this.publish()
    await this.#leaving.idle()
  }
}

/** The files of a version that goes on with other steps stay. */
const dispose = async (): Promise<void> => {}

/**
 * Versions of ensembles that are to answer requests with other steps; those that are loaded anew after this do for the
 * moment without what they lack.
 */
function goingOn({ rebound }: Consequences, renewed: ReadonlySet<string>): readonly LoadedVersion[] {
  return [...rebound].flatMap(([{ name }, { versions }]) => (renewed.has(name) ? [] : versions))
}

function isOpen({ ensemble }: LoadedVersion): boolean {
  return ensemble !== undefined && !ensemble.isPrepared()
}

// Versions out of service whose last requests are under way.

export class Leaving {
  readonly #onEvent: (event: ModelEvent) => void
  readonly #ends = new Set<Promise<void>>()
  readonly #generations = new Set<Generation>()

  constructor(onEvent: (event: ModelEvent) => void) {
    this.#onEvent = onEvent
  }

  get versions(): readonly LoadedVersion[] {
    return [...this.#generations].flatMap(({ versions }) => versions)
  }

  /**
   * Closes what is out of service once its last request has ended; nobody waits for it.
   *
   * @param isTold whether the log has it: what goes on with other steps is the same version still
   */
  retire(entry: ModelEntry, generation: Generation | undefined, isTold = true): void {
    if (generation === undefined) return
    this.#generations.add(generation)
    const left = this.#leave(entry, generation, isTold).finally(() => {
      this.#ends.delete(left)
      this.#generations.delete(generation)
    })
    this.#ends.add(left)
  }

  async #leave(entry: ModelEntry, generation: Generation, isTold: boolean): Promise<void> {
    const warn = (error: unknown): void =>
      this.#onEvent({ what: 'warning', model: entry.name, text: faultOf(error).message })
    const close = async (version: LoadedVersion): Promise<void> => {
      await version.close().catch(warn)
      entry.closed(version.version)
      if (isTold) this.#onEvent({ what: 'unloaded', model: entry.name, version: version.version })
    }
    await Promise.all(generation.versions.map(close))
    await generation.dispose().catch(warn)
  }

  /** Until all that leave now have left. */
  async idle(): Promise<void> {
    await Promise.all(this.#ends)
  }
}
