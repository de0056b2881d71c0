// Compression of answers, which @grpc/grpc-js does of requests alone: a message says in the byte before its length
// whether it is compressed.
import { promisify } from 'node:util'
import { deflate, gzip } from 'node:zlib'
import type { Outgoing } from './call.js'
import type { CompressionLevel } from './options.js'

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
  const bytes = message instanceof Uint8Array ? message : message.toBytes()
  const shorter = await compressors[encoding](bytes)
  return shorter.length < bytes.length ? new CompressedMessage(shorter) : bytes
}
