// Mistakes of programs of onnxruntime-node, as tables: what somebody writes, by which name the error comes, and words
// that it has. mistakes.slow.test.ts tries the rows on this package and on onnxruntime-node, whose errors have the same
// names but for the rows that say what is otherwise there:
//
//   [what, call, name, words, what onnxruntime-node does instead]
import { inspect } from 'node:util'
import { TensorRTError } from '../../../lib/errors.js'

/** What a row is made with: a runtime, and things of its own kind. */
export interface Given {
  /** The module: ours, or onnxruntime-node. */
  readonly ort: any
  /** `InferenceSession.create`. */
  readonly create: (...args: any[]) => Promise<any>
  /** A session of `sum` = `a` + `b` and `difference` = `a` - `b`, float32 [N, 3]. */
  readonly session: any
  /** `session.run` with good feeds, and the rest as it is given. */
  readonly run: (feeds?: object, ...rest: any[]) => Promise<any>
  /** A float32 tensor [1, 3]. */
  readonly x: (dims?: number[]) => any
  /** A folder with models and other files. */
  readonly folder: string
  /** A session of a model, which is released in the end. */
  readonly opened: (model: Uint8Array) => Promise<any>
}

export type Name = 'Error' | 'TypeError' | 'RangeError'

/** A mistake. */
export type Row = readonly [
  what: string,
  call: (given: Given) => unknown,
  name: Name,
  words: RegExp,
  /** What onnxruntime-node does: another error, none, or what a process should not be made to try. */
  theirs?: Name | 'runs' | 'untried' | undefined,
]

/** What tells nobody anything: V8's own words of what happened inside. */
const raw =
  /undefined is not|is not iterable|not a function|Cannot (read propert|destructure|set|convert|mix|perform)|\[object /

/** onnxruntime's own words may be long, and so may paths. */
const longest = 1200

/** What a call of a row fails with; nothing where it does not. */
export async function failureOf([, call]: Row, given: Given): Promise<unknown> {
  try {
    await call(given)
    return undefined
  } catch (error) {
    return error ?? new Error('rejected with nothing')
  }
}

/** What is wrong with what a row fails with here; undefined where all is as it says. */
export function problemOf([, , name, words]: Row, failure: unknown): string | undefined {
  if (failure === undefined) return 'succeeds'
  if (!(failure instanceof Error)) return `not an error: ${inspect(failure)}`
  const { message } = failure
  const problems = [
    ...(failure.name === name ? [] : [`${failure.name} for ${name}`]),
    ...(words.test(message) ? [] : [`lacks ${String(words)}`]),
    ...(raw.test(message) && !raw.test(words.source) ? ['says what happened inside'] : []),
    ...(message.length > longest ? [`has ${message.length} characters`] : []),
    ...(failure instanceof TensorRTError || isFromCommon(failure) ? [] : ['is of nobody']),
  ]
  return problems.length === 0 ? undefined : `${problems.join('; ')}: ${failure.stack}`
}

/** Whether onnxruntime-common threw it, before it came to this package, or what the caller has given. */
function isFromCommon({ stack = '', message }: Error): boolean {
  const thrower = stack.split('\n').find((line) => /^ +at .*\.js:/.test(line)) ?? ''
  return /onnxruntime-common|test.onnxruntime/.test(thrower) || message.includes('a proxy that has been revoked')
}

/** The name of what onnxruntime-node fails with. */
export function outcomeOf(failure: unknown): string {
  return failure === undefined ? 'runs' : failure instanceof Error ? failure.name : inspect(failure)
}
