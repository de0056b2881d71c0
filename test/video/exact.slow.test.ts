// openVideo on every kind of clip: times, planes and pictures compared with ffmpeg's; and parts of a clip, wherever
// they begin. read.test.ts compares times with ffprobe's.
import t from 'tap'
import { openVideo } from '../../lib/video/index.js'
import { drawBoxes } from '../../lib/vision/index.js'
import { needs } from '../support/needs.js'
import { long } from '../support/tiers.js'
import { clip, clipNames, type ClipName } from '../support/video-clips.js'
import { clip as made, firstFrame, framesOf, moving, readAll, rgbOf, sumsOf } from './clips.js'

t.setTimeout(600_000) // many processes, on a machine that may be busy
needs('ffmpeg')

const broken: readonly ClipName[] = ['hdr', 'cut-short', 'no-index', 'damaged', 'sound-only', 'no-frame']
/** In CI one of each kind of times, of sizes, of colors and of containers. */
const inCI: readonly ClipName[] = [
  ...(['vfr', 'edit-list', 'late', 'open-groups', 'rotated-90', 'odd'] as const),
  ...(['ten-bit', 'bt709-full', 'rgb', 'mjpeg', 'streamed', 'mpeg2-program', 'cover'] as const),
]
/** Whose matrix is swscale's choice. */
const ofRgb: readonly ClipName[] = ['rgb', 'gif']

for (const name of long ? clipNames.filter((each) => !broken.includes(each)) : inCI) {
  t.test(name, async (t) => {
    const path = await clip(name)
    const { video, ticks, sums, first, error } = await readAll(path)
    t.equal(error, undefined)
    t.ok(sums.length > 0)
    const isFull = video.info.range === 'full' && !ofRgb.includes(name)
    const theirs = await framesOf(path, isFull ? 'yuvj420p' : 'yuv420p')
    t.strictSame(video.info.timeBase, theirs.timeBase, 'the unit of times')
    t.strictSame(ticks, theirs.ticks, 'times')
    t.strictSame(sums, theirs.sums, 'planes')
    const { width, height, matrix, range = 'limited' } = video.info
    t.strictSame(first, {
      width,
      height,
      ...(ofRgb.includes(name) ? { matrix: 'bt601', range: 'limited' } : { matrix, range }),
    })
  })
}

const coloured = ['bt601-limited', 'bt601-full', 'bt709-limited', 'bt709-full'] as const

/** Chroma of the nearest pixel, as here: two of 255 is what rounding may come to. */
t.test('colours are those of swscale, of both matrices and ranges', async (t) => {
  for (const name of long ? coloured : (['bt601-limited', 'bt709-full'] as const)) {
    const path = await clip(name)
    const { data: ours } = await drawBoxes(await firstFrame(path), [])
    const theirs = await rgbOf(path)
    t.equal(ours.length, theirs.length)
    const off = ours.reduce((most, value, i) => Math.max(most, Math.abs(value - theirs[i]!)), 0)
    t.ok(off <= 2, `${name}: ${off}`)
  }
})

t.test('pictures are upright', async (t) => {
  for (const degrees of [0, 90, 180, 270] as const) {
    await using video = await openVideo(await clip(`rotated-${degrees}`))
    t.match(video.info, degrees % 180 === 0 ? { width: 160, height: 120 } : { width: 120, height: 160 })
  }
})

t.test('what is broken is an error, after right frames', async (t) => {
  await t.rejects(openVideo(await clip('hdr')), {
    code: 'ERR_TRT_VIDEO_DATA',
    message: /is of high dynamic range \(pq\)/,
  })
  await t.rejects(openVideo(await clip('sound-only')), { code: 'ERR_TRT_VIDEO_DATA' })
  for (const [name, least] of [
    ['cut-short', 20],
    ['no-index', 0],
    ['damaged', 10],
  ] as const) {
    const path = await clip(name)
    const { sums, error } = await openVideo(path).then(
      () => readAll(path),
      (error: unknown) => ({ error, sums: [] }),
    )
    t.match(error, { code: 'ERR_TRT_VIDEO_DATA' }, name)
    t.ok(sums.length >= least, `${name}: ${sums.length} frames`)
    t.strictSame(sums, (await sumsOf(path).catch(() => [])).slice(0, sums.length), name)
  }
  const empty = await clip('no-frame')
  const { sums, error } = await openVideo(empty).then(
    () => readAll(empty),
    (error: unknown) => ({ error, sums: [] }),
  )
  t.strictSame(sums, [])
  t.match(error, error === undefined ? undefined : { code: 'ERR_TRT_VIDEO_DATA' })
})

t.test('a part begins and ends with the frames that are asked for, wherever key frames are', async (t) => {
  const film = await made('film.mp4', moving('96x64', '25', 12))
  const paths = [
    film,
    await made('film.mkv', ['-i', film, '-c', 'copy']),
    await made('film.ts', ['-i', film, '-c', 'copy']),
  ]
  for (const path of paths) {
    const { timeBase, ticks, sums } = await framesOf(path)
    const seconds = ticks.map((each) => (Number(each) * timeBase[0]) / timeBase[1])
    for (const from of long ? [1, 149, 150, 151, 163, 299] : path === film ? [149, 150, 163, 299] : [151]) {
      const to = Math.min(from + 5, 300)
      const part = await readAll(path, { start: seconds[from], ...(to < 300 && { end: seconds[to] }) })
      t.equal(part.error, undefined)
      t.strictSame(part.ticks, ticks.slice(from, to), `from ${from} of ${path}`)
      t.strictSame(part.sums, sums.slice(from, to))
    }
  }
})

t.test('key frames, reference frames, another size', async (t) => {
  const film = await made('keys.mp4', moving('96x64', '25', 4))
  const { ticks, sums } = await framesOf(film)
  const isKey = (_: unknown, i: number): boolean => i % 25 === 0
  const keys = await readAll(film, { decode: 'key' })
  t.strictSame(keys.ticks, ticks.filter(isKey))
  t.strictSame(keys.sums, sums.filter(isKey))
  const references = await readAll(film, { decode: 'reference' })
  t.ok(references.sums.length < sums.length && references.sums.length > 4)
  t.ok(references.sums.every((sum) => sums.includes(sum)))
  for (const [scale, size] of [
    [{ width: 48 }, { width: 48, height: 32 }],
    [
      { width: 30, height: 31 },
      { width: 30, height: 31 },
    ],
  ] as const)
    for await (const frame of await openVideo(film, { scale, decode: 'key' })) t.match(frame, { ...size, key: true })
})

t.test('a GPU that is asked for, and not there, is told', async (t) => {
  const path = await clip('plain')
  await using video = await openVideo(path, { hardware: 'cuda' })
  if (video.decoder.hardware === 'none') t.match(video.decoder.reason, /^ffmpeg has no cuda here: /)
  let frames = 0
  for await (const frame of video) {
    frames++
    frame.close()
  }
  t.equal(frames, (await framesOf(path)).ticks.length)
})
