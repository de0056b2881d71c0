import { readdir, stat } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { isSet } from 'node:util/types'
import { expectedBytes } from '../base/bytes.js'
import { isMissing, onFile } from '../base/files.js'
import { filesFitting, inOrder, isPattern } from '../base/globs.js'
import { checkedPath, localPath } from '../base/source.js'
import { isRepeatable, Repeatable } from '../base/iterables.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { isUrl } from '../base/kinds.js'
import { reworded, TensorRTError } from '../errors.js'
import { readChecked, type ReadImage, type ReadImageOptions, type Reading, readingRows } from './image.js'
import type { PictureSource } from './info.js'
import { isPictureStream, isSource, type Picture } from './picture.js'

/** How far an iteration of {@link pictures} is. */
export interface PicturesProgress {
  /** Pictures that are done with: given, and the next one was asked for. */
  readonly done: number
  /** Of a folder, a pattern, an array and a Set: as many as there were when it was begun. */
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
 * a dot, in the order of their names by code point; folders inside of it are left out. Of a pattern (`photos/*.jpg`,
 * `**\/*.{jpg,png}`): all files that it fits, whatever they end in. Each iteration of a folder or a pattern (and of an
 * array, a Set) begins anew, with the files that are there by then; a generator or a stream can be iterated once.
 * @param source the path or `file:` URL of a folder or of one picture, a pattern of paths, or an iterable of what
 * {@link readImage} takes: a list, a generator, a stream of such (not of the bytes of one)
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; while it is iterated ERR_TRT_FILE where the folder cannot be read or
 * has no pictures, or no file fits the pattern, and as {@link readImage} for a picture that cannot be read
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
    const [path, pattern, cwd] = [checkedPath(source, 'source'), localPath(source, 'source'), process.cwd()]
    return new Repeatable(() => decoded(() => filesAt(path, pattern, cwd), reading, onProgress))
  }
  if (!Array.isArray(source) && !isPictureStream(source)) throw noPictures(source)
  const begin = (): AsyncGenerator<ReadImage, void, undefined> => decoded(() => source, reading, onProgress)
  return isRepeatable(source) ? new Repeatable(begin) : begin()
}

function noPictures(source: unknown): TensorRTError {
  const refused = expectedBytes('a folder, a pattern of paths, or an iterable of pictures,', 'source', source)
  if (refused.details['remedy'] !== undefined || !isSource(source as Picture)) return refused
  return reworded(refused, `${refused.message}: a list of one picture is [it]`)
}

/** A folder's pictures, one file, or those that a pattern fits where nothing is called as it is. */
async function filesAt(path: string, pattern: string, cwd: string): Promise<string[]> {
  const facts = await onFile('read', path, () =>
    stat(path).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    }),
  )
  if (facts?.isFile() === true) return [path]
  if (facts !== undefined || !(await isPattern(pattern))) return pictureFiles(path)
  return (await filesFitting(pattern, cwd)).map((file) => resolve(cwd, file))
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
  const names = inOrder(
    entries
      .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && isPicture(entry.name))
      .map(({ name }) => name),
  )
  if (names.length === 0) {
    const message = `Cannot read the pictures of ${folder}: it has none (files that end in ${pictureExtensions.join(', ')})`
    throw new TensorRTError('ERR_TRT_FILE', message, { details: { path: folder } })
  }
  return names.map((name) => join(folder, name))
}

/** By its name; some systems put files of their own beside pictures, called as those with a dot before it. */
function isPicture(name: string): boolean {
  return !name.startsWith('.') && pictureExtensions.includes(extname(name).toLowerCase())
}
