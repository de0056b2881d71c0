// Videos through tasks: what is hidden, what stays, and what is left when it ends otherwise.
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import t from 'tap'
import { Detector, FaceBlur, Segmenter, type VideoProgress } from '../../lib/tasks/index.js'
import { openVideo, probeVideo } from '../../lib/video/index.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { needs } from '../support/needs.js'
import { long } from '../support/tiers.js'
import { clip, decodedFrames, type DecodedFrame, framemd5, probed, timesOf } from '../support/video-clips.js'
import { programsOfVideos } from '../support/video-leftovers.js'
import { certain } from '../support/waiting.js'
import { answering, filled } from './models.js'

t.setTimeout(300_000) // many processes, on a machine that may be busy
needs('ffmpeg')

/** YOLOv8's answer for 64 x 64: one box in the middle, of class 0; of a frame of 160 x 120 that is [50, 35, 60, 50]. */
const one = answering([
  filled(
    [1, 84, 84],
    [
      [[0, 0, 0], 32],
      [[0, 1, 0], 32],
      [[0, 2, 0], 24],
      [[0, 3, 0], 20],
      [[0, 4, 0], 0.9],
    ],
  ),
])
const none = answering([filled([1, 84, 84], [])])
const box = [50, 35, 60, 50] as const
const load = { preset: 'yolov8', backend: 'cpu' } as const

const folder = temporaryFolder(t)
const at = (name: string): string => join(folder, name)
const plain = await clip('plain')
const faces = await FaceBlur.load(one, { ...load, blur: { method: 'fill', shape: 'rectangle', grow: 1, feather: 0 } })
t.teardown(() => faces.close())

/** Whether bytes of Y differ within the box, and where else any do. */
function changes(before: DecodedFrame, after: DecodedFrame): { readonly inside: number; readonly outside: number } {
  const [left, top, width, height] = box
  let [inside, outside] = [0, 0]
  for (let i = 0; i < before.width * before.height; i++) {
    const [x, y] = [i % before.width, Math.floor(i / before.width)]
    if (before.data[i] === after.data[i]) continue
    if (x >= left - 1 && x < left + width + 1 && y >= top - 1 && y < top + height + 1) inside++
    else outside++
  }
  return { inside, outside }
}

t.test('blurVideo: hidden in each frame, and nothing else is another', async (t) => {
  const told: VideoProgress[] = []
  const done = await faces.blurVideo(plain, at('hidden.mkv'), { codec: 'ffv1', onProgress: (each) => told.push(each) })
  t.match(done, {
    frames: 50,
    framesWithRegions: 50,
    regions: 50,
    sounds: 1,
    decoder: { hardware: 'none', reason: undefined },
  })
  t.ok(Math.abs(done.duration - 2) < 1e-9)
  t.strictSame(
    told.map(({ frames, of, regions }) => [frames, of, regions]),
    told.map((_, i) => [i + 1, 50, i + 1]),
  )
  const [before, after] = [await decodedFrames(plain), await decodedFrames(at('hidden.mkv'))]
  t.equal(after.length, before.length)
  for (const [i, frame] of before.entries()) {
    const { inside, outside } = changes(frame, after[i]!)
    t.ok(inside > 2000 && outside === 0, `frame ${i}: ${inside} ${outside}`)
  }
  const sounds = async (path: string) =>
    (await framemd5(path, ['-map', '0:a', '-c', 'copy'])).map((line) => line.split(',')[5])
  t.strictSame(await sounds(at('hidden.mkv')), await sounds(plain))
})

t.test('blurVideo: times, parts, open videos, two at once, and frames in which nothing is', async (t) => {
  const vfr = await clip('vfr')
  await using open = await openVideo(vfr)
  const [whole] = await Promise.all([
    faces.blurVideo(open, at('vfr.mp4')),
    faces.blurVideo(plain, at('part.mp4'), { start: 0.5, end: 1 }),
  ])
  t.strictSame(await timesOf(at('vfr.mp4')), await timesOf(vfr))
  t.equal(whole.frames, (await timesOf(vfr)).length)
  t.match(await probeVideo(at('part.mp4'), { count: true }), { frames: 12, audio: [{}] })
  await using seesNothing = await FaceBlur.load(none, load)
  t.match(await seesNothing.blurVideo(await readFile(plain), at('none.mkv'), { codec: 'ffv1', audio: false }), {
    frames: 50,
    framesWithRegions: 0,
    regions: 0,
  })
  const pixels = async (path: string) =>
    (await decodedFrames(path)).map(({ data }) => Buffer.from(data).toString('base64'))
  t.same(await pixels(at('none.mkv')), await pixels(plain))
})

