// Answers: to an inference, and to what fails.
import type { ServerResponse } from 'node:http'
import { isPromise } from 'node:util/types'
import type { Fault, FaultKind } from '../faults.js'
import type { Servable } from '../models/servable.js'
import type { InferDocument } from '../wire/document.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { compressed, type Encoding } from './encodings.js'
import { type Part, partsOf } from './outputs.js'

/** Triton's statuses, and those that HTTP has for what Triton has no code for. */
export const statusOf: Readonly<Record<FaultKind, number>> = {
  INVALID_ARG: 400,
  NOT_FOUND: 404,
  UNAVAILABLE: 503,
  UNSUPPORTED: 501,
  INTERNAL: 500,
  CANCELLED: 400,
  TIMEOUT: 504,
  TOO_LARGE: 413,
}

/** The body of an answer to an inference: JSON, then the binary tensors. */
export interface Body {
  readonly pieces: readonly (string | Uint8Array)[]
  readonly bytes: number
  /** Bytes of JSON at its start, where tensors follow. */
  readonly headLength: number | undefined
}

/** @throws Fault (as a rejection) INVALID_ARG for numbers that JSON cannot hold */
export async function bodyOf(
  servable: Servable,
  document: InferDocument,
  tensors: readonly WireTensor[],
  writer: Parameters<typeof partsOf>[3],
): Promise<Body> {
  const parts = partsOf(servable, document, tensors, writer)
  return assembled(servable, document, isPromise(parts) ? await parts : parts)
}

function assembled({ name, version }: Servable, { id }: InferDocument, parts: readonly Part[]): Body {
  const pieces: (string | Uint8Array)[] = []
  let text = `{${id === '' ? '' : `"id":${JSON.stringify(id)},`}"model_name":${JSON.stringify(name)},"model_version":"${version}","outputs":[`
  for (const [index, { job, output }] of parts.entries()) {
    text += `${index === 0 ? '' : ','}{"name":${JSON.stringify(job.tensor.name)},"datatype":"${output.datatype}","shape":[${output.shape.join(',')}],`
    if (job.isBinary) text += `"parameters":{"binary_data_size":${output.content.length}}}`
    else if (typeof output.content === 'string') text += `"data":[${output.content}]}`
    else {
      pieces.push(`${text}"data":[`, output.content)
      text = ']}'
    }
  }
  pieces.push(`${text}]}`)
  const headLength = lengthOf(pieces)
  const binary = parts.flatMap(({ job, output }) =>
    job.isBinary && typeof output.content !== 'string' && output.content.length > 0 ? [output.content] : [],
  )
  const all = [...pieces, ...binary]
  return { pieces: all, bytes: headLength + lengthOf(binary), headLength: binary.length > 0 ? headLength : undefined }
}

function lengthOf(pieces: readonly (string | Uint8Array)[]): number {
  return pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length), 0)
}

/** Below it one write of a copy costs less than several writes. */
const smallBody = 8192

/**
 * Sends it; large tensors go to the socket as they are, together with the head. The connection ends with it where it
 * `closes`.
 */
export async function send(response: ServerResponse, body: Body, encoding: Encoding, closes: boolean): Promise<void> {
  const headers: Record<string, string | number> = {
    'Content-Type': body.headLength === undefined ? 'application/json' : 'application/octet-stream',
    ...(body.headLength !== undefined && { 'Inference-Header-Content-Length': body.headLength }),
    ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
    ...(closes && { Connection: 'close' }),
  }
  const { pieces, bytes } = encoding === 'identity' ? body : ofOne(await compressed(body.pieces, encoding))
  headers['Content-Length'] = bytes
  response.writeHead(200, headers)
  const [first] = pieces
  if (bytes <= smallBody)
    response.end(pieces.length === 1 && typeof first === 'string' ? first : joined({ pieces, bytes }))
  else sendPieces(response, pieces)
}

function ofOne(piece: Uint8Array): Pick<Body, 'pieces' | 'bytes'> {
  return { pieces: [piece], bytes: piece.length }
}

function sendPieces(response: ServerResponse, pieces: Body['pieces']): void {
  response.cork()
  // ended once the socket took it: Node takes a connection whose answer is ended for idle, and closes it when a server
  // closes
  const end = (error?: Error | null): void => {
    if (!error) response.end()
  }
  const last = pieces.length - 1
  for (const [i, piece] of pieces.entries()) response.write(piece, i < last ? undefined : end)
  response.uncork()
}

function joined({ pieces, bytes }: Pick<Body, 'pieces' | 'bytes'>): Buffer {
  const all = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const piece of pieces) {
    if (typeof piece === 'string') at += all.write(piece, at)
    else {
      all.set(piece, at)
      at += piece.length
    }
  }
  return all
}

/** The answer to a failure; of a body that is still to come the rest is dropped. */
export function sendFault(response: ServerResponse, fault: Fault, closes = false): number {
  const status = statusOf[fault.kind]
  const text = JSON.stringify({ error: fault.message })
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      ...headersOf(fault),
      ...(closes && { Connection: 'close' }),
    })
    .end(text)
  return status
}

/** Headers that tell a client what to do. */
export function headersOf({ kind, message }: Fault): Readonly<Record<string, string>> {
  if (kind === 'UNAVAILABLE' || kind === 'TIMEOUT') return { 'Retry-After': '1' }
  return kind === 'UNSUPPORTED' && message === 'Unsupported compression type'
    ? { 'Accept-Encoding': 'gzip, deflate' }
    : {}
}
