// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu. Videos that the GPU decodes, and several
// streams through one plan.
import t from 'tap'
import { Builder, Engine, type Tensor } from '../../lib/index.js'
import { openVideo, streams } from '../../lib/video/index.js'
import { stretch, toTensor } from '../../lib/vision/index.js'
import { skip } from '../support/video-clips.js'
import { clip, moving, readAll, sumsOf } from '../video/clips.js'
import { resnet50 } from './models.js'

t.setTimeout(900_000)

t.test('the GPU decodes, to the same planes, or the reason is told', { skip }, async (t) => {
  const path = await clip('gpu.mp4', moving('640x360', '25', 2))
  const { video, sums, error } = await readAll(path, { hardware: 'cuda' })
  t.equal(error, undefined)
  t.strictSame(sums, await sumsOf(path))
  t.comment(
    `decoded by ${video.decoder.hardware}${video.decoder.reason === undefined ? '' : `: ${video.decoder.reason}`}`,
  )
  if (video.decoder.hardware === 'none') t.match(video.decoder.reason, /^ffmpeg has no cuda here: /)
})

t.test('four streams through one plan: the answers of each alone, in batches', { skip }, async (t) => {
  const paths = await Promise.all(
    [1, 2, 3, 4].map((i) => clip(`gpu-${i}.mp4`, moving(`${160 * i}x${120 * i}`, '25', 2))),
  )
  await using builder = new Builder({ precision: 'fp16' })
  const [channels, height, width] = resnet50.picture
  const rows = (count: number): number[] => [count, channels, height, width]
  const { bytes } = await builder.build(resnet50.model(), {
    shapes: { x: { min: rows(1), opt: rows(4), max: rows(4) } },
  })
  await using engine = await Engine.load(bytes, { batching: { maxBatch: 4, maxDelayMs: 33 } })
  const best = (scores: Tensor): number => {
    const values = Array.from(scores.toFloat32().data)
    return values.indexOf(Math.max(...values))
  }
  const task = {
    engine,
    classify: async (frame: Parameters<typeof toTensor>[0], { signal }: { signal?: AbortSignal } = {}) => {
      const { width: across, height: down } = frame as { width: number; height: number }
      const input = await toTensor(frame, stretch({ width: across, height: down }, { width, height }), {
        std: 255,
        signal,
      })
      return best((await engine.infer({ x: input }, { signal }))[engine.outputNames[0]!]!)
    },
  }
  const alone: number[][] = []
  for (const path of paths) {
    const answers = []
    for await (const frame of await openVideo(path)) {
      answers.push(await task.classify(frame))
      frame.close()
    }
    alone.push(answers)
  }
  const before = engine.counters()
  const together: number[][] = paths.map(() => [])
  for await (const { source, frame, result } of streams(paths, task)) {
    together[source.index]!.push(result)
    frame.close()
  }
  t.strictSame(together, alone)
  const { rows: all, executions } = engine.counters()
  const mean = (all - before.rows) / (executions - before.executions)
  t.ok(mean > 2, `${mean.toFixed(2)} frames a batch`)
})
