// Frames as NUT: by the addon's thread and in JavaScript, of what ffmpeg writes and of bytes that nobody should.
import { execFileSync } from 'node:child_process'
import { write, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { TensorRTError } from '../../lib/errors.js'
import { Pieces } from '../../lib/video/nut/bytes.js'
import { NativeFeed } from '../../lib/video/nut/native-feed.js'
import { NutReader } from '../../lib/video/nut/reader.js'
import { processFolder } from '../support/folders.js'
import { Random } from '../support/random.js'
import { needs } from '../support/needs.js'
import { size } from '../support/tiers.js'

t.setTimeout(300_000)
needs('ffmpeg')

const writeAll = promisify(write)

/** What a reader made of some bytes. */
interface Outcome {
  readonly frames: readonly (readonly [pts: bigint, bytes: string])[]
  readonly error: string | undefined
}

async function outcomeOf(next: () => Promise<readonly [bigint, string] | undefined>): Promise<Outcome> {
  const frames = []
  try {
    for (let frame = await next(); frame !== undefined; frame = await next()) frames.push(frame)
    return { frames, error: undefined }
  } catch (error) {
    return { frames, error: error instanceof TensorRTError ? error.code : String(error) }
  }
}

const hex = (data: Uint8Array): string => Buffer.from(data).toString('hex')

/** Through a pipe, of which this process has both ends; no more than fits into it. */
async function byAddon(bytes: Uint8Array): Promise<Outcome> {
  const feed = new NativeFeed(1 << 20)
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = (await writeAll(feed.stdout, bytes, at, bytes.length - at, null)) as unknown as {
      bytesWritten: number
    }
    at += bytesWritten
  }
  feed.start()
  try {
    return await outcomeOf(async () => {
      const frame = await feed.next()
      if (frame === undefined) return undefined
      const told = [frame.ticks, hex(frame.data)] as const
      frame.release?.()
      return told
    })
  } finally {
    await feed.close()
  }
}

/** In pieces of a few bytes. */
async function byScript(bytes: Uint8Array, piece = 7): Promise<Outcome> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
  }
  const reader = new NutReader(new Pieces(pieces()))
  return outcomeOf(async () => {
    if (reader.stream === undefined && (await reader.begin()) === undefined) return undefined
    const frame = await reader.next()
    return frame && ([frame.pts, hex(frame.data)] as const)
  })
}

const folder = processFolder()

/** What ffmpeg writes of raw frames. */
function nutOf(frames: readonly Uint8Array[], [width, height]: readonly [number, number], rate = '25'): Buffer {
  const raw = join(folder, 'frames.yuv')
  writeFileSync(raw, Buffer.concat(frames))
  const input = [
    '-f',
    'rawvideo',
    '-pix_fmt',
    'yuv420p',
    '-video_size',
    `${width}x${height}`,
    '-framerate',
    rate,
    '-i',
    raw,
  ]
  const args = ['-loglevel', 'error', ...input, '-c:v', 'rawvideo', '-output_ts_offset', '1000', '-f', 'nut', '-']
  return execFileSync('ffmpeg', args, { maxBuffer: 1 << 28 })
}

/** Frames of seeded bytes; the second begins as a part of MPEG-4 does, which NUT leaves out. */
function madeFrames(count: number, [width, height]: readonly [number, number]): Uint8Array[] {
  const random = new Random(17)
  const bytes = width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2)
  const frames = Array.from({ length: count }, () => random.bytes(bytes))
  frames[1]?.set([0, 0, 1, 0xb6])
  return frames
}

t.test('what ffmpeg writes', async (t) => {
  for (const [sides, count, rate] of [
    [[16, 8], 40, '25'],
    [[17, 9], 6, '30000/1001'],
    [[320, 240], 4, '90000'],
    [[2, 2], 300, '1'],
  ] as const) {
    const frames = madeFrames(count, sides)
    const bytes = nutOf(frames, sides, rate)
    const [native, script] = [await byAddon(bytes), await byScript(bytes, 1000)]
    t.equal(native.error, undefined)
    t.strictSame(
      native.frames.map(([, data]) => data),
      frames.map(hex),
      `${sides.join(' x ')}: bytes`,
    )
    const ticks = native.frames.map(([pts]) => pts)
    const [first = 0n, second = 0n] = ticks
    t.ok(second > first && first > 0n)
    t.strictSame(
      ticks,
      [...ticks.keys()].map((i) => first + BigInt(i) * (second - first)),
      'times',
    )
    t.strictSame(script, native)
  }
})

