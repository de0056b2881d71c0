/** Faces of a clip hidden, with its times and its sound: by CenterFace, in every frame, where the frame lies. */
import { basename, extname, join } from 'node:path'
import { FaceBlur } from 'node-tensorrt/tasks'
import { openVideo } from 'node-tensorrt/video'
import { drawBoxes, type Image, writeImage } from 'node-tensorrt/vision'
import { cameraClip } from '../support/clip.js'
import { grid } from '../support/grid.js'
import * as program from '../support/program.js'

interface Given extends program.Given {
  readonly backend: 'auto' | 'cpu' | 'tensorrt'
  readonly maxSide: number
  readonly seconds: number
  readonly fps: number
}

const name = 'npm run example -- video-blur'
const command = program
  .commandOf(name, 'Hides the faces of a video; without a VIDEO, of a clip that is made of photographs.')
  .argument('[VIDEO]', 'a video file')
  .addOption(program.backendOption('auto', 'cpu', 'tensorrt'))
  .option('--max-side <PIXELS>', 'the longer side of what the model sees', program.wholeNumber, 640)
  .option('--seconds <NUMBER>', 'how long each photograph of the made clip is shown', program.wholeNumber, 1)
  .option('--fps <NUMBER>', 'frames of the made clip in a second', program.wholeNumber, 25)

program.main(command, async ({ out, backend, maxSide, seconds, fps }: Given, [given]) => {
  const video = given ?? (await cameraClip(join(out, 'clip.mp4'), [1, 2, 6], { seconds, fps, sound: true }))
  const written = join(out, `${basename(video, extname(video))}-blurred.mp4`)
  const input = { maxSide }
  await using faces = await FaceBlur.load(program.centerFace(name), { preset: 'centerface', input, backend })
  const begun = performance.now()
  const { frames, framesWithRegions, regions, sounds } = await program.withBar(
    '{bar} {value} frames, {fps} fps',
    (show) => {
      const onProgress = (now: { frames: number; of: number | undefined; fps: number }) =>
        show(now.frames, now.of ?? now.frames, { fps: now.fps.toFixed(1) })
      return faces.blurVideo(video, written, { overwrite: true, onProgress })
    },
  )
  const rate = (frames * 1000) / (performance.now() - begun)
  const picture = join(out, 'before-and-after.jpg')
  const shown = Math.floor((frames * 7) / 15) // about the middle, and at 5 frames a second the same as at 25
  const both = [await frameOf(video, shown), await frameOf(written, shown)]
  await writeImage(grid(both), picture, { quality: 74, optimize: true })
  if (regions === 0)
    program.note(`No face was found in any of the ${frames} frames: ${written} shows all that the video does`)
  const head = ['video', 'frames', 'with faces', 'faces hidden', 'sounds', 'fps']
  const table = program.tableOf(head, [[basename(video), frames, framesWithRegions, regions, sounds, rate.toFixed(1)]])
  return {
    results: { video, written, picture, frames, framesWithFaces: framesWithRegions, faces: regions, sounds, fps: rate },
    text: `${table}\nWritten: ${written}\nBefore and after: ${picture}`,
  }
})

/** The frame of this number as RGB. */
async function frameOf(video: string, number: number): Promise<Image> {
  for await (const frame of await openVideo(video)) {
    if (frame.number === number) return drawBoxes(frame, [])
    frame.close()
  }
  throw new Error(`${video} has no frame ${number}`)
}
