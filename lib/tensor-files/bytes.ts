import type { FileHandle } from 'node:fs/promises'
import { TensorRTError } from '../errors.js'
import { damaged } from './types.js'

/** @throws TensorRTError ERR_TRT_OUT_OF_MEMORY */
export function allocated(bytes: number, name: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes)
  } catch (cause) {
    const message = `Cannot read ${name}: it has ${bytes} bytes, which is more memory than can be had`
    throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', message, { cause, details: { bytes } })
  }
}

/** Some at a time, so that a signal is heard. */
const pieceBytes = 2 ** 26

export async function wholeFile(file: FileHandle, name: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const { size } = await file.stat()
  const bytes = allocated(size, name)
  for (let at = 0; at < size;) {
    signal?.throwIfAborted()
    const { bytesRead } = await file.read(bytes, at, Math.min(size - at, pieceBytes), at)
    if (bytesRead === 0) throw damaged(name, 'it became shorter while it was read')
    at += bytesRead
  }
  return bytes
}
