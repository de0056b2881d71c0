import { TensorRTError } from '../../errors.js'
import type { VideoProgress } from '../../tasks/video/options.js'
import { Shown } from '../../tasks/video/progress.js'
import type { VideoFrame, VideoInfo, WriteVideoOptions } from '../../video/index.js'
import type { Engine } from '../../engine.js'
import { plural } from '../../benchmark/report/numbers.js'
import { jsonText } from '../output/format.js'
import type { Row } from '../output/table.js'
import { makeFolder } from '../run/target.js'
import { Interrupted, type Session } from '../session.js'
import type { VideoFlags } from './flags.js'
import type { Item, VideoJob } from './job.js'
import { type FrameAnswer, type Named, openVideoWorker, type VideoWorker } from './worker.js'

/** How often a class was found. */
interface ClassCount extends Named {
  readonly count: number
}

/** What `--json` prints of a video. */
export interface VideoSummary {
  readonly source: string
  readonly frames: number
  /** Seconds that are shown. */
  readonly duration: number
  /** Seconds that it took. */
  readonly seconds: number
  readonly fps: number
  /** What was found or hidden, of all frames together. */
  readonly regions: number
  readonly framesWithRegions: number
  /** The same by class, the most frequent first. */
  readonly found: readonly ClassCount[]
  /** How many sounds were copied; undefined where nothing was written. */
  readonly sounds?: number | undefined
  readonly written?: string | undefined
}

/** A video that failed; the others are done. */
export interface FailedVideo {
  readonly source: string
  readonly code: string
  readonly message: string
  /** The file that has the frames before that. */
  readonly written?: string | undefined
  readonly frames: number
}

export interface VideoAnswers {
  readonly results: readonly VideoSummary[]
  readonly failed: readonly FailedVideo[]
}

/** Several at once, unless the command line says how many: each has ffmpeg decode, and encode. */
const usuallyAtOnce = 4

/** All videos through one engine, several side by side. */
export async function answerVideos(
  engine: Engine,
  job: VideoJob,
  { parallel = usuallyAtOnce, jsonl }: Pick<VideoFlags, 'parallel' | 'jsonl'>,
  session: Session,
): Promise<VideoAnswers> {
  await using worker = await openVideoWorker(job, engine)
  if (job.target?.kind === 'folder') await makeFolder(job.target.path)
  const progressOf = progressOfAll(job, session)
  const outcomes = new Array<VideoSummary | FailedVideo>(job.items.length)
  const left = [...job.items.entries()]
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined && !session.signal.aborted; next = left.shift()) {
      const [index, item] = next
      const report = (progress: VideoProgress): void => progressOf(index, progress)
      outcomes[index] = await outcomeOf(worker, item, { ...job, jsonl, report }, session)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, left.length) }, lane))
  session.signal.throwIfAborted()
  return { results: outcomes.filter((each) => 'regions' in each), failed: outcomes.filter((each) => 'code' in each) }
}

interface ItemOptions extends VideoJob {
  readonly jsonl: true | undefined
  readonly report: (progress: VideoProgress) => void
}

/** What is wrong with a video is told, and what there is of it named. @throws what is no fault of the video */
async function outcomeOf(
  { work }: VideoWorker,
  item: Item,
  options: ItemOptions,
  session: Session,
): Promise<VideoSummary | FailedVideo> {
  const { throughTask } = await import('../../tasks/video/through.js')
  const tally = new Tally(item)
  let isKept = false
  try {
    const { reading, writing, report } = options
    // what was done until an error or an interruption stays, as a whole file
    const lasting = { output: item.path, isOpen: false, keepPartial: true, kept: () => void (isKept = true) }
    const call = { reading, writing, ...lasting, tell: report, signal: session.signal }
    const through = throughTask<FrameAnswer>(item.source, call, work)
    for (let next = await through.next(); ; next = await through.next()) {
      if (next.done === true) {
        const { info, decoder } = next.value
        if (decoder.reason !== undefined) session.warn(`${item.name}: decoded without the GPU: ${decoder.reason}`)
        return tally.end(info, options)
      }
      const { frame, answer } = next.value
      tally.add(frame, answer)
      if (options.jsonl)
        session.stdout.write(
          `${jsonText({ source: item.name, number: frame.number, pts: frame.pts, ...answer.found })}\n`,
        )
    }
  } catch (error) {
    const isInterrupted = session.signal.aborted && session.signal.reason instanceof Interrupted
    if (!isInterrupted && !(error instanceof TensorRTError)) throw error
    const failed = failedOf(error, item, tally, isKept)
    if (!isInterrupted) session.fail(failed)
    if (failed.written !== undefined)
      session.warn(`${failed.written} is a part: the first ${plural(tally.frames, 'frame')} of ${item.name}`)
    return failed
  }
}

