// What @grpc/grpc-js tells nobody: bytes of messages that are not whole yet, and what it takes for faults of its own. A
// server interceptor sees each call before its first byte; where a version of the library has other methods than those
// that are looked for here, bytes count once their message is whole.
import { setImmediate } from 'node:timers'
import type { Server, ServerInterceptor } from '@grpc/grpc-js'
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Session } from 'node:http2'
import { type Account, type Budget, OverBudget } from '../front/budget.js'
import { acceptHeader, Decompression, isDecompressed } from './compression.js'
import { Fault } from '../faults.js'
import { grpcCodes, type GrpcStatus, statusOf } from './status.js'
import { FrameProgress, type Sender, type Unfinished } from './unfinished.js'

/** HTTP/2's code for a stream that is closed after a whole answer, since nobody reads what its client still sends. */
const noError = 0

/** Of the library's BaseServerInterceptingCall. */
interface InnerCall {
  readonly stream?: { _final?(done: () => void): void; isPaused?(): boolean; close?(code: number): void } | undefined
  cancelled?: boolean | undefined
  maxReceiveMessageSize?: number | undefined
  handleDataFrame?(data: Buffer): void
  notifyOnCancel?(): void
  sendMessage?(message: unknown, sent: () => void): void
  sendStatus?(status: GrpcStatus): void
  decompressMessage?(message: Buffer, encoding: string): Buffer | Promise<Buffer>
  account?: Account | undefined
  budget?: Budget | undefined
  isLate?: boolean | undefined
  sender?: CallSender | undefined
}

/** A call as what its client sends. */
class CallSender implements Sender {
  readonly #call: InnerCall
  readonly #unfinished: Unfinished
  readonly #progress: FrameProgress | undefined

  /** Of a call with one message all of it is waited for, also its end; of a stream each message that has begun. */
  constructor(call: InnerCall, isStream: boolean, unfinished: Unfinished) {
    this.#call = call
    this.#unfinished = unfinished
    if (isStream) this.#progress = new FrameProgress()
    else unfinished.begin(this)
  }

  get isPaused(): boolean {
    return this.#call.stream?.isPaused?.() === true
  }

  giveUp(limitMs: number): void {
    const what = this.#progress === undefined ? 'The request' : 'A message of the stream'
    this.#call.sendStatus?.(statusOf(new Fault('TIMEOUT', `${what} was not complete within ${limitMs} ms`)))
  }

