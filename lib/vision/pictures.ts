import { readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { isSet } from 'node:util/types'
import { onFile } from '../base/files.js'
import { checkedPath } from '../base/source.js'
import { isIterable, isRepeatable, Repeatable } from '../base/iterables.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { isUrl } from '../base/kinds.js'
import { expected, TensorRTError } from '../errors.js'
import { readChecked, type ReadImage, type ReadImageOptions, type Reading, readingRows } from './image.js'
import type { PictureSource } from './info.js'

/** How far an iteration of {@link pictures} is. */
export interface PicturesProgress {
  /** Pictures that are done with: given, and the next one was asked for. */
  readonly done: number
  /** Of a folder, an array and a Set: as many as there were when it was begun. */
  readonly total?: number | undefined
}

/** How each picture is read; `signal` ends the iteration: the next picture rejects with the signal's reason. */
export interface PicturesOptions extends ReadImageOptions {
  /** Called after each picture; what it throws ends the iteration. */
  readonly onProgress?: ((progress: PicturesProgress) => void) | undefined
}

const table = {
  ...readingRows,
  onProgress: option(is.listener<NonNullable<PicturesOptions['onProgress']>>()),
} satisfies OptionTable<PicturesOptions>

/** What sharp reads as it is installed. */
export const pictureExtensions: readonly string[] = [
  '.avif',
  '.gif',
  '.jpeg',
  '.jpg',
  '.png',
  '.svg',
  '.tif',
  '.tiff',
  '.webp',
]

/**
 * Pictures, one after the other, each decoded when it is asked for.
 *
 * Of a folder: those files that end in .jpg, .jpeg, .png, .webp, .avif, .gif, .tif, .tiff or .svg and do not begin with
 * a dot, in the order of their names by code point; folders inside of it are left out. Each iteration of a folder (and
 * of an array, a Set) begins anew, with the files that are there by then; a generator or a stream can be iterated once.
 * @param source the path or `file:` URL of a folder, or an iterable of what {@link readImage} takes
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; while it is iterated ERR_TRT_FILE where the folder cannot be read or
 * has no pictures, and as {@link readImage} for a picture that cannot be read
 * @example
 * ```ts
 * import { pictures } from 'node-tensorrt/vision'
 *
 * for await (const picture of pictures('photos')) console.log(picture.width, picture.height)
 * ```
 */
export function pictures(
  source: string | URL | Iterable<PictureSource> | AsyncIterable<PictureSource>,
  options?: PicturesOptions,
): AsyncIterable<ReadImage> {
  const { onProgress, ...reading } = checkedOptions(options, table, 'pictures')
  if (typeof source === 'string' || isUrl(source)) {
    const folder = checkedPath(source, 'source')
    return new Repeatable(() => decoded(() => pictureFiles(folder), reading, onProgress))
  }
  // the bytes of one picture could be iterated, too; a proxy of some, or what has their prototype, cannot be
  // eslint-disable-next-line no-restricted-syntax -- those of this realm are meant
  if (!isIterable(source) || ArrayBuffer.isView(source) || source instanceof Uint8Array)
    throw expected('the path or file: URL of a folder, or an iterable of pictures,', 'source', source)
  const begin = (): AsyncGenerator<ReadImage, void, undefined> => decoded(() => source, reading, onProgress)
  return isRepeatable(source) ? new Repeatable(begin) : begin()
}

async function* decoded(
  begin: () => Iterable<PictureSource> | AsyncIterable<PictureSource> | Promise<string[]>,
  reading: Reading,
  onProgress: PicturesOptions['onProgress'],
): AsyncGenerator<ReadImage, void, undefined> {
  const sources = await begin()
  const total = Array.isArray(sources) ? sources.length : isSet(sources) ? sources.size : undefined
  let done = 0
  for await (const source of sources) {
    yield await readChecked(source, reading)
    onProgress?.({ done: ++done, ...(total !== undefined && { total }) })
  }
}

/**
 * The paths of a folder's pictures, as {@link pictures} takes them one after the other.
 * @param source The path or `file:` URL of the folder
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE where it cannot be read or has none; ERR_TRT_INVALID_ARGUMENT
 */
export async function pictureFiles(source: string | URL): Promise<string[]> {
  const folder = checkedPath(source, 'source')
  const entries = await onFile('read', folder, () => readdir(folder, { withFileTypes: true }))
  const names = entries
    .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && isPicture(entry.name))
    .map(({ name }) => Buffer.from(name))
    // the order of UTF-8 is that of code points
    .sort((a, b) => a.compare(b))
  if (names.length === 0) {
    const message = `Cannot read the pictures of ${folder}: it has none (files that end in ${pictureExtensions.join(', ')})`
    throw new TensorRTError('ERR_TRT_FILE', message, { details: { path: folder } })
  }
  return names.map((name) => join(folder, name.toString()))
}

/** By its name; some systems put files of their own beside pictures, called as those with a dot before it. */
function isPicture(name: string): boolean {
  return !name.startsWith('.') && pictureExtensions.includes(extname(name).toLowerCase())
}
