/** Faces of a clip hidden, with its times and its sound: by CenterFace, in every frame, where the frame lies. */
import { mkdir } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { Command, Option } from 'commander'
import { TensorRTError } from '../../lib/errors.js'
import { writeModel } from '../../lib/onnx/index.js'
import { FaceBlur } from '../../lib/tasks/index.js'
import { openVideo } from '../../lib/video/index.js'
import { drawBoxes, type Image, writeImage } from '../../lib/vision/index.js'
import { anySizeCenterFace } from '../../test/support/networks/index.js'
import { note, wholeNumber } from '../support/program.js'
import { madeClip } from './clip.js'

interface Given {
  readonly out: string
  readonly backend: 'auto' | 'cpu' | 'tensorrt'
  readonly maxSide: number
  readonly seconds: number
  readonly fps: number
  readonly json: boolean
}

interface Done {
  readonly video: string
  readonly written: string
  /** A frame about the middle, before and after. */
  readonly picture: string
  readonly frames: number
  readonly framesWithFaces: number
  readonly faces: number
  readonly sounds: number
  /** Frames a second, of all that is done. */
  readonly fps: number
}

main().catch((error: unknown) => {
  note(error instanceof TensorRTError ? error.message : String((error as Error).stack))
  process.exitCode = 1
})

async function main(): Promise<void> {
  const { video, given } = readArguments()
  await mkdir(given.out, { recursive: true })
  const source = video ?? (await madeClip(given.out, given.seconds, given.fps))
  const done = await hidden(source, given)
  process.stdout.write(`${given.json ? JSON.stringify(done, null, 2) : text(done)}\n`)
  if (done.faces === 0)
    note(`No face was found in any of the ${done.frames} frames: ${done.written} shows all that the video does`)
}

async function hidden(video: string, { out, backend, maxSide }: Given): Promise<Done> {
  const written = join(out, `${basename(video, extname(video))}-blurred.mp4`)
  await using faces = await FaceBlur.load(await centerFace(), { preset: 'centerface', input: { maxSide }, backend })
  const bar = new SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    format: '{bar} {value} frames, {fps} fps',
  })
  bar.start(1, 0, { fps: '-' })
  const begun = performance.now()
  const { frames, framesWithRegions, regions, sounds } = await faces
    .blurVideo(video, written, {
      overwrite: true,
      onProgress: ({ frames, of, fps }) => {
        bar.setTotal(of ?? frames)
        bar.update(frames, { fps: fps.toFixed(1) })
      },
    })
    .finally(() => bar.stop())
  const fps = (frames * 1000) / (performance.now() - begun)
  const picture = join(out, 'before-and-after.jpg')
  const shown = Math.floor((frames * 7) / 15) // about the middle, and at 5 frames a second the same as at 25
  await writeImage(sideBySide(await frameOf(video, shown), await frameOf(written, shown)), picture, {
    quality: 74,
    optimize: true,
  })
  return { video, written, picture, frames, framesWithFaces: framesWithRegions, faces: regions, sounds, fps }
}

/** The trained weights that scripts/centerface.mjs has fetched. */
async function centerFace(): Promise<Uint8Array> {
  const path = process.env['NODE_TENSORRT_CENTERFACE']
  if (path === undefined)
    throw new TensorRTError('ERR_TRT_FILE', 'CenterFace is not at hand: it is fetched by npm run example -- video-blur')
  return writeModel(await anySizeCenterFace(path))
}

/** The frame of this number as RGB. */
async function frameOf(video: string, number: number): Promise<Image> {
  for await (const frame of await openVideo(video)) {
    if (frame.number === number) return drawBoxes(frame, [])
    frame.close()
  }
  throw new TensorRTError('ERR_TRT_VIDEO_DATA', `${video} has no frame ${number}`)
}

function sideBySide(left: Image, right: Image): Image {
  const { width, height } = left
  const data = new Uint8Array(2 * width * height * 3)
  for (let row = 0; row < height; row++)
    for (const [column, { data: pixels }] of [left, right].entries())
      data.set(pixels.subarray(row * width * 3, (row + 1) * width * 3), (2 * row + column) * width * 3)
  return { width: 2 * width, height, channels: 3, data }
}

function text({ video, written, picture, frames, framesWithFaces, faces, sounds, fps }: Done): string {
  const table = new Table({
    head: ['video', 'frames', 'with faces', 'faces hidden', 'sounds', 'fps'],
    style: { head: [], border: [] },
  })
  table.push([basename(video), frames, framesWithFaces, faces, sounds, fps.toFixed(1)])
  return `${table.toString()}\nWritten: ${written}\nBefore and after: ${picture}`
}

function readArguments(): { readonly video: string | undefined; readonly given: Given } {
  const command = new Command('npm run example -- video-blur')
    .description('Hides the faces of a video; without a VIDEO, of a clip that is made of photographs.')
    .argument('[VIDEO]', 'a video file')
    .option('--out <DIR>', 'the folder to write to', 'out')
    .addOption(
      new Option('--backend <NAME>', 'what runs the model').choices(['auto', 'cpu', 'tensorrt']).default('auto'),
    )
    .addOption(
      new Option('--max-side <PIXELS>', 'the longer side of what the model sees').argParser(wholeNumber).default(640),
    )
    .addOption(
      new Option('--seconds <NUMBER>', 'how long each photograph of the made clip is shown')
        .argParser(wholeNumber)
        .default(1),
    )
    .addOption(new Option('--fps <NUMBER>', 'frames of the made clip in a second').argParser(wholeNumber).default(25))
    .option('--json', 'print the results as JSON', false)
    .parse()
  return { video: command.args[0], given: command.opts<Given>() }
}
