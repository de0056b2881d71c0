import { type FileHandle, open } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { onFile, saveFile, writeTarget } from '../../base/files.js'
import { writeFully } from '../../base/pieces.js'
import type { Engine } from '../../engine.js'
import { inOrder } from '../../engine/stream.js'
import { TensorRTError } from '../../errors.js'
import type { EncodableImage, ReadImageOptions } from '../../vision/index.js'
import { jsonText } from '../output/format.js'
import type { Row } from '../output/table.js'
import type { Session } from '../session.js'
import type { SaidPreset } from './preset.js'
import { imageFormats } from '../../vision/encode.js'
import { distinctNames } from './files.js'
import { isPictureFile, makeFolder, pathsIn, type Target } from './target.js'
import type { TaskName } from './flags.js'
import { openTask, type TaskFlags, type Worker } from './tasks.js'

export interface PicturesJob {
  readonly task: Exclude<TaskName, 'tensors'>
  readonly flags: TaskFlags
  readonly files: readonly string[]
  readonly target: Target | undefined
  /** What the model said of itself, where no preset was given. */
  readonly said: SaidPreset | undefined
}

export interface PictureResult {
  readonly file: string
  /** Frames or pages of the file, if there are several: only the first was read. */
  readonly pages?: number | undefined
  /** Where the picture was written. */
  readonly written?: string | undefined
}

/** A file that could not be read; the others are done. */
export interface Failed {
  readonly file: string
  readonly code: string
  readonly message: string
}

/** What became of files, and the table that says so. */
export interface Ran<Result> {
  readonly results: readonly Result[]
  readonly failed: readonly Failed[]
  /** How many have nothing that was found. */
  readonly without: number
  readonly head: readonly string[]
  readonly rows: readonly Row[]
}

/** How many pictures are under way at once: while some run, as many are read; one is drawn, one is written. */
const inFlight = ({ batch = 1 }: TaskFlags): number => 2 * batch + 2

/** Answers of all pictures, in their order; what is drawn is written as they come. */
export async function answerPictures(
  engine: Engine,
  { task, flags, files, target }: PicturesJob,
  session: Session,
): Promise<Ran<PictureResult>> {
  await using worker = await openTask(task, engine, flags, session.signal)
  const paths = drawnPaths(task, files, target, flags)
  if (target?.kind === 'folder') await makeFolder(target.path)
  await using lines = answerLines(target)
  const progress = session.progress()
  progress.update(0, files.length, task)
  const all: Outcome[] = []
  const begun: Promise<Outcome>[] = []
  const run = ([index, file]: [number, string]): Promise<Outcome> => {
    const outcome = outcomeOf(worker, file, paths?.[index], { limitPixels: flags.limitPixels, signal: session.signal })
    begun.push(outcome)
    return outcome
  }
  try {
    for await (const outcome of inOrder([...files.entries()], { most: inFlight(flags), signal: session.signal, run })) {
      all.push(outcome)
      if ('code' in outcome) session.fail(outcome)
      else {
        warnOfPages(outcome.result, session)
        if (task === 'blur' && outcome.count === 0)
          session.warn(`${outcome.result.file}: nothing was found to hide, and nothing is written`)
        await lines?.add(outcome.result)
      }
      progress.update(all.length, files.length, task, basename(files[all.length - 1]!))
    }
  } finally {
    // an interruption is told at once, while a file may still be on its way to its name
    await Promise.allSettled(begun)
  }
  await lines?.end()
  const answered = all.filter((each) => 'result' in each)
  const names = files.length > 1 ? distinctNames(files) : undefined
  return {
    results: answered.map(({ result }) => result),
    failed: all.filter((each) => 'code' in each),
    without: answered.filter(({ count }) => count === 0).length,
    head: worker.head.length === 0 ? [] : [...(names ? ['picture'] : []), ...worker.head],
    rows: worker.head.length === 0 ? [] : answered.flatMap((each) => rowsOf(each, worker.head.length, names)),
  }
}

interface Answered {
  readonly result: PictureResult
  readonly count: number | undefined
  readonly rows: readonly Row[]
}

type Outcome = Answered | Failed

