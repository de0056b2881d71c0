// A request and its answer over HTTP.
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import type { TensorRTError } from '../../errors.js'
import { isParseError, lost, misread, notHttp, unreachable } from '../errors.js'
import type { Call } from '../transport.js'
import type { Connection, Connections } from './connections.js'

export interface Question {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Names and values in turn, with Host and Content-Length. */
  readonly headers: readonly string[]
  /** Not copied. */
  readonly body: readonly Uint8Array[]
}

export interface Reply {
  readonly status: number
  /** Empty where there is none. */
  readonly statusText: string
  /** Bytes of JSON before tensors; undefined where there are none. */
  readonly headLength: number | undefined
  /** In memory of its own; the tensors after the head begin at a multiple of eight. */
  readonly body: Buffer
}

/** @throws TensorRTError (as a rejection) ERR_TRT_SERVER */
export async function exchange(connections: Connections, question: Question, call: Call): Promise<Reply> {
  const connection = await taken(connections, call)
  if (call.cut?.happened) {
    connections.release(connection)
    call.cut.throwIfHappened()
  }
  return await asked(connection, question, call)
}

async function taken(connections: Connections, call: Call): Promise<Connection> {
  try {
    return await connections.take(call.cut)
  } catch (error) {
    call.cut?.throwIfHappened()
    throw unreachable(call, error)
  }
}

/** From here on the server may have run it. */
function asked(connection: Connection, { method, path, headers, body }: Question, call: Call): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { socket, agent } = connection
    const fail = (cause: unknown): void => {
      socket.destroy()
      reject(isParseError(cause) ? notHttp(call, cause) : lost(call, cause))
    }
    call.cut?.onCut(() => socket.destroy())
    const request = httpRequest({ method, path, headers: headers as string[], agent, setHost: false })
    const refuse = (error: TensorRTError): void => {
      socket.destroy()
      reject(error)
    }
    request.once('error', fail)
    request.once('upgrade', () => refuse(misread(call, 'it changes the protocol, which nobody asked for')))
    request.once('response', (response) => {
      response.once('error', fail)
      readReply(response, connection, call, refuse, (reply) => {
        // the server has its answer already, and the rest of the request would be taken for the next one
        if (!request.writableFinished) socket.destroy()
        call.cut?.onCut(() => {}) // the connection may have another's request now
        resolve(reply)
      })
    })
    send(request, body)
  })
}

/** Small ones in one piece: the write of two costs more than the copy. */
const smallBody = 16_384

function send(request: ClientRequest, body: readonly Uint8Array[]): void {
  const [first] = body
  if (first === undefined) return void request.end()
  if (body.length === 1) return void request.end(first)
  const bytes = body.reduce((sum, { length }) => sum + length, 0)
  if (bytes <= smallBody) return void request.end(Buffer.concat(body, bytes))
  request.cork()
  for (const piece of body) if (piece.length > 0) request.write(piece)
  request.end()
  request.uncork()
}

function readReply(
  response: IncomingMessage,
  connection: Connection,
  call: Call,
  refuse: (error: TensorRTError) => void,
  done: (reply: Reply) => void,
): void {
  const { statusCode: status = 0, statusMessage: statusText = '', headers } = response
  const keepAlive = /timeout=(\d+)/.exec(String(headers['keep-alive'] ?? ''))?.[1]
  if (keepAlive !== undefined) connection.keepFor(Number(keepAlive) * 1000)
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') return refuse(misread(call, `it has the encoding ${encoding}, which nobody asked for`))
  const headLength = wholeHeader(headers['inference-header-content-length'])
  const finish = (body: Buffer): void => done({ status, statusText, headLength, body })
  const length = wholeHeader(headers['content-length'])
  try {
    if (length === undefined) readPieces(response, headLength ?? 0, finish)
    else readWhole(response, placeFor(length, headLength ?? 0), finish)
  } catch (error) {
    refuse(misread(call, `it has ${length ?? 0} bytes: ${(error as Error).message}`, error))
  }
}

function wholeHeader(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : undefined
}

/** Memory for so many bytes, of which those from `head` on begin at a multiple of eight. @throws RangeError */
function placeFor(length: number, head: number): Buffer {
  const before = (8 - (head % 8)) % 8
  return Buffer.from(Buffer.allocUnsafeSlow(before + length).buffer, before, length)
}

function readWhole(response: IncomingMessage, body: Buffer, finish: (body: Buffer) => void): void {
  let at = 0
  response.on('data', (chunk: Buffer) => {
    body.set(chunk, at)
    at += chunk.length
  })
  response.once('end', () => finish(body))
}

function readPieces(response: IncomingMessage, head: number, finish: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  let length = 0
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    length += chunk.length
  })
  response.once('end', () => {
    const body = placeFor(length, head)
    let at = 0
    for (const chunk of chunks) at += chunk.copy(body, at)
    finish(body)
  })
}
