// Several streams on a real engine: batches across them on the fakes, a real detector on the CPU, and what is left of
// programs, descriptors and memory.
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { Detector } from '../../lib/tasks/index.js'
import { openVideo, streams } from '../../lib/video/index.js'
import { driven, families, leftovers, load, rowsPlan, wanted } from '../lanes/rig.js'
import { anySizeCenterFace } from '../support/networks/index.js'
import { writeModel } from '../../lib/onnx/index.js'
import { centerFacePath } from '../support/tensorrt.js'
import { facePhoto } from '../../examples/support/program.js'
import { size } from '../support/tiers.js'
import { certain, collect, until } from '../support/waiting.js'
import { missing } from '../support/needs.js'
import { programsOfVideos } from '../support/video-leftovers.js'
import { clip, moving } from './clips.js'
import { Made, read } from './streams-rig.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))
t.setTimeout(1_500_000)
setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>

t.test('an engine with batching makes batches across streams', async (t) => {
  const made = new Made()
  const each = size(50, 1000)
  await driven({ computeMs: 2 }, async () => {
    await using engine = await load(families[0], rowsPlan(), { batching: { maxBatch: 4, maxDelayMs: 1000 } })
    const task = {
      engine,
      detect: async (frame: Parameters<typeof read>[0], { signal }: { signal: AbortSignal }) => {
        const { source, number } = read(frame)
        const x = new Tensor('float32', Float32Array.of(source, number, 1), [1, 3])
        return { x: x.data, y: (await engine.infer(x, { signal })).data as Float32Array }
      },
    }
    t.equal(engine.concurrency, 8, 'two batches')
    const run = streams(
      [0, 1, 2, 3].map((source) => made.frames(source, each)),
      task,
    )
    const next = [0, 0, 0, 0]
    for await (const { source, frame, result } of run) {
      const own = read(frame)
      if (own.source !== source.index || own.number !== next[own.source]!++) t.fail('another frame')
      if (result.x[0] !== own.source || result.x[1] !== own.number) t.fail('another answer')
      if (wanted(result.x).some((value, i) => value !== result.y[i])) t.fail('another result')
      frame.close()
    }
    t.strictSame(next, [each, each, each, each])
    const { rows, executions } = engine.counters()
    t.equal(rows, 4 * each)
    t.ok(rows / executions >= 3.5, `${rows / executions} rows a batch`)
    t.equal(made.left, 0)
  })
  t.strictSame(leftovers(), {})
})

t.test('a real detector on clips', { skip: missing.ffmpeg || missing.CenterFace }, async (t) => {
  const model = writeModel(await anySizeCenterFace(centerFacePath ?? ''))
  await using detector = await Detector.load(model, {
    preset: 'centerface',
    backend: 'cpu',
    batching: { maxBatch: 2, maxDelayMs: 50 },
  })
  t.ok(detector.engine instanceof Engine)
  const still = (photo: number): string[] => [
    ...[
      '-loop',
      '1',
      '-framerate',
      '5',
      '-i',
      facePhoto(photo),
      '-t',
      '0.6',
      '-vf',
      'scale=320:240:force_original_aspect_ratio=increase,crop=320:240',
    ],
    ...['-c:v', 'libx264', '-pix_fmt', 'yuv420p'],
  ]
  const paths = [await clip('first.mp4', still(1)), await clip('sixth.mp4', still(6))]
  const alone: unknown[][] = []
  for (const path of paths) {
    const found = []
    for await (const frame of await openVideo(path)) {
      found.push((await detector.detect(frame)).map(({ box }) => box.map(Math.round)))
      frame.close()
    }
    alone.push(found)
  }
  const together: unknown[][] = [[], []]
  for await (const { source, frame, result } of streams([openVideo(paths[0]!), paths[1]!], detector)) {
    together[source.index]!.push(result.map(({ box }) => box.map(Math.round)))
    frame.close()
  }
  t.strictSame(together, alone, 'as each alone')
  t.ok(
    alone.every((found) => found.length === 3 && found.every((boxes) => (boxes as unknown[]).length > 0)),
    'faces in each frame',
  )
})

t.test('memory, descriptors, threads and programs', { skip: missing.ffmpeg }, async (t) => {
  const [seconds, every] = [size(8, 200), size(100, 1000)]
  const path = await clip('long.mp4', moving('96x64', '25', seconds))
  const count = (folder: string): number => readdirSync(`/proc/self/${folder}`).length
  const once = async (end?: number, look?: () => Promise<void>): Promise<number> => {
    let frames = 0
    const open = () => openVideo(path, { end, buffer: '1MiB' })
    for await (const { frame } of streams([open(), open(), open(), open()], async (frame) => frame.data[0])) {
      frame.close()
      if (++frames % every === 0) await look?.()
    }
    return frames
  }
  await once(2)
  await collect()
  const before = { fd: count('fd'), task: count('task') }
  let [first, most] = [0, 0]
  const frames = await once(undefined, async () => {
    await collect()
    const { rss } = process.memoryUsage()
    if (first === 0) first = rss
    most = Math.max(most, Math.abs(rss - first))
  })
  t.equal(frames, 4 * 25 * seconds)
  t.ok(most <= 32 * 2 ** 20, `${(most / 2 ** 20).toFixed(1)} MiB from what it was after ${every} frames`)
  await certain(() => programsOfVideos().length === 0)
  t.ok(
    await until(() => count('fd') <= before.fd && count('task') <= before.task),
    'no descriptor and no thread is left',
  )
})
