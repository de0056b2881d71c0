// The calls of a channel of grpc-js, with messages as bytes.
import type { CallOptions, Client, ClientDuplexStream, Metadata, ServiceError } from '@grpc/grpc-js'
import { closed, refused, timedOut, unreachable } from '../errors.js'
import type { Headers, Tls } from '../settings.js'
import type { Call } from '../transport.js'
import type { Place } from '../url.js'
import { expected, type TensorRTError } from '../../errors.js'
import { type Grpc, loadGrpc } from './peer.js'
import { isError } from '../../base/kinds.js'

/** What grpc-js sends: it asks for the length, and copies. */
export interface Message {
  readonly length: number
  copy(target: Uint8Array, at?: number): number
}

export type Stream = ClientDuplexStream<Message, Buffer>

/** Of a stream and of a connection: HTTP/2's own 64 KiB halve what goes through. */
const window = 8 * 2 ** 20

const asItIs = (bytes: Buffer): Buffer => bytes
const asSent = (message: Message): Buffer => message as Buffer

interface Open {
  readonly grpc: Grpc
  readonly client: Client
  readonly metadata: Metadata
}

export class Channel {
  readonly #place: Place
  readonly #headers: Headers
  readonly #tls: Tls
  #opening: Promise<Open> | undefined
  #open: Open | undefined
  #isClosed = false

  constructor(place: Place, headers: Headers, tls: Tls) {
    this.#place = place
    this.#headers = headers
    this.#tls = tls
  }

  /** @throws TensorRTError (as a rejection) */
  async unary(path: string, message: Message, call: Call): Promise<Buffer> {
    const open = this.#open ?? (await this.#opened())
    call.cut?.throwIfHappened()
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, bytes?: Buffer): void => {
        if (error) reject(failureOf(open.grpc, error, call))
        else resolve(bytes ?? Buffer.alloc(0))
      }
      const running = open.client.makeUnaryRequest(
        path,
        asSent,
        asItIs,
        message,
        this.#metadata(open, call),
        optionsOf(call),
        done,
      )
      call.cut?.onCut(() => running.cancel())
    })
  }

  /** @throws TensorRTError (as a rejection) */
  async stream(path: string, call: Call): Promise<Stream> {
    const open = this.#open ?? (await this.#opened())
    return open.client.makeBidiStreamRequest(path, asSent, asItIs, this.#metadata(open, call), optionsOf(call))
  }

  /** What a stream failed with. */
  failure(error: unknown, call: Call): unknown {
    return this.#open && isServiceError(error) ? failureOf(this.#open.grpc, error, call) : error
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => {})
    this.#open?.client.close()
  }

  #opened(): Promise<Open> {
    this.#opening ??= this.#load().catch((error: unknown) => {
      this.#opening = undefined // it may be installed by the next time
      throw error
    })
    return this.#opening
  }

  async #load(): Promise<Open> {
    const grpc = await loadGrpc()
    if (this.#isClosed) throw closed()
    const credentials = this.#place.secure ? secure(grpc, this.#tls) : grpc.credentials.createInsecure()
    const client = new grpc.Client(this.#place.host, credentials, {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      'grpc-node.flow_control_window': window,
      // sockets of this client alone, which end with it
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 5000,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0,
      ...(this.#tls.servername !== undefined && { 'grpc.ssl_target_name_override': this.#tls.servername }),
    })
    this.#open = { grpc, client, metadata: metadataOf(grpc, this.#headers) }
    return this.#open
  }

  #metadata({ grpc, metadata }: Open, { headers }: Call): Metadata {
    if (headers.length === 0) return metadata
    return metadataOf(grpc, [...this.#headers, ...headers])
  }
}

function secure(
  { credentials }: Grpc,
  { ca, cert, key, rejectUnauthorized }: Tls,
): ReturnType<Grpc['credentials']['createSsl']> {
  const pem = (text: string | Buffer | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text))
  return credentials.createSsl(pem(ca), pem(key), pem(cert), { rejectUnauthorized })
}

function metadataOf({ Metadata }: Grpc, headers: Headers): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of headers)
    try {
      metadata.set(name, value)
    } catch {
      throw expected('names of a-z, 0-9, -, _ and . that do not end with -bin, and values in ASCII,', 'headers', name)
    }
  return metadata
}

function optionsOf({ deadline }: Call): CallOptions {
  return deadline === undefined ? {} : { deadline }
}

function isServiceError(error: unknown): error is ServiceError {
  return isError(error) && typeof (error as { code?: unknown }).code === 'number'
}

/** How grpc-js says that a call never had a connection. */
const withoutConnection = /^(No connection established|Name resolution failed)/

function failureOf({ status }: Grpc, error: ServiceError, call: Call): TensorRTError {
  const { code, details } = error
  if (code === status.UNAVAILABLE && withoutConnection.test(details)) return unreachable(call, reasonOf(details))
  if (code === status.DEADLINE_EXCEEDED && call.deadline !== undefined) return timedOut(call.timeoutMs)
  return refused(details === '' ? `gRPC ${status[code]}` : details, status[code], call)
}

/** What the system said, without what grpc-js has around it. */
function reasonOf(details: string): Error {
  const [, last] = /Last error: (?:Error: )?(.*?)\.? Resolution note:/s.exec(details) ?? []
  const reason = last ?? details
  // what answers does not speak HTTP/2
  const isOther = /\bProtocol error\b/.test(reason)
  const text = isOther ? `${reason}. To fix: ${otherPort}` : reason
  return Object.assign(new Error(text), codeIn(reason))
}

const otherPort =
  'if this is the HTTP port of a server (by default 8000), use HttpClient, or give the gRPC port (by default 8001)'

function codeIn(text: string): { readonly code?: string | undefined } {
  const [code] = /\bE[A-Z]{4,}\b/.exec(text) ?? []
  return code === undefined ? {} : { code }
}
