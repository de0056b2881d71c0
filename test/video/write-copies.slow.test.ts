// Whole clips of each kind, written again: what of the source is kept.
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { writeVideo, type WriteVideoOptions } from '../../lib/video/index.js'
import { temporaryFolder } from '../support/folders.js'
import { needs } from '../support/needs.js'
import { clip, type ClipName, decodedFrames, framemd5, probed, timesOf } from '../support/video-clips.js'

needs('ffmpeg')

async function copied(
  t: Test,
  name: ClipName,
  target: string,
  options: WriteVideoOptions = {},
): Promise<{ source: string; target: string }> {
  const source = await clip(name)
  const path = join(temporaryFolder(t), target)
  await using out = await writeVideo(path, { like: source, ...options })
  for (const frame of await decodedFrames(source)) await out.write(frame)
  await out.close()
  t.same(readdirSync(join(path, '..')), [basename(path)], 'nothing else is beside it')
  return { source, target: path }
}

t.test('pts, sounds, duration: as in the source', async (t) => {
  const kinds: readonly (readonly [ClipName, string])[] = [
    ['plain', 'out.mp4'],
    ['vfr', 'out.mp4'],
    ['b-frames', 'out.mov'],
    ['edit-list', 'out.mp4'],
    ['offset-mp4', 'out.mp4'],
    ['two-sounds', 'out.mp4'],
  ]
  for (const [name, file] of kinds) {
    const { source, target } = await copied(t, name, file)
    const [theirs, ours] = [await timesOf(source), await timesOf(target)]
    t.same(ours, theirs, `${name}: the times of all frames`)
    const sounds = ['-map', '0:a', '-c', 'copy']
    t.same(
      packetsOf(await framemd5(target, sounds)),
      packetsOf(await framemd5(source, sounds)),
      `${name}: the packets of sounds`,
    )
    const start = async (path: string) => (await probed(path, 'stream=start_time,codec_name', 'a')).streams
    t.same(await start(target), await start(source), `${name}: when sounds begin`)
    const last = (theirs.at(-1) ?? 0) - (theirs.at(-2) ?? 0)
    const { format } = await probed(target, 'format=duration')
    const { format: of } = await probed(source, 'format=duration')
    t.ok(
      Math.abs(Number(format.duration) - Number(of.duration)) <= last + 0.001,
      `${name}: ${format.duration} s of ${of.duration}`,
    )
  }
})

/** Sizes and sums, and their times. */
const packetsOf = (lines: readonly string[]): string[] => lines.map((line) => line.replace(/\s+/g, ' '))

t.test(
  'Matroska: times of a frame keep their distance from those of sounds, to the millisecond that it has',
  async (t) => {
    for (const name of ['offset', 'offset-mp4', 'vfr'] as const) {
      const { source, target } = await copied(t, name, 'out.mkv')
      const [theirs, ours] = [await timesOf(source), await timesOf(target)]
      const sound = async (path: string) => Number((await probed(path, 'packet=pts_time', 'a:0')).packets[0].pts_time)
      const between = (await sound(target)) - (await sound(source))
      t.ok(
        theirs.length === ours.length && theirs.every((time, i) => Math.abs(ours[i]! - time - between) < 0.0011),
        name,
      )
    }
  },
)

t.test(
  'what the file says of colours is kept, and the pixels are: four of matrix and range, upright rotated, 10 bits',
  async (t) => {
    const entries =
      'stream=width,height,color_space,color_primaries,color_transfer,color_range,pix_fmt:stream_side_data=rotation'
    for (const name of [
      'bt601-limited',
      'bt601-full',
      'bt709-limited',
      'bt709-full',
      'silent',
      'rotated-90',
      'ten-bit',
    ] as const) {
      const { source, target } = await copied(t, name, 'out.mkv', { codec: 'ffv1' })
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
      const pixels = async (path: string) =>
        (await decodedFrames(path)).map(({ data }) => Buffer.from(data).toString('base64'))
      t.same(await pixels(target), await pixels(source), `${name}: all pixels, since FFV1 loses nothing`)
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
    const times = await timesOf(path)
    const sound =
      Number((await probed(path, 'packet=pts_time', 'a:0')).packets[0].pts_time) -
      Number((await probed(source, 'packet=pts_time', 'a:0')).packets[0].pts_time)
    const theirs = await timesOf(source)
    t.ok(
      times.length === theirs.length && times.every((time, i) => Math.abs(time - theirs[i]! - sound) < 0.0011),
      `${container}: ${times[0]} ${sound}`,
    )
    t.equal(
      (await framemd5(path, ['-map', '0:a', '-c', 'copy'])).length,
      (await framemd5(source, ['-map', '0:a', '-c', 'copy'])).length,
    )
  }
})
