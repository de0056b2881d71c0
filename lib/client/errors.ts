// What a call fails with.
import { TensorRTError } from '../errors.js'
import { isError, messageOf } from '../base/kinds.js'

/** What a call was about. */
export interface Subject {
  /** The server's address. */
  readonly url: string
  readonly model?: string | undefined
}

/** What the server said. `status`: HTTP's number, or the name of gRPC's code; a stream has none. */
export function refused(text: string, status: number | string | undefined, subject: Subject): TensorRTError {
  return serverError(text, subject, { status, sent: true })
}

export function timedOut(timeoutMs: number | undefined): TensorRTError {
  return new TensorRTError('ERR_TRT_TIMEOUT', `Not done within ${timeoutMs ?? 0} ms`, { details: { timeoutMs } })
}

/** Nothing of the request was written. */
export function unreachable(subject: Subject, cause: unknown): TensorRTError {
  const message = `Cannot reach ${subject.url}: ${textOf(cause)}`
  return serverError(message, subject, { code: codeOf(cause), sent: false }, cause)
}

/** The request may have run. */
export function lost(subject: Subject, cause: unknown): TensorRTError {
  const message = `The connection to ${subject.url} ended before the answer was there, so that the request may have run: ${textOf(cause)}`
  return serverError(message, subject, { code: codeOf(cause), sent: true }, cause)
}

/** What answered is not HTTP, whose parser failed with this. */
export function notHttp(subject: Subject, cause: unknown): TensorRTError {
  const message = `Expected HTTP/1.1 from ${subject.url} but received something else: ${textOf(cause)}. To fix: if this is the gRPC port of a server (by default 8001), use GrpcClient, or give the HTTP port (by default 8000)`
  return serverError(message, subject, { code: codeOf(cause), sent: true }, cause)
}

export function isParseError(cause: unknown): boolean {
  return codeOf(cause)?.startsWith('HPE_') === true
}

/** The server answered, and not as the protocol has it. */
export function misread(subject: Subject, why: string, cause?: unknown): TensorRTError {
  return serverError(`The answer of ${subject.url} is not one of the protocol: ${why}`, subject, { sent: true }, cause)
}

/** Details that are not known are not there. */
function serverError(message: string, { url, model }: Subject, more: object, cause?: unknown): TensorRTError {
  const details = Object.entries({ url, model, ...more }).filter(([, value]) => value !== undefined)
  const options = { details: Object.fromEntries(details) as Record<string, unknown> }
  return new TensorRTError('ERR_TRT_SERVER', message, cause === undefined ? options : { ...options, cause })
}

export function closed(what = 'The client'): TensorRTError {
  return new TensorRTError('ERR_TRT_CLOSED', `${what} is closed`)
}

/** Whether the call may be made again whatever it does. */
export function cannotHaveRun(error: unknown): error is TensorRTError {
  return error instanceof TensorRTError && error.code === 'ERR_TRT_SERVER' && error.details['sent'] === false
}

/** Of an error that tried several addresses the first. */
function textOf(cause: unknown): string {
  const errors = isError(cause) && 'errors' in cause && Array.isArray(cause.errors) ? (cause.errors as unknown[]) : []
  return messageOf(errors[0] ?? cause)
}

function codeOf(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}
