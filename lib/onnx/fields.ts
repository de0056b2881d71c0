/** The fields of protobuf messages that are read where they lie: of a file only their heads, and what is asked for. */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import type { FileHandle } from 'node:fs/promises'

/** Where the bytes of a message are read: fewer than were asked for at the end. */
export type ReadAt = (position: number, length: number) => Promise<Uint8Array>

/** A field that holds bytes: a message, or text. */
export interface Field {
  readonly number: number
  readonly position: number
  readonly length: number
}

/** A field's tag and its length, as protobuf writes them, have at most so many bytes. */
const mostHeadBytes = 20
/** Of a file so many bytes are read at once. */
const windowBytes = 2 ** 16

export const readerOfBytes =
  (bytes: Uint8Array): ReadAt =>
  async (position, length) =>
    bytes.subarray(position, position + length)

export function readerOfFile(file: FileHandle): ReadAt {
  let window = new Uint8Array(0)
  let begin = 0
  return async (position, length) => {
    const [from, to] = [position - begin, position - begin + length]
    if (from >= 0 && to <= window.length) return window.subarray(from, to)
    const bytes = new Uint8Array(Math.max(length, windowBytes))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, position)
    ;[window, begin] = [bytes.subarray(0, bytesRead), position]
    return window.subarray(0, length)
  }
}

/**
 * The fields that hold bytes, of the message from `position` to `end`, or to the end of all.
 * @param most fields of all kinds; what has more is taken for no message
 */
export async function* fieldsOf(readAt: ReadAt, position = 0, end = Infinity, most = Infinity): AsyncGenerator<Field> {
  for (let fields = 0; position < end; fields++) {
    if (fields === most) throw new RangeError(`More than ${most} fields`)
    const head = await readAt(position, Math.min(mostHeadBytes, end - position))
    if (head.length === 0) return
    const reader = new BinaryReader(head)
    const [number, type] = reader.tag()
    if (type === WireType.LengthDelimited) {
      const length = reader.uint32()
      position += reader.pos
      yield { number, position, length }
      position += length
    } else {
      reader.skip(type, number)
      position += reader.pos
    }
  }
}
