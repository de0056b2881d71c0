import { checkedObject, checkedSignal } from './checks.js'
import { isPlainObject } from './kinds.js'
import { strangerOf } from './strangers.js'
import { TensorRTError } from '../errors.js'

/** The place of options by the name that somebody may give them: `{ device: 'tensorrt.device' }`. */
export type Elsewhere = Readonly<Record<string, string>>

/**
 * The options that a user gave, each read once (a getter runs once, and what was checked is what is used).
 * @param elsewhere where options are that are none of these, such as those of a group: an error names the place
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT when it is no object or has a name that is not among `known`.
 */
export function readOptions<K extends string>(
  options: unknown,
  known: readonly K[],
  owner: string,
  elsewhere: Elsewhere = {},
  prefix = '',
): Partial<Record<K, unknown>> {
  const values = Object.create(null) as Partial<Record<K, unknown>>
  if (options === undefined) return values
  const given = checkedObject(options, `the options of ${owner}`) as Readonly<Record<string, unknown>>
  const unknown = Object.keys(given).find((name) => !(known as readonly string[]).includes(name))
  if (unknown !== undefined) throw unknownOption(prefix, unknown, known, owner, elsewhere)
  for (const name of known) values[name] = given[name]
  return values
}

/**
 * A copy of plain data, so that what was checked is what is used later: objects and arrays are copied, anything else (a
 * URL, a function) is taken as it is.
 */
export function plainCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainCopy)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plainCopy(inner)]))
}

/** The same record without what is undefined: what is not known is not there. */
export function defined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T
}

/** The same value, frozen with all that is in it; typed arrays, which cannot be, are left out. */
export function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value
  Object.values(value).forEach(deepFrozen)
  return Object.freeze(value)
}

function unknownOption(
  prefix: string,
  name: string,
  known: readonly string[],
  owner: string,
  elsewhere: Elsewhere,
): TensorRTError {
  const meant = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined
  const near = meant ?? nearPlace(name, known, elsewhere)
  const answer = strangerOf(name, owner, known)
  const hint = answer !== undefined ? `: ${answer.words}` : near !== undefined ? `: did you mean ${near}?` : '.'
  const message = `Unknown option ${JSON.stringify(prefix + name)} for ${owner}${hint} It knows ${knownOf(name, known)}`
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message, { details: { option: name, known } })
}

/** The option that was meant, of this place before those elsewhere. */
function nearPlace(name: string, known: readonly string[], elsewhere: Elsewhere): string | undefined {
  const here = nearName(name, known)
  if (here !== undefined) return here
  const other = nearName(name, Object.keys(elsewhere))
  return other === undefined ? undefined : elsewhere[other]
}

/** As many names as anybody reads; of more those that have most in common with a wrong one. */
const mostListed = 24

function knownOf(name: string, known: readonly string[]): string {
  const more = known.length - mostListed
  if (more <= 0) return known.join(', ')
  const near = ranked(name, known)
    .slice(0, mostListed)
    .map(({ candidate }) => candidate)
  return `${known.filter((each) => near.includes(each)).join(', ')} and ${more} more`
}

/**
 * The name that was meant: one with few other letters, or one that begins or ends as it does, or it as that; else one
 * that begins or ends almost as it does.
 */
export function nearName(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known, Math.max(1, Math.floor(name.length / 3)))
  const wanted = name.toLowerCase()
  const isPart = (short: string, long: string): boolean =>
    (short.length > 2 && long.startsWith(short)) || (short.length > 3 && long.endsWith(short))
  const shares = (each: string): boolean => isPart(each.toLowerCase(), wanted) || isPart(wanted, each.toLowerCase())
  return near ?? known.find(shares) ?? nearWord(name, known)
}

/** Returns the name that begins or ends with almost the same words: `scoreThreshold` for `treshold`. */
function nearWord(name: string, known: readonly string[]): string | undefined {
  const parts = known.flatMap((each) => {
    const words = each.split(/-|(?=[A-Z])/)
    return words
      .slice(1)
      .flatMap((_, i) => [words.slice(0, i + 1), words.slice(i + 1)].map((part) => [part.join(''), each]))
  })
  const ends = Array.from(parts, ([part]) => part!)
  const near = nearest(name, ends, Math.floor(name.length / 5))
  return parts.find(([part]) => part === near)?.[1]
}

/** The one of some names that a wrong one is closest to; nothing where that one has more than `most` other letters. */
export function nearest(name: string, known: readonly string[]): string
export function nearest(name: string, known: readonly string[], most: number): string | undefined
export function nearest(name: string, known: readonly string[], most = Infinity): string | undefined {
  const [first] = ranked(name, known)
  return first === undefined || first.distance > most ? undefined : first.candidate
}

interface Ranked {
  readonly candidate: string
  readonly distance: number
}

/** The nearest first. */
function ranked(name: string, known: readonly string[]): readonly Ranked[] {
  const wanted = name.toLowerCase()
  return known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
}

/**
 * How many letters have to be changed, added, left out or exchanged with the next; of long names only the beginning
 * counts, so that a hostile one costs nothing.
 */
function editDistance(a: string, b: string): number {
  const short = a.slice(0, 64)
  let before: readonly number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= short.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (short[i - 1] === b[j - 1] ? 0 : 1)
      const isExchanged = i > 1 && j > 1 && short[i - 1] === b[j - 2] && short[i - 2] === b[j - 1]
      const exchanged = isExchanged ? (before[j - 2] ?? 0) + 1 : Infinity
      next.push(Math.min(replaced, exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    ;[before, row] = [row, next]
  }
  return row[b.length] ?? 0
}

/** Options of a call that can be aborted. */
export interface Abortable {
  /** Rejects the call at once with the signal's reason; what TensorRT has begun it ends. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The signal of such options. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason where it is aborted
 * already, so that such a call costs nothing
 */
export function checkedAbort(options: unknown, owner: string): AbortSignal | undefined {
  return unaborted(readOptions(options, ['signal'], owner).signal)
}

/** {@link checkedSignal} for a call that begins: @throws also the signal's reason where it is aborted already */
export function unaborted(given: unknown): AbortSignal | undefined {
  const signal = checkedSignal(given)
  signal?.throwIfAborted()
  return signal
}