  take(data: Buffer): void {
    const progress = this.#progress
    if (progress === undefined) return
    const hasEnded = progress.take(data)
    if (!progress.isWithin) this.#unfinished.end(this)
    else if (hasEnded || !this.#unfinished.has(this)) this.#unfinished.begin(this)
  }

  /** Gives whether it waited. */
  end(): boolean {
    return this.#unfinished.end(this)
  }
}

/** The account of a call, which has the bytes that have come; a new one where that is not known. */
export function accountOf(call: object, budget: Budget): Account {
  return (call as { readonly call?: InnerCall | undefined }).call?.account ?? budget.open()
}

/** The client has sent all of a call with one message: its handler was called. */
export function hasArrived(call: object): void {
  ;(call as { readonly call?: InnerCall | undefined }).call?.sender?.end()
}

/**
 * Whether it has ended before its handler was called, which then hears nothing of that: a deadline may be over before a
 * client has sent all.
 */
export function isOver(call: object): boolean {
  return (call as { readonly call?: InnerCall | undefined }).call?.cancelled === true
}

/**
 * Whether its deadline has ended it, as the library's timer has it: that is a little early by the clock that the
 * deadline is of, where the event loop was busy.
 */
export function isLate(call: object): boolean {
  return (call as { readonly call?: InnerCall | undefined }).call?.isLate === true
}

/** Counts bytes as they come, and how long that takes. What it puts into calls are functions that all of them share. */
export function arrivals(budget: Budget, unfinished: Unfinished): ServerInterceptor {
  const intercept = (
    method: { readonly requestStream: boolean; readonly responseStream: boolean },
    call: object,
  ): object => {
    const inner: InnerCall = call
    if (inner.handleDataFrame === undefined || inner.notifyOnCancel === undefined || inner.sendStatus === undefined)
      return call
    inner.budget = budget
    inner.sender = new CallSender(inner, method.requestStream, unfinished)
    inner.handleDataFrame = handleDataFrame
    inner.notifyOnCancel = notifyOnCancel
    inner.sendStatus = sendStatus
    if (inner.decompressMessage !== undefined) inner.decompressMessage = decompressMessage
    if (!method.responseStream && inner.sendMessage !== undefined) inner.sendMessage = sendMessage
    return call
  }
  // its type wants an instance of a class that does nothing but to hand on
  return intercept as unknown as ServerInterceptor
}

function handleDataFrame(this: InnerCall, data: Buffer): void {
  if (this.cancelled !== true && this.budget !== undefined) {
    this.account ??= this.budget.open()
    this.sender?.take(data)
    try {
      this.account.take(data.length)
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error
      this.sendStatus?.(statusOf(error))
      return
    }
  }
  original(this).handleDataFrame?.call(this, data)
}

/**
 * With a message of five bytes and what was compressed: the library would count nothing of what it becomes until it is
 * whole.
 */
function decompressMessage(this: InnerCall, message: Buffer, encoding: string): Buffer | Promise<Buffer> {
  if (!isDecompressed(encoding) || this.budget === undefined)
    return original(this).decompressMessage!.call(this, message, encoding)
  const account = (this.account ??= this.budget.open())
  return new Decompression(message.subarray(5), encoding, {
    account,
    isOver: () => this.cancelled === true,
    most: this.maxReceiveMessageSize ?? -1,
  }).done.finally(() => account.give(message.length))
}

/**
 * Called at the end of each call, whatever has ended it. A stream that stays open would keep the half of a message that
 * came before.
 */
function notifyOnCancel(this: InnerCall): void {
  this.account?.release()
  // after the trailers, which Node sends then
  if (this.sender?.end() === true) setImmediate(() => this.stream?.close?.(noError))
  original(this).notifyOnCancel?.call(this)
}

const nothing = (): void => {}

/**
 * The one message of a call. The library begins with the status once the message is written. Here the status follows at
 * once, and the stream is told that nothing else comes, so that HTTP/2 asks for the trailers while it sends the
 * message: two turns of the event loop less. What ends the stream later finds that done.
 */
function sendMessage(this: InnerCall, message: unknown, sent: () => void): void {
  original(this).sendMessage?.call(this, message, nothing)
  if (this.cancelled === true) return
  sent()
  this.stream?._final?.(nothing)
}

function sendStatus(this: InnerCall, status: GrpcStatus): void {
  if (status.code === grpcCodes.DEADLINE_EXCEEDED) this.isLate = true
  original(this).sendStatus?.call(this, reworded(status))
}

function original(call: InnerCall): InnerCall {
  return Object.getPrototypeOf(call) as InnerCall
}

/** What is wrong with a request is no fault of the server. */
function reworded(status: GrpcStatus): GrpcStatus {
  const { code, details } = status
  if (code === grpcCodes.INTERNAL && /^(Failed to decompress message|Invalid grpc-timeout value)/.test(details))
    return { ...status, code: grpcCodes.INVALID_ARGUMENT }
  if (code === grpcCodes.RESOURCE_EXHAUSTED && details.startsWith('Received message'))
    return { ...status, details: `${details}. Use --http-max-input-size to increase the limit.` }
  return status
}

/**
 * Bytes that a client may send before it is told to go on: of a stream, and of a connection. 64 KiB, HTTP/2's own,
 * would halve what large tensors get.
 */
const windows = { stream: 2 ** 20, connection: 2 ** 22 }

interface InnerServer {
  readonly commonServerOptions?: { settings?: object | undefined } | undefined
  readonly http2Servers?: ReadonlyMap<Http2Server, unknown> | undefined
}

/** Before the server has any connection: its windows, for which the library has no option. */
export function widenStreams(server: Server): void {
  const { commonServerOptions: options } = server as unknown as InnerServer
  if (options !== undefined) options.settings = { ...options.settings, initialWindowSize: windows.stream }
}

/** Once it has what takes connections; `keepsEncodings`: handlers see what encodings a client accepts. */
export function prepareConnections(server: Server, keepsEncodings: boolean): void {
  const { http2Servers } = server as unknown as InnerServer
  for (const http2 of http2Servers?.keys() ?? []) {
    http2.on('session', (session: ServerHttp2Session) => session.setLocalWindowSize(windows.connection))
    http2.prependListener('stream', (_stream, headers) => {
      limitDeadline(headers)
      const accepted = headers['grpc-accept-encoding']
      if (keepsEncodings && accepted !== undefined) headers[acceptHeader] = accepted
    })
  }
}

/** Milliseconds of the units that are longer than one. */
const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000 }

/** What the library counts in 32 bits, and is over at once where that is not enough: nobody waits for 24 days. */
function limitDeadline(headers: IncomingHttpHeaders): void {
  const timeout = headers['grpc-timeout']
  if (typeof timeout !== 'string') return
  const milliseconds = Number.parseInt(timeout, 10) * (units[timeout.at(-1) ?? ''] ?? 1)
  if (milliseconds > 2 ** 31 - 1) headers['grpc-timeout'] = '2147483S'
}
