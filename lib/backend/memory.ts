import { isArrayBuffer } from 'node:util/types'
import { loadAddon, nativeSync } from './native.js'
import { whyPortable } from './portable/why.js'

/**
 * Gives memory back that nobody needs any more, where the bytes are all of their buffer, which is detached; without the
 * addon the collector does that. The collector of a thread goes by the bytes that it knows of: results and pictures
 * that are left to it make it look through the whole heap, several times a second.
 */
export function releaseMemory({ buffer, byteLength }: Uint8Array): void {
  if (isArrayBuffer(buffer) && byteLength > 0 && buffer.byteLength === byteLength && whyPortable() === undefined)
    nativeSync(() => loadAddon().releaseMemory(buffer))
}
