// What is told of a module that fails: its text to the client, and the place in its code to the log.
import { dirname } from 'node:path'
import { describe } from '../../errors.js'
import { Fault } from '../faults.js'
import { withoutPath } from '../repository/folder.js'
import { isInvalidRequest } from './invalid-request.js'
import type { ModuleStart } from './module-start.js'
import { isError } from '../../base/kinds.js'

/** Why a request has no outputs: plain data, which goes from thread to thread. */
export interface ModuleFailed {
  /** For the client. */
  readonly failure: string
  /** The module has said that the request is at fault, not the model. */
  readonly isInvalid?: boolean | undefined
  /** Where it was thrown: lines of the stack within the model's folder. */
  readonly at?: string | undefined
}

type Place = Pick<ModuleStart, 'name' | 'version' | 'folder'>

/** @param failure the text, where it is not the error's */
export function failedOf(start: Place, error: unknown, failure = textOf(error)): ModuleFailed {
  const isInvalid = isInvalidRequest(error)
  return { failure: withoutPathOf(start, failure), isInvalid, at: isInvalid ? undefined : stackWithin(start, error) }
}

/** As the client of the request gets it. */
export function faultOfFailed({ failure, isInvalid = false, at }: ModuleFailed): Fault {
  return new Fault(isInvalid ? 'INVALID_ARG' : 'INTERNAL', failure, undefined, at)
}

/** Names that tell no more than the text. */
const saysNothing: ReadonlySet<string> = new Set(['Error', 'TensorRTError', 'InvalidRequestError'])

/** The text of whatever was thrown. */
export function textOf(thrown: unknown): string {
  try {
    if (!isError(thrown)) return describe(thrown)
    const { name, message } = thrown
    if (message === '') return name
    return saysNothing.has(name) ? message : `${name}: ${message}`
  } catch {
    return 'something whose text cannot be read'
  }
}

/** The texts of those that were rejected, once all have ended. */
export async function failuresOf(promises: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const ends = await Promise.allSettled(promises)
  return ends.flatMap((end) => (end.status === 'rejected' ? [textOf(end.reason)] : []))
}

/** A text as clients see it: with the model's name for its folder on this machine. */
export function withoutPathOf({ name, version, folder }: Place, text: string): string {
  return withoutPath({ name, path: dirname(folder), versions: [version] }, text)
}

/** Lines of an error's stack that are in the model's folder, as `execute (m/1/model.js:7:11)`. */
export function stackWithin(start: Place, thrown: unknown): string | undefined {
  const lines = stackOf(thrown).split('\n')
  const shown = withoutPathOf(start, lines.join('\n')).split('\n')
  const own = shown.filter(
    (line, i) => line !== lines[i] && (/^\s*at /.test(line) || (i === 0 && /^\S+:\d+$/.test(line))),
  ) // the first: where CommonJS has a syntax error
  return own.length === 0 ? undefined : own.map((line) => line.trim().replace(/^at /, '')).join('\n')
}

/**
 * Only that of an Error of this thread, or of a copy: what else has a stack may do anything when it is asked for it.
 */
function stackOf(thrown: unknown): string {
  try {
    const stack: unknown = isError(thrown) ? thrown.stack : ''
    return typeof stack === 'string' ? stack : ''
  } catch {
    return ''
  }
}
