// KServe's protocol over gRPC.
import type { ChannelOptions, ConnectionInjector, Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { within } from '../../base/cancellation.js'
import { TensorRTError } from '../../errors.js'
import { Budget } from '../front/budget.js'
import { ListeningFrontEnd } from '../front/front-end.js'
import { defaultLimits } from '../http/options.js'
import { type GrpcJs, loadPeer } from '../peers.js'
import { arrivals, prepareConnections, widenStreams } from './arrivals.js'
import { Health } from './health.js'
import type { GrpcOptions, GrpcTls } from './call.js'
import { grpcCodes } from './status.js'
import { register, type Transport } from './transport.js'
import { Unfinished } from './unfinished.js'

const defaults = { maxInputSize: 64 * 2 ** 20, maxInFlightBytes: 2 ** 30, workerBytes: 512 * 2 ** 10 }

/** For the last bytes of connections that have nothing under way. */
const goodbyeMs = 1000

export class GrpcFrontEnd extends ListeningFrontEnd implements Transport {
  readonly parts: GrpcOptions
  readonly workerBytes = defaults.workerBytes
  readonly health = new Health(this)
  readonly restricted: Transport['restricted']
  readonly compression: Transport['compression']
  readonly streams: Transport['streams'] = new Set()
  readonly #unfinished: Unfinished
  readonly #grpc: GrpcServer
  readonly #connections: ConnectionInjector
  readonly #listener: Server
  readonly #sockets = new Set<Socket>()
  #stopped: Promise<void> | undefined

  /**
   * Fulfilled when it accepts connections. @throws (as a rejection) what listen() fails with, such as EADDRINUSE;
   * without @grpc/grpc-js ERR_TRT_SERVER
   */
  static async listen(options: GrpcOptions): Promise<GrpcFrontEnd> {
    const front = opened(options, await loadPeer('@grpc/grpc-js'))
    try {
      front.#listener.listen({ host: options.address, port: options.port })
      await once(front.#listener, 'listening')
    } catch (error) {
      await front.close()
      throw error
    }
    return front
  }

  /** @throws Error where the certificate or the key is none */
  constructor(options: GrpcOptions, library: GrpcJs) {
    super(options, options.budget ?? new Budget(options.maxInFlightBytes ?? defaults.maxInFlightBytes))
    this.parts = options
    this.restricted = options.restricted
    this.compression = options.compressionLevel ?? 'none'
    this.#unfinished = new Unfinished(options.messageTimeoutMs ?? defaultLimits.bodyTimeoutMs)
    this.#grpc = new library.Server({
      ...channelOptions(options),
      interceptors: [arrivals(this.budget, this.#unfinished)],
    })
    widenStreams(this.#grpc)
    register(this.#grpc, this)
    this.#connections = this.#grpc.createConnectionInjector(credentialsOf(library, options.tls))
    prepareConnections(this.#grpc, this.compression !== 'none')
    // its own listener: the library's has no TCP_NODELAY to be sure of, and forgets the code of what it fails with
    this.#listener = createServer({ noDelay: true }, (socket) => this.#take(socket))
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {}) // also once the library has left it
    this.#connections.injectConnection(socket)
  }

  protected get listener(): Server {
    return this.#listener
  }

  get isSecure(): boolean {
    return this.parts.tls !== undefined
  }

  begin(): void {
    this.underWay.begin()
  }

  end(): void {
    this.underWay.end()
  }

  /** A model, or the server, may be ready now, or not any more. */
  changed(): void {
    this.health.changed()
  }

  /**
   * Each connection is told to go away, not ready, and no new requests; what is under way goes on. Fulfilled when no
   * connection is left.
   */
  stopAccepting(): Promise<void> {
    this.hasStopped = true
    this.#stopped ??= new Promise<void>((resolve) => {
      this.#listener.close()
      this.health.changed()
      this.#grpc.tryShutdown(() => resolve())
    })
    return this.#stopped
  }

  /**
   * What was answered last may be on its way still: connections end by themselves, those with streams that wait once
   * these are told.
   */
  async #closeIdle(): Promise<void> {
    const stopped = this.stopAccepting()
    for (const stream of this.streams)
      stream.end({ code: grpcCodes.UNAVAILABLE, details: 'the server is shutting down' })
    // a client that reads nothing is not waited for
    await within({ timeoutMs: goodbyeMs }, () => this.#lastBytes(stopped)).catch(() => {})
  }

  /** From Node 24 on a connection's session is closed before its socket has sent all. */
  async #lastBytes(stopped: Promise<void>): Promise<void> {
    await stopped
    await Promise.all(Array.from(this.#sockets, (socket) => once(socket, 'close')))
  }

  /** Ends all connections, whatever is under way. */
  async close(): Promise<void> {
    if (this.inFlight === 0) await this.#closeIdle()
    this.hasStopped = true
    const closed = this.#listener.listening ? once(this.#listener, 'close') : undefined
    this.#listener.close()
    this.#grpc.forceShutdown()
    for (const socket of this.#sockets) socket.destroy()
    await closed
    this.#unfinished.close()
    await this.worker.close()
  }
}

function opened(options: GrpcOptions, library: GrpcJs): GrpcFrontEnd {
  try {
    return new GrpcFrontEnd(options, library)
  } catch (cause) {
    if (options.tls === undefined) throw cause
    throw new TensorRTError('ERR_TRT_SERVER', `Cannot serve gRPC with TLS: ${(cause as Error).message}`, { cause })
  }
}

/** The library's name of each option of connections; what is not given it has a default for. */
const connectionOptions = {
  'grpc.keepalive_time_ms': 'keepaliveTimeMs',
  'grpc.keepalive_timeout_ms': 'keepaliveTimeoutMs',
  'grpc.max_connection_age_ms': 'maxConnectionAgeMs',
  'grpc.max_connection_age_grace_ms': 'maxConnectionAgeGraceMs',
} as const

function channelOptions(options: GrpcOptions): ChannelOptions {
  const given = Object.entries(connectionOptions).map(([name, own]) => [name, options[own]] as const)
  return {
    'grpc.max_receive_message_length': options.maxInputSize ?? defaults.maxInputSize,
    'grpc.max_send_message_length': -1,
    'grpc.enable_channelz': 0,
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  }
}

function credentialsOf({ ServerCredentials }: GrpcJs, tls: GrpcTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  return ServerCredentials.createSsl(tls.root ?? null, [{ private_key: tls.key, cert_chain: tls.cert }], tls.mutual)
}
