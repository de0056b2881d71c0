import type { FileHandle } from 'node:fs/promises'
import { allocated, readFully } from '../base/pieces.js'
import { damaged } from './types.js'

/** Some at a time, so that a signal is heard. */
const pieceBytes = 2 ** 26

export async function wholeFile(file: FileHandle, name: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const { size } = await file.stat()
  const bytes = allocated(size, name)
  const done = await readFully(file, bytes, 0, { piece: pieceBytes, signal })
  if (done < size) throw damaged(name, 'it became shorter while it was read')
  return bytes
}
