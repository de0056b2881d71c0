// A message as its head and the tensors after it, which are copied once: into what is sent.
import { varintLength, writeVarint } from './writer.js'

/**
 * An encoded message that is not yet in one piece. It has what @grpc/grpc-js asks of a Buffer that it sends:
 * `byteLength`, `length` and `copy`.
 */
export class EncodedMessage {
  readonly #head: Uint8Array
  readonly #tag: number
  readonly #raw: readonly Uint8Array[]
  readonly #prefix: number | undefined
  readonly #inner: number
  /** Of the whole message. */
  readonly byteLength: number

  /**
   * @param rawField the number of the field that each of `raw` is
   * @param outerField of a message around it that has nothing else
   */
  constructor(head: Uint8Array, rawField: number, raw: readonly Uint8Array[], outerField?: number) {
    this.#head = head
    this.#tag = (rawField << 3) | 2
    this.#raw = raw
    this.#prefix = outerField === undefined ? undefined : (outerField << 3) | 2
    let bytes = head.length
    for (const { length } of raw) bytes += 1 + varintLength(length) + length
    this.#inner = bytes
    this.byteLength = this.#prefix === undefined ? bytes : 1 + varintLength(bytes) + bytes
  }

  get length(): number {
    return this.byteLength
  }

  /** Writes all of it to `target` from `at` on, and gives the number of bytes. */
  copy(target: Uint8Array, at = 0): number {
    let next = at
    if (this.#prefix !== undefined) {
      target[next++] = this.#prefix
      next = writeVarint(target, next, this.#inner)
    }
    target.set(this.#head, next)
    next += this.#head.length
    for (const raw of this.#raw) {
      target[next++] = this.#tag
      next = writeVarint(target, next, raw.length)
      target.set(raw, next)
      next += raw.length
    }
    return next - at
  }

  toBytes(): Buffer {
    const bytes = Buffer.allocUnsafe(this.byteLength)
    this.copy(bytes)
    return bytes
  }
}
