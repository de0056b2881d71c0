import { realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'

/** A model that is served from one file, without a folder. */
export interface ModelFile {
  readonly name: string
  /** Absolute, or relative to the working directory. */
  readonly path: string
}

/** The folder of a model. */
export interface ModelFolder {
  readonly name: string
  /** Absolute. */
  readonly path: string
  /** Names of folders that are whole numbers without leading zeros, the lowest first. */
  readonly versions: readonly string[]
  /** Of the names, sizes and times of all files: it differs once anything has changed. */
  readonly fingerprint: string
  /** Of a model that is one file: its name in `path`, which is then the folder of that file and has no versions. */
  readonly file?: string | undefined
}

/** The folder of a version's files. */
export function versionPath({ path, file }: ModelFolder, version: string): string {
  return file === undefined ? join(path, version) : path
}

/**
 * What is told of a model's folder, as clients see it: by its name, not by its path on this machine, wherever links in
 * it lead.
 */
export function withoutPath(
  { name, path, versions }: Pick<ModelFolder, 'name' | 'path' | 'versions'>,
  text: string,
): string {
  const places = [
    ...versions.map((version) => [realPath(join(path, version)), `${name}/${version}`] as const),
    [realPath(path), name] as const,
    [path, name] as const,
  ].filter(([place]) => place !== sep) // of a file in the root folder
  return places.reduce(
    (seen, [place, shown]) => seen.replaceAll(pathToFileURL(place).href, shown).replaceAll(place, shown),
    text,
  )
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/**
 * The versions that a model's version_policy chooses, the lowest first; the latest one where it has none, and all of
 * them where it says nothing, as in Triton.
 *
 * @param available names of folders, the lowest first
 */
export function chosenVersions(config: ModelConfig, available: readonly string[]): readonly string[] {
  if (config.versionPolicy === undefined) return available.slice(-1)
  const policy = config.versionPolicy.policyChoice
  if (policy.case === 'specific') {
    const wanted = new Set(policy.value.versions.map(String))
    return available.filter((version) => wanted.has(version))
  }
  if (policy.case !== 'latest') return available
  return policy.value.numVersions === 0 ? [] : available.slice(-policy.value.numVersions)
}
