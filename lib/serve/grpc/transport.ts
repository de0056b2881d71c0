// Handlers bound to @grpc/grpc-js: the one file that knows its server.
import { isUint8Array } from 'node:util/types'
import type {
  Metadata,
  sendUnaryData,
  Server,
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js'
import { Cut } from '../../base/cancellation.js'
import { decodeMessage, healthMethods, inferenceMethods, pathOf } from '../../kserve/methods.js'
import { Fault, faultOf } from '../faults.js'
import type { HeaderRule } from '../front/options.js'
import type { RestrictedCategory } from '../public-types.js'
import { accountOf, hasArrived, isLate, isOver } from './arrivals.js'
import type { CallContext, CompressionLevel, GrpcFront, InStream, Outgoing, OutStream } from './call.js'
import { acceptHeader, compressed, type CompressedMessage, encodingFor, type GrpcEncoding } from './compression.js'
import { type UnaryMethod, unaryMethods } from './handlers.js'
import type { Health } from './health.js'
import { type GrpcStatus, statusOf } from './status.js'
import { InferStream } from './stream.js'
import { frameHead } from './unfinished.js'

/** What is sent: all that the library asks of it is `byteLength`, and to be copied into a frame. */
type Sent = Outgoing | CompressedMessage

export interface Transport extends GrpcFront {
  readonly health: Health
  readonly restricted: ReadonlyMap<RestrictedCategory, HeaderRule> | undefined
  readonly compression: CompressionLevel
  /** Streams that are not over. */
  readonly streams: Set<Pick<OutStream, 'end'>>
}

export function register(server: Server, transport: Transport): void {
  for (const method of unaryMethods(transport, transport.health)) registerUnary(server, transport, method)
  registerStream(server, transport)
  registerWatch(server, transport)
}

/** Bytes go through as they are. */
function deserialize(bytes: Buffer): Buffer {
  return bytes
}

function serialize(message: Sent): Buffer {
  return (isUint8Array(message) ? asBuffer(message) : message) as Buffer
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

type AnyCall = ServerUnaryCall<Buffer, Sent> | ServerDuplexStream<Buffer, Sent> | ServerWritableStream<Buffer, Sent>

function headerOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name)
  return value?.toString()
}

/** @throws Fault UNAVAILABLE, as Triton's */
function checkRestriction({ restricted }: Transport, category: RestrictedCategory, call: AnyCall): void {
  const rule = restricted?.get(category)
  if (rule !== undefined && headerOf(call.metadata, rule.header) !== rule.value)
    throw new Fault('UNAVAILABLE', `This protocol is restricted, expecting header '${rule.header}'`)
}

/** Why a call is over that was not answered. */
function reasonOf(call: AnyCall): Fault {
  const isTooLate = isLate(call) || Date.now() >= Number(call.getDeadline())
  return isTooLate ? new Fault('TIMEOUT', 'Deadline Exceeded') : new Fault('CANCELLED', 'The client has left')
}

function registerUnary(server: Server, transport: Transport, { path, category, handle }: UnaryMethod): void {
  const isInference = path === pathOf(inferenceMethods.modelInfer)
  const replyTo = async (call: ServerUnaryCall<Buffer, Sent>, context: CallContext): Promise<Sent> => {
    checkRestriction(transport, category, call)
    const reply = await handle(call.request, context)
    const accepted = isInference && transport.compression !== 'none' ? context.header(acceptHeader) : undefined
    const encoding = encodingFor(transport.compression, accepted)
    return encoding === undefined ? reply : sendable(reply, encoding, call)
  }
  const handler = (call: ServerUnaryCall<Buffer, Sent>, respond: sendUnaryData<Sent>): void => {
    if (isOver(call)) return
    hasArrived(call)
    const [cut, account] = [new Cut(), accountOf(call, transport.budget)]
    let isAnswered = false
    transport.begin()
    // whatever has ended the call: its last byte, its deadline, or its client
    call.once('cancelled', () => {
      account.release()
      transport.end()
      if (!isAnswered) cut.happen(reasonOf(call))
    })
    replyTo(call, { cut, account, header: (name) => headerOf(call.metadata, name) })
      .then((sent) => {
        isAnswered = true
        respond(null, sent)
      })
      .catch((error: unknown) => {
        const fault = faultOf(error)
        if (!isInference) tellFault(transport, path, fault)
        isAnswered = true
        respond(statusOf(fault))
      })
  }
  server.register(path, handler, serialize, deserialize, 'unary')
}

