import type { FrontEndParts, HeaderRule } from '../front/options.js'
import type { RestrictedCategory } from '../public-types.js'

/** How much the answers to inferences are compressed where a client takes that; `none`: not at all. */
export type CompressionLevel = 'none' | 'low' | 'medium' | 'high'

/** PEM. */
export interface GrpcTls {
  readonly cert: Buffer
  readonly key: Buffer
  /** Of whoever signs the certificates of clients. */
  readonly root: Buffer | undefined
  /** Clients have to have one. */
  readonly mutual: boolean
}

export interface GrpcConnections {
  /** Milliseconds of silence after which a ping is sent, and for which its answer may take. */
  readonly keepaliveTimeMs: number
  readonly keepaliveTimeoutMs: number
  /** Milliseconds after which a connection is given up, and those for which what is under way on it may take then. */
  readonly maxAgeMs?: number | undefined
  readonly maxAgeGraceMs?: number | undefined
}

export interface GrpcOptions extends FrontEndParts {
  readonly address: string
  /** 0: one that is free. */
  readonly port: number
  /** Of a message, after decompression. */
  readonly maxMessageBytes?: number | undefined
  /**
   * Milliseconds for what a client sends: a request from its head to its end, a message of a stream from its first byte
   * to its last.
   */
  readonly messageTimeoutMs?: number | undefined
  /** Of all requests and answers that are under way, where there is no budget that others share. */
  readonly maxInFlightBytes?: number | undefined
  readonly restricted?: ReadonlyMap<RestrictedCategory, HeaderRule> | undefined
  readonly compression?: CompressionLevel | undefined
  readonly tls?: GrpcTls | undefined
  readonly connections?: GrpcConnections | undefined
}
