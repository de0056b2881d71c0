// Damaged videos by seed: each gives some right frames, or none, and then its end or a typed error; none stops
// anything, or leaves a process.
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { TensorRTError } from '../../lib/errors.js'
import { openVideo } from '../../lib/video/index.js'
import { Random } from '../support/random.js'
import { needs } from '../support/needs.js'
import { long, size } from '../support/tiers.js'
import { clip, type ClipName } from '../support/video-clips.js'
import { programsOfVideos } from '../support/video-leftovers.js'
import { certain } from '../support/waiting.js'

t.setTimeout(long ? 7_200_000 : 600_000) // many processes, on a machine that may be busy
needs('ffmpeg')

const count = size(24, 5000)

const names: readonly ClipName[] = [
  ...([
    'one-frame',
    'rotated-90',
    'fragments',
    'cover',
    'hevc',
    'av1',
    'vp9',
    'mpeg4',
    'mpeg2-transport',
    'prores',
  ] as const),
  ...(['flash', 'gif', 'interlaced', 'open-groups', 'rgb', 'wmv', 'streamed', 'odd', 'y4m'] as const),
]

type Damage = (bytes: Buffer, random: Random) => Buffer

/** A place in the file, of which one of two lies in the first 2 KiB, where headers are. */
const placeIn = (bytes: Buffer, random: Random): number =>
  random.below(random.chance(0.5) ? Math.min(2048, bytes.length) : bytes.length)

const damages: Readonly<Record<string, Damage>> = {
  'cut short': (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  'without its beginning': (bytes, random) => bytes.subarray(placeIn(bytes, random)),
  'single bytes': (bytes, random) => {
    for (let i = random.below(20) + 1; i > 0; i--) bytes[placeIn(bytes, random)] = random.below(256)
    return bytes
  },
  'single bits': (bytes, random) => {
    for (let i = random.below(5) + 1; i > 0; i--) bytes[placeIn(bytes, random)]! ^= 1 << random.below(8)
    return bytes
  },
  'a run of zeros': (bytes, random) => {
    const from = placeIn(bytes, random)
    return bytes.fill(0, from, Math.min(bytes.length, from + random.below(2000)))
  },
  'large numbers': (bytes, random) => {
    const from = placeIn(bytes, random)
    return bytes.fill(0xff, from, Math.min(bytes.length, from + 1 + random.below(8)))
  },
  'a part that is missing': (bytes, random) => {
    const from = placeIn(bytes, random)
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + 1 + random.below(1000))])
  },
  'a part that comes twice': (bytes, random) => {
    const from = placeIn(bytes, random)
    return Buffer.concat([bytes.subarray(0, from + random.below(1000)), bytes.subarray(from)])
  },
}

/** How a video came out: whether all was read, or with what it failed. */
async function outcomeOf(bytes: Buffer): Promise<{ readonly frames: number; readonly error: unknown }> {
  let frames = 0
  try {
    for await (const frame of await openVideo(bytes)) {
      const { width, height, data, pts } = frame
      if (data.length !== width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2) || !Number.isFinite(pts))
        throw new Error(`A frame of ${width} x ${height} with ${data.length} bytes at ${pts} s`)
      frames++
      frame.close()
    }
    return { frames, error: undefined }
  } catch (error) {
    return { frames, error }
  }
}

const typed = (error: unknown): boolean =>
  error instanceof TensorRTError &&
  ['ERR_TRT_VIDEO_DATA', 'ERR_TRT_CRASH'].includes(error.code) &&
  error.message.length < 1000

async function damaged(t: Test, seeds: readonly number[], counts: Map<string, number>): Promise<void> {
  for (const seed of seeds) {
    const random = new Random(seed)
    const name = random.pick(names)
    const what = random.pick(Object.keys(damages))
    const bytes = damages[what]!(Buffer.from(await readFile(await clip(name))), random)
    const { frames, error } = await outcomeOf(bytes)
    const came = error === undefined ? 'read to the end' : frames > 0 ? 'an error after frames' : 'an error at once'
    counts.set(came, (counts.get(came) ?? 0) + 1)
    if (error !== undefined && !typed(error))
      t.fail(`seed ${seed}: ${name}, ${what}: ${String((error as Error).stack)}`)
  }
}

t.test(`${count} damaged clips`, async (t) => {
  const seeds = Array.from({ length: count }, (_, i) => i + 1)
  const counts = new Map<string, number>()
  const half = seeds.length / 2
  await Promise.all([damaged(t, seeds.slice(0, half), counts), damaged(t, seeds.slice(half), counts)])
  t.comment(Array.from(counts, ([what, count]) => `${count} ${what}`).join(', '))
  t.equal(
    Array.from(counts.values()).reduce((sum, count) => sum + count),
    seeds.length,
  )
  for (const what of ['read to the end', 'an error after frames', 'an error at once'])
    t.ok((counts.get(what) ?? 0) > seeds.length / 20, what)
  await certain(() => programsOfVideos().length === 0)
})
