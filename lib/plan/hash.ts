import { createHash, type Hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

/** As many bytes are hashed or read at once: about half a millisecond. */
export const chunkSize = 2 ** 20

export function newHash(): Hash {
  return createHash('sha256')
}

/**
 * The SHA-256 as hexadecimal digits. Between two chunks others get their turn, so that a large plan does not hold up
 * the event loop.
 */
export async function sha256Of(bytes: Uint8Array, signal?: AbortSignal): Promise<string> {
  const hash = newHash()
  for (let at = 0; at < bytes.length; at += chunkSize) {
    if (at > 0) await setImmediate()
    signal?.throwIfAborted()
    hash.update(bytes.subarray(at, at + chunkSize))
  }
  return hash.digest('hex')
}
