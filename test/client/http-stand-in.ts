// A server of KServe's protocol over HTTP for tests of the client alone: its model gives back what it gets, and its
// connections do what a test wants.
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Of the JSON before the tensors. */
  readonly head: any
  readonly tensors: Buffer
}

/** Answers a request in place of the echo. */
export type Behaviour = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void

export interface HttpStandIn extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** Whole requests that came, in their order. */
  readonly asked: Asked[]
  /** How often each id came. */
  readonly ids: Map<string, number>
  /** Connections that were made. */
  readonly connections: number
  /** Requests whose client left before they were answered. */
  readonly left: number
  behaviour: Behaviour
  readonly server: Server
  /** Ends all connections at once, and frees the port. */
  stop(): Promise<void>
}

export interface StandInOptions {
  readonly port?: number
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly keepAliveTimeout?: number
  readonly ids?: Map<string, number>
}

export async function startHttp(behaviour: Behaviour = echo, options: StandInOptions = {}): Promise<HttpStandIn> {
  const asked: Asked[] = []
  const ids = options.ids ?? new Map<string, number>()
  let [connections, left] = [0, 0]
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    response.once('close', () => {
      if (!response.writableFinished) left++
    })
    void bodyOf(request).then(
      (body) => {
        const one = askedOf(request, body)
        asked.push(one)
        if (one.path.includes('/v2/repository')) return saying(200, '')(one, response, request)
        if (one.head?.id) ids.set(one.head.id, (ids.get(one.head.id) ?? 0) + 1)
        standIn.behaviour(one, response, request)
      },
      () => {},
    )
  }
  const server: Server = options.tls ? createSecureServer(options.tls, onRequest) : createServer(onRequest)
  if (options.keepAliveTimeout !== undefined) server.keepAliveTimeout = options.keepAliveTimeout
  server.on('connection', () => connections++)
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const standIn: HttpStandIn = {
    port,
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    asked,
    ids,
    get connections() {
      return connections
    },
    get left() {
      return left
    },
    behaviour,
    server,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await this.stop()
    },
  }
  return standIn
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function askedOf(request: IncomingMessage, body: Buffer): Asked {
  const { method = '', url: path = '', headers } = request
  const length = headers['inference-header-content-length']
  const head = body.subarray(0, length === undefined ? body.length : Number(length))
  return {
    method,
    path,
    headers,
    head: head.length > 0 ? JSON.parse(head.toString()) : undefined,
    tensors: body.subarray(head.length),
  }
}

/** INPUT… comes back as OUTPUT…, as binary where the request has that. */
export const echo: Behaviour = ({ head, tensors, path }, response) => {
  let at = 0
  const isBinary =
    head.parameters?.binary_data_output === true || head.outputs?.some((output: any) => output.parameters?.binary_data)
  const pieces: Buffer[] = []
  const outputs = head.inputs.map(({ name, shape, datatype, data, parameters }: any) => {
    const output = { name: name.replace('INPUT', 'OUTPUT'), shape, datatype }
    if (data !== undefined) return { ...output, data }
    const bytes = tensors.subarray(at, (at += Number(parameters.binary_data_size)))
    pieces.push(bytes)
    return { ...output, parameters: { binary_data_size: bytes.length } }
  })
  const model = path.split('/')[3]
  const text = JSON.stringify({ ...(head.id && { id: head.id }), model_name: model, model_version: '1', outputs })
  if (isBinary)
    reply(response, 200, Buffer.concat([Buffer.from(text), ...pieces]), {
      'Inference-Header-Content-Length': Buffer.byteLength(text),
    })
  else reply(response, 200, text)
}

export function reply(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Record<string, string | number> = {},
): void {
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...headers }).end(body)
}

/** Always this answer. */
export function saying(status: number, body: unknown, headers: Record<string, string | number> = {}): Behaviour {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return (_asked, response) => reply(response, status, text, headers)
}
