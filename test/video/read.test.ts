// openVideo: which frames come, with which times and bytes, held against ffprobe and ffmpeg's framemd5.
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { openVideo, VideoFrame } from '../../lib/video/index.js'
import { needs } from '../support/needs.js'
import { clip, moving, readAll, sumsOf, ticksOf, variable } from './clips.js'

t.setTimeout(300_000) // some thirty processes, on a machine that may be busy
needs('ffmpeg')

const vfr = await clip('vfr.mp4', [...moving(), ...variable])
const whole = { ticks: await ticksOf(vfr), sums: await sumsOf(vfr) }

t.test('times are those of the source, and planes those of the decoder', async (t) => {
  const edited = await clip('edited.mp4', ['-ss', '0.5', '-i', vfr, '-c', 'copy'])
  const transport = await clip('copied.ts', ['-i', vfr, '-c', 'copy'])
  const odd = await clip('odd.mkv', [
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=51x33:rate=30000/1001:duration=0.5',
    '-c:v',
    'ffv1',
    '-pix_fmt',
    'yuv420p',
  ])
  for (const path of [vfr, edited, transport, odd]) {
    const { ticks, sums, numbers, error, video } = await readAll(path)
    t.equal(error, undefined)
    t.strictSame(ticks, await ticksOf(path), path)
    t.strictSame(sums, await sumsOf(path), path)
    t.strictSame(numbers, [...sums.keys()])
    t.strictSame(video.stats(), { decoded: sums.length, delivered: sums.length, dropped: 0, reconnects: 0 })
  }
})

t.test('without the addon the same frames come', async (t) => {
  process.env['NODE_TENSORRT_PORTABLE'] = '1'
  t.teardown(() => delete process.env['NODE_TENSORRT_PORTABLE'])
  const { ticks, sums, error } = await readAll(vfr)
  t.equal(error, undefined)
  t.strictSame(ticks, whole.ticks)
  t.strictSame(sums, whole.sums)
})

t.test('frames know what they are', async (t) => {
  const path = await clip('known.mp4', moving('96x64', '25', 0.2))
  await using video = await openVideo(path)
  const frames = []
  for await (const frame of video) frames.push(frame)
  t.match(video.info, { width: 96, height: 64, codec: 'h264' })
  t.strictSame(video.decoder, { hardware: 'none', reason: undefined })
  const [, second] = frames
  t.ok(second instanceof VideoFrame)
  t.match(second, {
    format: 'i420',
    width: 96,
    height: 64,
    pts: 0.04,
    duration: 0.04,
    number: 1,
    source: path,
    range: 'limited',
    closed: false,
  })
  t.equal(second?.data.length, 96 * 64 * 1.5)
  t.equal(second?.key, undefined)
  const { data } = second!
  second?.close()
  second?.close()
  t.equal(data.length, 0, 'views of a closed frame have nothing')
  t.equal(second?.closed, true)
  t.throws(() => second?.data, { code: 'ERR_TRT_CLOSED', message: /^Frame 1 of .* is closed/ })
  t.equal(frames[2]?.data.length, 96 * 64 * 1.5, 'others stay')
  for (const frame of frames) frame[Symbol.dispose]()
})

t.test('a part: from a time on, up to one, every nth', async (t) => {
  const [num, den] = (await openVideo(vfr).then(async (video) => (await video.close(), video.info))).timeBase
  const seconds = whole.ticks.map((ticks) => (Number(ticks) * num) / den)
  const [from, to] = [13, 31]
  const part = await readAll(vfr, { start: seconds[from], end: seconds[to] })
  t.strictSame(part.ticks, whole.ticks.slice(from, to))
  t.strictSame(part.sums, whole.sums.slice(from, to))
  t.equal(part.numbers[0], 0, 'numbers begin there')
  const third = await readAll(vfr, { every: 3 })
  const isThird = (_: unknown, i: number): boolean => i % 3 === 0
  t.strictSame(third.ticks, whole.ticks.filter(isThird))
  t.strictSame(third.sums, whole.sums.filter(isThird))
  t.strictSame(third.numbers, [...whole.ticks.keys()].filter(isThird))
  t.strictSame((await readAll(vfr, { start: 100 })).ticks, [], 'none behind the end')
})

