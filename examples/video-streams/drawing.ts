import { join } from 'node:path'
import { Detector } from 'node-tensorrt/tasks'
import { streams } from 'node-tensorrt/video'
import { drawBoxes, type Image, stretch, writeImage } from 'node-tensorrt/vision'
import { framed, grid } from '../support/grid.js'
import { note } from '../support/program.js'
import { batching, type StreamsGiven } from './int8.js'

/** Frames of the middle of all clips, with boxes around the faces, and how many faces all frames of each have. */
export async function drawn(
  clips: readonly string[],
  command: string,
  { out, backend, seconds, fps }: StreamsGiven,
): Promise<{ readonly written?: string; readonly faces?: readonly number[] }> {
  const centerFace = process.env['NODE_TENSORRT_CENTERFACE']
  if (centerFace === undefined) {
    note(`CenterFace is not at hand, so that nothing is drawn: it is fetched by ${command}`)
    return {}
  }
  const options = { preset: 'centerface', scoreThreshold: 0.5, backend, batching } as const
  await using detector = await Detector.load(centerFace, options)
  const [kept, faces] = [new Array<Image>(clips.length), clips.map(() => 0)]
  await using all = streams(clips, detector)
  for await (const { source, frame, result } of all) {
    faces[source.index]! += result.length
    const boxes = result.map(({ box, score, landmarks }) => ({ box, landmarks, label: score.toFixed(2) }))
    await drawBoxes(frame, boxes, { inPlace: true })
    const small = { width: frame.width * 0.75, height: frame.height * 0.75 }
    if (frame.number === Math.floor((seconds * fps) / 2))
      kept[source.index] = await framed(frame, stretch(frame, small), 'triangle')
    frame.close()
  }
  const written = join(out, 'four-streams.jpg')
  await writeImage(grid(kept, { columns: 2, gap: 4 }), written, { quality: 74, optimize: true })
  return { written, faces }
}
