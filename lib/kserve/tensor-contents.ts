// InferTensorContents: elements of a tensor as numbers of protobuf. They stay in the message until somebody takes them,
// so that a message never grows in memory.
import { Reader, wireTypes } from './wire/reader.js'
import { MessageFault } from './wire/message-fault.js'
import type { Writer } from './wire/writer.js'

/** What the elements of each list are in JavaScript. */
export interface ContentsElements {
  bool: boolean
  int: number
  int64: bigint
  uint: number
  uint64: bigint
  fp32: number
  fp64: number
  bytes: Uint8Array
}

export type ContentsKind = keyof ContentsElements

/** Elements to be sent. */
export type TypedContents = { readonly [K in ContentsKind]?: readonly ContentsElements[K][] }

const { varint, fixed32, fixed64, delimited } = wireTypes

/** The lists that a message has, in the order of their fields: `int` is int_contents, and so on. */
const lists: {
  readonly [K in ContentsKind]: { readonly type: number; readonly read: (reader: Reader) => ContentsElements[K] }
} = {
  bool: { type: varint, read: (reader) => reader.bool() },
  int: { type: varint, read: (reader) => reader.int32() },
  int64: { type: varint, read: (reader) => reader.int64() },
  uint: { type: varint, read: (reader) => reader.uint32() },
  uint64: { type: varint, read: (reader) => reader.uint64() },
  fp32: { type: fixed32, read: (reader) => reader.float() },
  fp64: { type: fixed64, read: (reader) => reader.double() },
  bytes: { type: delimited, read: (reader) => reader.view() },
}

export const contentsKinds = Object.keys(lists) as readonly ContentsKind[]

const plainTags = { fp32: (6 << 3) | delimited, fp64: (7 << 3) | delimited }

/** Bytes from which on a look at each element holds a thread for milliseconds. */
export const longContents = 2 ** 16

/**
 * Contents that were received: views of their message. Long ones are looked at, and refused, once somebody asks for
 * what is in them.
 */
export class TensorContents {
  readonly parts: readonly Uint8Array[]
  readonly byteLength: number
  readonly #counts = new Map<ContentsKind, number>()
  #textBytes = 0
  #isCounted = false

  /** @param parts several where a message has the field several times: their lists go on. @throws MessageFault */
  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts
    this.byteLength = parts.reduce((sum, { length }) => sum + length, 0)
    if (this.byteLength < longContents) this.#countAll()
  }

  /** They are one list of numbers as they are in memory, and nothing else. */
  get isPlain(): boolean {
    const [only, ...others] = this.parts
    if (only === undefined || others.length > 0) return false
    const reader = new Reader(only)
    const tag = reader.tag()
    if (tag !== plainTags.fp32 && tag !== plainTags.fp64) return false
    reader.skip()
    return reader.isAtEnd
  }

  /** The lists that have elements. @throws MessageFault of long ones, as all that follows */
  get kinds(): readonly ContentsKind[] {
    return contentsKinds.filter((kind) => this.count(kind) > 0)
  }

  count(kind: ContentsKind): number {
    this.#countAll()
    return this.#counts.get(kind) ?? 0
  }

  /** Of all elements of `bytes`. */
  get textBytes(): number {
    this.#countAll()
    return this.#textBytes
  }

  forEach<K extends ContentsKind>(kind: K, take: (element: ContentsElements[K], index: number) => void): void {
    const { read } = lists[kind]
    let index = 0
    for (const [reader, isPacked] of this.#lists(kind)) {
      if (!isPacked) take(read(reader), index++)
      else {
        const outer = reader.enter()
        while (!reader.isAtEnd) take(read(reader), index++)
        reader.leave(outer)
      }
    }
  }

  /**
   * The elements as they are in memory, the lowest byte first, where all of them came in lists; nothing where they did
   * not.
   */
  packed(kind: 'fp32' | 'fp64'): readonly Uint8Array[] | undefined {
    const views: Uint8Array[] = []
    for (const [reader, isPacked] of this.#lists(kind)) {
      if (!isPacked) return undefined
      views.push(reader.view())
    }
    return views
  }

  all<K extends ContentsKind>(kind: K): readonly ContentsElements[K][] {
    const elements: ContentsElements[K][] = []
    this.forEach(kind, (element) => elements.push(element))
    return elements
  }

  readonly #add = (kind: ContentsKind, count: number): void => {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + count)
  }

  #countAll(): void {
    if (this.#isCounted) return
    this.#isCounted = true
    for (const field of this.#fields()) this.#count(field)
  }

  #count({ reader, kind, isPacked }: Field): void {
    if (!isPacked) {
      if (kind === 'bytes') this.#textBytes += reader.view().length
      else reader.skip()
      this.#add(kind, 1)
      return
    }
    const list = reader.view()
    const size = kind === 'fp32' ? 4 : kind === 'fp64' ? 8 : undefined
    this.#add(kind, size === undefined ? varintsIn(list) : wholeNumber(list.length / size))
  }

  *#lists(wanted: ContentsKind): Generator<readonly [reader: Reader, isPacked: boolean]> {
    for (const { reader, kind, isPacked } of this.#fields()) {
      if (kind === wanted) yield [reader, isPacked]
      else reader.skip()
    }
  }

  /** Each list, or element of one; who takes it reads or skips it. */
  *#fields(): Generator<Field> {
    for (const part of this.parts) {
      const reader = new Reader(part)
      for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
        const kind = contentsKinds[reader.field - 1]
        const isPacked = kind !== 'bytes' && reader.wireType === delimited
        if (kind !== undefined && (isPacked || reader.wireType === lists[kind].type)) yield { reader, kind, isPacked }
        else reader.skip()
      }
    }
  }
}

interface Field {
  readonly reader: Reader
  readonly kind: ContentsKind
  readonly isPacked: boolean
}

function wholeNumber(count: number): number {
  if (Number.isInteger(count)) return count
  throw new MessageFault('The message has a list of numbers that ends in the middle of one')
}

/** @throws MessageFault where the last one is not whole, or one has more than ten bytes */
function varintsIn(list: Uint8Array): number {
  let [count, length] = [0, 0]
  for (const byte of list) {
    if (++length > 10) throw new MessageFault('The message has a list with a number of more than ten bytes')
    if (byte > 0x7f) continue
    count++
    length = 0
  }
  if (length > 0) throw new MessageFault('The message has a list of numbers that ends in the middle of one')
  return count
}

/** Lists of numbers are packed, as all encoders do it. */
export function writeContents(writer: Writer, field: number, contents: TypedContents): void {
  const start = writer.open(field)
  for (const [index, kind] of contentsKinds.entries()) writeList(writer, index + 1, kind, contents)
  writer.close(start)
}

function writeList(writer: Writer, field: number, kind: ContentsKind, contents: TypedContents): void {
  if (contents[kind] === undefined || contents[kind].length === 0) return
  if (kind === 'bytes') {
    for (const bytes of contents.bytes ?? []) {
      writer.tag(field, 2)
      writer.bytes(bytes)
    }
    return
  }
  const start = writer.open(field)
  if (kind === 'fp32') for (const value of contents.fp32 ?? []) writer.float(value)
  else if (kind === 'fp64') for (const value of contents.fp64 ?? []) writer.double(value)
  else for (const value of contents[kind] ?? []) writer.integer(typeof value === 'boolean' ? Number(value) : value)
  writer.close(start)
}
