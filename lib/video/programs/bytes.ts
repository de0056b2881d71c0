import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onFile } from '../../base/files.js'
import { writeFully } from '../../base/pieces.js'
import { type Input, pipeInput } from './inputs.js'

/** The bytes of a video as a program gets them. */
export interface BytesInput {
  readonly input: Input
  /** What goes to its stdin; nothing where it has them as a file. */
  readonly stdin: Uint8Array | undefined
  /** Descriptors that are the program's from 3 on. */
  readonly more: readonly number[]
}

/**
 * Work with bytes that a program reads: through its stdin, or, where their index stands at the end, so that it has to
 * go back, as a file without a name, in the system's folder for temporary ones.
 * @throws TensorRTError ERR_TRT_FILE where there is no room for that; what the work throws
 */
export async function withBytes<T>(bytes: Uint8Array, work: (given: BytesInput) => Promise<T>): Promise<T> {
  const name = `the video of ${bytes.length} bytes`
  if (!hasIndexAtEnd(bytes)) return work({ input: pipeInput(name), stdin: bytes, more: [] })
  const file = await onFile('write', tmpdir(), () => namelessFile(bytes))
  try {
    return await work({ input: { ...pipeInput(name), url: 'file:/dev/fd/3' }, stdin: undefined, more: [file.fd] })
  } finally {
    await file.close()
  }
}

async function namelessFile(bytes: Uint8Array): Promise<FileHandle> {
  const path = join(tmpdir(), `node-tensorrt-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    await writeFully(file, bytes, 0)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Whether it is MP4 or QuickTime whose `moov` comes after `mdat`, the pictures, as cameras and ffmpeg write it (ISO/IEC
 * 14496-12, 4.2).
 */
function hasIndexAtEnd(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + 16 <= bytes.length;) {
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8))
    if (type === 'mdat') return true
    if (!/^(ftyp|free|skip|wide|uuid|styp|sidx|pnot)$/.test(type)) return false
    const size = view.getUint32(at)
    at += size === 1 ? Number(view.getBigUint64(at + 8)) : size
    if (size === 0 || (size > 1 && size < 8)) return false
  }
  return false
}
