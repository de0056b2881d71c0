import { isUint8Array } from 'node:util/types'
import type { Metadata, Sharp, SharpOptions } from 'sharp'
import type { Cut } from '../base/cancellation.js'
import { onFile, pointed, readOrdinary } from '../base/files.js'
import { isLfsPointer, lfsPointer } from '../base/lfs.js'
import { localPath } from '../base/source.js'
import { isUrl } from '../base/kinds.js'
import { expected } from '../errors.js'
import { imageFailure, loadSharp, type SharpFactory, turns } from './sharp.js'

/** A source that was checked, and what messages call it. */
export interface Picture {
  readonly from: string | Uint8Array
  readonly name: string
}

/**
 * Bytes are copied: the caller may reuse or transfer its own while a thread decodes. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function checkedPicture(source: unknown): Picture {
  if ((typeof source === 'string' && source !== '') || isUrl(source)) {
    const path = localPath(source, 'source')
    return { from: path, name: path }
  }
  // what was transferred away is empty, and cannot be copied
  if (isUint8Array(source))
    return { from: source.length === 0 ? source : new Uint8Array(source), name: `picture of ${source.length} bytes` }
  throw expected('a path, a file: URL or a Uint8Array', 'source', source)
}

/** The bytes of a picture, each time at the start of a pipeline. */
export interface Opened {
  readonly name: string
  readonly open: (options?: SharpOptions) => Sharp
}

/**
 * sharp cannot be stopped: what is cut ends unheard. @throws TensorRTError ERR_TRT_FILE, ERR_TRT_IMAGE; the cut's
 * reason
 */
export function opened<T>(picture: Picture, cut: Cut | undefined, body: (picture: Opened) => Promise<T>): Promise<T> {
  return turns.take(() => open(picture, cut, body), cut)
}

async function open<T>(
  { from, name }: Picture,
  cut: Cut | undefined,
  body: (picture: Opened) => Promise<T>,
): Promise<T> {
  const purpose = `read ${name}`
  try {
    const sharp = await loadSharp(purpose)
    cut?.throwIfHappened()
    const bytes = await bytesOf(from)
    cut?.throwIfHappened()
    return await body({ name, open: opener(sharp, bytes) })
  } catch (error) {
    throw imageFailure(error, purpose)
  }
}

async function bytesOf(from: string | Uint8Array): Promise<Uint8Array> {
  const bytes = typeof from === 'string' ? await onFile('read', from, () => readOrdinary(from)) : from
  if (bytes.length === 0) throw new Error('it is empty')
  if (isLfsPointer(bytes)) throw typeof from === 'string' ? pointed(from) : new Error(`it is ${lfsPointer}`)
  return bytes
}

/**
 * 'error' finds truncated and damaged pictures, and lets those pass at which decoders merely grumble. Pixels are
 * limited by whoever decodes.
 */
function opener(sharp: SharpFactory, bytes: Uint8Array): Opened['open'] {
  return (options) => sharp(bytes, { failOn: 'error', limitInputPixels: false, ...options })
}

/** What sharp says of a picture, and the start of the pipeline that was asked. */
export interface Inspected {
  readonly found: Metadata
  readonly pipeline: Sharp
}

export async function inspected(open: Opened['open'], options?: SharpOptions): Promise<Inspected> {
  const pipeline = open(options)
  return { found: await pipeline.metadata(), pipeline }
}
