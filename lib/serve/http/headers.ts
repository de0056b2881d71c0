import type { IncomingHttpHeaders } from 'node:http'
import { invalid } from '../faults.js'

const headLength = 'Inference-Header-Content-Length'

/**
 * Bytes of JSON before the tensors; 0: the body is one raw tensor; nothing where the header is not there, and all is
 * JSON.
 * @throws Fault INVALID_ARG with Triton's texts
 */
export function inferenceHeaderLength(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['inference-header-content-length']
  if (typeof text !== 'string') return undefined
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw invalid(`Unable to parse ${headLength}, got: ${text}`)
}

/** @throws Fault INVALID_ARG with Triton's text where the JSON would be longer than the body */
export function checkHeadLength(length: number | undefined, bodyLength: number): void {
  if (length === undefined || (length >= 0 && length <= bodyLength)) return
  throw invalid(`inference header size should be in range (0, ${bodyLength}), got: ${BigInt(length)}`)
}

/** Of the body as it is sent; nothing where it comes in chunks. */
export function contentLength(headers: IncomingHttpHeaders): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Number(headers['content-length'] ?? 0)
}
