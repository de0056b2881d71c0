// Mistakes of users, as tables: what somebody writes, and what has to be told. A row is one thing that a person would
// write; nothing here is made by permuting values (misuse.slow.test.ts of vision and tasks do that). Each room of the
// public API has a file, whose rows mistakes.test.ts tries one after the other in one process:
//
//   [call, code, words that the message has, words that it has not]
//
// The text of the call is the row's name. What no message may have is in `never`, so that a row says only its own. Who
// adds an option or a function adds the mistakes that people will make with it; who adds a file adds it to rooms.ts.
import { inspect } from 'node:util'
import { type ErrorCode, TensorRTError } from '../../lib/errors.js'

/** A mistake: what is written, the code of the error, words of its message, and words that are not in it. */
export type Row = readonly [
  call: () => unknown,
  code: ErrorCode,
  has: string | readonly string[],
  hasNot?: string | readonly string[],
]

/** What the rows of a room are made with. */
export interface Given {
  /** An empty folder. */
  readonly folder: string
  /** What is closed when the rows were tried. */
  readonly use: <T extends { close(): Promise<void> | void }>(thing: T) => T
}

/** The rows of a room. */
export type Room = (given: Given) => Promise<readonly Row[]> | readonly Row[]

type Called = ((...parameters: never[]) => unknown) | (abstract new (...parameters: never[]) => unknown)

/** What JavaScript lets people write: a function, class or object whose parameters may be anything. */
export type Wrongly<T> = (T extends abstract new (...parameters: never[]) => infer R
  ? new (...parameters: unknown[]) => Wrongly<R>
  : unknown) &
  (T extends (...parameters: never[]) => infer R ? (...parameters: unknown[]) => R : unknown) & {
    readonly [K in keyof T]: T[K] extends Called ? Wrongly<T[K]> : T[K]
  }

/** The same value, for TypeScript to take whatever it is called with. */
export const wrongly = <T>(value: T): Wrongly<T> => value as Wrongly<T>

/** The commonest code. */
export const argument = 'ERR_TRT_INVALID_ARGUMENT'

/** What tells nobody anything, or somebody something false; a row that expects it says so. */
const never: readonly (readonly [what: RegExp, unless?: string])[] = [
  [/undefined is not|is not a function|is not iterable|Cannot (read|destructure|set) propert/],
  [/\[object /],
  [/\bNaN\b/, 'NaN'],
  [/which 'auto' took/, "which 'auto' took"],
  [/\.\.\s*$|\. \.|: \.|::\s|,,| {2}/],
  [/\n/],
]

const longest = 600

/** A name for a row: what was written, in a line. */
export function nameOf([call]: Row): string {
  const text = String(call)
    .replace(/^(async )?\(\) => /, '')
    .replaceAll(/\s+/g, ' ')
  return text.length > 160 ? `${text.slice(0, 157)}...` : text
}

/** What is wrong with what a call fails with; undefined where all is as the row says. */
export async function problemOf(row: Row): Promise<string | undefined> {
  const [call, code, has, hasNot = []] = row
  const failure = await failureOf(call)
  if (failure === undefined) return 'succeeds'
  if (!(failure instanceof TensorRTError)) return `raw: ${inspect(failure)}`
  const { message } = failure
  const wanted = [has].flat()
  const problems = [
    ...(failure.code === code ? [] : [`code ${failure.code} for ${code}`]),
    ...wanted.filter((word) => !message.includes(word)).map((word) => `lacks ${JSON.stringify(word)}`),
    ...[hasNot].flat().flatMap((word) => (message.includes(word) ? [`has ${JSON.stringify(word)}`] : [])),
    ...never.flatMap(([what, unless]) => {
      const isExpected = unless !== undefined && wanted.some((word) => word.includes(unless))
      return what.test(message) && !isExpected ? [`has ${String(what)}`] : []
    }),
    ...suggestionsOf(message).flatMap((name) =>
      wanted.some((word) => word.includes(name)) ? [] : [`suggests ${name}`],
    ),
    ...(message.length > longest ? [`has ${message.length} characters`] : []),
  ]
  return problems.length === 0 ? undefined : `${problems.join('; ')}: ${failure.code} ${message}`
}

/** What a message says was meant: that has to be what the row expects, or it leads people astray. */
function suggestionsOf(message: string): string[] {
  return Array.from(message.matchAll(/did you mean '?([^?']+)'?\?/g), ([, name = '']) => name)
}

/** What a call fails with: at once, as a rejection, or with the first of what it gives. What it opens is closed. */
export async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    const result = await call()
    if (typeof result === 'object' && result !== null) {
      if (Symbol.asyncIterator in result) await firstOf(result as AsyncIterable<unknown>)
      if (Symbol.asyncDispose in result) await (result as AsyncDisposable)[Symbol.asyncDispose]()
    }
    return undefined
  } catch (error) {
    return error
  }
}

async function firstOf(items: AsyncIterable<unknown>): Promise<void> {
  const iterator = items[Symbol.asyncIterator]()
  await iterator.next()
  await iterator.return?.()
}