t.test('bytes, pieces and streams are read as their file is', async (t) => {
  const stream = await clip('stream.mkv', ['-i', vfr, '-c', 'copy'])
  const [ticks, sums] = [await ticksOf(stream), await sumsOf(stream)]
  const bytes = await readFile(stream)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
  }
  for (const source of [bytes, createReadStream(stream), pieces()]) {
    const read = await readAll(source)
    t.equal(read.error, undefined)
    t.strictSame(read.ticks, ticks)
    t.strictSame(read.sums, sums)
  }
  const late = await readAll(await readFile(vfr)) // an index at its end
  t.equal(late.error, undefined)
  t.strictSame(late.sums, whole.sums)
  async function* failing() {
    for (let at = 0; at < 9 * 2 ** 20; at += 2 ** 20) yield at === 0 ? bytes : new Uint8Array(2 ** 20)
    throw new RangeError('the network is gone')
  }
  t.match(
    await readAll(failing()).then(
      ({ error }) => error,
      (error: unknown) => error,
    ),
    { message: 'the network is gone' },
  )
})

t.test('frames that are handed in pass through without a copy', async (t) => {
  const closed: number[] = []
  const image = (i: number) => ({ format: 'i420', width: 4, height: 2, data: new Uint8Array(12).fill(i) }) as const
  const images = [0, 1, 2, 3, 4, 5].map(image)
  async function* frames() {
    for (const [i, each] of images.entries()) yield { image: each, pts: i / 10, close: () => closed.push(i) }
  }
  await using video = await openVideo(frames(), { start: 0.1, every: 2, end: 0.45 })
  t.match(video.info, { width: 4, height: 2, codec: 'rawvideo' })
  const got = []
  for await (const frame of video) {
    t.equal(frame.data, images[got.length * 2 + 1]?.data)
    got.push([frame.pts, frame.ticks, frame.number])
    frame.close()
  }
  t.strictSame(got, [
    [0.1, 100_000n, 0],
    [0.3, 300_000n, 2],
  ])
  t.strictSame(closed.sort(), [0, 1, 2, 3, 4, 5], 'each is closed')
})

t.test('damage is an error after the frames before it', async (t) => {
  const path = await clip('whole.mp4', [...moving('160x120', '25', 4), '-movflags', '+faststart'])
  const sums = await sumsOf(path)
  const bytes = await readFile(path)
  const middle = Buffer.from(bytes)
  const half = bytes.length >> 1
  middle.fill(0x5a, half, half + 500)
  for (const [what, damaged] of [
    ['cut short', bytes.subarray(0, Math.floor(bytes.length * 0.6))],
    ['in the middle', middle],
  ] as const) {
    const read = await readAll(damaged)
    t.match(
      read.error,
      { code: 'ERR_TRT_VIDEO_DATA', message: /^Cannot read the video of \d+ bytes beyond its first \d+ frames: / },
      what,
    )
    t.ok(read.sums.length > 20 && read.sums.length < 80, `${what}: ${read.sums.length} frames came before`)
    t.strictSame(read.sums, sums.slice(0, read.sums.length), 'and they are right')
  }
})

t.test('what is no video is refused', async (t) => {
  const sound = await clip('sound.wav', ['-f', 'lavfi', '-i', 'sine=duration=0.1'])
  await t.rejects(openVideo(sound), { code: 'ERR_TRT_VIDEO_DATA' })
  await t.rejects(openVideo(Buffer.from('no video')), { code: 'ERR_TRT_VIDEO_DATA' })
  await t.rejects(openVideo(vfr, { ffmpeg: '/nowhere' }), { code: 'ERR_TRT_VIDEO_PROGRAM' })
  const wrong: [unknown, unknown, RegExp][] = [
    [5, {}, /for source/],
    [[5], {}, /for source/],
    [vfr, { start: 'soon' }, /for start/],
    [vfr, { start: 2, end: 1 }, /for end/],
    [vfr, { every: 0 }, /for every/],
    [vfr, { decode: 'most' }, /for decode/],
    [vfr, { scale: {} }, /for scale/],
    [vfr, { buffer: 'much' }, /for buffer/],
    [vfr, { from: 1 }, /Unknown option "from"/],
  ]
  for (const [source, options, message] of wrong)
    await t.rejects(openVideo(source as string, options as object), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
})
