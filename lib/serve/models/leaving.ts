// Versions out of service whose last requests are under way.
import { faultOf } from '../faults.js'
import type { Generation, ModelEntry } from './entry.js'
import type { LoadedVersion } from './servable.js'
import type { ModelEvent } from './settings.js'

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
