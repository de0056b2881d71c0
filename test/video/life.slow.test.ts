// How a video ends: whenever it is closed, by whomever, neither a process nor a descriptor nor a thread is left, and
// memory is bounded.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { openVideo, type VideoFrame, type VideoSource } from '../../lib/video/index.js'
import { resize } from './resize.js'
import { runNode } from '../support/children.js'
import { certain, collect, until } from '../support/waiting.js'
import { needs } from '../support/needs.js'
import { programsOfVideos } from '../support/video-leftovers.js'
import { clip, moving, sumOf, sumsOf } from './clips.js'

t.setTimeout(600_000) // many processes, on a machine that may be busy
needs('ffmpeg')

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>

const size = 160 * 120 * 1.5
const path = await clip('life.mp4', moving('160x120', '25', 3))
const count = 75
const sums = await sumsOf(path)

function pipes(): number {
  return readdirSync('/proc/self/fd').filter((number) => {
    try {
      return /^pipe:|eventfd/.test(readlinkSync(`/proc/self/fd/${number}`))
    } catch {
      return false
    }
  }).length
}
const threads = (): number => readdirSync('/proc/self/task').length

/** Whether all is as it was before. */
async function nothingLeft(): Promise<boolean> {
  return until(() => programsOfVideos().length === 0 && pipes() <= before.pipes && threads() <= before.threads)
}

// what the first one leaves stays: libuv's threads, its pipes
for (let i = 0; i < 2; i++) for await (const frame of await openVideo(path, { end: 0.2 })) frame.close()
await certain(() => programsOfVideos().length === 0)
const before = { pipes: pipes(), threads: threads() }

/** Takes so many frames. */
async function take(video: VideoSource, frames: number): Promise<VideoFrame[]> {
  const iterator = video[Symbol.asyncIterator]()
  const taken = []
  while (taken.length < frames) {
    const { value } = await iterator.next()
    if (value === undefined) break
    taken.push(value)
  }
  return taken
}

t.test('closed at any moment', async (t) => {
  const moments: [string, (video: VideoSource) => Promise<unknown>][] = [
    ['at once', async () => {}],
    ['while the first frame is waited for', async (video) => void take(video, 1)],
    ['after the first frame', (video) => take(video, 1)],
    ['while several are waited for', async (video) => [1, 2, 3].map(() => void video[Symbol.asyncIterator]().next())],
    ['in the middle, with frames that are held', (video) => take(video, 60)],
    ['while the next one is waited for', async (video) => (await take(video, 20), void take(video, 1))],
    ['when all were given', (video) => take(video, count)],
    ['after the end', (video) => take(video, count + 1)],
    ['when ffmpeg waits', async (video) => (await take(video, 1), await until(() => false, 50))],
  ]
  for (const [what, body] of moments) {
    const video = await openVideo(path, { buffer: 4 * size })
    await body(video)
    await Promise.all([video.close(), video.close()])
    await video.close()
    t.ok(await nothingLeft(), what)
    t.strictSame(await video[Symbol.asyncIterator]().next(), { value: undefined, done: true })
  }
})

t.test('a loop that is left, and a consumer that throws, close it', async (t) => {
  const left = await openVideo(path)
  for await (const frame of left) if (frame.number === 3) break
  t.ok(await nothingLeft(), 'left')
  const thrown = await openVideo(path)
  const consume = async (): Promise<void> => {
    for await (const frame of thrown) if (frame.number === 3) throw new RangeError('enough')
  }
  await t.rejects(consume(), { name: 'RangeError', message: 'enough' })
  t.ok(await nothingLeft(), 'thrown')
})

t.test('abort, before and while it is read', async (t) => {
  const early = openVideo(path, { signal: AbortSignal.abort('early') })
  t.equal(await early.catch((reason: unknown) => reason), 'early')
  const opening = new AbortController()
  const opened = openVideo(path, { signal: opening.signal })
  opening.abort('while it opens')
  t.equal(await opened.catch((reason: unknown) => reason), 'while it opens')
  t.ok(await nothingLeft())
  const reading = new AbortController()
  const video = await openVideo(path, { signal: reading.signal, buffer: 4 * size })
  const iterator = video[Symbol.asyncIterator]()
  await iterator.next()
  reading.abort('while it reads')
  t.equal(await iterator.next().catch((reason: unknown) => reason), 'while it reads')
  t.ok(await nothingLeft())
})

