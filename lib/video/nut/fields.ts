import { TensorRTError } from '../../errors.js'

export const fileId = Buffer.from('nut/multimedia container\0')

/** By what packets begin. */
export const startcodes = {
  main: 0x4e4d_7a56_1f5f_04adn,
  stream: 0x4e53_1140_5bf2_f9dbn,
  syncpoint: 0x4e4b_e4ad_eeca_4569n,
  index: 0x4e58_dd67_2f23_e64en,
  info: 0x4e49_ab68_b596_ba78n,
}

/** What is said of a frame. */
export const flag = {
  key: 1n,
  codedPts: 8n,
  streamId: 16n,
  sizeMsb: 32n,
  checksum: 64n,
  reserved: 128n,
  sideData: 256n,
  headerIndex: 1024n,
  matchTime: 2048n,
  coded: 4096n,
  invalid: 8192n,
}

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

/**
 * NUT's checksum: of the polynomial 0x04C11DB7, the highest bit first, beginning with 0, not inverted; of bytes and
 * their checksum it is 0.
 */
export function crc32(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) ^ table[(crc >>> 24) ^ byte]!) >>> 0
  return crc
}

const table = Uint32Array.from({ length: 256 }, (_, first) => {
  let value = first << 24
  for (let bit = 0; bit < 8; bit++) value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1
  return value >>> 0
})
