// Live sources: the newest frame comes first, connections come back, and nothing is left of them.
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { limitVideoMemory, openVideo, type VideoFrame, type VideoGap, videoMemory } from '../../lib/video/index.js'
import { runNode } from '../support/children.js'
import { freePort } from '../support/ports.js'
import { size } from '../support/tiers.js'
import { certain, until } from '../support/waiting.js'
import { needs } from '../support/needs.js'
import { clip, moving } from './clips.js'
import { connectionOf, listens } from '../../lib/video/programs/connections.js'
import { checkedInput, deviceInput, isDevice } from '../../lib/video/programs/inputs.js'
import { block, isCounted, leftovers, nextOf, Pusher } from './live-rig.js'

t.setTimeout(600_000) // many processes, on a machine that may be busy
needs('ffmpeg')

const bytes = 160 * 120 * 1.5
const path = await clip('live.mp4', moving('160x120', '25', 2))
const listening = (port: number): string => `tcp://127.0.0.1:${port}?listen=1`

// what the first one leaves stays: libuv's threads, its pipes
for (let i = 0; i < 2; i++) for await (const frame of await openVideo(path, { end: 0.2 })) frame.close()
const nothingLeft = leftovers()

const isRising = (values: readonly number[]): boolean => values.every((value, i) => i === 0 || value > values[i - 1]!)

t.test('a consumer three times too slow gets the newest, also when the event loop is blocked', async (t) => {
  const port = await freePort()
  const pusher = Pusher.tcp(port, 1)
  const video = await openVideo(listening(port), { live: true })
  t.ok(video.live)
  t.match(video.info, { width: 160, height: 120 })
  const numbers: number[] = []
  for await (const frame of video) {
    t.equal(frame.closed, false)
    numbers.push(frame.number)
    frame.close()
    t.ok(isCounted(video), JSON.stringify(video.stats()))
    if (numbers.length === 12) break
    const { dropped } = video.stats()
    await certain(() => video.stats().dropped >= dropped + 2)
    t.ok(isCounted(video), JSON.stringify(video.stats()))
  }
  t.ok(isRising(numbers))
  t.ok(numbers.at(-1)! >= 3 * (numbers.length - 1), `left out: ${numbers.join(' ')}`)
  t.ok(await nothingLeft())
  const blocked = await openVideo(listening(port), { live: true })
  const iterator = blocked[Symbol.asyncIterator]()
  const before = await nextOf(iterator)
  const begun = performance.now()
  // some may have been left out before the first
  const { dropped } = blocked.stats()
  block(() => blocked.stats().dropped >= dropped + 5)
  const after = await nextOf(iterator)
  t.ok(after.age < (performance.now() - begun) / 1000, 'it came while the thread was busy')
  t.ok(after.number - before.number > 5, `${before.number} to ${after.number}`)
  t.ok(isCounted(blocked))
  for (const frame of [before, after]) frame.close()
  await blocked.close()
  await pusher.close()
  t.ok(await nothingLeft())
})

t.test(
  'a consumer that keeps all frames has new ones all the same, and no more memory is used than for those',
  async (t) => {
    const port = await freePort()
    const pusher = Pusher.tcp(port)
    const video = await openVideo(listening(port), { live: true, buffer: 2 * bytes })
    const iterator = video[Symbol.asyncIterator]()
    const kept: VideoFrame[] = []
    while (kept.length < 8) {
      const dropped = video.stats().dropped
      kept.push(await nextOf(iterator))
      await certain(() => video.stats().dropped > dropped + 1)
      t.ok(videoMemory().used <= (kept.length + 1) * bytes, `${videoMemory().used / bytes} frames`)
    }
    t.ok(isRising(kept.map(({ number }) => number)))
    t.ok(isCounted(video))
    for (const frame of kept) frame.close()
    await video.close()
    await pusher.close()
    t.equal(videoMemory().used, 0)
    t.ok(await nothingLeft())
  },
)

t.test('a pusher that is killed and started again, once with another size', async (t) => {
  const kills = size(3, 20)
  const port = await freePort()
  const pusher = Pusher.tcp(port)
  const gaps: VideoGap[] = []
  const reconnect = { backoffMs: [20, 100] } as const
  const video = await openVideo(listening(port), { live: true, reconnect, onGap: (gap) => gaps.push(gap) })
  const frames: VideoFrame[] = []
  for await (const frame of video) {
    frames.push(frame)
    frame.close()
    const { reconnects } = video.stats()
    const since = gaps.findLast(({ kind }) => kind === 'back')?.to ?? -Infinity
    if (frames.filter(({ pts }) => pts >= since).length !== 4) continue
    if (reconnects === kills) break
    pusher.kill(reconnects === 1 ? '96x64' : undefined)
  }
  t.ok(isRising(frames.map(({ pts }) => pts)), 'times rise')
  t.ok(isRising(frames.map(({ number }) => number)))
  t.ok(isCounted(video))
  t.equal(gaps.length, 2 * kills)
  for (const [i, { kind, reason }] of gaps.entries())
    t.match(
      `${kind} ${reason}`,
      i % 2 === 0 ? /^lost (ended|failed)$/ : i === 3 ? /^back size$/ : /^back (ended|failed|size)$/,
    )
  t.strictSame([...new Set(frames.map(({ width, height }) => `${width}x${height}`))], ['160x120', '96x64'])
  for (const { kind, from, to, seconds, attempts } of gaps) {
    t.ok(from !== undefined && (kind === 'lost') === (to === undefined))
    if (kind === 'back') t.ok(attempts >= 1 && to! - from! > 0 && seconds! > 0)
  }
  await pusher.close()
  t.ok(await nothingLeft())
})

