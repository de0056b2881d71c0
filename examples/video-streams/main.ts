/**
 * Four streams, one engine: faces in boxes, painted where the frames lie, a grid of four as one picture; then two INT8
 * models on each frame, measured.
 */
import { join } from 'node:path'
import { cameraClip } from '../support/clip.js'
import * as program from '../support/program.js'
import { drawn } from './drawing.js'
import { type StreamsGiven, timed } from './int8.js'

const name = 'npm run example -- video-streams'
const command = program
  .commandOf(name, 'Four streams into one engine: faces in boxes, a grid of four, and two INT8 models measured.')
  .addOption(program.backendOption('auto', 'cpu', 'tensorrt'))
  .option('--seconds <NUMBER>', 'how long a clip is', program.wholeNumber, 2)
  .option('--fps <NUMBER>', 'frames of a clip in a second', program.wholeNumber, 10)
  .option('--size <PIXELS>', "the side of the seeded models' input", program.wholeNumber, 320)

program.main(command, async (given: StreamsGiven) => {
  const photos = [1, 2, 5, 6]
  const clips = await Promise.all(
    photos.map((photo, i) => cameraClip(join(given.out, `camera-${i + 1}.mp4`), [photo], given)),
  )
  const { written = '-', faces } = await drawn(clips, name, given)
  const { models, stats, fps, meanBatch } = await timed(clips, given)
  const ms = (value: number | undefined): string => value?.toFixed(0) ?? '-'
  const rows = stats.sources.map(({ index, delivered, p50, p95, p99 }) => [
    ...[index + 1, delivered, faces?.[index] ?? '-'],
    ...[p50, p95, p99].map(ms),
  ])
  const about = models.map(({ name, share, plan }, i) => {
    const built = plan === undefined ? 'no plan' : `plan of ${(plan / 1e6).toFixed(2)} MB`
    return `${name}: ${(share * 100).toFixed(0)} % in INT8, ${built}, ${meanBatch[i]!.toFixed(2)} frames a batch`
  })
  const text = [
    program.tableOf(['camera', 'frames', 'faces', 'ms, p50', 'p95', 'p99'], rows),
    ...about,
    `${fps.toFixed(1)} frames a second through both models (seeded weights)`,
    `Written: ${written}`,
  ].join('\n')
  return { results: { clips, ...(faces && { written, faces }), models, stats, fps, meanBatch }, text }
})
