// Whole clips of each kind, written again: what of the source is kept.
import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { writeVideo, type WriteVideoOptions } from '../../lib/video/index.js'
import { temporaryFolder } from '../support/folders.js'
import { needs } from '../support/needs.js'
import { long } from '../support/tiers.js'
import { clip, type ClipName, decodedFrames, framemd5, probed } from '../support/video-clips.js'

needs('ffmpeg')

type Frames = Awaited<ReturnType<typeof decodedFrames>>

async function copied(
  t: Test,
  name: ClipName,
  target: string,
  options: WriteVideoOptions = {},
): Promise<{ source: string; target: string; frames: Frames }> {
  const source = await clip(name)
  const path = join(temporaryFolder(t), target)
  await using out = await writeVideo(path, { like: source, ...options })
  const frames = await decodedFrames(source)
  for (const frame of frames) await out.write(frame)
  await out.close()
  t.same(readdirSync(join(path, '..')), [basename(path)], 'nothing else is beside it')
  return { source, target: path, frames }
}

/** What ffprobe prints of a file, in one run. */
interface Probed {
  /** Of all pictures in the order in which they are shown. */
  readonly times: readonly number[]
  readonly sounds: readonly unknown[]
  /** When the first packet of the first sound is heard. */
  readonly soundStart: number
  readonly duration: number
}

async function probeAll(path: string): Promise<Probed> {
  const { packets, streams, format } = (await probed(
    path,
    'packet=stream_index,codec_type,pts_time,flags:stream=index,codec_type,codec_name,start_time:format=duration',
    'all',
  )) as {
    packets: { stream_index: number; codec_type: string; pts_time: string; flags: string }[]
    streams: { index: number; codec_type: string; codec_name: string; start_time: string }[]
    format: { duration: string }
  }
  const shown = packets.filter(({ codec_type, flags }) => codec_type === 'video' && !flags.includes('D'))
  const sounds = streams.filter(({ codec_type }) => codec_type === 'audio')
  const first = packets.find(({ stream_index }) => stream_index === sounds[0]?.index)
  return {
    times: shown.map(({ pts_time }) => Number(pts_time)).sort((a, b) => a - b),
    sounds: sounds.map(({ codec_name, start_time }) => [codec_name, start_time]),
    soundStart: Number(first?.pts_time),
    duration: Number(format.duration),
  }
}

/** Sizes, times and sums of the packets of all sounds. */
const packetsOf = async (path: string): Promise<readonly string[]> =>
  (await framemd5(path, ['-map', '0:a', '-c', 'copy'])).map((line) => line.replace(/\s+/g, ' '))

t.test('pts, sounds, duration: as in the source', async (t) => {
  const kinds: readonly (readonly [ClipName, string])[] = [
    ['vfr', 'out.mp4'],
    ['edit-list', 'out.mp4'],
    ['two-sounds', 'out.mp4'],
    ...(long
      ? ([
          ['plain', 'out.mp4'],
          ['b-frames', 'out.mov'],
          ['offset-mp4', 'out.mp4'],
        ] as const)
      : []),
  ]
  for (const [name, file] of kinds) {
    const { source, target } = await copied(t, name, file)
    const [theirs, ours] = [await probeAll(source), await probeAll(target)]
    t.same(ours.times, theirs.times, `${name}: the times of all frames`)
    t.same(await packetsOf(target), await packetsOf(source), `${name}: the packets of sounds`)
    t.same(ours.sounds, theirs.sounds, `${name}: when sounds begin`)
    const last = (theirs.times.at(-1) ?? 0) - (theirs.times.at(-2) ?? 0)
    t.ok(Math.abs(ours.duration - theirs.duration) <= last + 0.001, `${name}: ${ours.duration} s of ${theirs.duration}`)
  }
})

t.test(
  'Matroska: times of a frame keep their distance from those of sounds, to the millisecond that it has',
  async (t) => {
    for (const name of long ? (['offset', 'offset-mp4', 'vfr'] as const) : (['offset-mp4'] as const)) {
      const { source, target } = await copied(t, name, 'out.mkv')
      t.ok(keepsDistances(await probeAll(source), await probeAll(target)), name)
    }
  },
)

/** Whether each frame is as far from the first sound as in the source. */
const keepsDistances = (theirs: Probed, ours: Probed): boolean =>
  theirs.times.length === ours.times.length &&
  theirs.times.every((time, i) => Math.abs(ours.times[i]! - ours.soundStart - (time - theirs.soundStart)) < 0.0011)

t.test(
  'what the file says of colours is kept, and the pixels are: four of matrix and range, upright rotated, 10 bits',
  async (t) => {
    const entries =
      'stream=width,height,color_space,color_primaries,color_transfer,color_range,pix_fmt:stream_side_data=rotation'
    for (const name of [
      ...(['bt709-full', 'rotated-90', 'ten-bit'] as const),
      ...(long ? (['bt601-limited', 'bt601-full', 'bt709-limited', 'silent'] as const) : []),
    ]) {
      const { source, target, frames } = await copied(t, name, 'out.mkv', { codec: 'ffv1' })
      const of = async (path: string) => (await probed(path, entries)).streams[0]
      const { width, height, pix_fmt, side_data_list, ...theirs } = await of(source)
      const ours = await of(target)
      t.same(
        [ours.color_space, ours.color_primaries, ours.color_transfer, ours.color_range],
        [theirs.color_space, theirs.color_primaries, theirs.color_transfer, theirs.color_range],
        name,
      )
      t.same(
        [ours.width, ours.height, ours.side_data_list],
        name === 'rotated-90' ? [height, width, undefined] : [width, height, undefined],
      )
      const sums = (of: Frames) => of.map(({ data }) => createHash('md5').update(data).digest('hex'))
      t.same(sums(await decodedFrames(target)), sums(frames), `${name}: all pixels, since FFV1 loses nothing`)
    }
  },
)

t.test('to a Writable: MP4 in fragments, and Matroska, with sounds and times', async (t) => {
  const folder = temporaryFolder(t)
  const source = await clip('b-frames')
  const frames = await decodedFrames(source)
  for (const container of ['mp4', 'matroska'] as const) {
    const pieces: Buffer[] = []
    let isEnded = false
    const target = new Writable({
      write: (piece: Buffer, _, done) => (pieces.push(piece), done()),
      final: (done) => ((isEnded = true), done()),
    })
    const out = await writeVideo(target, { like: source, container })
    for (const frame of frames) await out.write(frame)
    await out.close()
    t.ok(isEnded)
    const path = join(folder, container)
    writeFileSync(path, Buffer.concat(pieces))
    t.ok(keepsDistances(await probeAll(source), await probeAll(path)), container)
    t.equal((await packetsOf(path)).length, (await packetsOf(source)).length)
  }
})
