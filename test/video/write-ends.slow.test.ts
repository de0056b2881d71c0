// What ends a writer: aborts, a killed ffmpeg, a full disk, a target that fails; nothing stays at the target, and no
// process.
import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t from 'tap'
import { openVideo, type VideoFrame, type VideoWriter, type WritableFrame, writeVideo } from '../../lib/video/index.js'
import { failure, failureOf } from '../support/errors.js'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { needs } from '../support/needs.js'
import { long } from '../support/tiers.js'
import { clip, decodedFrames, programs } from '../support/video-clips.js'
import { certain } from '../support/waiting.js'

needs('ffmpeg')

/** A frame has more bytes than a pipe holds. */
const [width, height] = [480, 360]

/** Noise is what fills a disk. */
function noisy(number: number): WritableFrame {
  const data = new Uint8Array((width * height * 3) / 2)
  let state = number + 1
  for (let i = 0; i < data.length; i++) data[i] = (state = (state * 1_103_515_245 + 12_345) >>> 0) >>> 24
  return { format: 'i420', width, height, data, pts: number / 25 }
}

/** The processes that this one has started and that are there. */
function children(): string[] {
  return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '')
}

const noChildren = async (): Promise<void> => certain(() => children().length === 0)

/** An ffmpeg that says who it is, and one that lacks an encoder, may write so much, or is killed. */
function wrapped(folder: string, lines: string): string {
  const path = join(folder, 'ffmpeg')
  writeFileSync(path, `#!/bin/sh\n${lines}\nexec ${programs?.ffmpeg} "$@"\n`)
  chmodSync(path, 0o755)
  return path
}

const linux = process.platform === 'linux' ? false : 'needs /proc'

t.test('abort, dispose without close, a signal: at each moment nothing stays', { skip: linux }, async (t) => {
  const folder = temporaryFolder(t)
  const ends: Readonly<Record<string, (out: VideoWriter, aborts: AbortController) => Promise<unknown>>> = {
    abort: (out) => Promise.all([out.abort(), out.abort()]),
    dispose: (out) => out[Symbol.asyncDispose](),
    signal: async (_, aborts) => aborts.abort(new Error('mine')),
  }
  const moments = ['before', 'first', 'between', 'pending', 'closing'] as const
  for (const [nth, [how, end]] of Object.entries(ends).entries())
    for (const moment of moments.filter((_, i) => long || (nth + i) % 2 === 1)) {
      const aborts = new AbortController()
      const out = await writeVideo(join(folder, 'a.mp4'), { signal: aborts.signal })
      const pending: Promise<unknown>[] = []
      if (moment === 'first') pending.push(out.write(noisy(0)))
      if (moment === 'between' || moment === 'closing') for (let i = 0; i < 3; i++) await out.write(noisy(i))
      if (moment === 'pending') for (let i = 0; i < 30; i++) pending.push(out.write(noisy(i)))
      if (moment === 'closing') pending.push(out.close())
      const settled = Promise.allSettled(pending)
      await end(out, aborts)
      const results = await settled
      const isWhole = moment === 'closing' && results[0]?.status === 'fulfilled'
      if (how === 'dispose' && moment === 'closing') t.ok(isWhole, 'who closes and disposes gets all of it')
      await noChildren()
      await certain(() => readdirSync(folder).length === (isWhole ? 1 : 0))
      const wanted = how === 'signal' ? { message: 'mine' } : { code: 'ERR_TRT_CLOSED' }
      if (!isWhole) {
        await t.rejects(out.write(noisy(50)), wanted, `${how}, ${moment}`)
        await t.rejects(out.close(), wanted)
        for (const result of results) if (result.status === 'rejected') t.match(result.reason, wanted)
      } else execFileSync('rm', [join(folder, 'a.mp4')])
    }
})

