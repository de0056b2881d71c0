// Reads the binary form of protobuf by hand. What is no message throws a MessageFault; no read goes beyond the bytes
// that were given.
import { isUtf8 } from 'node:buffer'
import { MessageFault } from './message-fault.js'

export const wireTypes = { varint: 0, fixed64: 1, delimited: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const

/** Groups within each other in a field that nobody knows. */
const deepest = 100

/** Entries of all lists of a message: each may take two bytes there, and a hundred times as many in memory. */
const mostEntries = 2 ** 17

/** A place in a message. Of each tag the caller reads or skips what follows before it asks for the next. */
export class Reader {
  readonly bytes: Buffer
  #at: number
  #end: number
  #low = 0
  #high = 0
  #wireType = 0
  #field = 0
  #entries = 0

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#at = 0
    this.#end = bytes.length
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end
  }

  get at(): number {
    return this.#at
  }

  /** Of the field whose tag was read last. */
  get field(): number {
    return this.#field
  }

  get wireType(): number {
    return this.#wireType
  }

  /** Field and wire type as one number, `field << 3 | type`; 0 at the end of the message. */
  tag(): number {
    if (this.#at >= this.#end) return 0
    this.#varint()
    const tag = this.#low >>> 0
    this.#wireType = tag & 7
    this.#field = tag >>> 3
    if (this.#high !== 0 || this.#field === 0)
      throw new MessageFault(`The message has a field with an illegal tag at byte ${this.#at}`)
    return tag
  }

  /**
   * Limits reads to the message that begins here, and gives the end of what is around it, which {@link leave} takes.
   */
  enter(): number {
    const length = this.#length()
    const outer = this.#end
    this.#end = this.#at + length
    return outer
  }

  leave(outer: number): void {
    this.#at = this.#end
    this.#end = outer
  }

  /** Another entry of a list follows, of which something is kept. @throws MessageFault for too many of a message */
  entry(): void {
    if (++this.#entries > mostEntries)
      throw new MessageFault(`The message has more than ${mostEntries} tensors, sizes and parameters`)
  }

  /** A view of the bytes that begin here with their length. */
  view(): Buffer {
    const length = this.#length()
    return this.bytes.subarray(this.#at, (this.#at += length))
  }

  string(): string {
    const length = this.#length()
    const start = this.#at
    this.#at += length
    if (length < 24) {
      const short = this.#ascii(start, length)
      if (short !== undefined) return short
    }
    if (!isUtf8(this.bytes.subarray(start, this.#at)))
      throw new MessageFault(`The message has a text that is no UTF-8 at byte ${start}`)
    return this.bytes.toString('utf8', start, this.#at)
  }

  bool(): boolean {
    this.#varint()
    return (this.#low | this.#high) !== 0
  }

  int32(): number {
    this.#varint()
    return this.#low
  }

  uint32(): number {
    this.#varint()
    return this.#low >>> 0
  }

  /** Exact below 2^53, else the nearest that there is. */
  int64AsNumber(): number {
    this.#varint()
    return this.#high * 2 ** 32 + (this.#low >>> 0)
  }

  int64(): bigint {
    this.#varint()
    return (BigInt(this.#high) << 32n) | BigInt(this.#low >>> 0)
  }

  uint64(): bigint {
    this.#varint()
    return (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0)
  }

  float(): number {
    return this.bytes.readFloatLE(this.#advance(4))
  }

  double(): number {
    return this.bytes.readDoubleLE(this.#advance(8))
  }

  /** Passes over the field whose tag was read last. */
  skip(): void {
    this.#skip(this.#wireType, this.#field, 0)
  }

  #skip(wireType: number, field: number, depth: number): void {
    if (wireType === wireTypes.varint) this.#varint()
    else if (wireType === wireTypes.fixed64) this.#advance(8)
    else if (wireType === wireTypes.delimited) this.#advance(this.#length())
    else if (wireType === wireTypes.fixed32) this.#advance(4)
    else if (wireType === wireTypes.startGroup && depth < deepest) this.#skipGroup(field, depth + 1)
    else throw new MessageFault(`The message has a field with the illegal wire type ${wireType} at byte ${this.#at}`)
  }

  #skipGroup(field: number, depth: number): void {
    for (;;) {
      if (this.tag() === 0) throw this.#cutShort()
      const [wireType, inner] = [this.#wireType, this.#field]
      if (wireType !== wireTypes.endGroup) this.#skip(wireType, inner, depth)
      else if (inner === field) return
      else throw new MessageFault(`The message has the end of a group that did not begin at byte ${this.#at}`)
    }
  }

  #ascii(start: number, length: number): string | undefined {
    let text = ''
    for (let i = start; i < start + length; i++) {
      const byte = this.bytes[i]!
      if (byte > 0x7f) return undefined
      text += String.fromCharCode(byte)
    }
    return text
  }

  #length(): number {
    this.#varint()
    const length = this.#low >>> 0
    if (this.#high !== 0 || length > this.#end - this.#at) throw this.#cutShort()
    return length
  }

  /** Where so many bytes begin, which are passed over. */
  #advance(bytes: number): number {
    const start = this.#at
    if (bytes > this.#end - start) throw this.#cutShort()
    this.#at = start + bytes
    return start
  }

  #cutShort(): MessageFault {
    return new MessageFault(`The message ends in the middle of a field at byte ${this.#at}`)
  }

  #varint(): void {
    const { bytes } = this
    let at = this.#at
    const end = this.#end
    if (at < end && bytes[at]! < 0x80) {
      this.#low = bytes[at]!
      this.#high = 0
      this.#at = at + 1
      return
    }
    let [low, high] = [0, 0]
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= end) throw this.#cutShort()
      const byte = bytes[at++]!
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >>> 4
      } else high |= bits << (shift - 32)
      if (byte < 0x80) {
        this.#low = low
        this.#high = high
        this.#at = at
        return
      }
    }
    throw new MessageFault(`The message has a number of more than ten bytes at byte ${this.#at}`)
  }
}