/** What is wrong with the picture is told; what is wrong with the model, or where the answer goes, is thrown. */
async function outcomeOf(
  worker: Worker,
  file: string,
  path: string | undefined,
  options: Pick<ReadImageOptions, 'limitPixels'> & { readonly signal: AbortSignal },
): Promise<Outcome> {
  const { readImage } = await import('../../vision/index.js')
  const image = await readImage(file, options).catch((error: unknown) =>
    failedBy(error, file, ['ERR_TRT_FILE', 'ERR_TRT_IMAGE']),
  )
  if ('code' in image) return image
  const { found, count, rows, draw } = await worker.answer(image)
  const result = { file, ...(image.pages !== undefined && { pages: image.pages }), ...found }
  if (path === undefined || draw === undefined) return { result, count, rows }
  await writePicture(await draw(), path, options.signal)
  return { result: { ...result, written: path }, count, rows }
}

/** An animation or a TIFF with pages. */
export function warnOfPages({ file, pages }: PictureResult, session: Session): void {
  if (pages !== undefined) session.warn(`${file}: only the first of its ${pages} pages (or frames) was read`)
}

/** What is wrong with a file, by one of these codes. @throws what is no fault of the file, such as an interruption */
export function failedBy(error: unknown, file: string, codes: readonly string[]): Failed {
  if (!(error instanceof TensorRTError) || !codes.includes(error.code)) throw error
  return { file, code: error.code, message: error.message }
}

/** The picture's name once, in its first row; where nothing was found, a row that says so. */
function rowsOf({ result, rows }: Answered, columns: number, names?: ReadonlyMap<string, string>): Row[] {
  const shown = rows.length > 0 ? rows : [['nothing', ...Array<string>(columns - 1).fill('')]]
  return shown.map((row, index) => [...(names ? [index === 0 ? names.get(result.file)! : ''] : []), ...row])
}

/** Where what is drawn goes, for each file; nothing where nothing is asked for. */
export function drawnPaths(
  task: TaskName,
  files: readonly string[],
  target: Target | undefined,
  { draw = 'overlay' }: TaskFlags,
): readonly string[] | undefined {
  if (target === undefined) return undefined
  if (target.kind === 'file') return isPictureFile(target) ? [target.path] : undefined
  const suffix = {
    detect: 'detected',
    blur: 'blurred',
    segment: { overlay: 'segmented', mask: 'mask', cutout: 'cutout' }[draw],
  }
  // numbers of classes and transparency are not for JPEG
  const isExact = task === 'segment' && draw !== 'overlay'
  return pathsIn(target.path, files, (file) => {
    const ending = extname(file).toLowerCase()
    return `-${suffix[task as keyof typeof suffix]}${!isExact && (ending === '.jpg' || ending === '.jpeg') ? '.jpg' : '.png'}`
  })
}

async function writePicture(picture: EncodableImage, path: string, signal: AbortSignal): Promise<void> {
  const { encodeImage } = await import('../../vision/index.js')
  const bytes = await encodeImage(picture, imageFormats[extname(path).toLowerCase()] ?? 'png', { signal })
  signal.throwIfAborted()
  await saveFile(path, [bytes])
}

/**
 * Answers as lines of JSON, each written when it comes: who interrupts the run keeps those that came. The file is
 * replaced with the first of them.
 */
class AnswerLines implements AsyncDisposable {
  readonly #path: string
  #file: FileHandle | undefined
  #bytes = 0

  constructor(path: string) {
    this.#path = path
  }

  async add(answer: unknown): Promise<void> {
    await onFile('write', this.#path, async () => {
      const file = await this.#opened()
      const line = Buffer.from(`${jsonText(answer)}\n`)
      await writeFully(file, line).catch(async (error: unknown) => {
        await file.truncate(this.#bytes) // whole lines only
        throw error
      })
      this.#bytes += line.length
    })
  }

  /** Where nothing came, no answers of an earlier run stay. */
  async end(): Promise<void> {
    await onFile('write', this.#path, async () => (await this.#opened()).sync())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  async #opened(): Promise<FileHandle> {
    return (this.#file ??= await open(await writeTarget(this.#path), 'w'))
  }
}

/** Where answers go as they come. */
function answerLines(target: Target | undefined): AnswerLines | undefined {
  return target?.kind === 'file' && target.ending === '.jsonl' ? new AnswerLines(target.path) : undefined
}
