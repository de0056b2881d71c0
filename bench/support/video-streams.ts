/** Four streams into one engine, as cameras give them: rows of the bench video. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Tensor } from '../../lib/index.js'
import { type GivenFrame, streams } from '../../lib/video/index.js'
import { identityPlan } from '../../test/fake/plan.js'
import { Random } from '../../test/support/random.js'
import { fakeDevice, type FakeDevice } from './fake.js'
import { roundsOf } from './quick.js'
import { note, row, type Row } from './report.js'

const cameras = 4
const fps = 30
const seconds = 2
/** How often phases are drawn. */
const draws = roundsOf(6)
const maxBatch = 4
/** Of a small detector on a small GPU. */
const computeMs = 8

const range = { min: [1, 16], opt: [maxBatch, 16], max: [maxBatch, 16] }

/** Frames by a clock of its own: one that nobody has taken when the next comes is left out, as of a camera. */
async function* camera(phase: number): AsyncGenerator<GivenFrame> {
  const begun = performance.now() + phase
  const image = { format: 'i420', width: 32, height: 16, data: new Uint8Array(32 * 16 * 1.5) } as const
  for (let number = 0; number < fps * seconds; number++) {
    const due = begun + (number * 1000) / fps
    const now = performance.now()
    if (now > due + 1000 / fps) continue
    if (due > now) await sleep(due - now)
    yield { image, pts: number / fps }
  }
}

/** Phases that real cameras have, by chance, drawn again and again: whether a batch is full depends on them. */
export async function* streamsRows(): AsyncGenerator<Row, void> {
  const device = await fakeDevice()
  device.driver.set({ computeMs })
  for (const maxDelayMs of [33, 20]) {
    note(`${cameras} streams of ${fps} frames a second, at most ${maxDelayMs} ms for a batch …`)
    const random = new Random(maxDelayMs)
    const drawn: Drawn[] = []
    for (let draw = 0; draw < draws; draw++) drawn.push(await measured(device, maxDelayMs, random))
    const [inferred, batches] = [sum(drawn.map((one) => one.rows)), sum(drawn.map((one) => one.batches))]
    const p99 = Math.max(...drawn.map((one) => one.p99))
    const means = drawn.map((one) => (one.rows / one.batches).toFixed(2)).join(', ')
    const about = `${cameras} × ${fps} frames a second for ${seconds} s, ${draws} draws of phases, ${computeMs} ms a batch; maxBatch ${maxBatch}, maxDelayMs ${maxDelayMs}`
    const mean = { of: 'ours', sign: '>=', value: 3.5 } as const
    const share = { of: 'ours', sign: '>=', value: 0.9 } as const
    const ofAge = `age of frames when given, p99 of the slowest stream: ${p99.toFixed(0)} ms`
    yield row(
      `mean batch across streams, maxDelayMs ${maxDelayMs}`,
      'rows',
      inferred / batches,
      null,
      mean,
      `${about}; by draw ${means}`,
    )
    const least = Math.min(...drawn.map((one) => one.share))
    yield row(`least share of its frames that a stream got, maxDelayMs ${maxDelayMs}`, '', least, null, share, ofAge)
  }
  device.driver.set({ computeMs: 0 })
}

interface Drawn {
  readonly rows: number
  readonly batches: number
  /** Of the stream that got least. */
  readonly share: number
  readonly p99: number
}

async function measured(device: FakeDevice, maxDelayMs: number, random: Random): Promise<Drawn> {
  const plan = identityPlan([-1, 16], { profiles: [{ dims: { x: range } }] })
  await using engine = await device.load(plan, { batching: { maxBatch, maxDelayMs } })
  const x = new Tensor('float32', new Float32Array(16), [1, 16])
  const task = { engine, detect: (_: unknown, { signal }: { signal: AbortSignal }) => engine.infer(x, { signal }) }
  const inputs = Array.from({ length: cameras }, () => camera((random.next() * 1000) / fps))
  const run = streams(inputs, task)
  for await (const { frame } of run) frame.close()
  const { sources } = run.stats()
  const { rows, executions } = engine.counters()
  return {
    rows,
    batches: executions,
    share: Math.min(...sources.map(({ delivered }) => delivered)) / (fps * seconds),
    p99: Math.max(...sources.map((source) => source.p99 ?? 0)),
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
