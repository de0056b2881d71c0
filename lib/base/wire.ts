import { type ErrorCode, TensorRTError } from '../errors.js'
import { isError } from './kinds.js'

/**
 * An error as data, for its way between threads and processes. Without a code: one that is no TensorRTError, which is a
 * mistake of ours.
 */
export interface WireError {
  readonly message: string
  /** What it says; nothing where the message does already, since no more than that crosses. */
  readonly cause: string | undefined
  readonly code: ErrorCode | undefined
  readonly details: Readonly<Record<string, unknown>>
  readonly log: readonly string[]
}

export function toWire(error: unknown): WireError {
  if (!(error instanceof TensorRTError))
    return { message: String((error as Error).stack ?? error), cause: undefined, code: undefined, details: {}, log: [] }
  const { message, code, details, log, cause } = error
  return {
    message,
    cause: isError(cause) && !message.includes(cause.message) ? cause.message : undefined,
    code,
    details,
    log,
  }
}

export function fromWire({ message, cause, code, details, log }: WireError): Error {
  if (code === undefined) return new Error(message)
  return new TensorRTError(code, message, { details, log, ...(cause !== undefined && { cause: new Error(cause) }) })
}
