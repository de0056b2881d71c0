// A call over HTTP/2, of which everything can be wrong: its head, the frames of its messages, when it ends.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'

export interface RawCall {
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  /** Frames of messages, or what was made of them. */
  readonly body: Buffer
  /** Bytes of the body in each frame of HTTP/2. */
  readonly chunk?: number | undefined
  /**
   * The stream is reset: after so many bytes of the body (all: before its end), at the head of the answer, or at its
   * first bytes.
   */
  readonly reset?: number | 'head' | 'data' | undefined
  /** Trailers end the body. */
  readonly trailers?: OutgoingHttpHeaders | undefined
}

export interface RawAnswer {
  /** Of HTTP. */
  readonly status?: number
  /** grpc-status. */
  readonly code?: number
  readonly text?: string
  readonly body: Buffer
  /** Why the stream was closed; 0: it was not reset. */
  readonly rst: number
}

export const grpcHeaders = { te: 'trailers', 'content-type': 'application/grpc' } as const

/** Each message with what stands before it: whether it is compressed, and its length. */
export function framed(...messages: readonly Uint8Array[]): Buffer {
  const prefix = (length: number): Buffer => {
    const bytes = Buffer.alloc(5)
    bytes.writeUInt32BE(length, 1)
    return bytes
  }
  return Buffer.concat(messages.flatMap((message) => [prefix(message.length), message]))
}

/** The messages of a body; throws where it ends amid one. */
export function unframed(body: Buffer): readonly Buffer[] {
  const messages: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const end = at + 5 + body.readUInt32BE(at + 1)
    if (end > body.length) throw new Error('an answer ends amid a message')
    messages.push(body.subarray(at + 5, end))
    at = end
  }
  return messages
}

/** Milliseconds after which a call without an answer is a fault of the server. */
const patience = 60_000

/** A connection that is made again when it was lost. */
export class Connection implements Disposable {
  readonly #port: number
  #session: ClientHttp2Session | undefined
  /** How often it was lost. */
  lost = -1

  constructor(port: number) {
    this.#port = port
  }

  get #open(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.lost++
      this.#session = connect(`http://127.0.0.1:${String(this.#port)}`)
      this.#session.on('error', () => undefined) // streams tell it
    }
    return this.#session
  }

  /**
   * Sends it, and gives what came until the stream was closed. @throws (as a rejection) where the server neither
   * answers nor ends it
   */
  call(raw: RawCall): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const stream = this.#open.request(
        { ':method': 'POST', ':path': raw.path, ...raw.headers },
        { waitForTrailers: raw.trailers !== undefined },
      )
      const late = setTimeout(() => {
        reject(new Error('the server neither answers nor ends the stream'))
        stream.close(constants.NGHTTP2_CANCEL)
      }, patience)
      const came: Buffer[] = []
      let heads: Record<string, unknown> = {}
      stream.on('response', (headers) => {
        heads = { ...heads, ...headers }
        if (raw.reset === 'head') stream.close(constants.NGHTTP2_CANCEL)
      })
      stream.on('trailers', (headers) => void (heads = { ...heads, ...headers }))
      stream.on('data', (chunk: Buffer) => {
        came.push(chunk)
        if (raw.reset === 'data') stream.close(constants.NGHTTP2_CANCEL)
      })
      stream.on('error', () => undefined) // rstCode tells it
      stream.on('wantTrailers', () => stream.sendTrailers(raw.trailers ?? {}))
      stream.on('close', () => {
        clearTimeout(late)
        resolve(answerOf(heads, Buffer.concat(came), stream.rstCode ?? 0))
      })
      send(stream, raw)
    })
  }

  [Symbol.dispose](): void {
    this.#session?.destroy()
  }
}

function answerOf(heads: Record<string, unknown>, body: Buffer, rst: number): RawAnswer {
  const [status, code, text] = [heads[':status'], heads['grpc-status'], heads['grpc-message']]
  return {
    ...(status !== undefined && { status: Number(status) }),
    ...(code !== undefined && { code: Number(code) }),
    ...(typeof text === 'string' && { text: decodeURIComponent(text) }),
    body,
    rst,
  }
}

function send(stream: ClientHttp2Stream, { body, chunk = body.length, reset }: RawCall): void {
  const all = typeof reset === 'number' ? body.subarray(0, reset) : body
  for (let at = 0; at < all.length; at += chunk) stream.write(all.subarray(at, at + chunk))
  if (typeof reset !== 'number') stream.end()
  else if (all.length === 0) stream.close(constants.NGHTTP2_CANCEL)
  else stream.write(Buffer.alloc(0), () => stream.close(constants.NGHTTP2_CANCEL)) // when the rest was sent
}
