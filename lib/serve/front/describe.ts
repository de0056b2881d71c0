// What front-ends tell of a server and of its models.
import type { ModelMetadata, TensorMetadata } from '../../kserve/metadata.js'
import { type Fault, invalid, unsupported } from '../faults.js'
import type { Servable, Snapshot } from '../models/servable.js'

/** The extensions that are there, by Triton's names: perf_analyzer asks for statistics only where they are. */
export const extensions = [
  'classification',
  'model_repository',
  'model_repository(unload_dependents)',
  'schedule_policy',
  'model_configuration',
  'binary_tensor_data',
  'parameters',
  'statistics',
] as const

/** With all versions that are ready unless one is named. @throws Fault as Snapshot.find() */
export function metadataOf(snapshot: Snapshot, name: string, version: string | undefined): ModelMetadata {
  const servable = snapshot.find(name, version)
  const { platform, inputs, outputs } = servable
  const shown = (tensors: Servable['inputs']): TensorMetadata[] =>
    [...tensors.values()].map(({ name, datatype, shape }) => ({ name, datatype, shape }))
  const versions = version === undefined ? snapshot.versions(name) : [servable.version]
  return { name: servable.name, versions, platform, inputs: shown(inputs), outputs: shown(outputs) }
}

/** All versions that are ready unless one is named. @throws Fault INVALID_ARG */
export function versionsOf(snapshot: Snapshot, name: string, version: string | undefined): readonly Servable[] {
  const versions = snapshot.versions(name)
  if (versions.length === 0) throw invalid(`requested model '${name}' is not available`)
  if (version === undefined) return versions.map((one) => snapshot.find(name, one))
  if (versions.includes(version)) return [snapshot.find(name, version)]
  throw invalid(`requested model version is not available for model '${name}'`)
}

/** Fault UNSUPPORTED of an extension that Triton has and this server has not. */
export function notServed(what: string): Fault {
  return unsupported(`${what} not supported by this server`)
}
