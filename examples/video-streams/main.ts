/**
 * Four streams, one engine: faces in boxes, painted where the frames lie, a grid of four as one picture; then two INT8
 * models on each frame, measured.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import Table from 'cli-table3'
import { Command, Option } from 'commander'
import { TensorRTError } from '../../lib/errors.js'
import { writeModel } from '../../lib/onnx/index.js'
import { Detector } from '../../lib/tasks/index.js'
import type { Tensor } from '../../lib/tensor.js'
import { openVideo, streams, type StreamsStats, type VideoFrame } from '../../lib/video/index.js'
import { drawBoxes, letterbox, type RawImage, toTensor, writeImage } from '../../lib/vision/index.js'
import { anySizeCenterFace, retinaFace, yoloV5 } from '../../test/support/networks/index.js'
import { note, wholeNumber } from '../support/program.js'
import { madeClips } from './clips.js'
import { gridOf } from './grid.js'
import { int8Engine, type Int8Engine } from './int8.js'

interface Given {
  readonly out: string
  readonly backend: 'auto' | 'cpu' | 'tensorrt'
  readonly seconds: number
  readonly fps: number
  readonly size: number
  readonly json: boolean
}

/** A batch holds a frame of each camera, and waits as long as a camera of 30 frames a second does. */
const batching = { maxBatch: 4, maxDelayMs: 33 }

main().catch((error: unknown) => {
  note(error instanceof TensorRTError ? error.message : String((error as Error).stack))
  process.exitCode = 1
})

async function main(): Promise<void> {
  const given = readArguments()
  await mkdir(given.out, { recursive: true })
  const clips = await madeClips(given.out, given.seconds, given.fps)
  const picture = await drawn(clips, given)
  const measured = await timed(clips, given)
  const results = { clips, ...picture, ...measured }
  process.stdout.write(`${given.json ? JSON.stringify(results, null, 2) : text(results)}\n`)
}

interface Drawn {
  /** The picture, where there were trained weights for it. */
  readonly written?: string
  /** Faces in all frames of each clip. */
  readonly faces?: readonly number[]
}

/** Frames of the middle of all clips, with boxes around the faces, by trained weights. */
async function drawn(clips: readonly string[], { out, backend, seconds, fps }: Given): Promise<Drawn> {
  const path = process.env['NODE_TENSORRT_CENTERFACE']
  if (path === undefined) {
    note('CenterFace is not at hand, so that nothing is drawn: it is fetched by npm run example -- video-streams')
    return {}
  }
  const options = { preset: 'centerface', scoreThreshold: 0.5, backend, batching } as const
  await using detector = await Detector.load(writeModel(await anySizeCenterFace(path)), options)
  const [kept, faces] = [new Array<RawImage>(clips.length), clips.map(() => 0)]
  await using all = streams(clips, detector)
  for await (const { source, frame, result } of all) {
    faces[source.index]! += result.length
    await drawBoxes(
      frame,
      result.map(({ box, score, landmarks }) => ({ box, landmarks, label: score.toFixed(2) })),
      { inPlace: true },
    )
    if (frame.number === Math.floor((seconds * fps) / 2)) kept[source.index] = copyOf(frame)
    frame.close()
  }
  const written = join(out, 'four-streams.jpg')
  await writeImage(await gridOf(kept), written, { quality: 74, optimize: true })
  return { written, faces }
}

/** Its memory goes to the next frame. */
function copyOf({ format, width, height, matrix, range, data }: VideoFrame): RawImage {
  return { format, width, height, matrix, range, data: Uint8Array.from(data) }
}

interface Timed {
  readonly models: readonly Omit<Int8Engine, 'engine'>[]
  readonly stats: StreamsStats
  /** Frames a second of all streams together. */
  readonly fps: number
  /** Rows a batch of each model. */
  readonly meanBatch: readonly number[]
}

