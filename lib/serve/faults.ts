import { type ErrorCode, TensorRTError } from '../errors.js'
import { MessageFault } from '../kserve/wire/message-fault.js'
import { isError, messageOf } from '../base/kinds.js'

/** What a failed request is, by the names of Triton's status codes; HTTP's statuses follow from it. */
export type FaultKind =
  'INVALID_ARG' | 'NOT_FOUND' | 'UNAVAILABLE' | 'UNSUPPORTED' | 'INTERNAL' | 'CANCELLED' | 'TIMEOUT' | 'TOO_LARGE'

/** A failure whose message goes to the client of a server as it is. */
export class Fault extends TensorRTError {
  readonly kind: FaultKind
  /** Where the code of a model threw it: for the log. */
  readonly at: string | undefined

  constructor(kind: FaultKind, message: string, cause?: unknown, at?: string) {
    super('ERR_TRT_SERVER', message, { details: { kind }, ...(cause !== undefined && { cause }) })
    this.kind = kind
    this.at = at
  }
}

/** What a request or a configuration says is wrong. */
export function invalid(message: string, cause?: unknown): Fault {
  return new Fault('INVALID_ARG', message, cause)
}

/** It asks for what is not served: the message has what to do instead. */
export function unsupported(message: string): Fault {
  return new Fault('UNSUPPORTED', message)
}

/** Where the code of a model threw it, or what caused it; nothing where none did. */
export function placeOf(error: unknown): string | undefined {
  for (let each = error; isError(each); each = each.cause)
    if (each instanceof Fault && each.at !== undefined) return each.at
  return undefined
}

/** What a client is told of any failure: of requests and models the text as it is. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error
  if (error instanceof MessageFault) return invalid(error.message, error)
  const message = messageOf(error)
  return new Fault(error instanceof TensorRTError ? (kinds[error.code] ?? 'INTERNAL') : 'INTERNAL', message, error)
}

const kinds: Readonly<Partial<Record<ErrorCode, FaultKind>>> = {
  ERR_TRT_SHAPE: 'INVALID_ARG',
  ERR_TRT_DTYPE: 'INVALID_ARG',
  ERR_TRT_UNKNOWN_INPUT: 'INVALID_ARG',
  ERR_TRT_MISSING_INPUT: 'INVALID_ARG',
  ERR_TRT_QUEUE_FULL: 'UNAVAILABLE',
  ERR_TRT_QUEUE_TIMEOUT: 'UNAVAILABLE',
  ERR_TRT_OUT_OF_MEMORY: 'UNAVAILABLE',
  ERR_TRT_CLOSED: 'UNAVAILABLE',
  ERR_TRT_TIMEOUT: 'TIMEOUT',
}
