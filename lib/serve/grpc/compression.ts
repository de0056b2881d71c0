// Compression of answers, which @grpc/grpc-js does of requests alone: a message says in the byte before its length
// whether it is compressed.
import { promisify } from 'node:util'
import { createGunzip, createInflate, deflate, gzip } from 'node:zlib'
import { isUint8Array } from 'node:util/types'
import type { CompressionLevel, Outgoing } from './call.js'
import type { Account } from '../front/budget.js'
import { Fault, faultOf, invalid } from '../faults.js'
import { type GrpcStatus, statusOf } from './status.js'

export type GrpcEncoding = 'gzip' | 'deflate'

/** The header of a request by another name, since @grpc/grpc-js keeps its own to itself. */
export const acceptHeader = 'x-accepted-encodings'

/** As gRPC's core chooses by a level: of what the client takes gzip is the lower one, deflate the higher. */
export function encodingFor(level: CompressionLevel, accepted: string | undefined): GrpcEncoding | undefined {
  if (level === 'none' || accepted === undefined) return undefined
  const names = accepted.split(',').map((name) => name.trim())
  const known = (['gzip', 'deflate'] as const).filter((name) => names.includes(name))
  return level === 'low' ? known[0] : known.at(-1)
}

/** A message that is sent compressed: it sets the mark in the frame that it is written to. */
export class CompressedMessage {
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get byteLength(): number {
    return this.#bytes.length
  }

  get length(): number {
    return this.#bytes.length
  }

  copy(frame: Uint8Array, at: number): number {
    frame[at - 5] = 1
    frame.set(this.#bytes, at)
    return this.#bytes.length
  }
}

const compressors = { gzip: promisify(gzip), deflate: promisify(deflate) }

/** The message as it is where compression would make it longer. The work is done beside the event loop. */
export async function compressed(message: Outgoing, encoding: GrpcEncoding): Promise<Outgoing | CompressedMessage> {
  const bytes = isUint8Array(message) ? message : message.toBytes()
  const shorter = await compressors[encoding](bytes)
  return shorter.length < bytes.length ? new CompressedMessage(shorter) : bytes
}

// Messages that came compressed: what they become counts as it becomes, so that a few bytes do not grow to what the
// machine has.

const makers = { gzip: createGunzip, deflate: createInflate }

type Encoding = keyof typeof makers

export function isDecompressed(encoding: string): encoding is Encoding {
  return Object.hasOwn(makers, encoding)
}

interface Limits {
  readonly account: Account
  readonly isOver: () => boolean
  /** Bytes of a message; -1: any number. */
  readonly most: number
}

export class Decompression {
  readonly #limits: Limits
  readonly #stream: ReturnType<(typeof makers)[Encoding]>
  readonly #parts: Buffer[] = []
  #length = 0
  /** Rejected with a GrpcStatus. The bytes are in the account. */
  readonly done: Promise<Buffer>

  constructor(bytes: Buffer, encoding: Encoding, limits: Limits) {
    this.#limits = limits
    this.#stream = makers[encoding]({ chunkSize: 65_536 })
    this.done = new Promise((resolve, reject) => {
      const fail = (status: GrpcStatus): void => {
        this.#stream.destroy()
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- how the library wants to be told
        reject(status)
      }
      this.#stream.on('error', () => fail(statusOf(invalid('Failed to decompress message'))))
      this.#stream.on('data', (part: Buffer) => {
        const status = this.#take(part)
        if (status !== undefined) fail(status)
      })
      this.#stream.on('end', () => resolve(Buffer.concat(this.#parts, this.#length)))
      this.#stream.end(bytes)
    })
  }

  /** Why it does not go on, if so. */
  #take(part: Buffer): GrpcStatus | undefined {
    const { account, isOver, most } = this.#limits
    if (isOver()) return statusOf(new Fault('CANCELLED', 'The call is over'))
    this.#length += part.length
    if (most !== -1 && this.#length > most)
      return statusOf(new Fault('TOO_LARGE', `Received message that decompresses to a size larger than ${most}`))
    try {
      account.take(part.length)
    } catch (error) {
      return statusOf(faultOf(error))
    }
    this.#parts.push(part)
    return undefined
  }
}
