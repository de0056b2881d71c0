import type { Dirent } from 'node:fs'
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
import { isImageError, isPictureStream, isSource, type Picture } from './picture.js'

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
  /**
   * Called for each picture that cannot be read; the iteration then continues with the next one. An error that it
   * throws ends the iteration. Default: the first error ends the iteration.
   *
   * @param index Position of the picture in the source, from 0.
   */
  readonly onError?: ((error: TensorRTError, index: number, source: PictureSource) => void) | undefined
  /**
   * Called for each entry of a folder that is not read: a folder in it (`photos/**` enters folders), or a file whose
   * name does not end like that of a picture. Entries that begin with a dot are not reported.
   */
  readonly onSkip?: ((path: string, reason: 'folder' | 'ending') => void) | undefined
}

const table = {
  ...readingRows,
  onProgress: option(is.listener<NonNullable<PicturesOptions['onProgress']>>()),
  onError: option(is.listener<NonNullable<PicturesOptions['onError']>>()),
  onSkip: option(is.listener<NonNullable<PicturesOptions['onSkip']>>()),
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
  const { onProgress, onError, onSkip, ...reading } = checkedOptions(options, table, 'pictures')
  let list: Sources
  if (typeof source === 'string' || isUrl(source)) {
    const [path, pattern, cwd] = [checkedPath(source, 'source'), localPath(source, 'source'), process.cwd()]
    list = () => filesAt(path, pattern, cwd, onSkip)
  } else if (Array.isArray(source) || isPictureStream(source)) list = () => source
  else throw noPictures(source)
  const begin = (failed: PicturesOptions['onError']): AsyncGenerator<ReadImage, void, undefined> =>
    decoded(list, reading, onProgress, failed)
  const isAgain = typeof source === 'string' || isUrl(source) || isRepeatable(source)
  const read = isAgain ? new Repeatable(() => begin(onError)) : begin(onError)
  if (onError === undefined) continued.set(read, begin)
  return read
}

type Sources = () => Iterable<PictureSource> | AsyncIterable<PictureSource> | Promise<string[]>

/** How iterables of {@link pictures} begin with another `onError`. */
const continued = new WeakMap<object, (onError: PicturesOptions['onError']) => AsyncIterable<ReadImage>>()

/** Pictures that go on after one that cannot be read, if they come from {@link pictures}; others as they are. */
export function readingOn<T>(
  source: Iterable<T> | AsyncIterable<T>,
  onError: NonNullable<PicturesOptions['onError']>,
): Iterable<T> | AsyncIterable<T> {
  return (continued.get(source)?.(onError) as AsyncIterable<T> | undefined) ?? source
}

function noPictures(source: unknown): TensorRTError {
  const refused = expectedBytes('a folder, a pattern of paths, or an iterable of pictures,', 'source', source)
  if (refused.details['remedy'] !== undefined || !isSource(source as Picture)) return refused
  return reworded(refused, `${refused.message}: a list of one picture is [it]`)
}

/** A folder's pictures, one file, or those that a pattern fits where nothing is called as it is. */
async function filesAt(
  path: string,
  pattern: string,
  cwd: string,
  onSkip: PicturesOptions['onSkip'],
): Promise<string[]> {
  const facts = await onFile('read', path, () =>
    stat(path).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    }),
  )
  if (facts?.isFile() === true) return [path]
  if (facts !== undefined || !(await isPattern(pattern))) return filesOfFolder(path, onSkip)
  return (await filesFitting(pattern, cwd)).map((file) => resolve(cwd, file))
}

async function* decoded(
  list: Sources,
  reading: Reading,
  onProgress: PicturesOptions['onProgress'],
  onError: PicturesOptions['onError'],
): AsyncGenerator<ReadImage, void, undefined> {
  const sources = await list()
  const total = Array.isArray(sources) ? sources.length : isSet(sources) ? sources.size : undefined
  let done = 0
  for await (const source of sources) {
    const read = await readOrFailed(source, reading, onError !== undefined)
    const index = done++
    if (isImageError(read)) onError?.(read, index, source)
    else yield read
    onProgress?.({ done, ...(total !== undefined && { total }) })
  }
}

/** Gives the error of a picture that cannot be read, if it is to be passed over. */
async function readOrFailed(source: unknown, reading: Reading, passes: boolean): Promise<ReadImage | TensorRTError> {
  try {
    return await readChecked(source, reading)
  } catch (error) {
    if (!passes || reading.signal?.aborted === true || !isImageError(error)) throw error
    return error
  }
}

/**
 * The paths of a folder's pictures, as {@link pictures} takes them one after the other.
 * @param source The path or `file:` URL of the folder
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE where it cannot be read or has none; ERR_TRT_INVALID_ARGUMENT
 */
export async function pictureFiles(source: string | URL): Promise<string[]> {
  return filesOfFolder(checkedPath(source, 'source'), undefined)
}

/** The same; `onSkip` is told of the entries that are no pictures. */
export async function filesOfFolder(folder: string, onSkip: PicturesOptions['onSkip']): Promise<string[]> {
  const entries = await onFile('read', folder, () => readdir(folder, { withFileTypes: true }))
  const isTaken = (entry: Dirent): boolean => (entry.isFile() || entry.isSymbolicLink()) && isPicture(entry.name)
  const names = inOrder(entries.filter(isTaken).map(({ name }) => name))
  for (const entry of onSkip === undefined ? [] : entries)
    if (!isTaken(entry) && !entry.name.startsWith('.'))
      onSkip?.(join(folder, entry.name), entry.isDirectory() ? 'folder' : 'ending')
  if (names.length === 0) {
    const inside = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    const hint =
      inside.length === 0 ? '' : `. To fix: a pattern enters folders: '${join(folder, '**/*.{jpg,jpeg,png}')}'`
    const message = `Cannot read the pictures of ${folder}: it has none (files that end in ${pictureExtensions.join(', ')})${hint}`
    throw new TensorRTError('ERR_TRT_FILE', message, { details: { path: folder } })
  }
  return names.map((name) => join(folder, name))
}

/** By its name; some systems put files of their own beside pictures, called as those with a dot before it. */
function isPicture(name: string): boolean {
  return !name.startsWith('.') && pictureExtensions.includes(extname(name).toLowerCase())
}
