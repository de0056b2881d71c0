import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { Random } from '../support/random.js'

const addon = loadAddon()
const axis = { count: 3, last: 3, first: Int32Array.of(0, 1, 2), weights: new Float64Array(3) }
const output = { columns: axis, rows: axis, threshold: 0, out: new Uint8Array(9), stride: 3 }
const jobs = {
  makeMask: { ...output, values: new Float32Array(16), width: 4, height: 4, channels: 1, planar: 1 },
  makeInstanceMask: {
    ...output,
    prototypes: new Float32Array(32),
    coefficients: new Float32Array(2),
    width: 4,
    height: 4,
    count: 2,
    left: 0,
    top: 0,
    across: 4,
    down: 4,
  },
  labelComponents: { data: new Uint8Array(6), width: 3, height: 2, only: -1, diagonal: 1, labels: new Int32Array(6) },
  traceOutlines: { labels: new Int32Array(6), width: 3, height: 2, diagonal: 1 },
} as const

/** What no caller of lib/ gives. */
const wrong: readonly unknown[] = [
  ...[undefined, null, 'text', true, {}, [], () => 0],
  ...[-1, 0, 2, 5, 0.5, NaN, Infinity, 2 ** 24, 2 ** 31, 2 ** 32 + 1, 2 ** 53, -(2 ** 63)],
  ...[
    new Float32Array(),
    new Uint8Array(3),
    new Float64Array(2),
    Int32Array.of(0, 3, 9),
    Int32Array.of(-1, 0, 1),
    new DataView(new ArrayBuffer(8)),
  ],
  { ...axis, count: 4 },
  { ...axis, last: 9 },
  { ...axis, first: Int32Array.of(0, 1, 4) },
  { ...axis, first: Int32Array.of(-1, 0, 1) },
  { ...axis, weights: new Float64Array(2) },
  { ...axis, count: 0 },
]

type Call = (job: unknown, sync: boolean) => unknown

t.test('whatever a job is made of, it is done or refused', async (t) => {
  for (const [name, job] of Object.entries(jobs)) {
    const call = addon[name as keyof typeof jobs].bind(addon) as Call
    t.doesNotThrow(() => call(job, true), name)
    let refused = 0
    for (const key of Object.keys(job)) {
      for (const value of wrong) {
        const changed = { ...job, [key]: value }
        for (const sync of [true, false]) {
          try {
            await call(changed, sync)
          } catch (error) {
            if (!(error instanceof Error)) throw error
            refused++
          }
        }
      }
    }
    t.ok(refused > 50, `${name}: ${refused} refused`)
    for (const value of wrong.slice(0, 4)) t.throws(() => call(value, true), `${name} of ${String(value)}`)
  }
})

const yuv = { black: 0, luma: 0, red: 0, greenU: 0, greenV: 0, blue: 0, sample: 1, centre: 128 }

t.test('numbers that are none, in what a region is hidden with: refused, whatever the method', async (t) => {
  const picture = {
    format: 0,
    width: 8,
    height: 6,
    stride: 24,
    data: new Uint8Array(8 * 6 * 3).fill(7),
    yuv,
    inPlace: 0,
  } as const
  const hideRegions = (regions: readonly number[], style: readonly number[]): unknown =>
    addon.hideRegions(picture, Float64Array.from(regions), Float64Array.from(style))
  const [region, mask, area] = [[1, 1, 5, 5], new Uint8Array(9).fill(1), Float64Array.of(1, 1, 4, 4)]
  const impossible = [NaN, Infinity, -Infinity, -1, 1e300]
  for (const method of [0, 1, 2]) {
    const style = [method, 1, 0.5, 0.2, 1, 2, 3]
    t.ok((await hideRegions(region, style)) instanceof ArrayBuffer)
    for (const value of impossible)
      for (const at of [2, 3]) {
        const changed = style.with(at, value)
        t.throws(() => hideRegions(region, changed), { code: 'ERR_TRT_INVALID_ARGUMENT' }, changed.join(' '))
        t.throws(() => addon.hideMask(picture, mask, area, Float64Array.from(changed)), {
          code: 'ERR_TRT_INVALID_ARGUMENT',
        })
      }
    for (const value of impossible.filter((number) => number !== -1))
      t.throws(() => hideRegions(region.with(2, value), style), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  }
})

t.test('taps that JavaScript writes over while a picture is worked on change nothing', async (t) => {
  const [width, height] = [600, 400]
  const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 31) % 251)
  const picture = { format: 0, width, height, stride: width * 3, data, yuv }
  const along = (pixels: number) => ({
    outputs: pixels,
    begin: 0,
    end: pixels,
    taps: 1,
    first: Int32Array.from({ length: pixels }, (_, i) => i),
    weights: new Float32Array(pixels).fill(1),
    outside: new Float32Array(pixels),
  })
  const jobInto = (out: Float32Array<ArrayBuffer>) => ({
    ...{ whole: 0 as const, columns: along(width), rows: along(height), fill: [0, 0, 0], out },
    ...{ number: 0, channels: 0, planar: 1 as const, rounded: 0 as const, scale: [1, 1, 1], mean: [0, 0, 0] },
  })
  const wanted = new Float32Array(width * height * 3)
  addon.resample(jobInto(wanted), picture, true)
  for (let round = 0; round < 5; round++) {
    const job = jobInto(new Float32Array(wanted.length))
    const working = addon.resample(job, picture, false)
    for (const { first, weights } of [job.columns, job.rows]) {
      first.fill(0)
      weights.fill(0)
    }
    await working
    t.ok(Buffer.from(job.out.buffer).equals(Buffer.from(wanted.buffer)))
  }
})

t.test('several things wrong at once', async (t) => {
  const random = new Random(21)
  let [done, refused] = [0, 0]
  for (let round = 0; round < 1500; round++) {
    const [name, job] = random.pick(Object.entries(jobs))
    const keys = Object.keys(job)
    const changed = { ...job, [random.pick(keys)]: random.pick(wrong), [random.pick(keys)]: random.pick(wrong) }
    try {
      await (addon[name as keyof typeof jobs].bind(addon) as Call)(changed, random.chance(0.5))
      done++
    } catch {
      refused++
    }
  }
  t.ok(done > 0 && refused > 0, `${done} done, ${refused} refused`)
})
