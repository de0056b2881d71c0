import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { type WritableFrame, writeVideo, type WriteVideoOptions } from '../../lib/video/index.js'
import { failure } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { clip, type ClipName, decodedFrames, framemd5, probed, skip, timesOf } from '../support/video-clips.js'

/** Grey frames of one size, which get lighter. */
function grey(number: number, { width = 64, height = 48 } = {}): WritableFrame & { readonly data: Uint8Array } {
  return {
    format: 'i420',
    width,
    height,
    data: new Uint8Array(width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2)).fill(40 + number),
  }
}

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

t.test('pts, sounds, duration: as in the source', { skip }, async (t) => {
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
    t.same(packetsOf(await framemd5(target, sounds)), packetsOf(await framemd5(source, sounds)), `${name}: the packets of sounds`)
    const start = async (path: string) => (await probed(path, 'stream=start_time,codec_name', 'a')).streams
    t.same(await start(target), await start(source), `${name}: when sounds begin`)
    const last = (theirs.at(-1) ?? 0) - (theirs.at(-2) ?? 0)
    const { format } = await probed(target, 'format=duration')
    const { format: of } = await probed(source, 'format=duration')
    t.ok(Math.abs(Number(format.duration) - Number(of.duration)) <= last + 0.001, `${name}: ${format.duration} s of ${of.duration}`)
  }
})

/** Sizes and sums, and their times. */
const packetsOf = (lines: readonly string[]): string[] => lines.map((line) => line.replace(/\s+/g, ' '))

t.test('Matroska: times of a frame keep their distance from those of sounds, to the millisecond that it has', { skip }, async (t) => {
  for (const name of ['offset', 'offset-mp4', 'vfr'] as const) {
    const { source, target } = await copied(t, name, 'out.mkv')
    const [theirs, ours] = [await timesOf(source), await timesOf(target)]
    const sound = async (path: string) => Number((await probed(path, 'packet=pts_time', 'a:0')).packets[0].pts_time)
    const between = (await sound(target)) - (await sound(source))
    t.ok(theirs.length === ours.length && theirs.every((time, i) => Math.abs(ours[i]! - time - between) < 0.0011), name)
  }
})

t.test(
  'what the file says of colours is kept, and the pixels are: four of matrix and range, upright rotated, 10 bits',
  { skip },
  async (t) => {
    const entries = 'stream=width,height,color_space,color_primaries,color_transfer,color_range,pix_fmt:stream_side_data=rotation'
    for (const name of ['bt601-limited', 'bt601-full', 'bt709-limited', 'bt709-full', 'silent', 'rotated-90', 'ten-bit'] as const) {
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
      const pixels = async (path: string) => (await decodedFrames(path)).map(({ data }) => Buffer.from(data).toString('base64'))
      t.same(await pixels(target), await pixels(source), `${name}: all pixels, since FFV1 loses nothing`)
    }
  },
)

t.test('h264 keeps the tags, too', { skip }, async (t) => {
  const { target } = await copied(t, 'bt709-full', 'out.mp4')
  t.match((await probed(target, 'stream=color_space,color_range,pix_fmt')).streams[0], {
    color_space: 'bt709',
    color_range: 'pc',
    pix_fmt: /^yuvj?420p$/,
  })
})

