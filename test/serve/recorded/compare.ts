// What differs between the answers of a real Triton and ours, as data.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Answer, RecordedAsk } from './ask.js'
import { sourceFolder } from './source.js'

/** What ours has, by its place in the answer, such as `json.error`; `absent` where it has nothing. */
export type Difference = Readonly<Record<string, unknown>>

/** Differences that are meant, for a reason. */
export interface MeantDifferences {
  /** Content types that differ wherever they come. */
  readonly types: readonly { readonly reason: string; readonly theirs: string; readonly ours: string }[]
  /** Why ours tells a client with 400 what a Triton has in its log alone, and answers with 500. */
  readonly logged?: string
  readonly requests: readonly Meant[]
  readonly configs: readonly Meant[]
  /** Over gRPC. */
  readonly calls: readonly Meant[]
  /** Of ensembles, over HTTP and over gRPC. */
  readonly ensembleRequests: readonly Meant[]
  readonly ensembleCalls: readonly Meant[]
  readonly ensembleConfigs: readonly Meant[]
}

export interface Meant {
  readonly reason: string
  /** By the name of the request, or of the config. */
  readonly ours: Readonly<Record<string, Difference>>
}

/** A config, what its load and `/config` answered, and for one that Triton refuses the reason that its log has. */
export interface RecordedConfig {
  readonly name: string
  readonly text: string
  readonly load: Answer
  readonly config?: Answer
  readonly reason?: string
}

export const recordedAnswers = (): Promise<readonly RecordedAsk[]> => lines<RecordedAsk>('answers.jsonl')
export const recordedConfigs = (): Promise<readonly RecordedConfig[]> => lines<RecordedConfig>('configs.jsonl')

export async function meantDifferences(): Promise<MeantDifferences> {
  return JSON.parse(await readFile(join(sourceFolder, 'differences.json'), 'utf8')) as MeantDifferences
}

/** Whether ours refuses a config with the very reason that a Triton has in its log alone. */
export function tellsLogged({ name, load, reason }: RecordedConfig, ours: Answer): boolean {
  const { error } = (ours.json ?? {}) as { readonly error?: unknown }
  if (reason === undefined || load.status !== 500 || ours.status !== 400 || typeof error !== 'string') return false
  return error.startsWith(`load failed for model '${name}': `) && error.includes(reason)
}

/** Content types that may differ, theirs and ours with a space between. */
export const meantTypes = ({ types }: MeantDifferences): ReadonlySet<string> =>
  new Set(types.map(({ theirs, ours }) => `${theirs} ${ours}`))

export async function lines<T>(file: string): Promise<readonly T[]> {
  const text = await readFile(join(sourceFolder, file), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
}

/**
 * What ours has in place of theirs. Of an error where there was none, or the other way round, it is the status and all
 * of ours.
 *
 * @param isMeantType whether this difference of content types is one that counts everywhere
 */
export function answerDifference(
  theirs: Answer | undefined,
  ours: Answer | undefined,
  isMeantType: (theirs: string, ours: string) => boolean,
): Difference {
  if (theirs === undefined || ours === undefined) return theirs === ours ? {} : { '': ours ?? 'absent' }
  const { type, ...others } = ours
  const isAnother = theirs.status < 400 !== ours.status < 400
  const found = isAnother ? withError(others) : differenceOf({ ...theirs, type: '' }, { ...ours, type: '' })
  return theirs.type === type || isMeantType(theirs.type, type) || isAnother ? found : { ...found, type }
}

function withError({ json, ...others }: Omit<Answer, 'type'>): Difference {
  const error = (json as { readonly error?: unknown } | undefined)?.error
  return error === undefined ? { ...others, json } : { ...others, 'json.error': error }
}

/** The places at which two values differ; of objects the order of their members does not count. */
export function differenceOf(theirs: unknown, ours: unknown, place = ''): Difference {
  if (Object.is(theirs, ours)) return {}
  const [left, right] = [membersOf(theirs), membersOf(ours)]
  if (left === undefined || right === undefined || Array.isArray(theirs) !== Array.isArray(ours))
    return { [place]: ours === undefined ? 'absent' : ours }
  const names = new Set([...left.keys(), ...right.keys()])
  const below = (name: string) => (place === '' ? name : `${place}.${name}`)
  return Object.assign(
    {},
    ...[...names].map((name) => differenceOf(left.get(name), right.get(name), below(name))),
  ) as Difference
}

/** Of several answers, each by a name before its places. */
export function named(differences: readonly (readonly [string, Difference])[]): Difference {
  const entries = differences.flatMap(([name, difference]) =>
    Object.entries(difference).map(
      ([place, value]) => [[name, place].filter((part) => part !== '').join('.'), value] as const,
    ),
  )
  return Object.fromEntries(entries)
}

function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined
}
