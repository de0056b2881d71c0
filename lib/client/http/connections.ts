// Connections that are kept, each with one request at a time.
import { Agent, type ClientRequest } from 'node:http'
import { connect as connectPlain, type Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { connect as connectTls } from 'node:tls'
import type { Cut } from '../../base/cancellation.js'
import { closed } from '../errors.js'
import type { Tls } from '../settings.js'
import type { Place } from '../url.js'

/**
 * A connection that had no request for longer than that may have been closed without this thread having heard of it, in
 * milliseconds.
 */
const unheardMs = 10

/** What node:http asks for a socket: it has one. */
class OneSocket extends Agent {
  readonly #socket: Socket

  constructor(socket: Socket) {
    super({ keepAlive: true, maxSockets: 1 })
    this.#socket = socket
  }

  addRequest(request: ClientRequest): void {
    request.onSocket(this.#socket)
  }
}

export class Connection {
  readonly socket: Socket
  readonly agent: Agent
  /** When its last request ended, and how many bytes had come until then. */
  idleSince = 0
  #bytesRead = 0
  isIdle = false
  /** How long it is kept without one. */
  keepAliveMs: number

  constructor(socket: Socket, keepAliveMs: number) {
    this.socket = socket
    this.agent = new OneSocket(socket)
    this.keepAliveMs = keepAliveMs
    socket.setTimeout(keepAliveMs, () => {
      if (this.isIdle) socket.destroy()
    })
  }

  /** Whether a request may be written to it, as far as this thread knows. */
  get isUsable(): boolean {
    return !this.socket.destroyed && this.socket.writable && !this.socket.readableEnded
  }

  /** Bytes that come now are of no request. */
  rest(): void {
    this.idleSince = performance.now()
    this.#bytesRead = this.socket.bytesRead
    this.isIdle = true
    this.socket.unref()
  }

  /** Whether the server has sent something since {@link rest}: it would be taken for the next answer, or part of it. */
  get hasSpoken(): boolean {
    return this.socket.bytesRead !== this.#bytesRead
  }

  /** The server's word; a second less, since its clock began earlier. */
  keepFor(milliseconds: number): void {
    this.keepAliveMs = Math.min(this.keepAliveMs, Math.max(1, milliseconds - 1000))
  }
}

interface Waiter {
  readonly take: (connection: Promise<Connection> | Connection) => void
}

export type ConnectionLimits = Readonly<Record<'maxConnections' | 'keepAliveMs', number>>

export class Connections {
  readonly #place: Place
  readonly #tls: Tls
  readonly #limits: ConnectionLimits
  readonly #all = new Set<Socket>()
  readonly #idle: Connection[] = []
  readonly #waiters = new Set<Waiter>()
  #isClosed = false

  constructor(place: Place, tls: Tls, limits: ConnectionLimits) {
    this.#place = place
    this.#tls = tls
    this.#limits = limits
  }

  /** One for a request; `release` when it is not used. Rejected with what the system says where none can be made. */
  async take(cut: Cut | undefined): Promise<Connection> {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      const idleMs = performance.now() - connection.idleSince
      if (!connection.isUsable || idleMs > connection.keepAliveMs) {
        connection.socket.destroy()
        continue
      }
      connection.isIdle = false
      if (idleMs > unheardMs) await aTurn()
      if (connection.isUsable && !connection.hasSpoken) {
        connection.socket.ref()
        return connection
      }
      connection.socket.destroy()
    }
    return this.#all.size < this.#limits.maxConnections ? this.#open(cut) : this.#wait(cut)
  }

  /** It has no request any more. */
  release(connection: Connection): void {
    if (!connection.isUsable || this.#isClosed) return void connection.socket.destroy()
    const [waiter] = this.#waiters
    if (waiter !== undefined) {
      this.#waiters.delete(waiter)
      return waiter.take(connection)
    }
    connection.rest()
    this.#idle.push(connection)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const ends = [...this.#all].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const socket of this.#all) socket.destroy()
    await Promise.all(ends)
  }

  #wait(cut: Cut | undefined): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { take: resolve }
      this.#waiters.add(waiter)
      cut?.onCut(() => {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
        if (this.#waiters.delete(waiter)) reject(cut.reason)
      })
    })
  }

  #open(cut: Cut | undefined): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(closed())
    const socket = this.#connect()
    this.#all.add(socket)
    return new Promise((resolve, reject) => {
      let failure: unknown
      socket.on('error', (error) => (failure ??= error))
      socket.once('close', () => {
        this.#gone(socket)
        reject((failure as Error | undefined) ?? new Error('the connection was closed before it was open'))
      })
      socket.once(this.#place.secure ? 'secureConnect' : 'connect', () => resolve(this.#ready(socket)))
      cut?.onCut(() => socket.destroy())
    })
  }

  #connect(): Socket {
    const { hostname: host, port, secure } = this.#place
    if (!secure) return connectPlain({ host, port, noDelay: true, keepAlive: true })
    const socket = connectTls({
      host,
      port,
      ...this.#tls,
      servername: this.#tls.servername ?? nameOf(host),
      ALPNProtocols: ['http/1.1'],
    })
    return socket.setNoDelay(true).setKeepAlive(true)
  }

  #ready(socket: Socket): Connection {
    const connection = new Connection(socket, this.#limits.keepAliveMs)
    // node:http tells it of a socket whose answer has ended
    socket.on('free', () => this.release(connection))
    return connection
  }

  /** Another one may take its place. */
  #gone(socket: Socket): void {
    this.#all.delete(socket)
    const at = this.#idle.findIndex((connection) => connection.socket === socket)
    if (at >= 0) this.#idle.splice(at, 1)
    const [waiter] = this.#waiters
    if (waiter === undefined || this.#isClosed) return
    this.#waiters.delete(waiter)
    waiter.take(this.#open(undefined))
  }
}

/** TLS has no names that are addresses. */
function nameOf(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host
}

/**
 * The event loop has looked at all sockets: the second immediate comes after such a look, the first may come before it.
 */
function aTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
