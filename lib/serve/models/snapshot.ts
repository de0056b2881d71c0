// All models that answer, at one moment.
import { Fault } from '../faults.js'
import type { Servable, Snapshot } from './servable.js'

/** A model of which the index knows anything. */
export interface KnownModel {
  /** The lowest version first. */
  readonly ready: readonly Servable[]
  /** Versions that were loaded at any time. */
  readonly versions: ReadonlySet<string>
}

export class ModelSnapshot implements Snapshot {
  readonly all: readonly Servable[]
  readonly #models: ReadonlyMap<string, KnownModel>

  constructor(models: ReadonlyMap<string, KnownModel>) {
    this.#models = models
    this.all = [...models.values()].flatMap(({ ready }) => ready)
  }

  find(name: string, version = ''): Servable {
    const wanted = version === '' ? undefined : checkedVersion(version)
    const model = this.#models.get(name)
    if (model === undefined) throw unknown(`'${name}' is not found`)
    if (wanted === undefined) return model.ready.at(-1) ?? refuse(unknown(`'${name}' has no available versions`))
    return model.ready.find((servable) => servable.version === wanted) ?? refuse(notReady(name, wanted, model))
  }

  versions(name: string): readonly string[] {
    return this.#models.get(name)?.ready.map(({ version }) => version) ?? []
  }
}

function refuse(fault: Fault): never {
  throw fault
}

function unknown(text: string): Fault {
  return new Fault('NOT_FOUND', `Request for unknown model: ${text}`)
}

function notReady(name: string, version: string, { versions }: KnownModel): Fault {
  if (!versions.has(version)) return unknown(`'${name}' version ${version} is not found`)
  return new Fault('UNAVAILABLE', `Request for unknown model: '${name}' version ${version} is not at ready state`)
}

/** Without leading zeros. */
function checkedVersion(version: string): string {
  if (/^\d{1,19}$/.test(version) && BigInt(version) < 2n ** 63n) return String(BigInt(version))
  const text = /^-\d+$/.test(version)
    ? `invalid model version specified '${version}' , version should be an integral value > 0`
    : `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`
  throw new Fault('INVALID_ARG', text)
}
