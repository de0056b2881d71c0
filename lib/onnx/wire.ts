import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'

/**
 * How much a file may make of memory when it is decoded: an empty node takes two bytes of a file and 280 of memory.
 * Counted are messages and texts, and the numbers of lists, of which those of 64 bits are
 * objects. The largest models that are known have a hundred thousand nodes; their weights are bytes, of which there may
 * be as many as there are.
 */
const mostEntries = 2 ** 22
const mostNumbers = 2 ** 26
/** So many numbers of 32 bits take the memory of one of 64, which is a BigInt. */
const ofBigInt = 4
/** Protobuf's own limit on messages within messages is at 100. */
const deepest = 100

type Bounds = readonly [entries: number, numbers: number]

/**
 * A cursor over protobuf's wire format, which counts what a decoder would make of it.
 * @see https://protobuf.dev/programming-guides/encoding/
 */
class Counter {
  readonly #bytes: Uint8Array
  readonly #most: Bounds
  entries = 0
  numbers = 0

  constructor(bytes: Uint8Array, most: Bounds) {
    this.#bytes = bytes
    this.#most = most
  }

  get isBeyond(): boolean {
    return this.entries > this.#most[0] || this.numbers > this.#most[1]
  }

  /**
   * Counts the fields of one message. What is damaged ends it: the decoder says what that is.
   * @returns where it ended; nothing where it is damaged, or beyond the bounds
   */
  message(desc: DescMessage, from: number, end: number, depth: number): void {
    const fields = fieldsOf(desc)
    let at = from
    while (at < end && !this.isBeyond) {
      const [tag, start] = this.#varint(at, end)
      if (start < 0) return
      const field = fields.get(Math.floor(tag / 8))
      const next = this.#field(field, tag % 8, start, end, depth)
      if (next < 0) return
      at = next
    }
  }

  /** @returns where the field ends; below 0 where it is damaged */
  #field(field: DescField | undefined, wire: number, at: number, end: number, depth: number): number {
    if (wire === 0) {
      this.#one(field)
      return this.#varint(at, end)[1]
    }
    if (wire === 1 || wire === 5) {
      this.#one(field)
      const next = at + (wire === 1 ? 8 : 4)
      return next <= end ? next : -1
    }
    if (wire !== 2) return -1
    const [length, start] = this.#varint(at, end)
    if (start < 0 || start + length > end) return -1
    this.#content(field, start, start + length, depth)
    return start + length
  }

  /** A number that stands by itself. One that the schema has not is kept as an object. */
  #one(field: DescField | undefined): void {
    if (field === undefined) this.entries++
    else if (field.fieldKind === 'list') this.numbers += weightOf(field)
  }

  #content(field: DescField | undefined, from: number, end: number, depth: number): void {
    const message = field !== undefined && 'message' in field ? field.message : undefined
    const scalar = field?.fieldKind === 'list' && field.listKind === 'scalar' ? field.scalar : undefined
    if (message !== undefined) {
      this.entries++
      if (depth < deepest) this.message(message, from, end, depth + 1)
    } else if (scalar === undefined || scalar === ScalarType.STRING || scalar === ScalarType.BYTES) this.entries++
    else this.numbers += weightOf(field) * this.#packed(scalar, from, end)
  }

  /** How many numbers lie one behind the other. */
  #packed(scalar: ScalarType, from: number, end: number): number {
    if (scalar === ScalarType.FLOAT) return (end - from) / 4
    if (scalar === ScalarType.DOUBLE) return (end - from) / 8
    let count = 0
    for (let at = from; at < end; at++) if (this.#bytes[at]! < 0x80) count++
    return count
  }

  /** @returns the number, and where it ended: below 0 where it goes beyond the end */
  #varint(from: number, end: number): [number, number] {
    let value = 0
    let scale = 1
    for (let at = from; at < end && at < from + 10; at++) {
      const byte = this.#bytes[at]!
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return [value, at + 1]
      scale *= 128
    }
    return [0, -1]
  }
}

const bigints: readonly ScalarType[] = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64]

function weightOf(field: DescField | undefined): number {
  return field?.fieldKind === 'list' && field.listKind === 'scalar' && bigints.includes(field.scalar) ? ofBigInt : 1
}

const known = new Map<DescMessage, ReadonlyMap<number, DescField>>()

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  const fields = known.get(desc) ?? new Map(desc.fields.map((field) => [field.number, field]))
  known.set(desc, fields)
  return fields
}

/**
 * Why bytes are not decoded: what they have would take more memory than a model needs. Nothing where they may be. One
 * pass, which makes no objects of them.
 */
export function whyTooMany(
  bytes: Uint8Array,
  desc: DescMessage,
  most: Bounds = [mostEntries, mostNumbers],
): string | undefined {
  // what is this small cannot have as many
  if (bytes.length < Math.min(...most)) return undefined
  const counter = new Counter(bytes, most)
  counter.message(desc, 0, bytes.length, 0)
  const [entries, numbers] = most
  if (counter.entries > entries)
    return `it has more than ${entries.toLocaleString('en')} nodes, names and other entries`
  if (counter.numbers > numbers)
    return `it has more than ${numbers.toLocaleString('en')} numbers in lists: weights belong into raw_data`
  return undefined
}
