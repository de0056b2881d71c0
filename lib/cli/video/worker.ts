import type { Engine } from '../../engine.js'
import type { BlurredRegion, PresetName } from '../../tasks/index.js'
import type { FrameWork } from '../../tasks/video/through.js'
import { classesOf, inputOf, loadBlur, plainFound } from '../run/tasks.js'
import type { VideoJob } from './job.js'

/** Something that was found in a frame. */
export interface Named {
  readonly classIndex?: number | undefined
  readonly label?: string | undefined
}

/** What a frame is answered with, whatever the task is. */
export interface FrameAnswer {
  /** What `--jsonl` prints of it. */
  readonly found: object
  /** What is counted. */
  readonly things: readonly Named[]
}

/** A task that is open, for frames. */
export interface VideoWorker extends AsyncDisposable {
  readonly work: FrameWork<FrameAnswer>
}

/** Opens a task on an engine, which it does not close. @throws TensorRTError */
export async function openVideoWorker({ task, flags, target }: VideoJob, engine: Engine): Promise<VideoWorker> {
  const { batch = 1 } = flags
  const most = 2 * batch + 2
  const common = { preset: flags.preset.option as PresetName, input: inputOf(flags), inFlight: most }
  const draws = target !== undefined
  const works = await import('../../tasks/video/work.js')
  if (task === 'blur') {
    const faces = await loadBlur(engine, common, flags)
    return worker(faces, works.blurring<BlurredRegion>(faces, { most }), (regions) => ({
      found: { found: regions },
      things: regions,
    }))
  }
  const { Detector, Segmenter } = await import('../../tasks/index.js')
  const { labels, threshold } = flags
  if (task === 'detect') {
    const detector = await Detector.load(engine, { ...common, labels, scoreThreshold: threshold })
    return worker(detector, works.detecting(detector, { most }, draws), (found) => ({
      found: { found: found.map(plainFound) },
      things: found,
    }))
  }
  const { checkedLabels } = await import('../../tasks/labels.js')
  const names = await checkedLabels(labels)
  const segmenter = await Segmenter.load(engine, { ...common, output: { threshold } })
  return worker(segmenter, works.segmenting(segmenter, { most }, draws), (mask) => {
    const classes = classesOf(mask, names)
    return { found: { classes }, things: classes.filter(({ classIndex }) => classIndex !== 0) }
  })
}

function worker<R>(
  task: { close(): Promise<void> },
  work: FrameWork<R>,
  answerOf: (answer: R) => FrameAnswer,
): VideoWorker {
  return {
    work: {
      most: work.most,
      answer: async (frame, signal) => answerOf(await work.answer(frame, signal)),
      count: ({ things }) => things.length,
    },
    [Symbol.asyncDispose]: () => task.close(),
  }
}
