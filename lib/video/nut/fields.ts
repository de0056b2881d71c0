import { TensorRTError } from '../../errors.js'
import { crc32 } from './crc.js'

/** There are not as many bytes yet as what is being read has. */
export const needsMore = Symbol('needs more')

export function damaged(what: string): TensorRTError {
  return new TensorRTError('ERR_TRT_VIDEO_DATA', `The frames that ffmpeg gave are damaged: ${what}`)
}

/** Reads NUT's fields, one after the other. */
export class Fields {
  readonly #bytes: Uint8Array
  readonly #atEnd: () => unknown
  at = 0

  /** @param atEnd what is thrown where a field reaches beyond the bytes */
  constructor(bytes: Uint8Array, atEnd: () => unknown) {
    this.#bytes = bytes
    this.#atEnd = atEnd
  }

  get isAtEnd(): boolean {
    return this.at === this.#bytes.length
  }

  /** Of what was read so far. */
  get checksum(): number {
    return crc32(this.#bytes.subarray(0, this.at))
  }

  byte(): number {
    if (this.isAtEnd) throw this.#atEnd()
    return this.#bytes[this.at++]!
  }

  /** Seven bits a byte, the highest first; all but the last have their highest bit set. */
  varint(): bigint {
    let value = 0n
    for (;;) {
      const byte = this.byte()
      if (value >> 57n !== 0n) throw damaged('a number has more than 64 bits')
      value = (value << 7n) | BigInt(byte & 0x7f)
      if ((byte & 0x80) === 0) return value
    }
  }

  /** @throws TensorRTError ERR_TRT_VIDEO_DATA where it is larger */
  limited(most: bigint, what: string): bigint {
    return limited(this.varint(), most, what)
  }

  whole(most: number, what: string): number {
    return Number(this.limited(BigInt(most), what))
  }

  /** 0, 1, -1, 2, -2, … */
  signed(): bigint {
    const value = this.limited(mostTime, 'a signed number')
    return value % 2n === 1n ? value / 2n + 1n : -(value / 2n)
  }

  bytes(count: number): Uint8Array {
    if (this.#bytes.length - this.at < count) throw this.#atEnd()
    return this.#bytes.subarray(this.at, (this.at += count))
  }
}

/** The largest time stamp, in ticks. */
export const mostTime = 1n << 62n

export function limited(value: bigint, most: bigint, what: string): bigint {
  if (value > most) throw damaged(`${what} is ${String(value)}, above ${String(most)}`)
  return value
}
