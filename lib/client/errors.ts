// What a call fails with.
import { TensorRTError } from '../errors.js'

/** What a call was about. */
export interface Subject {
  /** The server's address. */
  readonly url: string
  readonly model?: string | undefined
}

/** What the server said. `status`: HTTP's number, or the name of gRPC's code; a stream has none. */
export function refused(text: string, status: number | string | undefined, { url, model }: Subject): TensorRTError {
  const details = { ...(status !== undefined && { status }), url, ...(model !== undefined && { model }), sent: true }
  return new TensorRTError('ERR_TRT_SERVER', text, { details })
}

export function timedOut(timeoutMs: number | undefined): TensorRTError {
  return new TensorRTError('ERR_TRT_TIMEOUT', `Not done within ${timeoutMs ?? 0} ms`, { details: { timeoutMs } })
}

/** Nothing of the request was written. */
export function unreachable({ url, model }: Subject, cause: unknown): TensorRTError {
  const details = { url, ...(model !== undefined && { model }), ...codeOf(cause), sent: false }
  return new TensorRTError('ERR_TRT_SERVER', `Cannot reach ${url}: ${textOf(cause)}`, { cause, details })
}

/** The request may have run. */
export function lost({ url, model }: Subject, cause: unknown): TensorRTError {
  const details = { url, ...(model !== undefined && { model }), ...codeOf(cause), sent: true }
  const message = `The connection to ${url} ended before the answer was there, so that the request may have run: ${textOf(cause)}`
  return new TensorRTError('ERR_TRT_SERVER', message, { cause, details })
}

/** The server answered, and not as the protocol has it. */
export function misread({ url, model }: Subject, why: string, cause?: unknown): TensorRTError {
  const details = { url, ...(model !== undefined && { model }), sent: true }
  return new TensorRTError('ERR_TRT_SERVER', `The answer of ${url} is not one of the protocol: ${why}`, {
    details,
    ...(cause !== undefined && { cause }),
  })
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
  const [first] = cause instanceof AggregateError ? (cause.errors as unknown[]) : []
  const error = first ?? cause
  return error instanceof Error ? error.message : String(error)
}

function codeOf(cause: unknown): { readonly code?: string | undefined } {
  const code = (cause as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? { code } : {}
}
