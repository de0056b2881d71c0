// Writers of videos, with the real ffmpeg.
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createWriteStream } from 'node:fs'
import { FaceBlur } from '../../lib/tasks/index.js'
import { openVideo, probeVideo, type WritableFrame, writeVideo, type WriteVideoOptions } from '../../lib/video/index.js'
import { Random } from '../support/random.js'
import { long } from '../support/tiers.js'
import { clip } from '../support/video-clips.js'
import { answering, filled } from '../tasks/models.js'
import type { Place, Round } from './full-disk-child.js'
import { command, withTemporary } from './full-disk-writers.js'

const random = new Random(8)
const [width, height, count] = [96, 64, 6]
const frames = Array.from({ length: count }, (_, number): WritableFrame => {
  const data = Uint8Array.from({ length: (width * height * 3) / 2 }, () => random.below(256))
  return { format: 'i420', width, height, data, pts: number / 25 }
})

/** Writes all frames. Resolves with the frames of the file, as ffprobe counts them. */
async function written(path: string, options: WriteVideoOptions = {}): Promise<number | undefined> {
  await using out = await writeVideo(path, { overwrite: true, ...options })
  for (const frame of frames) await out.write(frame)
  await out.close()
  return (await probeVideo(path, { count: true })).frames
}

/** Copies the beginning of a video, and trims its audio. */
async function trimmed(source: string, path: string): Promise<number | undefined> {
  await using video = await openVideo(source, { end: 0.4 })
  await using out = await writeVideo(path, { like: source, overwrite: true })
  for await (const frame of video) {
    await out.write(frame)
    frame.close()
  }
  await out.close({ trimAudio: true })
  return (await probeVideo(path, { count: true })).frames
}

/** Sizes around that of the whole file, at each of which another one of ffmpeg's writes is refused. */
const roomsFor = (size: number): number[] => [
  ...(long ? [0, Math.floor(size / 2), size - 8192] : []),
  ...[size - 4096, size + 4096],
]

export async function videoRounds({ disk, folder, round }: Place): Promise<Round[]> {
  const rounds: Round[] = []
  for (const name of long ? ['a.mp4', 'a.mkv', 'a.webm', 'a.mov'] : ['a.mp4']) {
    const whole = join(folder, name)
    await written(whole)
    const { size } = await stat(whole)
    for (const free of roomsFor(size)) rounds.push(await round(name, free, () => written(join(disk, name))))
    rounds.push(await round(name, 0, () => written(join(disk, name)), { old: [name] }))
  }
  const source = join(folder, 'in.mp4')
  await copyFile(await clip('plain'), source)
  const model = join(folder, 'one.onnx')
  await writeFile(model, answering([filled([1, 84, 84], boxes)]))
  const args = ['video', source, '--model', model, '--preset', 'yolov8', '--task', 'blur', '--backend', 'cpu']
  const blurred = basename(source).replace('.mp4', '-blurred.mp4')
  await using faces = await FaceBlur.load(model, { preset: 'yolov8', backend: 'cpu' })
  const { size } = await stat(source)
  for (const free of long ? [4096, 40_960, 3 * size] : [4096, 3 * size]) {
    rounds.push(await round('trimmed.mkv', free, () => trimmed(source, join(disk, 'trimmed.mkv'))))
    rounds.push(await round(blurred, free, () => command([...args, '--json', '-o', `${disk}/`])))
    rounds.push(await round('faces.mp4', free, () => faces.blurVideo(source, join(disk, 'faces.mp4'))))
    const streamed = async (): Promise<void> => {
      await using out = await writeVideo(createWriteStream(join(disk, 'stream.mp4')))
      for (const frame of frames) await out.write(frame)
      await out.close()
    }
    rounds.push(await round('stream.mp4', free, streamed))
  }
  const bytes = await readFile(source)
  for (const free of [4096, 2 * size])
    rounds.push(await round('bytes', free, () => withTemporary(disk, async () => (await probeVideo(bytes)).width)))
  return rounds
}

const boxes = [32, 32, 24, 20, 0.9].map((value, index) => [[0, index, 0], value] as const)
