// Writes the binary form of protobuf by hand, into memory that grows.

const smallest = 1024

export class Writer {
  #buffer = Buffer.allocUnsafeSlow(smallest)
  #at = 0

  get length(): number {
    return this.#at
  }

  /** What was written, as a copy; it begins anew. */
  take(): Buffer {
    const copy = Buffer.from(this.#buffer.subarray(0, this.#at))
    this.#at = 0
    if (this.#buffer.length > 64 * smallest) this.#buffer = Buffer.allocUnsafeSlow(smallest)
    return copy
  }

  /** A number of up to 2^53 - 1, from 0 on. */
  varint(value: number): void {
    this.#room(10)
    this.#at = writeVarint(this.#buffer, this.#at, value)
  }

  tag(field: number, wireType: number): void {
    this.varint((field << 3) | wireType)
  }

  /** A whole number as int64, int32 or uint64 have it: negative ones take ten bytes. */
  integer(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return this.varint(value)
    let rest = BigInt.asUintN(64, BigInt(value))
    this.#room(10)
    while (rest > 0x7fn) {
      this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.#buffer[this.#at++] = Number(rest)
  }

  float(value: number): void {
    this.#room(4)
    this.#at = this.#buffer.writeFloatLE(value, this.#at)
  }

  double(value: number): void {
    this.#room(8)
    this.#at = this.#buffer.writeDoubleLE(value, this.#at)
  }

  /** A text with its length before it. */
  string(text: string): void {
    const length = Buffer.byteLength(text)
    this.varint(length)
    this.#room(length)
    this.#at += this.#buffer.write(text, this.#at)
  }

  /** Bytes with their length before them. */
  bytes(bytes: Uint8Array): void {
    this.varint(bytes.length)
    this.#room(bytes.length)
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** A field with a text, left out where it is empty. */
  text(field: number, text: string): void {
    if (text === '') return
    this.tag(field, 2)
    this.string(text)
  }

  /** Begins a message within this one, whose length comes first; {@link close} takes what this gives. */
  open(field: number): number {
    this.tag(field, 2)
    this.#room(1)
    return ++this.#at
  }

  close(start: number): void {
    const length = this.#at - start
    const more = varintLength(length) - 1
    if (more > 0) {
      this.#room(more)
      this.#buffer.copyWithin(start + more, start, this.#at)
    }
    writeVarint(this.#buffer, start - 1, length)
    this.#at += more
  }

  #room(bytes: number): void {
    const wanted = this.#at + bytes
    if (wanted <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}

export function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) length++
  return length
}

/** Gives where it ends. */
export function writeVarint(target: Uint8Array, at: number, value: number): number {
  let rest = value
  let next = at
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) target[next++] = (rest % 128) | 0x80
  target[next++] = rest
  return next
}
