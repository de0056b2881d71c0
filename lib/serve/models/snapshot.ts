// All models that answer, at one moment.
import { Fault, invalid } from '../faults.js'
import type { Servable, Snapshot } from './servable.js'

/** A model of which the index knows anything. */
export interface KnownModel {
  /** The lowest version first. */
  readonly ready: readonly Servable[]
  /** Why versions answer no more requests though they are loaded. */
  readonly failures: ReadonlyMap<string, string>
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
    if (wanted === undefined) return model.ready.at(-1) ?? refuse(noneReady(name, model))
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

function noneReady(name: string, model: KnownModel): Fault {
  const [failed] = [...model.failures.keys()].slice(-1)
  return failed === undefined ? unknown(`'${name}' has no available versions`) : notReady(name, failed, model)
}

function notReady(name: string, version: string, { versions, failures }: KnownModel): Fault {
  if (!versions.has(version)) return unknown(`'${name}' version ${version} is not found`)
  const failure = failures.get(version)
  const text = `Request for unknown model: '${name}' version ${version} is not at ready state`
  return new Fault('UNAVAILABLE', failure === undefined ? text : `${text}: ${failure}`)
}

/** Without leading zeros. */
function checkedVersion(version: string): string {
  if (/^\d{1,19}$/.test(version) && BigInt(version) < 2n ** 63n) return String(BigInt(version))
  const text = /^-\d+$/.test(version)
    ? `invalid model version specified '${version}' , version should be an integral value > 0`
    : `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`
  throw invalid(text)
}
