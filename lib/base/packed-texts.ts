// Texts and bytes, each with its length before it: KServe's BYTES, and how tensors of texts travel.

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

/**
 * Views of the elements.
 * @param count how many they have to be; default: any number
 * @returns nothing where the bytes end within an element, or are another number of them
 */
export function textsOfBytes(bytes: Uint8Array, count?: number): Uint8Array[] | undefined {
  const texts: Uint8Array[] = []
  const isWhole = walk(bytes, (begin, end) => texts.push(bytes.subarray(begin, end)))
  return isWhole && texts.length === (count ?? texts.length) ? texts : undefined
}

/** How many elements these bytes are; nothing where they end within one. */
export function countTexts(bytes: Uint8Array): number | undefined {
  let count = 0
  return walk(bytes, () => count++) ? count : undefined
}

/** @returns whether the last element is whole */
function walk(bytes: Uint8Array, visit: (begin: number, end: number) => void): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < bytes.length;) {
    const begin = at + 4
    if (begin > bytes.length) return false
    at = begin + view.getUint32(at, true)
    if (at > bytes.length) return false
    visit(begin, at)
  }
  return true
}
