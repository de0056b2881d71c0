import { webcrypto } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/** What is hashed at once: copying so much to the thread pool takes the event loop a fraction of a millisecond. */
const chunkSize = 2 ** 20

/** How many chunks may be on the thread pool, whose threads (four) are everybody's. */
const atOnce = 2

/** The chunks of a file, from its beginning. One is good until the next is asked for. */
export async function* chunksOfFile(file: FileHandle): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = new Uint8Array(chunkSize)
  for (;;) {
    let length = 0
    for (let read = -1; read !== 0 && length < chunkSize; length += read)
      read = (await file.read(buffer, length, chunkSize - length, null)).bytesRead
    if (length > 0) yield buffer.subarray(0, length)
    if (length < chunkSize) return
  }
}

export function* chunksOfBytes(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize)
}

/**
 * One hash of all chunks, as hexadecimal digits: the SHA-256 of the list of their SHA-256. They are hashed on Node's
 * thread pool, which takes a copy of each; OpenSSL uses the processor's own instructions for it.
 */
export async function hashOf(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const digests: Promise<ArrayBuffer>[] = []
  for await (const chunk of chunks) {
    signal?.throwIfAborted()
    digests.push(webcrypto.subtle.digest('SHA-256', chunk))
    await digests[digests.length - atOnce]
  }
  const list = (await Promise.all(digests)).map((digest) => new Uint8Array(digest))
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', Buffer.concat(list))).toString('hex')
}