t.test('bytes that nobody should write are an error, or fewer frames, and the same to both', async (t) => {
  const sides = [6, 4] as const
  const whole = nutOf(madeFrames(12, sides), sides)
  const random = new Random(28)
  const count = size(300, 5000)
  let failed = 0
  for (let i = 0; i < count; i++) {
    const bytes = Buffer.from(whole)
    for (let changes = 1 + random.below(3); changes > 0; changes--) {
      // headers more often than all else
      const at = random.below(random.below(2) === 0 ? 300 : bytes.length)
      bytes[at] = random.below(3) === 0 ? [0x00, 0x7f, 0x80, 0xff][random.below(4)]! : random.below(256)
    }
    const cut = random.below(4) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes
    const [native, script] = [await byAddon(cut), await byScript(cut, 64)]
    if (native.error !== undefined) failed++
    if (native.error !== undefined && native.error !== 'ERR_TRT_VIDEO_DATA') t.fail(native.error)
    if (JSON.stringify(native, text) !== JSON.stringify(script, text)) t.strictSame(native, script, `change ${i}`)
  }
  t.ok(failed > count / 3, `${failed} of ${count} were refused`)
})

const text = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

t.test('sizes that would take much memory are refused before it is taken', async (t) => {
  const whole = nutOf(madeFrames(1, [4, 4]), [4, 4])
  // 32,768 x 32,768 in the stream's header, with a checksum that is right
  const startcode = Buffer.from('4e5311405bf2f9db', 'hex')
  const at = whole.indexOf(startcode)
  const length = whole[at + 8]!
  const body = Buffer.from(whole.subarray(at + 9, at + 9 + length - 4))
  const sidesAt = body.lastIndexOf(Buffer.from([4, 4]))
  const large = Buffer.concat([
    body.subarray(0, sidesAt),
    Buffer.from('828000828000', 'hex'),
    body.subarray(sidesAt + 2),
  ])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc(large))
  const bytes = Buffer.concat([
    whole.subarray(0, at + 8),
    Buffer.from([large.length + 4]),
    large,
    sum,
    whole.subarray(at + 9 + length),
  ])
  for (const outcome of [await byAddon(bytes), await byScript(bytes)])
    t.strictSame(outcome, { frames: [], error: 'ERR_TRT_VIDEO_DATA' })
})

/** Bit by bit, from its definition. */
function crc(bytes: Uint8Array): number {
  let value = 0
  for (const byte of bytes)
    for (let bit = 7; bit >= 0; bit--) {
      const top = (value >>> 31) ^ ((byte >> bit) & 1)
      value = ((value << 1) ^ (top === 1 ? 0x04c11db7 : 0)) >>> 0
    }
  return value
}

t.test('a reader that is never started, and one that is closed while it reads', async (t) => {
  const idle = new NativeFeed(1 << 20)
  await idle.close()
  await idle.close()
  t.equal(await idle.next(), undefined)
  const reading = new NativeFeed(1 << 20)
  const descriptor = reading.stdout
  await writeAll(descriptor, Buffer.from('nut/multimedia'))
  reading.start()
  t.equal(
    await reading.next().catch((error: unknown) => (error as TensorRTError).code),
    'ERR_TRT_VIDEO_DATA',
    'it ends within the first header',
  )
  await reading.close()
  const addon = loadAddon()
  for (const call of [
    () => addon.readFrames(-1, false, () => {}),
    () => addon.readFrames(1, false, 5 as never),
    () => addon.closeFrame(5 as never),
  ])
    t.throws(call, { code: 'ERR_TRT_INVALID_ARGUMENT' })
  const ordinary = new ArrayBuffer(8)
  addon.closeFrame(ordinary)
  addon.closeFrame(ordinary)
  t.equal(ordinary.byteLength, 0, 'what is no frame is detached, and nothing else')
})