/** RetinaFace and YOLOv5 on each frame: seeded weights, whose boxes mean nothing. */
async function timed(clips: readonly string[], given: Given): Promise<Timed> {
  const { size, backend } = given
  const options = { backend, batching }
  const picture = [3, size, size]
  const asFaces = { resize: 'letterbox', position: 'start', size, fill: [123, 117, 104] } as const
  const asObjects = { resize: 'letterbox', size, fill: 114 } as const
  const forFaces = await samples(clips, (frame) =>
    toTensor(frame, letterbox(frame, size, { position: 'start', fill: [123, 117, 104] }), {
      order: 'BGR',
      mean: [123, 117, 104],
    }),
  )
  const forObjects = await samples(clips, (frame) =>
    toTensor(frame, letterbox(frame, size, { fill: 114 }), { std: 255 }),
  )
  const models = [
    await int8Engine(
      {
        name: 'RetinaFace with MobileNetV1 × 0.25',
        model: retinaFace.modelOf({ size, batch: 'N' }),
        input: 'input',
        picture,
      },
      forFaces,
      batching.maxBatch,
      options,
    ),
    await int8Engine(
      { name: 'YOLOv5n', model: yoloV5.modelOf({ size, batch: 'N' }), input: 'images', picture },
      forObjects,
      batching.maxBatch,
      options,
    ),
  ] as const
  try {
    const faces = await Detector.load(models[0].engine, { preset: 'retinaface', input: asFaces })
    const objects = await Detector.load(models[1].engine, { preset: 'yolov5', input: asObjects, labels: 'coco80' })
    const before = models.map(({ engine }) => engine.counters())
    const begun = performance.now()
    const all = streams(clips, async (frame, { signal }) =>
      Promise.all([faces.detect(frame, { signal }), objects.detect(frame, { signal })]),
    )
    for await (const { frame } of all) frame.close()
    const seconds = (performance.now() - begun) / 1000
    const stats = all.stats()
    return {
      models: models.map(({ name, share, plan }) => ({ name, share, plan })),
      stats,
      fps: stats.sources.reduce((sum, { delivered }) => sum + delivered, 0) / seconds,
      meanBatch: models.map(({ engine }, i) => {
        const { rows, executions } = engine.counters()
        return (rows - before[i]!.rows) / (executions - before[i]!.executions)
      }),
    }
  } finally {
    for (const { engine } of models) await engine.close()
  }
}

/** Some frames of all clips, as a model takes them: what its ranges are measured on. */
async function samples(clips: readonly string[], prepare: (frame: VideoFrame) => Promise<Tensor>): Promise<Tensor[]> {
  const tensors: Tensor[] = []
  for (const clip of clips)
    for await (const frame of await openVideo(clip, { every: 4 })) {
      tensors.push(await prepare(frame))
      frame.close()
      if (frame.number >= 4) break
    }
  return tensors
}

function text({ written = '-', faces, models, stats, fps, meanBatch }: Drawn & Timed): string {
  const table = new Table({
    head: ['camera', 'frames', 'faces', 'ms, p50', 'p95', 'p99'],
    style: { head: [], border: [] },
  })
  const ms = (value: number | undefined): string => value?.toFixed(0) ?? '-'
  for (const { index, delivered, p50, p95, p99 } of stats.sources)
    table.push([index + 1, delivered, faces?.[index] ?? '-', ms(p50), ms(p95), ms(p99)])
  const about = models.map(({ name, share, plan }, i) => {
    const built = plan === undefined ? 'no plan' : `plan of ${(plan / 1e6).toFixed(2)} MB`
    return `${name}: ${(share * 100).toFixed(0)} % in INT8, ${built}, ${meanBatch[i]!.toFixed(2)} frames a batch`
  })
  return [
    table.toString(),
    ...about,
    `${fps.toFixed(1)} frames a second through both models (seeded weights)`,
    `Written: ${written}`,
  ].join('\n')
}

function readArguments(): Given {
  return new Command('npm run example -- video-streams')
    .description('Four streams into one engine: faces in boxes, a grid of four, and two INT8 models measured.')
    .option('--out <DIR>', 'the folder to write to', 'out')
    .addOption(
      new Option('--backend <NAME>', 'what runs the models').choices(['auto', 'cpu', 'tensorrt']).default('auto'),
    )
    .addOption(new Option('--seconds <NUMBER>', 'how long a clip is').argParser(wholeNumber).default(2))
    .addOption(new Option('--fps <NUMBER>', 'frames of a clip in a second').argParser(wholeNumber).default(10))
    .addOption(
      new Option('--size <PIXELS>', "the side of the seeded models' input").argParser(wholeNumber).default(320),
    )
    .option('--json', 'print the results as JSON', false)
    .parse()
    .opts<Given>()
}
