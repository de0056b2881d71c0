// Messages that came compressed: what they become counts as it becomes, so that a few bytes do not grow to what the
// machine has.
import { createGunzip, createInflate } from 'node:zlib'
import type { Account } from '../front/budget.js'
import { Fault, faultOf, invalid } from '../faults.js'
import { type GrpcStatus, statusOf } from './status.js'

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
