// What has changed in the repositories between looks at them.
import type { Problem, Scan } from '../repository/scan.js'

export class Changes {
  /** Fingerprints that the last look saw, and those that a load or unload was begun for. */
  #seen: ReadonlyMap<string, string> = new Map()
  readonly #acted = new Map<string, string>()
  /** Problems that the log has. */
  #told: Scan['problems'] = new Map()

  /** Before anything is loaded: all is known, and what is loaded then is acted for. */
  begin({ models }: Scan, names: readonly string[]): void {
    this.#seen = fingerprints(models)
    for (const name of names) this.#acted.set(name, models.get(name)?.fingerprint ?? '') // one that is no model is followed, too, when it goes
  }

  /**
   * Models that differ from what was acted for, and are as they were at the look before: so nothing is loaded that is
   * half copied.
   */
  look({ models, problems }: Scan): readonly string[] {
    const before = this.#seen
    const now = (this.#seen = fingerprints(models))
    const names = [...new Set([...now.keys(), ...this.#acted.keys()])]
    return names.filter(
      (name) => !problems.has(name) && now.get(name) === before.get(name) && now.get(name) !== this.#acted.get(name),
    )
  }

  /** Nothing: the model is gone. */
  act(name: string, fingerprint: string | undefined): void {
    if (fingerprint === undefined) this.#acted.delete(name)
    else this.#acted.set(name, fingerprint)
  }

  /** Folders that are no models, once each. */
  newProblems({ problems }: Scan): readonly (readonly [string, Problem])[] {
    const before = this.#told
    this.#told = problems
    return [...problems].filter(([name, { withPaths }]) => before.get(name)?.withPaths !== withPaths)
  }
}

function fingerprints(models: Scan['models']): ReadonlyMap<string, string> {
  return new Map([...models].map(([name, { fingerprint }]) => [name, fingerprint]))
}
