import type { Engine, Tensor } from 'node-tensorrt'
import { type ModelProto, writeModel } from 'node-tensorrt/onnx'
import { Calibrator, quantize } from 'node-tensorrt/quantization'
import { Detector, presetBatches } from 'node-tensorrt/tasks'
import { openVideo, streams, type StreamsStats, type VideoFrame } from 'node-tensorrt/video'
import { retinaFace, yoloV5 } from '../../test/support/networks/index.js'
import { engineOf, planOf } from '../support/plan.js'
import { type Given, note } from '../support/program.js'

export interface StreamsGiven extends Given {
  readonly backend: 'auto' | 'cpu' | 'tensorrt'
  readonly seconds: number
  readonly fps: number
  readonly size: number
}

/** A batch holds a frame of each camera, and waits as long as a camera of 30 frames a second does. */
export const batching = { maxBatch: 4, maxDelayMs: 33 }

interface Timed {
  /** Of each: convolutions and products in INT8, 0 to 1, and the bytes of its plan, where one could be built. */
  readonly models: readonly { readonly name: string; readonly share: number; readonly plan: number | undefined }[]
  readonly stats: StreamsStats
  /** Frames a second of all streams together. */
  readonly fps: number
  /** Rows a batch of each model. */
  readonly meanBatch: readonly number[]
}

/** RetinaFace and YOLOv5 on each frame: seeded weights, whose boxes mean nothing. */
export async function timed(clips: readonly string[], given: StreamsGiven): Promise<Timed> {
  const { size } = given
  const asFaces = { resize: 'letterbox', position: 'start', size, fill: [123, 117, 104] } as const
  const steps = { retinaface: { preset: 'retinaface', input: asFaces }, yolov5: { preset: 'yolov5' } } as const
  const faceModel = retinaFace.modelOf({ size, batch: 'N' })
  const objectModel = yoloV5.modelOf({ size, batch: 'N' })
  const models = [
    await int8('RetinaFace with MobileNetV1 × 0.25', faceModel, ['input', steps.retinaface], clips, given),
    await int8('YOLOv5n', objectModel, ['images', steps.yolov5], clips, given),
  ] as const
  await using faces = models[0].engine
  await using objects = models[1].engine
  const faceDetector = await Detector.load(faces, steps.retinaface)
  const objectDetector = await Detector.load(objects, { ...steps.yolov5, labels: 'coco80' })
  const before = models.map(({ engine }) => engine.counters())
  const begun = performance.now()
  const all = streams(clips, async (frame, { signal }) =>
    Promise.all([faceDetector.detect(frame, { signal }), objectDetector.detect(frame, { signal })]),
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
}

type Steps = NonNullable<Parameters<typeof presetBatches>[2]>

/** Quantized by ranges that are measured on frames of the clips, built where that can be, and run. */
async function int8(
  name: string,
  model: ModelProto,
  [input, steps]: readonly [string, Steps],
  clips: readonly string[],
  { size, backend }: StreamsGiven,
) {
  const info = { name: input, dtype: 'float32', shape: [-1, 3, size, size] } as const
  const frames: Tensor[] = []
  for await (const tensor of presetBatches(framesOf(clips), info, steps)) frames.push(tensor)
  const quantized = await quantize(model, new Calibrator(frames))
  const bytes = writeModel(quantized.model)
  const [one, most] = [1, batching.maxBatch].map((rows) => [rows, 3, size, size]) as [number[], number[]]
  const plan =
    backend === 'cpu' ? undefined : await planOf(bytes, { shapes: { [input]: { min: one, opt: most, max: most } } })
  const engine: Engine = await engineOf(bytes, plan, { backend, batching })
  note(`${name}, INT8, runs on ${engine.description}`)
  return { engine, name, share: quantized.report.multiplyAdds.share, plan: plan?.bytes.length }
}

/** Some frames of all clips. */
async function* framesOf(clips: readonly string[]): AsyncGenerator<VideoFrame, void, undefined> {
  for (const clip of clips)
    for await (const frame of await openVideo(clip, { every: 4 })) {
      yield frame
      frame.close()
      if (frame.number >= 4) break
    }
}