t.test('detectVideo and segmentVideo: answers, drawn where they are wanted', async (t) => {
  await using detector = await Detector.load(one, load)
  const seen: (readonly [number, number])[] = []
  for await (const { frame, found } of detector.detectVideo(plain, { every: 10 })) {
    t.match(found, [{ classIndex: 0 }])
    t.ok(found[0]!.box.every((side, i) => Math.abs(side - box[i]!) < 0.01))
    t.equal(frame.closed, false)
    seen.push([frame.number, found.length])
  }
  t.strictSame(seen, [0, 10, 20, 30, 40].map((number) => [number, 1])) // prettier-ignore
  const frames = []
  for await (const { frame } of detector.detectVideo(plain, { output: at('drawn.mkv'), codec: 'ffv1' }))
    frames.push(frame)
  t.ok(frames.length === 50 && frames.every(({ closed }) => closed))
  const [before, after] = [await decodedFrames(plain), await decodedFrames(at('drawn.mkv'))]
  t.ok(before.every((frame, i) => changes(frame, after[i]!).inside > 0))
  const half = Array.from(
    { length: 64 * 64 },
    (_, i) => [[0, i % 64 < 32 ? 0 : 5, Math.floor(i / 64), i % 64], 1] as const,
  )
  await using segmenter = await Segmenter.load(answering([filled([1, 21, 64, 64], half)]), {
    preset: 'torchvision-segmentation',
    backend: 'cpu',
  })
  let masks = 0
  for await (const { frame, mask } of segmenter.segmentVideo(plain, { end: 0.2, output: at('overlaid.mp4') })) {
    t.match(mask, { width: frame.width, height: frame.height })
    masks++
  }
  t.equal(masks, 5)
})

t.test('what ends otherwise: nothing stays, or what was done, and it is an error', async (t) => {
  const there = () => readdirSync(folder).filter((name) => name.startsWith('cut') || name.startsWith('.'))
  for (const frames of long ? [0, 1, 20] : [0, 20]) {
    const ends = new AbortController()
    const call = faces.blurVideo(plain, at('cut.mp4'), {
      signal: ends.signal,
      onProgress: ({ frames: done }) => done === frames && ends.abort('enough'),
    })
    if (frames === 0) ends.abort('enough')
    t.equal(await call.catch((reason: unknown) => reason), 'enough', `${frames}`)
    t.strictSame(there(), [])
  }
  const ends = new AbortController()
  const kept = faces.blurVideo(plain, at('cut-kept.mp4'), {
    keepPartial: true,
    signal: ends.signal,
    onProgress: ({ frames }) => frames === 20 && ends.abort('enough'),
  })
  t.equal(await kept.catch((reason: unknown) => reason), 'enough')
  t.match(await probeVideo(at('cut-kept.mp4'), { count: true }), { frames: 20 })
  const broken = await failureOf(() => faces.blurVideo(clip('cut-short') as never, at('cut-short.mp4')))
  t.match(broken, { code: 'ERR_TRT_INVALID_ARGUMENT' }, 'a promise is no video')
  t.match(await failureOf(async () => faces.blurVideo(await clip('cut-short'), at('cut-short.mp4'))), {
    code: 'ERR_TRT_VIDEO_DATA',
  })
  t.notOk(existsSync(at('cut-short.mp4')))
  const part = await failureOf(async () =>
    faces.blurVideo(await clip('cut-short'), at('cut-part.mp4'), { keepPartial: true }),
  )
  t.match(part, { code: 'ERR_TRT_VIDEO_DATA' })
  t.ok((await probeVideo(at('cut-part.mp4'), { count: true })).frames! > 20)
  const thrown = faces.blurVideo(plain, at('cut-thrown.mp4'), {
    onProgress: () => {
      throw new RangeError('of a listener')
    },
  })
  await t.rejects(thrown, { message: 'of a listener' })
  await using detector = await Detector.load(one, load)
  for await (const { frame } of detector.detectVideo(plain, { output: at('cut-left.mp4') }))
    if (frame.number === 3) break
  t.notOk(existsSync(at('cut-left.mp4')))
  await certain(() => programsOfVideos().length === 0)
})

