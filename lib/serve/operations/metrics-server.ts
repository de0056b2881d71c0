import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Metrics } from './metrics.js'

/** `GET /metrics` on a port of its own, which answers as long as the process does, whatever keeps HTTP busy. */
export class MetricsServer implements AsyncDisposable {
  readonly #server: HttpServer

  /** @throws (as a rejection) what listen() fails with, such as EADDRINUSE */
  static async listen(
    metrics: Metrics,
    place: { readonly port: number; readonly address: string; readonly httpPort?: number | undefined },
  ): Promise<MetricsServer> {
    const hint = place.httpPort === undefined ? '' : `; readiness: port ${place.httpPort}, /v2/health/ready`
    const server = createServer((request, response) => void answer(metrics, request, response, hint))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(place.port, place.address, () => {
        server.off('error', reject)
        resolve()
      })
    })
    return new MetricsServer(server)
  }

  private constructor(server: HttpServer) {
    this.#server = server
  }

  get address(): { readonly host: string; readonly port: number } {
    const { address, port } = this.#server.address() as AddressInfo
    return { host: address, port }
  }

  /** Ends its connections. Twice without harm. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function answer(
  metrics: Metrics,
  { method, url }: IncomingMessage,
  response: ServerResponse,
  hint: string,
): Promise<void> {
  try {
    if (url?.split('?')[0] !== '/metrics')
      return end(response, 404, 'text/plain', `Not Found (metrics: GET /metrics${hint})`)
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      return end(response, 405, 'text/plain', 'Method Not Allowed (expected GET for /metrics)')
    }
    const { contentType, body } = await metrics.text()
    end(response, 200, contentType, body)
  } catch (error) {
    end(response, 500, 'text/plain', (error as Error).message)
  }
}

function end(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }).end(body)
}