t.test('a pusher that hangs', async (t) => {
  const port = await freePort()
  const pusher = Pusher.tcp(port)
  const gaps: VideoGap[] = []
  const reconnect = { afterMs: 400, backoffMs: [20, 100] } as const
  const onGap = (gap: VideoGap): void => {
    if (gap.kind === 'lost') pusher.kill() // another one takes its place
    gaps.push(gap)
  }
  const video = await openVideo(listening(port), { live: true, reconnect, onGap })
  const iterator = video[Symbol.asyncIterator]()
  ;(await nextOf(iterator)).close()
  pusher.stall()
  while (video.stats().reconnects === 0) (await nextOf(iterator)).close()
  t.match(gaps, [
    { kind: 'lost', reason: 'stalled' },
    { kind: 'back', reason: 'stalled' },
  ])
  await video.close()
  await pusher.close()
  t.ok(await nothingLeft())
})

t.test('a source that does not come back, and one whose end is its end', async (t) => {
  const bytes = await readFile(await clip('live.ts', moving('96x64', '25', 4)))
  let rest = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    if (rest-- > 0) socket.end(bytes)
    else socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`
  const read = async (reconnect: false | { attempts: number; backoffMs: [number, number] }): Promise<number> => {
    rest = 2 // ffprobe, ffmpeg
    let frames = 0
    for await (const frame of await openVideo(`${url}?secret=x`, { live: true, onFull: 'wait', reconnect })) {
      frames++
      frame.close()
    }
    return frames
  }
  const refused = { code: 'ERR_TRT_VIDEO_DATA', message: /did not come back in 2 attempts/, details: { attempts: 2 } }
  const error: unknown = await read({ attempts: 2, backoffMs: [5, 10] }).catch((reason: unknown) => reason)
  t.match(error, refused)
  t.notMatch((error as Error).message, /secret/)
  t.ok((await read(false)) > 10)
  await new Promise((resolve) => server.close(resolve))
  t.ok(await nothingLeft())
})

t.test('closed, and aborted, in each state', async (t) => {
  const port = await freePort()
  for (const [what, wait] of [
    ['at once', 0],
    ['while somebody is waited for', 300],
  ] as const) {
    const ends = new AbortController()
    const opening = openVideo(listening(port), { live: true, signal: ends.signal })
    await until(() => false, wait)
    ends.abort('enough')
    t.equal(await opening.catch((reason: unknown) => reason), 'enough', what)
    t.ok(await nothingLeft(), what)
  }
  const pusher = Pusher.tcp(port)
  for (const state of ['frames wait', 'stalled', 'back-off', 'waits for another pusher'] as const)
    for (const way of ['close', 'abort'] as const) {
      const ends = new AbortController()
      let isLost = false
      const backoffMs: [number, number] = state === 'back-off' ? [60_000, 60_000] : [10, 10]
      const video = await openVideo(listening(port), {
        live: true,
        signal: ends.signal,
        reconnect: { backoffMs },
        onGap: () => (isLost = true),
      })
      const iterator = video[Symbol.asyncIterator]()
      ;(await nextOf(iterator)).close()
      let pending: Promise<unknown> | undefined
      if (state === 'frames wait') await certain(() => video.stats().dropped > 1)
      else {
        pusher.stall()
        const drained = (async () => {
          for (;;) {
            const { value } = await iterator.next()
            if (value === undefined) return
            value.close()
          }
        })()
        pending = drained.catch((reason: unknown) => reason)
        if (state !== 'stalled') {
          pusher.kill()
          await certain(() => isLost)
        }
      }
      if (way === 'close') await video.close()
      else ends.abort('enough')
      t.equal(await pending, way === 'abort' && pending !== undefined ? 'enough' : undefined, `${state}, ${way}`)
      pusher.kill()
      t.ok(await nothingLeft(), `${state}, ${way}`)
    }
  await pusher.close()
})

t.test('times that jump back within a connection go on', async (t) => {
  const clips = await Promise.all(
    [100, 5].map((at) => clip(`from-${at}.ts`, [...moving('96x64', '25', 4), '-output_ts_offset', String(at)])),
  )
  const pieces = await Promise.all(clips.map((each) => readFile(each)))
  const server = createServer((socket) => void socket.on('error', () => undefined).end(Buffer.concat(pieces))).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  const gaps: VideoGap[] = []
  const url = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`
  const video = await openVideo(url, { live: true, onFull: 'wait', reconnect: false, onGap: (gap) => gaps.push(gap) })
  const times: number[] = []
  for await (const frame of video) {
    times.push(frame.pts)
    frame.close()
  }
  t.ok(isRising(times))
  t.ok(times.at(-1)! - times[0]! < 60, `${times[0]} to ${times.at(-1)}`)
  t.match(gaps, [{ kind: 'jump', reason: 'times', attempts: 0 }])
  await new Promise((resolve) => server.close(resolve))
})

