// What the repositories have, as they were looked at last, and what has changed between looks.
import { Fault } from '../faults.js'
import type { ModelFile, ModelFolder } from '../repository/folder.js'
import { type Problem, type Scan, scanModel, scanRepositories, withModel } from '../repository/scan.js'
import { LoadFault } from './loading.js'

export class Repositories {
  readonly #folders: readonly string[]
  readonly #files: readonly ModelFile[]
  #scan: Scan = { models: new Map(), problems: new Map(), notes: [] }
  /** Fingerprints that the last look saw, and those that a load or unload was begun for. */
  #seen: ReadonlyMap<string, string> = new Map()
  readonly #acted = new Map<string, string>()
  /** Problems that the log has. */
  #logged: Scan['problems'] = new Map()
  #loggedNotes: Scan['notes'] = []

  constructor(folders: readonly string[], files: readonly ModelFile[] = []) {
    this.#folders = folders
    this.#files = files
  }

  get scan(): Scan {
    return this.#scan
  }

  /** Of all folders, whether or not they are models. */
  get names(): readonly string[] {
    return [...new Set([...this.#scan.models.keys(), ...this.#scan.problems.keys()])]
  }

  /** @throws TensorRTError (as a rejection) ERR_TRT_FILE */
  async look(): Promise<void> {
    this.#scan = await scanRepositories(this.#folders, this.#files)
  }

  /** The same of one model alone. */
  async lookAt(name: string): Promise<void> {
    const found = await scanModel(this.#folders, name, this.#files)
    this.#scan = withModel(this.#scan, name, found)
  }

  find(name: string): ModelFolder | undefined {
    return this.#scan.models.get(name)
  }

  /** @throws Fault NOT_FOUND for what is in no repository, INVALID_ARG for what is no model there */
  folder(name: string): ModelFolder {
    const folder = this.find(name)
    if (folder !== undefined) return folder
    const problem = this.#scan.problems.get(name)
    if (problem !== undefined) throw new LoadFault(name, problem.text, problem.withPaths)
    throw new Fault('NOT_FOUND', `failed to load '${name}', failed to poll from model repository`)
  }

  /** Before anything is loaded: all is known, and what is loaded then is acted for. */
  begin(names: readonly string[]): void {
    this.#seen = fingerprints(this.#scan.models)
    for (const name of names) this.#acted.set(name, this.find(name)?.fingerprint ?? '') // one that is no model is followed, too, when it goes
  }

  /**
   * Models that differ from what was acted for, and are as they were at the look before: so nothing is loaded that is
   * half copied.
   */
  changed(): readonly string[] {
    const before = this.#seen
    const now = (this.#seen = fingerprints(this.#scan.models))
    const names = [...new Set([...now.keys(), ...this.#acted.keys()])]
    return names.filter(
      (name) =>
        !this.#scan.problems.has(name) && now.get(name) === before.get(name) && now.get(name) !== this.#acted.get(name),
    )
  }

  /** A load, or an unload of what is gone, begins. */
  act(name: string): ModelFolder | undefined {
    const folder = this.find(name)
    if (folder === undefined) this.#acted.delete(name)
    else this.#acted.set(name, folder.fingerprint)
    return folder
  }

  /** Folders that are no models, once each. */
  newProblems(): readonly (readonly [string, Problem])[] {
    const before = this.#logged
    this.#logged = this.#scan.problems
    return [...this.#logged].filter(([name, { withPaths }]) => before.get(name)?.withPaths !== withPaths)
  }

  /** Notes about misplaced files that differ from those of the call before. */
  newNotes(): readonly string[] {
    const before = this.#loggedNotes
    this.#loggedNotes = this.#scan.notes
    return this.#loggedNotes.filter((note) => !before.includes(note))
  }
}

function fingerprints(models: Scan['models']): ReadonlyMap<string, string> {
  return new Map([...models].map(([name, { fingerprint }]) => [name, fingerprint]))
}
