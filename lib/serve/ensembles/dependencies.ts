// Which ensembles a change of a model is a matter of: those that have it as a step go on with the new one, or hinder
// it.
import { faultOf, invalid } from '../faults.js'
import type { Generation, ModelEntry } from '../models/entry.js'
import type { LoadedVersion, StepSource } from '../models/servable.js'
import { modelsOf } from './graph.js'

/** What a change of one model does to ensembles. */
export interface Consequences {
  /** Those that go on, with other steps. */
  readonly rebound: ReadonlyMap<ModelEntry, Generation>
  /** Those that cannot go on, with the reason. */
  readonly suspended: ReadonlyMap<ModelEntry, string>
}

export class Dependencies implements StepSource {
  readonly #entries: ReadonlyMap<string, ModelEntry>
  /** Which models a load of an ensemble waits for now. */
  readonly #waiting = new Map<string, string[]>()

  constructor(entries: ReadonlyMap<string, ModelEntry>) {
    this.#entries = entries
  }

  ready(model: string): readonly LoadedVersion[] {
    return this.#entries.get(model)?.answering ?? []
  }

  failure(model: string): string {
    const entry = this.#entries.get(model)
    return entry === undefined ? '' : entry.failure || entry.waits || entry.breakage
  }

  /** With the steps that are in service at this moment. @throws Fault INVALID_ARG where they do not fit */
  bound(generation: Generation): Generation {
    return { ...generation, versions: rebindAll(generation.versions, this) }
  }

  /**
   * What becomes of the ensembles in service once a model has these versions.
   *
   * @param versions none: it goes out of service
   * @param renewed ensembles that are loaded anew after it: they hinder nothing
   * @throws Fault INVALID_ARG where one does not fit any more
   */
  consequences(model: string, versions: readonly LoadedVersion[], renewed: ReadonlySet<string>): Consequences {
    const after = new Map([[model, versions]])
    const source: StepSource = {
      ready: (name) => after.get(name) ?? this.ready(name),
      failure: (name) => (after.has(name) ? (this.#entries.get(name)?.breakage ?? '') : this.failure(name)),
    }
    const rebound = new Map<ModelEntry, Generation>()
    const suspended = new Map<ModelEntry, string>()
    for (const [entry, generation] of this.#dependents(model)) {
      try {
        const others = rebindAll(generation.versions, source)
        rebound.set(entry, { ...generation, versions: others })
        after.set(entry.name, others)
      } catch (error) {
        const mayGo =
          versions.length === 0 ||
          renewed.has(entry.name) ||
          [...suspended.keys()].some(({ name }) => entry.needs.includes(name))
        if (!mayGo) throw error
        suspended.set(entry, faultOf(error).message)
        after.set(entry.name, [])
      }
    }
    return { rebound, suspended }
  }

  /** Ensembles in service that have it as a step, or one that has, each after those among its own steps. */
  #dependents(model: string): readonly (readonly [ModelEntry, Generation])[] {
    const found = new Set([model])
    const inOrder: (readonly [ModelEntry, Generation])[] = []
    const visit = (name: string): void => {
      for (const entry of this.#entries.values()) {
        const { serving } = entry
        if (serving === undefined || found.has(entry.name) || !stepsOf(serving).includes(name)) continue
        found.add(entry.name)
        visit(entry.name)
        inOrder.unshift([entry, serving])
      }
    }
    visit(model)
    return inOrder
  }

  /** Ensembles that are not in service, should be, and may be now that these models are there. */
  awaiting(models: readonly string[]): readonly ModelEntry[] {
    return [...this.#entries.values()].filter(
      (entry) => !entry.isReady && entry.shouldBe && entry.needs.some((need) => models.includes(need)),
    )
  }

  /** Whether any ensemble that is, or should be, in service has it as a step. */
  isNeeded(model: string): boolean {
    return [...this.#entries.values()].some((entry) => (entry.isReady || entry.shouldBe) && entry.needs.includes(model))
  }

  /**
   * The load of an ensemble waits for that of a model. @throws Fault INVALID_ARG where that one waits for this one,
   * however far away
   */
  async waitFor<T>(ensemble: string, model: string, load: () => Promise<T>): Promise<T> {
    if (this.#leads(model, ensemble)) {
      const middle = this.#waiting.get(model)?.includes(ensemble) === true ? '' : '... -> '
      throw invalid(`circular dependency between ensembles: ${ensemble} -> ${middle}${model} -> ${ensemble}`)
    }
    const models = this.#waiting.get(ensemble) ?? []
    this.#waiting.set(ensemble, [...models, model])
    try {
      return await load()
    } finally {
      const left = [...(this.#waiting.get(ensemble) ?? [])]
      left.splice(left.indexOf(model), 1)
      if (left.length === 0) this.#waiting.delete(ensemble)
      else this.#waiting.set(ensemble, left)
    }
  }

  #leads(from: string, to: string): boolean {
    return from === to || (this.#waiting.get(from)?.some((next) => this.#leads(next, to)) ?? false)
  }
}

function stepsOf({ versions: [first] }: Generation): readonly string[] {
  return first?.ensemble === undefined ? [] : modelsOf(first.ensemble.graph)
}

function rebindAll(versions: readonly LoadedVersion[], source: StepSource): readonly LoadedVersion[] {
  return versions.map((version) => version.ensemble?.rebind(source) ?? version)
}