function failedOf(error: unknown, { name: source, path }: Item, { frames }: Tally, isKept: boolean): FailedVideo {
  const { code = 'Error', message = String(error) } = error as Partial<TensorRTError>
  return { source, code, message, frames, written: isKept ? path : undefined }
}

/** Counts what is found in a video. */
class Tally {
  readonly #item: Item
  readonly #shown = new Shown()
  readonly #classes = new Map<number | undefined, ClassCount>()
  readonly #begunAt = performance.now()
  #regions = 0
  #framesWithRegions = 0

  constructor(item: Item) {
    this.#item = item
  }

  get frames(): number {
    return this.#shown.frames
  }

  add(frame: VideoFrame, { things }: FrameAnswer): void {
    this.#shown.add(frame)
    this.#regions += things.length
    this.#framesWithRegions += Number(things.length > 0)
    for (const { classIndex, label } of things) {
      const { count = 0 } = this.#classes.get(classIndex) ?? {}
      this.#classes.set(classIndex, { classIndex, label, count: count + 1 })
    }
  }

  end({ audio }: VideoInfo, { writing }: { readonly writing: WriteVideoOptions }): VideoSummary {
    const { name, path } = this.#item
    const seconds = (performance.now() - this.#begunAt) / 1000
    return {
      source: name,
      frames: this.frames,
      duration: this.#shown.duration,
      seconds,
      fps: this.frames / seconds,
      regions: this.#regions,
      framesWithRegions: this.#framesWithRegions,
      found: [...this.#classes.values()].sort((a, b) => b.count - a.count),
      sounds: path === undefined ? undefined : writing.audio === false ? 0 : audio.length,
      written: path,
    }
  }
}

/** How far all of them are, in one bar. */
function progressOfAll({ items, task }: VideoJob, session: Session): (index: number, of: VideoProgress) => void {
  const all = new Array<VideoProgress | undefined>(items.length).fill(undefined)
  const progress = session.progress()
  const phase = items.length === 1 ? task : `${task}, ${plural(items.length, 'video')}`
  const begunAt = performance.now()
  progress.update(0, 0, phase)
  return (index, of) => {
    all[index] = of
    const known = all.filter((each) => each !== undefined)
    const frames = known.reduce((sum, each) => sum + each.frames, 0)
    const areKnown = known.length === all.length && known.every(({ of }) => of !== undefined)
    const total = areKnown ? known.reduce((sum, { of = 0 }) => sum + of, 0) : 0
    const fps = (frames * 1000) / Math.max(1, performance.now() - begunAt)
    progress.update(frames, total, phase, `${plural(frames, 'frame')}, ${fps.toFixed(1)} fps`)
  }
}

export const videoHead = ['video', 'frames', 'seconds', 'fps', 'found', 'sounds', 'written to'] as const

/** For people: what became of each. */
export function videoRow(summary: VideoSummary, names: ReadonlyMap<string, string>): Row {
  const { source, frames, duration, fps, found, regions, framesWithRegions, sounds, written } = summary
  const classes = found.map(({ label, classIndex, count }) => {
    const name = label ?? (classIndex === undefined ? 'regions' : `class ${classIndex}`)
    return `${name} ${count}`
  })
  const kinds = classes.length > 1 ? ` (${classes.slice(0, 5).join(', ')}${classes.length > 5 ? ', …' : ''})` : ''
  const what = regions === 0 ? 'nothing' : `${regions} in ${plural(framesWithRegions, 'frame')}${kinds}`
  return [
    source.includes('://') ? source : names.get(source)!,
    frames,
    duration.toFixed(2),
    fps.toFixed(1),
    what,
    sounds ?? '-',
    written ?? '-',
  ]
}
