import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { probeVideo } from '../../lib/video/index.js'
import { infoOf } from '../../lib/video/info.js'
import { failure, failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { missing } from '../support/needs.js'
import { clip } from '../support/video-clips.js'

const noColors = { space: undefined, primaries: undefined, transfer: undefined }

t.test('what a video is', { skip: missing.ffmpeg }, async (t) => {
  const path = await clip('plain')
  const info = await probeVideo(path)
  t.same(info, {
    container: 'mov,mp4,m4a,3gp,3g2,mj2',
    codec: 'h264',
    width: 160,
    height: 120,
    rotation: 0,
    pixelAspect: undefined,
    pixelFormat: 'yuv420p',
    bitDepth: 8,
    frameRate: 25,
    averageFrameRate: 25,
    duration: 2,
    start: 0,
    timeBase: [1, 12_800],
    matrix: undefined,
    range: undefined,
    hdr: undefined,
    colors: noColors,
    audio: [{ codec: 'aac', channels: 1, sampleRate: 16_000, duration: 2, language: 'und' }],
  })
  t.same(await probeVideo(pathToFileURL(path)), info, 'by a URL')
  t.same(await probeVideo(await readFile(path)), { ...info }, 'of bytes, whose index is at the end')
})

t.test('turned as a phone turns it: sides and rotation of what is shown', { skip: missing.ffmpeg }, async (t) => {
  for (const degrees of [0, 90, 180, 270] as const) {
    const { rotation, width, height } = await probeVideo(await clip(`rotated-${degrees}`))
    t.same([rotation, width, height], [degrees, ...(degrees % 180 === 0 ? [160, 120] : [120, 160])])
  }
})

t.test('colours, depths, sounds', { skip: missing.ffmpeg }, async (t) => {
  for (const matrix of ['bt601', 'bt709'] as const)
    for (const range of ['limited', 'full'] as const)
      t.match(await probeVideo(await clip(`${matrix}-${range}`)), { matrix, range, bitDepth: 8, hdr: undefined })
  t.match(await probeVideo(await clip('ten-bit')), { bitDepth: 10, pixelFormat: 'yuv420p10le', audio: [] })
  t.match(await probeVideo(await clip('hdr')), {
    bitDepth: 10,
    matrix: 'bt2020',
    hdr: 'pq',
    colors: { space: 'bt2020nc', primaries: 'bt2020', transfer: 'smpte2084' },
  })
  const { audio } = await probeVideo(await clip('two-sounds'))
  t.same(audio.map(({ codec, language }) => [codec, language]), [['aac', 'und'], ['aac', 'deu']]) // prettier-ignore
  t.match(await probeVideo(await clip('odd')), { width: 161, height: 121, codec: 'ffv1', container: 'matroska,webm' })
})

t.test('frames are counted: those that are shown', { skip: missing.ffmpeg }, async (t) => {
  t.equal((await probeVideo(await clip('plain'))).frames, undefined)
  for (const [name, frames] of [
    ['plain', 50],
    ['edit-list', 41],
    ['b-frames', 50],
    ['streamed', 50],
  ] as const)
    // prettier-ignore
    t.equal((await probeVideo(await clip(name), { count: true })).frames, frames, name)
  t.equal((await probeVideo(await readFile(await clip('streamed')), { count: true })).frames, 50, 'of bytes')
})

t.test('what is no video, or a damaged one', { skip: missing.ffmpeg }, async (t) => {
  const folder = temporaryFolder(t)
  await t.rejects(
    probeVideo(join(folder, 'none.mp4')),
    failure('ERR_TRT_FILE', /Cannot read .*none\.mp4: there is no such file/),
  )
  await t.rejects(probeVideo(folder), failure('ERR_TRT_FILE', /folder/))
  const cut = await failureOf(async () => probeVideo(await clip('no-index')))
  t.match(cut, {
    code: 'ERR_TRT_VIDEO_DATA',
    message:
      /^Cannot read .*no-index\.mp4: ffprobe ended with exit code 1; it said: .*(moov atom not found|Invalid data)/,
  })
  t.match(cut.details, { exitCode: 1, stderr: [/moov atom not found/] })
  await t.rejects(
    probeVideo(new Uint8Array(0)),
    failure('ERR_TRT_VIDEO_DATA', /^Cannot read the video of 0 bytes: ffprobe/),
  )
  await t.rejects(
    probeVideo(new Uint8Array(5000).fill(65)),
    failure('ERR_TRT_VIDEO_DATA', /^Cannot read the video of 5000 bytes/),
  )
  await t.rejects(
    probeVideo(await clip('sound-only')),
    failure('ERR_TRT_VIDEO_DATA', /has no video among its streams: audio \(aac\)/),
  )
  t.match(await probeVideo(await clip('cut-short')), { width: 160, codec: 'h264' }, 'the beginning is whole')
  const playlist = join(folder, 'list.m3u8')
  await writeFile(playlist, '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n')
  const away = await failureOf(() => probeVideo(playlist))
  t.match(away.details['stderr'], [/not on whitelist/], 'a file of this machine asks nobody else')
  await t.rejects(
    probeVideo(7 as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /a path or a URL for source but received number 7/),
  )
  await t.rejects(
    probeVideo('a.mp4', { counts: true } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /did you mean count/),
  )
  await t.rejects(probeVideo('a.mp4', { signal: AbortSignal.abort(new Error('mine')) }), { message: 'mine' })
})

t.test("what ffprobe's JSON may lack, or say wrong", (t) => {
  t.throws(() => infoOf('{', 'x'), failure('ERR_TRT_VIDEO_DATA', /no JSON/))
  t.throws(() => infoOf('{}', 'x'), failure('ERR_TRT_VIDEO_DATA', /x has no streams at all/))
  const of = (stream: object, format: object = {}) =>
    infoOf(
      JSON.stringify({
        streams: [{ codec_type: 'video', width: 4, height: 2, pix_fmt: 'yuv420p', ...stream }],
        format,
      }),
      'x',
    )
  t.throws(() => of({ width: 0 }), failure('ERR_TRT_VIDEO_DATA', /without a picture that tells its size/))
  t.throws(
    () => of({ disposition: { attached_pic: 1 } }),
    failure('ERR_TRT_VIDEO_DATA', /no video among its streams: video/),
  )
  t.match(of({ r_frame_rate: '0/0', avg_frame_rate: '30000/1001', time_base: '1/0' }), {
    frameRate: undefined,
    averageFrameRate: 30_000 / 1001,
    timeBase: [1, 1_000_000],
  })
  t.match(of({ tags: { DURATION: '00:01:02.500000000' } }), { duration: 62.5 })
  t.match(of({}, { duration: '3.5' }), { duration: 3.5 })
  t.match(of({ sample_aspect_ratio: '4:3', side_data_list: [{}, { rotation: -90 }] }), {
    width: 2,
    height: 4,
    rotation: 90,
    pixelAspect: [3, 4],
  })
  t.match(of({ sample_aspect_ratio: '0:1', pix_fmt: 'yuvj420p' }), { pixelAspect: undefined, range: 'full' })
  for (const [format, bits] of [
    ['yuv420p10le', 10],
    ['gray12be', 12],
    ['p016le', 16],
    ['gbrap14le', 14],
    ['yuv444p9le', 9],
    ['nv12', 8],
    ['rgb24', 8],
  ] as const)
    // prettier-ignore
    t.equal(of({ pix_fmt: format }).bitDepth, bits, format)
  t.end()
})
