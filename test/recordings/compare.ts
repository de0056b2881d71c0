// Two recordings, held against each other.
import type { Json, Observation, Recording } from './recorder.js'
import { ruleFor } from './unheld.js'

/**
 * Where two recordings are not the same: in which scenario, in which call, where in what came of it, and what either
 * has there.
 */
export interface Difference {
  readonly scenario: string
  readonly call: string
  readonly path: string
  readonly recorded: Json | undefined
  readonly played: Json | undefined
}

/** Whom a recording is held against: a fake of the library, or the library itself another time. */
export type Against = 'fake' | 'library'

/** In the scenarios that are recorded: a new one is compared with nothing until there is a machine for it. */
export function differences(against: Against, recorded: Recording, played: Recording): Difference[] {
  return Object.entries(recorded.scenarios).flatMap(([scenario, observations]) =>
    inScenario(against, observations, played.scenarios[scenario] ?? []).map((found) => ({ scenario, ...found })),
  )
}

const callOf = ({ method, arguments: args }: Observation): string => `${method} ${JSON.stringify(args)}`

function inScenario(
  against: Against,
  recorded: readonly Observation[],
  played: readonly Observation[],
): Omit<Difference, 'scenario'>[] {
  const calls = new Map([...recorded, ...played].map((each) => [callOf(each), each.method]))
  const cameOf = (list: readonly Observation[], call: string): Fields[] =>
    list.filter((each) => callOf(each) === call).map(({ answer, error }) => ({ answer, error }))
  return [...calls].flatMap(([call, method]) => {
    // the same call may be made more than once: the first of one is held against the first of the other
    const [ours, theirs] = [cameOf(recorded, call), cameOf(played, call)]
    return Array.from({ length: Math.max(ours.length, theirs.length) }, (_, i) =>
      inValue({ against, method }, ours[i], theirs[i], ''),
    )
      .flat()
      .map((found) => ({ call, ...found }))
  })
}

type Value = Json | undefined | Fields

interface Fields {
  readonly [name: string]: Value
}

type Found = Pick<Difference, 'path' | 'recorded' | 'played'>

function inValue(
  where: { readonly against: Against; readonly method: string },
  recorded: Value,
  played: Value,
  path: string,
): Found[] {
  if (recorded !== undefined && played !== undefined && isNotHeld(where, path)) return []
  const within = path === '' ? '' : `${path}.`
  if (isFields(recorded) && isFields(played)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(played)])
    return [...names].flatMap((name) => inValue(where, recorded[name], played[name], within + name))
  }
  if (Array.isArray(recorded) && Array.isArray(played) && recorded.length === played.length)
    return recorded.flatMap((each: Json, i) => inValue(where, each, played[i] as Json, `${within}${i}`))
  if (JSON.stringify(recorded) === JSON.stringify(played)) return []
  return [{ path, recorded: recorded as Json | undefined, played: played as Json | undefined }]
}

function isNotHeld({ against, method }: { readonly against: Against; readonly method: string }, path: string): boolean {
  const kept = ruleFor(method, path)?.kept
  return kept === 'text' || (kept === 'same library' && against === 'fake')
}

const isFields = (value: Value): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

const text = (value: Json | undefined): string => (value === undefined ? 'nothing' : JSON.stringify(value))

/**
 * Which place it is about; a recording and what was played have one difference there at most, unless a call is made
 * twice.
 */
export const placeOf = ({ scenario, call, path }: Omit<Difference, 'recorded' | 'played'>): string =>
  `${scenario}: ${call}: ${path}`

/** Both, in a line. */
export const lineOf = (difference: Difference): string =>
  `${placeOf(difference)}: recorded ${text(difference.recorded)}, played ${text(difference.played)}`