t.test('a killed ffmpeg fails the write that waits, and close, with what it said last', { skip: linux }, async (t) => {
  const folder = temporaryFolder(t)
  const ffmpeg = wrapped(
    folder,
    '[ "$1" = -version ] || [ "$2" = -encoders ] || echo "[x] [warning] before the end" >&2',
  )
  const out = await writeVideo(join(folder, 'a.mp4'), { ffmpeg })
  await out.write(noisy(0))
  const [pid] = children()
  process.kill(Number(pid), 'SIGSTOP') // so that frames wait
  const writes = Array.from({ length: 5 }, (_, i) => out.write(noisy(i + 1)))
  const settled = Promise.allSettled(writes)
  const closing = out.close()
  process.kill(Number(pid), 'SIGKILL')
  const error = await failureOf(() => closing)
  t.match(error, {
    code: 'ERR_TRT_CRASH',
    message: /^Cannot write .*a\.mp4: ffmpeg was ended by SIGKILL; it said: \[x\] \[warning\] before the end/,
  })
  t.match(error.details, { signal: 'SIGKILL', exitCode: null, stderr: ['[x] [warning] before the end'] })
  const results = await settled
  t.match(results.at(-1), { status: 'rejected', reason: { code: 'ERR_TRT_CRASH' } })
  t.same(readdirSync(folder), ['ffmpeg'])
  await noChildren()

  const idle = await writeVideo(join(folder, 'b.mp4'), { ffmpeg })
  await idle.write(noisy(0))
  process.kill(Number(children()[0]), 'SIGKILL')
  await certain(() => readdirSync(folder).length === 1)
  await t.rejects(idle.write(noisy(1)), failure('ERR_TRT_CRASH', /SIGKILL/), 'while nothing waited, too')
})

t.test('a disk that is full, an encoder that fails, one that is missing', { skip: linux }, async (t) => {
  const folder = temporaryFolder(t)
  const full = wrapped(folder, 'trap "" XFSZ; [ "$1" = -version ] || [ "$2" = -encoders ] || ulimit -f 100')
  const out = await writeVideo(join(folder, 'a.mp4'), { ffmpeg: full, preset: 'ultrafast', quality: 10 })
  const error = await failureOf(async () => {
    for (let i = 0; i < 20; i++) await out.write(noisy(i))
    await out.close()
  })
  t.match(error, { code: 'ERR_TRT_FILE', message: /^Cannot write .*a\.mp4: File too large \(after \d+ frames\)$/ })
  t.same(readdirSync(folder), ['ffmpeg'])
  await noChildren()

  const lacking = wrapped(folder, '[ "$2" = -encoders ] && { echo " V....D libx265 x"; exit; }')
  await t.rejects(
    writeVideo(join(folder, 'b.mp4'), { ffmpeg: lacking }),
    failure(
      'ERR_TRT_VIDEO_PROGRAM',
      /ffmpeg 5\.\S+ at .* was built without the encoder libx264\. What to do: .*take another codec|built without the encoder libx264/,
    ),
  )
  const failing = wrapped(
    folder,
    '[ "$1" = -version ] || [ "$2" = -encoders ] || { echo "[libx264] [error] no such thing" >&2; exit 7; }',
  )
  const bad = await writeVideo(join(folder, 'c.mp4'), { ffmpeg: failing })
  const why = await failureOf(async () => {
    for (let i = 0; i < 20; i++) await bad.write(noisy(i))
  })
  t.match(why, {
    code: 'ERR_TRT_VIDEO_DATA',
    message: /ffmpeg ended with exit code 7; it said: \[libx264\] \[error\] no such thing/,
  })
  t.same(readdirSync(folder), ['ffmpeg'])
})

