// What the front-end knows of requests beside the engines' counters: those that never came to an engine, and how long
// failures of the others took.
import type { InferRecord } from '../front/options.js'

/** A request for an inference that is over. */
export type Ended = Omit<InferRecord, 'status' | 'bytesIn' | 'bytesOut'>

interface Counts {
  refused: number
  failedNs: number
}

/** By versions that were found: names that clients made up leave nothing here. */
export class FrontEndCounts {
  readonly #counts = new Map<string, Counts>()

  onInfer({ model, version, fault, reachedModel, hasResult, durationNs }: Ended): void {
    if (version === undefined || fault === undefined || hasResult) return
    const key = keyOf({ name: model, version })
    const counts = this.#counts.get(key) ?? { refused: 0, failedNs: 0 }
    this.#counts.set(key, counts)
    if (reachedModel) counts.failedNs += durationNs
    else counts.refused++
  }

  /** Requests that failed before the engine had them, such as one whose shape is wrong. */
  refused(version: Version): number {
    return this.#counts.get(keyOf(version))?.refused ?? 0
  }

  /** Nanoseconds of the others that failed, from their head until their answer. */
  failedNs(version: Version): number {
    return this.#counts.get(keyOf(version))?.failedNs ?? 0
  }

  /** A version that comes again begins at 0, as its engine's counters do. */
  forget(model: string, version?: string): void {
    if (version !== undefined) this.#counts.delete(keyOf({ name: model, version }))
    else for (const key of this.#counts.keys()) if (key.startsWith(`${model}/`)) this.#counts.delete(key)
  }
}

interface Version {
  readonly name: string
  readonly version: string
}

/** No name of a folder has a slash. */
function keyOf({ name, version }: Version): string {
  return `${name}/${version}`
}