t.test('the sounds of a part end with its frames', async (t) => {
  const done = 20
  for (const name of long ? (['plain', 'two-sounds', 'offset', 'offset-mp4'] as const) : (['two-sounds'] as const)) {
    const source = await clip(name)
    const path = at(`part-${name}${extname(source)}`)
    const ends = new AbortController()
    const onProgress = ({ frames }: VideoProgress): unknown => frames === done && ends.abort('enough')
    t.equal(
      await faces
        .blurVideo(source, path, { keepPartial: true, signal: ends.signal, onProgress })
        .catch((reason: unknown) => reason),
      'enough',
    )
    const [times, before] = [await timesOf(path), (await timesOf(source)).slice(0, done)]
    t.strictSame(times.map(milliseconds), before.map(milliseconds), `${name}: the frames' times`)
    const [sounds, whole] = [await packetsOf(path), await packetsOf(source)]
    t.equal(sounds.length, whole.length)
    for (const [i, { packets, end }] of sounds.entries()) {
      t.strictSame(packets, whole[i]!.packets.slice(0, packets.length), `${name}: the packets of sound ${i}`)
      t.ok(
        packets.length > 3 && packets.length < whole[i]!.packets.length,
        `${packets.length} of ${whole[i]!.packets.length}`,
      )
      t.ok(
        Math.abs(end - times.at(-1)! - 0.04) < 0.13,
        `${name}: sound ${i} ends at ${end}, the last frame begins at ${times.at(-1)}`,
      )
    }
  }
  t.strictSame(
    readdirSync(folder).filter((name) => name.startsWith('.')),
    [],
  )
})

const milliseconds = (seconds: number): number => Math.round(seconds * 1000)

/** The packets of each sound, and when the last one ends. */
async function packetsOf(path: string): Promise<{ readonly packets: readonly string[]; readonly end: number }[]> {
  const { packets } = await probed(path, 'packet=stream_index,pts_time,duration_time,data_hash', 'a', [
    '-show_data_hash',
    'md5',
  ])
  const all = packets as Packet[]
  const numbers = new Set(all.map(({ stream_index }) => stream_index))
  return Array.from(numbers, (number) => all.filter(({ stream_index }) => stream_index === number)).map((list) => ({
    packets: list.map(({ data_hash }) => data_hash),
    end: Math.max(...list.map(({ pts_time, duration_time }) => Number(pts_time) + Number(duration_time))),
  }))
}

interface Packet {
  readonly stream_index: number
  readonly pts_time: string
  readonly duration_time: string
  readonly data_hash: string
}

t.test('what is refused', async (t) => {
  const cases: readonly (readonly [() => Promise<unknown>, string, RegExp])[] = [
    [() => faces.blurVideo(plain, at('hidden.mkv')), 'ERR_TRT_FILE', /hidden\.mkv/],
    [() => faces.blurVideo(plain, at('hidden.txt')), 'ERR_TRT_INVALID_ARGUMENT', /\.mp4/],
    [
      async () => faces.blurVideo(await readFile(plain), at('new.mp4')),
      'ERR_TRT_INVALID_ARGUMENT',
      /give its path or URL, or audio: false/,
    ],
    [() => faces.blurVideo(at('gone.mp4'), at('new.mp4')), 'ERR_TRT_FILE', /gone\.mp4/],
    [() => faces.blurVideo(plain, join(folder, 'nowhere', 'new.mp4')), 'ERR_TRT_FILE', /nowhere/],
    [() => faces.blurVideo(plain, at('new.mp4'), { every: 2 } as object), 'ERR_TRT_INVALID_ARGUMENT', /"every"/],
    [async () => faces.blurVideo(await clip('hdr'), at('new.mp4')), 'ERR_TRT_VIDEO_DATA', /high dynamic range/],
    [async () => faces.blurVideo(await clip('sound-only'), at('new.mp4')), 'ERR_TRT_VIDEO_DATA', /no video|picture/i],
  ]
  for (const [call, code, message] of cases) t.match(await failureOf(call), { code, message }, String(message))
  t.notOk(existsSync(at('new.mp4')))
  await using detector = await Detector.load(one, load)
  const loop = detector.detectVideo(plain, { codec: 'h264' })
  t.match(await failureOf(() => loop.next()), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /no output is written/ })
  await certain(() => programsOfVideos().length === 0)
})