t.test('a file that is cut off is no video, whatever ffmpeg says of it', { skip: linux }, async (t) => {
  const folder = temporaryFolder(t)
  const encode = `${programs?.ffmpeg} "$@" || exit; for file; do :; done; truncate -s -100 "\${file#file:}"; exit 0`
  const ffmpeg = wrapped(folder, `[ "$1" = -version ] || [ "$2" = -encoders ] || { ${encode}; }`)
  for (const name of long ? ['a.mp4', 'a.mov', 'a.mkv', 'a.webm'] : ['a.mp4', 'a.mkv']) {
    const out = await writeVideo(join(folder, name), { ffmpeg })
    await out.write(noisy(0))
    const error = await failureOf(() => out.close())
    t.match(error, { code: 'ERR_TRT_FILE', message: /: the file is cut off \(after 1 frame\)$/ }, name)
    t.match(error.details, { path: join(folder, name), frames: 1, exitCode: 0 })
    t.same(readdirSync(folder), ['ffmpeg'])
  }
})

t.test('a Writable that fails, or whose reader is slow, or gone', { skip: linux }, async (t) => {
  const failing = new Writable({ write: (_piece, _encoding, done) => done(new Error('the client left')) })
  const out = await writeVideo(failing, { preset: 'ultrafast' })
  const error = await failureOf(async () => {
    for (let i = 0; i < 200; i++) await out.write(noisy(i))
    await out.close()
  })
  t.match(error, { code: 'ERR_TRT_FILE', message: 'Cannot write to the stream: the client left' })
  await noChildren()

  const slow = new PassThrough()
  const waiting = await writeVideo(slow, { preset: 'ultrafast', container: 'matroska', quality: 0 })
  let taken = 0
  const writes = Promise.allSettled(Array.from({ length: 40 }, (_, i) => waiting.write(noisy(i)).then(() => taken++)))
  await certain(() => slow.readableLength > 0)
  let seen: unknown
  slow.on('error', (reason) => (seen = reason))
  await waiting.abort()
  await writes
  t.ok(taken < 40, `not reading holds frames up: ${taken} of 40`)
  await certain(() => seen !== undefined)
  t.match(seen, { code: 'ERR_TRT_CLOSED' }, 'who reads it does not take it for whole')
  await noChildren()
})

t.test('a process that ends leaves neither ffmpeg nor a file', { skip: linux }, async (t) => {
  const folder = temporaryFolder(t)
  const entry = new URL('../../lib/video/index.js', import.meta.url).href
  const begin = `import { writeVideo } from ${JSON.stringify(entry)}
    const out = await writeVideo(${JSON.stringify(join(folder, 'a.mp4'))}, { frameRate: 25 })
    await out.write({ format: 'gray', width: 64, height: 48, data: new Uint8Array(64 * 48) })
    console.log((await import('node:fs')).readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim());`
  for (const end of [
    'process.exit(0)',
    'throw new Error("x")',
    '/* its natural end, though nobody closed */',
    'process.kill(process.pid, "SIGKILL")',
  ]) {
    const { stdout } = await runNode(['--input-type=module', '-e', `${begin}\n${end}`])
    const pid = Number(stdout.trim().split(/\s+/)[0])
    t.ok(pid > 0, end)
    await certain(() => !isRunning(pid))
    if (!end.includes('SIGKILL')) t.same(readdirSync(folder), [], end)
  }
  const next = await writeVideo(join(temporaryFolder(t), 'b.mp4'), { frameRate: 25 })
  await next.abort()
})

/** Not a zombie, which waits for whoever started it. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

t.test('a frame may be closed once it was given', async (t) => {
  const source = await clip('plain')
  const path = join(temporaryFolder(t), 'closed.mkv')
  await using video = await openVideo(source)
  await using out = await writeVideo(path, { codec: 'ffv1' })
  const writes = []
  let last: VideoFrame | undefined
  for await (const frame of video) {
    writes.push(out.write(frame))
    frame.close()
    t.throws(() => frame.data, { code: 'ERR_TRT_CLOSED' })
    last = frame
  }
  await t.rejects(out.write(last!), { code: 'ERR_TRT_CLOSED' })
  await Promise.all(writes)
  await out.close()
  const pixels = async (of: string) => (await decodedFrames(of)).map(({ data }) => Buffer.from(data).toString('base64'))
  t.same(await pixels(path), await pixels(source))
})