t.test('ffmpeg that is killed is an error, after the frames that it gave', async (t) => {
  const video = await openVideo(path, { buffer: 4 * size })
  const got: string[] = []
  const consume = async (): Promise<void> => {
    for await (const frame of video) {
      got.push(sumOf(frame))
      frame.close()
      if (frame.number === 10) for (const pid of programsOfVideos()) process.kill(Number(pid), 'SIGKILL')
    }
  }
  await t.rejects(consume(), { code: 'ERR_TRT_CRASH', message: /was ended by SIGKILL/ })
  t.ok(got.length > 10 && got.length < count)
  t.strictSame(got, sums.slice(0, got.length))
  t.ok(await nothingLeft())
})

t.test('what is decoded and not wanted is bounded, and who keeps frames still gets all', async (t) => {
  const video = await openVideo(path, { buffer: 4 * size })
  const [first] = await take(video, 1)
  const pid = programsOfVideos()[0] ?? ''
  const written = (): string => /write_bytes|wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? ''
  // it stands still: two looks, half a second apart, see the same
  let last = ''
  let since = performance.now()
  t.ok(
    await until(() => {
      const now = written()
      if (now !== last) [last, since] = [now, performance.now()]
      return performance.now() - since > 500
    }),
    'ffmpeg waits',
  )
  // what the pipe holds, a frame in ffmpeg, and what may be read ahead
  t.ok(Number(last) <= 2 ** 20 + 8 * size, `${last} bytes were written`)
  const kept = await take(video, count)
  t.equal(kept.length, count - 1)
  t.strictSame([first!, ...kept].map(sumOf), sums, 'each has memory of its own')
  for (const frame of [first!, ...kept]) frame.close()
  await video.close()
})

t.test('frames that nobody closes go with the collector', async (t) => {
  for await (const frame of await openVideo(path, { buffer: 4 * size })) t.equal(frame.data.length, size)
  const held = (): number => process.memoryUsage().arrayBuffers
  const limit = 30 * size
  for (let i = 0; i < 100 && held() > limit; i++) await collect()
  t.ok(held() <= limit, `${held()} bytes are left of ${count * size}`)
  t.ok(await nothingLeft())
})

t.test('two at once, and work on frames that are closed meanwhile', async (t) => {
  const read = async (): Promise<string[]> => {
    const got = []
    for await (const frame of await openVideo(path, { buffer: 4 * size })) {
      // where it had not begun, it says so
      const work = resize(frame).catch((error: unknown) => t.match(error, { code: 'ERR_TRT_DETACHED' }))
      got.push(sumOf(frame))
      if (frame.number % 2 === 0) await new Promise(setImmediate)
      frame.close()
      await work
    }
    return got
  }
  for (const got of await Promise.all([read(), read()])) t.strictSame(got, sums)
  t.ok(await nothingLeft())
})

const child = (body: string): string[] => [
  '--input-type=module',
  '-e',
  `import { openVideo } from ${JSON.stringify(new URL('../../lib/video/index.js', import.meta.url).href)}
const video = await openVideo(${JSON.stringify(path)}, { buffer: ${4 * size} })
const iterator = video[Symbol.asyncIterator]()
await iterator.next()
${body}`,
]

t.test('the end of a process', async (t) => {
  for (const [what, body, code] of [
    ['a video that is forgotten', '', 0],
    ['process.exit', 'process.exit(3)', 3],
    ['an uncaught error', 'setImmediate(() => { throw new Error("uncaught") }); await iterator.next()', 1],
    ['all frames', 'for await (const frame of video) frame.close(); console.log(video.stats().delivered)', 0],
  ] as const) {
    const ended = await runNode(child(body))
    t.match(ended, { code, signal: null }, `${what}: ${ended.stderr}`)
    if (what === 'all frames') t.equal(ended.stdout.trim(), String(count))
  }
})

t.test('in a worker, which is ended', async (t) => {
  const body = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(new URL('../../lib/video/index.js', import.meta.url).href)}).then(async ({ openVideo }) => {
      const video = await openVideo(${JSON.stringify(path)}, { buffer: ${4 * size} })
      const iterator = video[Symbol.asyncIterator]()
      await iterator.next()
      parentPort.postMessage('reads')
      for (;;) await new Promise((resolve) => setTimeout(resolve, 1000))
    })`
  const worker = new Worker(body, { eval: true })
  await new Promise((resolve) => worker.once('message', resolve))
  await worker.terminate()
  t.ok(await until(() => threads() <= before.threads), 'its thread is gone')
  for (const pid of programsOfVideos()) process.kill(Number(pid)) // it waits for a pipe that nobody reads
  t.ok(await nothingLeft())
})
