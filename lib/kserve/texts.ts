// KServe's BYTES: texts and bytes, each with its length before it.

/** The elements as they go over the wire, in memory of their own, which may be handed to another thread. */
export function bytesOfTexts(texts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  let length = 0
  for (const text of texts) length += 4 + (typeof text === 'string' ? Buffer.byteLength(text) : text.length)
  const bytes = new Uint8Array(length)
  const buffer = Buffer.from(bytes.buffer)
  let at = 0
  for (const text of texts) {
    const written = typeof text === 'string' ? buffer.write(text, at + 4) : place(text, bytes, at + 4)
    buffer.writeUInt32LE(written, at)
    at += 4 + written
  }
  return bytes
}

function place(from: Uint8Array, into: Uint8Array, at: number): number {
  into.set(from, at)
  return from.length
}
