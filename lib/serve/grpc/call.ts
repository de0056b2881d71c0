// What handlers know of a call and of whatever carries it. Nothing here, nor in what handles calls, knows a library of
// gRPC.
import type { Cut } from '../../base/cancellation.js'
import type { EncodedMessage } from '../../kserve/wire/encoded.js'
import type { Account, Budget } from '../front/budget.js'
import type { FrontEndParts, HeaderRule } from '../front/options.js'
import type { JsonWorker } from '../http/json-worker.js'
import type { GrpcStatus } from './status.js'
import type { GrpcServeOptions, RestrictedCategory } from '../public-types.js'

/** A message to be sent, in one piece or not yet. */
export type Outgoing = Uint8Array | EncodedMessage

/** A call of one message, or the messages of a stream. */
export interface CallContext {
  /** Of the client, by its name in small letters. */
  header(name: string): string | undefined
  /** Happens when the client leaves, or when its deadline is over. */
  readonly cut: Cut
  /** Of its bytes; it is released when the call is over. */
  readonly account: Account
}

/** What a client that streams gets. Nothing of it has an effect once the call is over. */
export interface OutStream extends Pick<CallContext, 'header'> {
  /** `sent` is called when the message is gone, or will never be. */
  send(message: Outgoing, sent: () => void): void
  /**
   * The client's messages stay where they are, and soon it is not allowed to send more, until they are held no longer.
   */
  holdMessages(isHeld: boolean): void
  /** With a status that is OK unless another one is given. */
  end(status?: GrpcStatus): void
}

/** What becomes of a call whose client streams. */
export interface InStream {
  message(bytes: Uint8Array): void
  /** No more messages come. */
  halfClosed(): void
  /** The call is over, whoever ended it. */
  over(reason: unknown): void
}

/** What all calls share. */
export interface GrpcFront {
  readonly parts: FrontEndParts
  readonly budget: Budget
  readonly worker: JsonWorker
  /** Bytes of outputs from which on a worker looks for their classes. */
  readonly workerBytes: number
  /** No new requests are taken. */
  readonly isStopping: boolean
  begin(): void
  end(): void
  readTogether(): Promise<void> | undefined
}

/** PEM. */
export interface GrpcTls {
  readonly cert: Buffer
  readonly key: Buffer
  /** Of whoever signs the certificates of clients. */
  readonly root: Buffer | undefined
  /** Clients have to have one. */
  readonly mutual: boolean
}

/** Of {@link GrpcServeOptions} what needs no preparation, and what all front-ends have. */
export interface GrpcOptions extends FrontEndParts, Omit<GrpcServeOptions, 'address' | 'port' | 'restricted' | 'tls'> {
  readonly address: string
  /** 0: one that is free. */
  readonly port: number
  /**
   * Milliseconds for what a client sends: a request from its head to its end, a message of a stream from its first byte
   * to its last.
   */
  readonly messageTimeoutMs?: number | undefined
  /** Of all requests and answers that are under way, where there is no budget that others share. */
  readonly maxInFlightBytes?: number | undefined
  readonly restricted?: ReadonlyMap<RestrictedCategory, HeaderRule> | undefined
  readonly tls?: GrpcTls | undefined
}

/** How much the answers to inferences are compressed where a client takes that; `none`: not at all. */
export type CompressionLevel = NonNullable<GrpcServeOptions['compressionLevel']>
