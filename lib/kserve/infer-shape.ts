import { type Reader, wireTypes } from './wire/reader.js'
import type { Writer } from './wire/writer.js'

/** Sizes of a shape, packed or each for itself. */
export function readShape(reader: Reader, into: number[]): void {
  if (reader.wireType !== wireTypes.delimited) {
    reader.entry()
    into.push(reader.int64AsNumber())
    return
  }
  const outer = reader.enter()
  while (!reader.isAtEnd) {
    reader.entry()
    into.push(reader.int64AsNumber())
  }
  reader.leave(outer)
}

export function writeShape(writer: Writer, field: number, shape: readonly number[]): void {
  if (shape.length === 0) return
  const start = writer.open(field)
  for (const size of shape) writer.integer(size)
  writer.close(start)
}
