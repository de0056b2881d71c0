import type { Metadata, Sharp, SharpOptions } from 'sharp'
import { type BlobLike, bytesIn, bytesOfBlob, expectedBytes, isBlobLike } from '../base/bytes.js'
import type { Cut } from '../base/cancellation.js'
import { foundInstead } from '../base/file-kinds.js'
import { onFile, pointed, readOrdinary } from '../base/files.js'
import { isLfsPointer, lfsPointer } from '../base/lfs.js'
import { isUrl, messageOf } from '../base/kinds.js'
import { localPath, notAPath } from '../base/source.js'
import { describe } from '../errors.js'
import { forSharp, imageFailure, loadSharp, type SharpFactory, turns } from './sharp.js'

/** A source that was checked, and what messages call it. */
export interface Picture {
  readonly from: string | Uint8Array | BlobLike
  readonly name: string
}

/**
 * Bytes are copied: the caller may reuse or transfer its own while a thread decodes. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function checkedPicture(source: unknown): Picture {
  if ((typeof source === 'string' && source !== '') || isUrl(source)) {
    if (looksEncoded(source))
      throw notAPath('source', source, "the base64 of a picture: give Buffer.from(it, 'base64')")
    const path = localPath(source, 'source')
    return { from: path, name: path }
  }
  if (isBlobLike(source)) return { from: source, name: `picture of a ${describe(source)}` }
  const bytes = bytesIn(source)
  // what was transferred away is empty, and cannot be copied
  if (bytes !== undefined)
    return { from: bytes.length === 0 ? bytes : new Uint8Array(bytes), name: `picture of ${bytes.length} bytes` }
  throw expectedBytes(pictureSources, 'source', source)
}

/** For messages. */
const pictureSources = 'a path, a file: URL, bytes (a Uint8Array or an ArrayBuffer), a Blob or a Response'

/** How JPEG, PNG, GIF and WebP begin in base64, in a text that is longer than a name. */
function looksEncoded(source: string | URL): source is string {
  return typeof source === 'string' && source.length > 100 && /^(?:\/9j\/|iVBORw0KGgo|R0lGOD|UklGR)/.test(source)
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
export async function opened<T>(
  { from, name }: Picture,
  cut: Cut | undefined,
  body: (picture: Opened) => Promise<T>,
): Promise<T> {
  // a slow server takes nobody's turn
  const there = isBlobLike(from) ? await bytesOfBlob(from, 'source') : from
  return turns.take(() => open({ from: there, name }, cut, body), cut)
}

async function open<T>(
  { from, name }: { readonly from: string | Uint8Array; readonly name: string },
  cut: Cut | undefined,
  body: (picture: Opened) => Promise<T>,
): Promise<T> {
  const purpose = `read ${name}`
  try {
    const sharp = await loadSharp(purpose)
    cut?.throwIfHappened()
    const bytes = await bytesOf(from)
    cut?.throwIfHappened()
    if (isTextAroundSvg(bytes)) throw new Error(`it is ${foundInstead('picture', bytes)}`)
    return await body({ name, open: opener(sharp, bytes) }).catch((error: unknown) => {
      throw withKind(error, bytes)
    })
  } catch (error) {
    throw imageFailure(error, purpose)
  }
}

/**
 * Returns whether sharp would read text as an SVG that is not one: libvips looks for `<svg` anywhere in the first 1000
 * bytes (vips_foreign_load_svg_is_a).
 */
function isTextAroundSvg(bytes: Uint8Array): boolean {
  const head = forSharp(bytes.subarray(0, 1000)).toString('latin1')
  return /<svg/i.test(head) && !head.includes('\0') && !beginsAsSvg(forSharp(bytes.subarray(0, 65536)).toString())
}

/** Returns whether the root or the doctype is `svg`, after a byte order mark, an XML declaration and comments. */
function beginsAsSvg(text: string): boolean {
  let rest = text.trimStart() // removes the byte order mark too
  for (;;) {
    const end = rest.startsWith('<?') ? '?>' : rest.startsWith('<!--') ? '-->' : undefined
    if (end === undefined) return /^<(?:svg[\s:/>]|!doctype\s+svg\b)/i.test(rest)
    const at = rest.indexOf(end)
    if (at < 0) return false
    rest = rest.slice(at + end.length).trimStart()
  }
}

/** What sharp calls an unsupported format, by its name where that is known. */
function withKind(error: unknown, bytes: Uint8Array): unknown {
  if (!/unsupported image format/.test(messageOf(error))) return error
  return new Error(`it is ${foundInstead('picture', bytes)}`, { cause: error })
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
  return (options) => sharp(forSharp(bytes), { failOn: 'error', limitInputPixels: false, ...options })
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
