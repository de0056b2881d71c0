/** The forms that bytes come in: memory, and what gives it when it is asked. */
import {
  isAnyArrayBuffer,
  isDataView,
  isFloat32Array,
  isInt32Array,
  isSharedArrayBuffer,
  isUint8Array,
} from 'node:util/types'
import { describe, expected, reworded, TensorRTError } from '../errors.js'
import { messageOf } from './kinds.js'

/** Bytes in memory: a Buffer or another Uint8Array, an ArrayBuffer, shared memory, a DataView. */
export type Bytes = Uint8Array | ArrayBuffer | SharedArrayBuffer | DataView

/** What gives its bytes when it is asked: a Blob, a File, the Response of `fetch`. */
export interface BlobLike {
  /** All of its bytes. */
  arrayBuffer(): Promise<ArrayBuffer>
}

/** A view on bytes; undefined of what is none. What was transferred away is empty. */
export function bytesIn(value: unknown): Uint8Array | undefined {
  if (isUint8Array(value)) return value
  try {
    if (isAnyArrayBuffer(value)) return new Uint8Array(value)
    if (isDataView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  } catch {
    return new Uint8Array()
  }
  return undefined
}

export function isBlobLike(value: unknown): value is BlobLike {
  return hasMethod(value, 'arrayBuffer')
}

/** As much as Node reads of a file at once. */
const most = 2 ** 31 - 1

/**
 * All bytes of a Blob, a File or a Response, copied. @throws TensorRTError ERR_TRT_FILE where it does not give them, or
 * where they are too many; ERR_TRT_INVALID_ARGUMENT where somebody has read them already
 */
export async function bytesOfBlob(source: BlobLike, name: string): Promise<Uint8Array> {
  const { ok, status, bodyUsed, size = 0 } = source as Partial<Record<'ok' | 'status' | 'bodyUsed' | 'size', unknown>>
  if (bodyUsed === true) throw expected('a Response that nobody has read yet', name, source)
  if (ok === false) throw unread(source, name, `the server answered ${String(status)}`)
  if (Number(size) > most) throw unread(source, name, `it has ${String(size)} bytes: give the path of a file`)
  let buffer: unknown
  try {
    buffer = await source.arrayBuffer()
  } catch (cause) {
    throw unread(source, name, messageOf(cause), cause)
  }
  const bytes = bytesIn(buffer)
  if (bytes === undefined) throw expected('an ArrayBuffer', `what ${name}.arrayBuffer() gives`, buffer)
  return bytes
}

function unread(source: BlobLike, name: string, why: string, cause?: unknown): TensorRTError {
  const message = `Cannot read ${name}, a ${describe(source)}: ${why}`
  return new TensorRTError('ERR_TRT_FILE', message, cause === undefined ? {} : { cause })
}

/** Whether it is a view of shared memory. */
export function isShared({ buffer }: ArrayBufferView): boolean {
  return isSharedArrayBuffer(buffer)
}

/**
 * The same elements in memory of their own where they are shared: the addon cannot reach such memory, and other threads
 * may write to it meanwhile.
 */
export function unshared<T extends Uint8Array | Float32Array | Int32Array>(data: T): T {
  if (!isShared(data)) return data
  const make = isFloat32Array(data) ? Float32Array : isInt32Array(data) ? Int32Array : Uint8Array
  return new make(data) as T
}

/** {@link expected}, with what to do about what would give bytes only after it was read. */
export function expectedBytes(what: string, name: string, received: unknown): TensorRTError {
  const refused = expected(what, name, received)
  const remedy = remedyFor(received)
  return remedy === undefined ? refused : reworded(refused, `${refused.message}: ${remedy}`, { remedy })
}

/** What to do with a Blob (of jsdom, too), a stream, or a picture of sharp. */
export function remedyFor(value: unknown): string | undefined {
  if (hasMethod(value, 'toBuffer') && hasMethod(value, 'metadata')) return 'await its toBuffer()'
  if (hasMethod(value, 'arrayBuffer')) return 'await its arrayBuffer()'
  if (hasMethod(value, 'slice') && 'size' in (value as object) && 'type' in (value as object))
    return 'it has no arrayBuffer(), as those of a window of jsdom: read it by a FileReader, or take the Blob of node:buffer'
  if (hasMethod(value, 'getReader'))
    return 'read it into a Buffer first (await new Response(stream).arrayBuffer()), or give the values() of a stream of pictures'
  if (hasMethod(value, 'pipe')) return 'read it into a Buffer first (Buffer.concat(await stream.toArray()))'
  return undefined
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[name] === 'function'
}