t.test('layouts: rows with gaps, NV12, RGB, gray; seconds, ticks of several bases, a rate', { skip }, async (t) => {
  const folder = temporaryFolder(t)
  const [width, height] = [10, 6]
  const planes = (stride: number): Uint8Array => {
    const data = new Uint8Array(stride * height + 2 * (height / 2) * Math.ceil(stride / 2)).fill(255)
    for (let y = 0; y < height; y++) data.fill(50 + y, y * stride, y * stride + width)
    for (let y = 0; y < height; y++)
      data.fill(100 + y, height * stride + y * Math.ceil(stride / 2), height * stride + y * Math.ceil(stride / 2) + width / 2)
    return data
  }
  const expected = Buffer.from(planes(width)).toString('hex')
  const path = join(folder, 'gaps.mkv')
  const out = await writeVideo(path, { codec: 'ffv1', frameRate: 25 })
  for (const stride of [16, 10, 13]) await out.write({ format: 'i420', width, height, stride, data: planes(stride) })
  await out.close()
  t.same(
    (await decodedFrames(path)).map(({ data }) => Buffer.from(data).toString('hex')),
    [expected, expected, expected],
  )
  t.same(await timesOf(path), [0, 0.04, 0.08])

  const bases = join(folder, 'bases.mp4')
  const times = await writeVideo(bases)
  await times.write({ ...grey(1), ticks: 0n, timeBase: [1, 12_800] })
  await times.write({ ...grey(2), pts: 0.04 })
  await times.write({ ...grey(3), ticks: 100n, timeBase: [1, 1000] })
  await times.close()
  t.same(
    (await probed(bases, 'packet=pts')).packets.map(({ pts }: { pts: number }) => pts).sort((a: number, b: number) => a - b),
    [0, 512, 1280],
  )

  for (const [format, bytes] of Object.entries({ nv12: 90, rgb: 180, bgr: 180, rgba: 240, bgra: 240, gray: 60 })) {
    const file = join(folder, `${format}.mkv`)
    const one = await writeVideo(file, { codec: 'ffv1' })
    const value = format === 'nv12' ? 128 : 200
    await one.write({ format: format as 'rgb', width, height, data: new Uint8Array(bytes).fill(value), pts: 1 })
    await one.close()
    const [frame] = await decodedFrames(file)
    const luma = format === 'nv12' ? 128 : Math.round(16 + (200 * 219) / 255)
    t.ok(
      frame!.data.subarray(0, 60).every((y) => Math.abs(y - luma) <= 1),
      `${format}: ${frame!.data[0]} of ${luma}`,
    )
    t.ok(
      frame!.data.subarray(60).every((c) => Math.abs(c - 128) <= 1),
      format,
    )
    t.same(await timesOf(file), [1])
  }
})

t.test('odd sizes: refused by name, cropped, padded, or of a codec that has them', { skip }, async (t) => {
  const folder = temporaryFolder(t)
  const odd = { width: 35, height: 21 }
  await t.rejects(
    writeVideo(join(folder, 'a.mp4'), odd),
    failure(
      'ERR_TRT_INVALID_ARGUMENT',
      /even sides, which h264 needs, for the frames but received 35 x 21: .*odd: 'crop' or 'pad', or codec: 'vp9'/,
    ),
  )
  await using late = await writeVideo(join(folder, 'b.mp4'), { frameRate: 25 })
  await t.rejects(late.write(grey(0, odd)), failure('ERR_TRT_INVALID_ARGUMENT', /even sides/))
  for (const [how, size] of [
    ['crop', { width: 34, height: 20 }],
    ['pad', { width: 36, height: 22 }],
  ] as const) {
    const path = join(folder, `${how}.mp4`)
    const out = await writeVideo(path, { odd: how, frameRate: 25, quality: 0 })
    for (let i = 0; i < 3; i++) await out.write(grey(i, odd))
    await out.close()
    t.match((await probed(path, 'stream=width,height')).streams[0], size)
    const [, , third] = await decodedFrames(path)
    t.ok(
      third!.data.subarray(0, size.width * size.height).every((y) => Math.abs(y - 42) <= 1),
      `${how}: no black edge`,
    )
  }
  const path = join(folder, 'out.webm')
  const out = await writeVideo(path, { frameRate: 25 })
  await out.write(grey(0, odd))
  await out.close()
  t.match((await probed(path, 'stream=width,height,codec_name')).streams[0], { ...odd, codec_name: 'vp9' })
})

t.test('to a Writable: MP4 in fragments, and Matroska, with sounds and times', { skip }, async (t) => {
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
    t.equal((await framemd5(path, ['-map', '0:a', '-c', 'copy'])).length, (await framemd5(source, ['-map', '0:a', '-c', 'copy'])).length)
  }
})

