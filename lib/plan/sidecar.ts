import { isText, isWhole } from '../base/checks.js'
import { packageVersion } from '../base/package.js'
import { messageOf } from '../base/kinds.js'
import { describe, TensorRTError } from '../errors.js'
import type { PlanInfo } from './info.js'

/** What a sidecar says of one plan. */
export interface PlanEntry {
  /** The bytes that it has. */
  readonly size: number
  /** When it was saved, in UTC, and by which version of this package. */
  readonly savedAt: string
  readonly savedBy: string
  readonly info: PlanInfo
}

/** The entries of a sidecar by the SHA-256 of their plan. */
export type Sidecar = ReadonlyMap<string, PlanEntry>

/**
 * A sidecar is JSON: `{ "format": "node-tensorrt plan", "version": 1, "plans": { "<SHA-256>": { size, savedAt, savedBy,
 * info } } }`. One entry is the rule; while a plan replaces another there are both, so that whichever is there is
 * listed. A change that older readers would misread raises the version.
 */
const format = 'node-tensorrt plan'
const formatVersion = 1

/** What {@link formatSidecar} begins with, whoever formatted it anew. */
const beginning = /^\s*\{\s*"format"\s*:\s*"node-tensorrt plan"/
const written = `{\n  "format": "${format}"`

/**
 * Whether a text beside a plan is a sidecar of this package, if a damaged one: any other file may have that name. One
 * that was cut short within its first line (or is empty, as a copy on a full disk is) counts as ours.
 */
export function isSidecar(text: string): boolean {
  return beginning.test(text) || written.startsWith(text)
}

export function sidecarPath(plan: string): string {
  return `${plan}.json`
}

export function newEntry(size: number, info: PlanInfo): PlanEntry {
  return { size, savedAt: new Date().toISOString(), savedBy: `node-tensorrt ${packageVersion()}`, info }
}

export function formatSidecar(plans: Sidecar): string {
  return `${JSON.stringify({ format, version: formatVersion, plans: Object.fromEntries(plans) }, null, 2)}\n`
}

/** Of a text that {@link isSidecar}. @throws TensorRTError ERR_TRT_PLAN when it is damaged, or of a newer format */
export function parseSidecar(text: string, path: string): Sidecar {
  const refuse = (why: string): TensorRTError =>
    new TensorRTError('ERR_TRT_PLAN', `${path} ${why}`, { details: { sidecar: path } })
  const content = parsed(text, refuse)
  if (!isRecord(content) || content['format'] !== format) throw refuse(`is damaged: expected "format": "${format}"`)
  const { version, plans } = content
  if (!isWhole(version, 1)) throw refuse(`is damaged: expected a number for version but found ${describe(version)}`)
  if (version > formatVersion)
    throw refuse(
      `has format ${version}, and node-tensorrt ${packageVersion()} reads up to ${formatVersion}: update node-tensorrt`,
    )
  if (!isRecord(plans)) throw refuse(`is damaged: expected an object for plans but found ${describe(plans)}`)
  for (const [sha256, entry] of Object.entries(plans)) {
    const wrong = /^[0-9a-f]{64}$/.test(sha256)
      ? wrongInEntry(entry)
      : `expected a SHA-256 but found ${describe(sha256)}`
    if (wrong !== undefined) throw refuse(`is damaged: ${wrong}`)
  }
  return new Map(Object.entries(plans as Record<string, PlanEntry>))
}

function parsed(text: string, refuse: (why: string) => TensorRTError): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refuse(`is damaged: ${messageOf(error)}`)
  }
}

/** What is wrong with the fields that are used here; the rest of `info` is passed on as it is. */
function wrongInEntry(entry: unknown): string | undefined {
  const info = isRecord(entry) ? entry['info'] : undefined
  if (!isRecord(entry) || !isRecord(info)) return `expected an object with info but found ${describe(entry)}`
  const { system, gpu } = info
  const checks: readonly (readonly [string, unknown, boolean])[] = [
    ['a number for size', entry['size'], isWhole(entry['size'], 0)],
    ['text for savedAt', entry['savedAt'], isText(entry['savedAt'])],
    ['text for savedBy', entry['savedBy'], isText(entry['savedBy'])],
    ['text for library', info['library'], isText(info['library'])],
    ['"full" or "rtx" for kind', info['kind'], info['kind'] === 'full' || info['kind'] === 'rtx'],
    ['text for version', info['version'], info['version'] === undefined || isText(info['version'])],
    [
      'os and arch for system',
      system,
      system === undefined || (isRecord(system) && isText(system['os']) && isText(system['arch'])),
    ],
    [
      'name and computeCapability for gpu',
      gpu,
      gpu === undefined || (isRecord(gpu) && isText(gpu['name']) && isText(gpu['computeCapability'])),
    ],
  ]
  const wrong = checks.find(([, , fits]) => !fits)
  return wrong && `expected ${wrong[0]} but found ${describe(wrong[1])}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