function tellFault({ parts }: Transport, method: string, { kind, message }: Fault): void {
  if (kind === 'INTERNAL') parts.log?.error({ method, error: message }, 'request failed')
}

async function sendable(reply: Outgoing, encoding: GrpcEncoding, call: AnyCall): Promise<Sent> {
  const sent = await compressed(reply, encoding)
  if (!('copy' in sent) || call.cancelled) return sent
  sayEncoding(call, encoding)
  return sent
}

/** Before the first message of a call. */
function sayEncoding(call: AnyCall, encoding: GrpcEncoding): void {
  const headers = call.metadata.clone()
  for (const name of Object.keys(headers.getMap())) headers.remove(name)
  headers.set('grpc-encoding', encoding)
  call.sendMetadata(headers)
}

/** Messages in their order, each as soon as the one before is compressed. */
class Out implements OutStream {
  readonly #call: ServerDuplexStream<Buffer, Sent> | ServerWritableStream<Buffer, Sent>
  readonly #encoding: GrpcEncoding | undefined
  readonly #waiting = new Set<() => void>()
  #isOver = false

  constructor(call: ServerDuplexStream<Buffer, Sent> | ServerWritableStream<Buffer, Sent>, encoding?: GrpcEncoding) {
    this.#call = call
    this.#encoding = encoding
    if (encoding !== undefined) sayEncoding(call, encoding)
  }

  header(name: string): string | undefined {
    return headerOf(this.#call.metadata, name)
  }

  send(message: Outgoing, sent: () => void): void {
    this.#waiting.add(sent)
    if (this.#encoding === undefined) return this.#write(message, sent)
    void compressed(message, this.#encoding).then(
      (shorter) => this.#write(shorter, sent),
      () => this.#write(message, sent), // it may be longer than zlib takes
    )
  }

  #write(message: Sent, sent: () => void): void {
    if (this.#isOver) return this.#settle(sent)
    this.#call.write(message, () => this.#settle(sent))
  }

  #settle(sent: () => void): void {
    if (this.#waiting.delete(sent)) sent()
  }

  holdMessages(isHeld: boolean): void {
    if (!('read' in this.#call)) return
    if (isHeld) this.#call.pause()
    else this.#call.resume()
  }

  end(status?: GrpcStatus): void {
    if (this.#isOver) return
    this.#isOver = true
    if (status === undefined) this.#call.end()
    else this.#call.emit('error', status) // how the library wants to be told
  }

  /** Nothing that waits will be sent. */
  over(): void {
    this.#isOver = true
    for (const sent of this.#waiting) this.#settle(sent)
  }
}

function registerStream(server: Server, transport: Transport): void {
  const handler = (call: ServerDuplexStream<Buffer, Sent>): void => {
    const arrived = accountOf(call, transport.budget)
    const accepted = transport.compression === 'none' ? undefined : headerOf(call.metadata, acceptHeader)
    const out = new Out(call, encodingFor(transport.compression, accepted))
    try {
      checkRestriction(transport, 'inference', call)
    } catch (error) {
      out.end(statusOf(faultOf(error)))
      return
    }
    transport.streams.add(out)
    const stream: InStream = new InferStream(transport, out)
    call.on('data', (bytes: Buffer) => {
      arrived.give(bytes.length + frameHead) // from here on the bytes are of the request
      stream.message(bytes)
    })
    call.once('end', () => stream.halfClosed())
    call.once('cancelled', () => {
      arrived.release()
      stream.over(reasonOf(call))
      out.over()
      transport.streams.delete(out)
    })
  }
  server.register(pathOf(inferenceMethods.modelStreamInfer), handler, serialize, deserialize, 'bidi')
}

function registerWatch(server: Server, transport: Transport): void {
  const { watch } = healthMethods
  const handler = (call: ServerWritableStream<Buffer, Sent>): void => {
    if (isOver(call)) return
    hasArrived(call)
    const out = new Out(call)
    try {
      checkRestriction(transport, 'health', call)
      const forget = transport.health.watch(decodeMessage(watch.input, call.request), out)
      transport.streams.add(out)
      call.once('cancelled', () => {
        forget()
        out.over()
        transport.streams.delete(out)
      })
    } catch (error) {
      out.end(statusOf(faultOf(error)))
    }
  }
  server.register(pathOf(watch), handler, serialize, deserialize, 'serverStream')
}
