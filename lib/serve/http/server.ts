import { setImmediate } from 'node:timers'
import type { Server, Socket } from 'node:net'
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type FastifyFactory, loadPeer } from '../peers.js'
import { Budget } from '../front/budget.js'
import { ListeningFrontEnd } from '../front/front-end.js'
import { defaultLimits, type FrontEnd, type HttpLimits, type HttpOptions } from './options.js'
import { Heads } from './heads.js'
import { addRoutes, sendError } from './routes.js'

/** KServe's protocol over HTTP. */
export class HttpFrontEnd extends ListeningFrontEnd implements FrontEnd {
  readonly options: HttpOptions
  readonly limits: HttpLimits
  readonly heads: Heads
  readonly #app: FastifyInstance
  #stopped: Promise<void> | undefined

  /**
   * Fulfilled when it accepts connections. @throws (as a rejection) what listen() fails with, such as EADDRINUSE;
   * without fastify ERR_TRT_SERVER
   */
  static async listen(options: HttpOptions): Promise<HttpFrontEnd> {
    const fastify = await loadPeer('fastify')
    const limits = { ...defaultLimits, ...options.limits }
    const front = new HttpFrontEnd(options, limits, newApp(fastify, limits))
    try {
      await front.#app.listen({ host: options.address, port: options.port })
    } catch (error) {
      await front.close()
      throw error
    }
    return front
  }

  private constructor(options: HttpOptions, limits: HttpLimits, app: FastifyInstance) {
    super(options, options.budget ?? new Budget(limits.maxInFlightBytes))
    this.options = options
    this.limits = limits
    this.heads = new Heads(limits)
    this.#app = app
    addRoutes(app, this)
  }

  protected get listener(): Server {
    return this.#app.server
  }

  begin(): () => void {
    this.underWay.begin()
    return () => {
      // a connection whose answer began before would wait for another request
      if (this.hasStopped) setImmediate(() => this.#app.server.closeIdleConnections())
      this.underWay.end()
    }
  }

  /**
   * No new connections from now on, not ready, and no new inferences; what is under way goes on. Fulfilled when no
   * connection is left.
   */
  stopAccepting(): Promise<void> {
    this.hasStopped = true
    const { server } = this.#app
    this.#stopped ??= new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeIdleConnections()
    return this.#stopped
  }

  /** Ends all connections, whatever is under way. */
  async close(): Promise<void> {
    this.hasStopped = true
    this.#app.server.closeAllConnections()
    await this.#app.close()
    await this.worker.close()
  }
}

/** How often Node looks for requests that take too long. */
const timeoutChecks = 1000

/** Longer than any name of a model. */
const longestName = 4096

function newApp(fastify: FastifyFactory, limits: HttpLimits): FastifyInstance {
  const { headTimeoutMs, bodyTimeoutMs } = limits
  const current = new WeakMap<Socket, ServerResponse>()
  const app: FastifyInstance = fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: longestName },
    requestTimeout: headTimeoutMs + bodyTimeoutMs,
    http: {
      headersTimeout: headTimeoutMs,
      connectionsCheckingInterval: Math.min(timeoutChecks, headTimeoutMs, bodyTimeoutMs),
      noDelay: true,
    },
    frameworkErrors: (error, _request, reply) => {
      sendError(reply, error.statusCode ?? 400, error.message)
    },
    clientErrorHandler: (error, socket) => refuse(error, socket, current.get(socket)),
  })
  app.addHook('onRequest', (request, reply, done) => {
    current.set(request.raw.socket, reply.raw)
    // as in Triton nobody looks at it, and a wrong one is no reason to refuse; without `delete`, after which V8 would
    // find all other headers slowly
    request.raw.headers['content-type'] = undefined
    done()
  })
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.setErrorHandler((error: Error & { readonly statusCode?: number | undefined }, _request, reply) => {
    sendError(reply, error.statusCode ?? 500, error.message)
  })
  return app
}

const statuses: { readonly [code: string]: readonly [status: string, text: string] | undefined } = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The head of the request is too large'],
}

/**
 * Answers what is no HTTP, or comes too slowly, and ends the connection; where an answer has begun already it only ends
 * it.
 */
function refuse(
  error: Error & { readonly code?: string | undefined },
  socket: Socket,
  response: ServerResponse | undefined,
): void {
  const isAnswered = response !== undefined && response.headersSent && !response.writableFinished
  if (socket.writable && !isAnswered && error.code !== 'ECONNRESET') {
    const [status, text] = statuses[error.code ?? ''] ?? ['400 Bad Request', `The request is no HTTP: ${error.message}`]
    const body = JSON.stringify({ error: text })
    socket.write(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}
