import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { type WritableFrame, writeVideo, type WriteVideoOptions } from '../../lib/video/index.js'
import { failure } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { needs } from '../support/needs.js'
import { clip, type ClipName, decodedFrames, framemd5, probed, timesOf } from '../support/video-clips.js'

needs('ffmpeg')

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

t.test('a clip with uneven times: they are kept, and so are its sounds', async (t) => {
  const { source, target } = await copied(t, 'vfr', 'out.mp4')
  t.same(await timesOf(target), await timesOf(source))
  const sounds = ['-map', '0:a', '-c', 'copy']
  t.same(await framemd5(target, sounds), await framemd5(source, sounds))
})

t.test('h264 keeps the tags, too', async (t) => {
  const { target } = await copied(t, 'bt709-full', 'out.mp4')
  t.match((await probed(target, 'stream=color_space,color_range,pix_fmt')).streams[0], {
    color_space: 'bt709',
    color_range: 'pc',
    pix_fmt: /^yuvj?420p$/,
  })
})

t.test('layouts: rows with gaps, NV12, RGB, gray; seconds, ticks of several bases, a rate', async (t) => {
  const folder = temporaryFolder(t)
  const [width, height] = [10, 6]
  const planes = (stride: number): Uint8Array => {
    const data = new Uint8Array(stride * height + 2 * (height / 2) * Math.ceil(stride / 2)).fill(255)
    for (let y = 0; y < height; y++) data.fill(50 + y, y * stride, y * stride + width)
    for (let y = 0; y < height; y++)
      data.fill(
        100 + y,
        height * stride + y * Math.ceil(stride / 2),
        height * stride + y * Math.ceil(stride / 2) + width / 2,
      )
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
    (await probed(bases, 'packet=pts')).packets
      .map(({ pts }: { pts: number }) => pts)
      .sort((a: number, b: number) => a - b),
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

t.test('odd sizes: refused by name, cropped, padded, or of a codec that has them', async (t) => {
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

t.test('before anything is encoded: what is there, what is not, what cannot be', async (t) => {
  const folder = temporaryFolder(t)
  const there = join(folder, 'there.mp4')
  writeFileSync(there, 'mine')
  await t.rejects(
    writeVideo(there),
    failure('ERR_TRT_FILE', /there already. Name another file, or give the option overwrite: true/),
  )
  await t.rejects(
    writeVideo(join(folder, 'none', 'a.mp4')),
    failure('ERR_TRT_FILE', /Cannot write .*none.*a\.mp4: there is no folder .*none$/),
  )
  await t.rejects(writeVideo(folder, { container: 'mp4' }), failure('ERR_TRT_FILE', /not an ordinary file/))
  await t.rejects(
    writeVideo(join(folder, 'a.xyz')),
    failure('ERR_TRT_INVALID_ARGUMENT', /a name that ends in \.mp4, .*, or the option container, for target/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.webm'), { codec: 'h264' }),
    failure('ERR_TRT_INVALID_ARGUMENT', /'vp9' or 'av1' in webm for codec/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.mp4'), { quality: 52 }),
    failure('ERR_TRT_INVALID_ARGUMENT', /from 0 to 51 for quality/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.mkv'), { codec: 'ffv1', quality: 5 }),
    failure('ERR_TRT_INVALID_ARGUMENT', /ffv1 loses nothing/),
  )
  await t.rejects(
    writeVideo(join(folder, 'a.mp4'), { preset: 'best' }),
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
  await t.rejects(writeVideo(join(folder, 'a.mp4'), { signal: AbortSignal.abort(new Error('mine')) }), {
    message: 'mine',
  })
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

t.test('frames that are refused leave the writer as it was', async (t) => {
  const path = join(temporaryFolder(t), 'a.mp4')
  const out = await writeVideo(path)
  await t.rejects(
    out.write(grey(0)),
    failure('ERR_TRT_INVALID_ARGUMENT', /seconds, or the option frameRate, for frame\.pts/),
  )
  await out.write({ ...grey(0), pts: 0 })
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [
      { ...grey(0, { width: 32, height: 32 }), pts: 1 },
      /as the first one, i420 of 64 x 48, but received i420 of 32 x 32: .*scale it/,
    ],
    [{ width: 64, height: 48, channels: 3, data: new Uint8Array(64 * 48 * 3), pts: 1 }, /received rgb of 64 x 48/],
    [{ ...grey(0), pts: 0 }, /a frame after the one before \(0 s\) but received one of 0 s/],
    [{ ...grey(0), pts: NaN }, /frame\.pts but received number NaN/],
    [{ ...grey(0), pts: -1 }, /at least 0|from 0/],
    [{ ...grey(0), ticks: 5n }, /frame\.timeBase/],
    [{ ...grey(0), ticks: 5 }, /bigint/],
    [{ ...grey(0), data: new Uint8Array(5), pts: 1 }, /4608 bytes/],
    [null, /a picture for frame/],
  ]
  for (const [frame, message] of refused)
    await t.rejects(out.write(frame as never), failure('ERR_TRT_INVALID_ARGUMENT', message))
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
