/**
 * Files in pieces: what has 2 GiB or more is no single read or write of Node's, which ends the process (Node 20) or
 * throws.
 */
import { TensorRTError } from '../errors.js'

/** The most bytes of one call; the kernel takes 2 GiB less a page. */
const mostAtOnce = 2 ** 30

/**
 * An open file, as a FileHandle is one; a building process has one by its descriptor. `position` null: where the file
 * is.
 */
export interface Readable {
  read(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>
}
export interface Writable {
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number | null,
  ): Promise<{ readonly bytesWritten: number }>
}

export interface PieceOptions {
  /** The most bytes of one call: 1 GiB unless given. */
  readonly piece?: number | undefined
  /** Ends the work between two pieces, with its reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Fills `bytes` with what the file has from `position` on.
 * @returns how many bytes there were: fewer where the file ends before
 */
export async function readFully(
  file: Readable,
  bytes: Uint8Array,
  position = 0,
  options: PieceOptions = {},
): Promise<number> {
  const { piece = mostAtOnce, signal } = options
  let done = 0
  while (done < bytes.length) {
    signal?.throwIfAborted()
    const { bytesRead } = await file.read(bytes, done, Math.min(piece, bytes.length - done), position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}

/**
 * Writes all of `bytes` to `position`, or behind what the file has. A write may take less than it was given: a disk
 * that is nearly full, a signal.
 */
export async function writeFully(
  file: Writable,
  bytes: Uint8Array,
  position: number | null = null,
  options: PieceOptions = {},
): Promise<void> {
  const { piece = mostAtOnce, signal } = options
  for (let done = 0; done < bytes.length;) {
    signal?.throwIfAborted()
    const at = position === null ? null : position + done
    done += (await file.write(bytes, done, Math.min(piece, bytes.length - done), at)).bytesWritten
  }
}

/** Memory for what a file has. @throws TensorRTError ERR_TRT_OUT_OF_MEMORY where there is not as much */
export function allocated(bytes: number, name: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes)
  } catch (cause) {
    const message = `Cannot read ${name}: it has ${bytes} bytes, which is more memory than can be had`
    throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', message, { cause, details: { bytes } })
  }
}