t.test('RTSP, where ffmpeg listens', async (t) => {
  const url = `rtsp://127.0.0.1:${await freePort()}/camera`
  const pusher = new Pusher(['-f', 'rtsp', '-rtsp_transport', 'tcp', url])
  const video = await openVideo(url, { live: true, listen: true })
  const iterator = video[Symbol.asyncIterator]()
  const frames = [await nextOf(iterator), await nextOf(iterator)]
  t.match(frames, [{ width: 160, height: 120 }, {}])
  t.ok(isRising(frames.map(({ pts }) => pts)))
  for (const frame of frames) frame.close()
  await video.close()
  await pusher.close()
  t.ok(await nothingLeft())
})

t.test('a URL', async (t) => {
  const bytes = await readFile(path)
  const server = createHttpServer((_, response) =>
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const video = await openVideo(`http://127.0.0.1:${(server.address() as AddressInfo).port}/live.mp4?token=1`)
  t.match(video, { live: false, info: { codec: 'h264' } })
  t.notMatch(video.name, /token/)
  let frames = 0
  for await (const frame of video) {
    frames++
    frame.close()
  }
  t.equal(frames, 50)
  await new Promise((resolve) => server.close(resolve))
})

t.test('files: at their own speed, and the newest frames alone; also without the addon', async (t) => {
  const path = await clip('second.mp4', moving('160x120', '25', 1))
  const body = `
    import { openVideo } from ${JSON.stringify(new URL('../../lib/video/index.js', import.meta.url).href)}
    for (const options of [{ live: true }, { onFull: 'drop-oldest' }]) {
      const video = await openVideo(${JSON.stringify(path)}, options)
      const numbers = []
      for await (const frame of video) {
        numbers.push(frame.number)
        if (numbers.length % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 200))
        frame.close()
      }
      const { decoded, delivered, dropped } = video.stats()
      console.log(numbers.length === delivered, delivered + dropped === decoded, decoded, dropped > 0, numbers.at(-1))
    }
    const video = await openVideo(${JSON.stringify(path)}, { live: true })
    await video[Symbol.asyncIterator]().next() // nobody waits for another one: the process ends`
  const run = async (NODE_TENSORRT_PORTABLE: '0' | '1') =>
    await runNode(['--input-type=module', '-e', body], undefined, undefined, { NODE_TENSORRT_PORTABLE })
  for (const ended of await Promise.all([run('0'), run('1')]))
    t.match(ended, { code: 0, stdout: 'true true 25 true 24\ntrue true 25 true 24\n' }, ended.stderr)
})

t.test('all videos together', async (t) => {
  const { most } = videoMemory()
  t.equal(most, 2 ** 30)
  limitVideoMemory(4 * bytes)
  t.equal(videoMemory().most, 4 * bytes)
  const videos = await Promise.all([1, 2, 3].map(() => openVideo(path)))
  await certain(() => videoMemory().used === 4 * bytes)
  const counts = await Promise.all(
    videos.map(async (video) => {
      let frames = 0
      for await (const frame of video) {
        t.ok(videoMemory().used <= 8 * bytes) // those that somebody waits for come through
        frames++
        frame.close()
      }
      return frames
    }),
  )
  t.strictSame(counts, [50, 50, 50])
  t.equal(videoMemory().used, 0)
  limitVideoMemory(most)
  t.throws(() => limitVideoMemory('much'), { code: 'ERR_TRT_INVALID_ARGUMENT' })
})

t.test('what ffmpeg is told of devices and listeners', async (t) => {
  t.strictSame([isDevice('/dev/video0'), isDevice('/tmp/video0'), isDevice(undefined)], [true, false, false])
  t.match(deviceInput('/dev/video0'), { url: '/dev/video0', options: ['-f', 'v4l2'] })
  const told = (url: string, listen?: boolean): readonly string[] =>
    connectionOf(checkedInput(url), { transport: 'udp', listen }).options.slice(2)
  t.strictSame(told('rtsp://camera/1'), ['-rtsp_transport', 'udp'])
  t.strictSame(told('rtsp://0.0.0.0:8554/1', true), ['-rtsp_flags', 'listen'])
  t.strictSame(told('srt://0.0.0.0:9000', true), ['-mode', 'listener'])
  t.strictSame(told('http://camera/1'), [])
  for (const [url, is] of [
    ['tcp://a:1?listen=1', true],
    ['tcp://a:1?listen=0', false],
    ['srt://a:1?mode=listener', true],
    ['tcp://a:1', false],
  ] as const)
    t.equal(listens(url, undefined), is, url)
})