t.test('before anything is encoded: what is there, what is not, what cannot be', { skip }, async (t) => {
  const folder = temporaryFolder(t)
  const there = join(folder, 'there.mp4')
  writeFileSync(there, 'mine')
  await t.rejects(writeVideo(there), failure('ERR_TRT_FILE', /there already. Name another file, or give the option overwrite: true/))
  await t.rejects(writeVideo(join(folder, 'none', 'a.mp4')), failure('ERR_TRT_FILE', /Cannot write .*none.*a\.mp4: ENOENT/))
  await t.rejects(writeVideo(folder, { container: 'mp4' }), failure('ERR_TRT_FILE', /not an ordinary file/))
  await t.rejects(
    writeVideo(join(folder, 'a.xyz')),
    failure('ERR_TRT_INVALID_ARGUMENT', /a name that ends in \.mp4, .*, or the option container, for target/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.webm'), { codec: 'h264' }),
    failure('ERR_TRT_INVALID_ARGUMENT', /'vp9' or 'av1' in webm for codec/),
  )
  await t.rejects(writeVideo(join(folder, 'a.mp4'), { quality: 52 }), failure('ERR_TRT_INVALID_ARGUMENT', /from 0 to 51 for quality/))
  await t.rejects(
    writeVideo(join(folder, 'a.mkv'), { codec: 'ffv1', quality: 5 }),
    failure('ERR_TRT_INVALID_ARGUMENT', /ffv1 loses nothing/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.mp4'), { preset: 'best' as never }),
    failure('ERR_TRT_INVALID_ARGUMENT', /'ultrafast'.* for preset/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.mp4'), { audio: true as never }),
    failure('ERR_TRT_INVALID_ARGUMENT', /'copy' or false for audio/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.mp4'), { like: await clip('hdr') }),
    failure('ERR_TRT_INVALID_ARGUMENT', /without HDR.* received string "pq video"/),
  )
  await t.rejects(writeVideo(join(folder, 'a.mp4'), { signal: AbortSignal.abort(new Error('mine')) }), { message: 'mine' })
  const { probeVideo } = await import('../../lib/video/index.js')
  const info = await probeVideo(await clip('plain'))
  await t.rejects(
    writeVideo(join(folder, 'a.mp4'), { like: { info, name: 'the video of 5 bytes' } }),
    failure('ERR_TRT_INVALID_ARGUMENT', /The sounds of the video of 5 bytes cannot be copied.*audio: false/),
  )
  t.same(readdirSync(folder), ['there.mp4'])
  t.equal(readFileSync(there, 'utf8'), 'mine')
  const over = await writeVideo(there, { overwrite: true, frameRate: 25 })
  await over.write(grey(0))
  t.equal(readFileSync(there, 'utf8'), 'mine', 'until the new one is whole')
  await over.close()
  t.equal((await timesOf(there)).length, 1)
})

t.test('frames that are refused leave the writer as it was', { skip }, async (t) => {
  const path = join(temporaryFolder(t), 'a.mp4')
  const out = await writeVideo(path)
  await t.rejects(out.write(grey(0)), failure('ERR_TRT_INVALID_ARGUMENT', /seconds, or the option frameRate, for frame\.pts/))
  await out.write({ ...grey(0), pts: 0 })
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [{ ...grey(0, { width: 32, height: 32 }), pts: 1 }, /as the first one, i420 of 64 x 48, but received i420 of 32 x 32: .*scale it/],
    [{ width: 64, height: 48, channels: 3, data: new Uint8Array(64 * 48 * 3), pts: 1 }, /received rgb of 64 x 48/],
    [{ ...grey(0), pts: 0 }, /a frame after the one before \(0 s\) but received one of 0 s/],
    [{ ...grey(0), pts: NaN }, /frame\.pts but received number NaN/],
    [{ ...grey(0), pts: -1 }, /at least 0|from 0/],
    [{ ...grey(0), ticks: 5n }, /frame\.timeBase/],
    [{ ...grey(0), ticks: 5 }, /bigint/],
    [{ ...grey(0), data: new Uint8Array(5), pts: 1 }, /4608 bytes/],
    [null, /a picture for frame/],
  ]
  for (const [frame, message] of refused) await t.rejects(out.write(frame as never), failure('ERR_TRT_INVALID_ARGUMENT', message))
  const gone = grey(0)
  const first = out.write({ ...grey(1), pts: 0.04 })
  const second = out.write({ ...gone, pts: 0.08 })
  structuredClone(gone.data, { transfer: [gone.data.buffer as ArrayBuffer] })
  await first
  await t.rejects(second, failure('ERR_TRT_DETACHED', /behind frame|transferred/))
  await out.write({ ...grey(2), pts: 0.12 })
  t.equal(out.frames, 3)
  await out.close()
  await out.close()
  await t.rejects(out.write({ ...grey(2), pts: 0.2 }), failure('ERR_TRT_CLOSED', /closed/))
  t.same(await timesOf(path), [0, 0.04, 0.12])
  await out.abort()
  t.equal((await timesOf(path)).length, 3, 'abort after close does nothing')
  const none = await writeVideo(join(path, '..', 'none.mp4'))
  await t.rejects(none.close(), failure('ERR_TRT_VIDEO_DATA', /^No frame was written to .*none\.mp4/))
  t.same(readdirSync(join(path, '..')), ['a.mp4'])
})
