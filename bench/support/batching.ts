/** Parts of bench core: what the queue makes of requests, on the fake device. */
import { setTimeout as sleep } from 'node:timers/promises'
import { uniform } from '../../lib/benchmark/random.js'
import { percentileOf } from '../../lib/benchmark/statistics.js'
import { loadAddon } from '../../lib/backend/native.js'
import type { NativeEngine } from '../../lib/backend/native-types.js'
import { type Engine, Tensor } from '../../lib/index.js'
import { identityPlan } from '../../test/fake/plan.js'
import type { FakeDevice } from './fake.js'
import { interleaved, keepInFlight, median, microsecondsPerCall, throughput } from './measure.js'
import { roundsOf, scaled } from './quick.js'
import { note, row, type Row, shown } from './report.js'

const range = { min: [1, 16], opt: [16, 16], max: [16, 16] }
const plan = (): Uint8Array => identityPlan([-1, 16], { profiles: [{ dims: { x: range } }] })
const [maxBatch, callers, batchMs] = [16, 64, 5]
const single = (): Tensor => new Tensor('float32', new Float32Array(16), [1, 16])

/**
 * Rows a second of a batcher that costs nothing: callers that ask again at once, batches as full as can be, one after
 * the other.
 */
function perfectBatcher(count: number): number {
  let [ms, done, waiting] = [0, 0, callers]
  while (done < count) {
    const taken = Math.min(waiting, maxBatch, count - done)
    waiting -= taken
    ms += batchMs
    done += taken
    waiting += taken
  }
  return (done * 1000) / ms
}

/** Rows a second of 64 callers, beside a perfect batcher. */
export async function saturated(device: FakeDevice): Promise<Row[]> {
  note('64 callers, batches of 5 ms …')
  device.driver.set({ computeMs: batchMs })
  const engine = await device.load(plan(), { batching: { maxBatch } })
  const x = single()
  const count = 3200
  const rounds = roundsOf(5)
  const { ours } = await interleaved(rounds, { ours: () => throughput(callers, count, () => engine.infer(x)) })
  const { executions, rows } = engine.counters()
  await engine.close()
  device.driver.set({ computeMs: 0 })
  const told = `peer: a perfect batcher, simulated; mean batch ${(rows / executions).toFixed(2)} of ${maxBatch}; ${rounds} rounds`
  return [
    row(
      '64 callers, 5 ms a batch',
      'rows/s',
      ours,
      perfectBatcher(count),
      { of: 'ratio', sign: '>=', value: 0.95 },
      told,
    ),
  ]
}

/** How many batches have a preferred size, while 64 callers keep rows waiting. */
export async function preferred(device: FakeDevice): Promise<Row[]> {
  note('preferred sizes …')
  device.driver.set({ computeMs: 2 })
  const sizes = [4, 8]
  const engine = await device.load(plan(), { batching: { maxBatch, preferred: sizes, maxDelayMs: 20 } })
  const x = single()
  await keepInFlight(callers, scaled(3200), () => engine.infer(x))
  const { batchSizes, executions } = engine.counters()
  await engine.close()
  device.driver.set({ computeMs: 0 })
  const hits = batchSizes.filter(({ rows }) => sizes.includes(rows)).reduce((sum, each) => sum + each.executions, 0)
  const told = `64 callers of one row; batches by rows: ${batchSizes.map((each) => `${each.rows}: ${each.executions}`).join(', ')}`
  return [
    row(
      'batches of a preferred size (4 or 8)',
      '%',
      (hits / executions) * 100,
      null,
      { of: 'ours', sign: '>=', value: 95 },
      told,
    ),
  ]
}

/** What a request of the first level waits for, alone and while 64 callers of the second keep the device busy. */
export async function levels(device: FakeDevice): Promise<Row[]> {
  note('priorities …')
  device.driver.set({ computeMs: batchMs })
  const engine = await device.load(plan(), { batching: { maxBatch, priorities: { levels: 2 } } })
  const x = single()
  const [count, rounds] = [scaled(300), roundsOf(3)]
  /** 0 to 10 ms apart: they come at any time of a batch. */
  const p99 = async (): Promise<number> => {
    const next = uniform(1)
    const times: number[] = []
    for (let i = 0; i < count; i++) {
      await sleep(next() * 10)
      const begun = performance.now()
      await engine.infer(x, { priority: 1 })
      times.push(performance.now() - begun)
    }
    return percentileOf(Float64Array.from(times).sort(), 99)
  }
  const loaded = async (): Promise<number> => {
    let isOver = false
    const caller = async (): Promise<void> => {
      while (!isOver) await engine.infer(x, { priority: 2 })
    }
    const load = Array.from({ length: callers }, caller)
    const found = await p99()
    isOver = true
    await Promise.all(load)
    return found
  }
  const time = await interleaved(rounds, { loaded, alone: p99 })
  await engine.close()
  device.driver.set({ computeMs: 0 })
  const bound = 1.3 * time.alone + batchMs
  const told = `peer: 1.3 x the same alone (${time.alone.toFixed(2)} ms) and one batch of ${batchMs} ms; medians of ${rounds} rounds of ${count}`
  return [
    row(
      'p99 of priority 1 under full load of priority 2',
      'ms',
      time.loaded,
      bound,
      { of: 'ratio', sign: '<=', value: 1 },
      told,
    ),
  ]
}

/** So many requests for each read: ten reads a second at 10,000 requests a second. */
const perRead = 1000

/** The time that reads of the counters add to a request, the time of a read, and whether they count every request. */
export async function counters(device: FakeDevice): Promise<Row[]> {
  note('counters …')
  device.driver.set({ inline: 1 })
  const engine = await device.load(plan(), { batching: { maxBatch } })
  const x = single()
  let [all, asked, read] = [0, 0, 0]
  const plain = (): Promise<unknown> => {
    all++
    return engine.infer(x)
  }
  const reading = (): Promise<unknown> => {
    if (++asked % perRead === 0) read += engine.counters().requests > 0 ? 1 : 0
    return plain()
  }
  const reads = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) read += engine.counters().requests > 0 ? 1 : 0
  }
  const rounds = roundsOf(15)
  const time = await interleaved(rounds, {
    reading: () => microsecondsPerCall(40_000, (count) => keepInFlight(64, count, reading)),
    plain: () => microsecondsPerCall(40_000, (count) => keepInFlight(64, count, plain)),
    // while 64 are under way, so that lanes count meanwhile
    read: async () => {
      const load = keepInFlight(64, scaled(20_000), plain)
      const each = await microsecondsPerCall(1000, reads)
      await load
      return each
    },
  })
  const { batchSizes, requests } = engine.counters()
  await engine.close()
  device.driver.set({ inline: 0 })
  const told = `peer: the same without reads; counting itself is always on, and in both. ${read} reads, of ${batchSizes.length} batch sizes; ${rounds} rounds`
  const goal = { of: 'difference', sign: '<=', value: 0.1 } as const
  const none = { of: 'ours', sign: '=', value: 0 } as const
  return [
    row(`infer, 64 in flight, counters() at each ${perRead}th, per call`, 'µs', time.reading, time.plain, goal, told),
    shown('counters(), a call', 'µs', time.read, time.plain, 'peer: infer, 64 in flight, per call'),
    row('requests that counters() lacks', 'requests', all - requests, null, none, `of ${all}`),
  ]
}

/**
 * Requests that wait and are all canceled by one signal: the time of each native call, which holds the queue's lock for
 * a part of it.
 */
export async function cancels(device: FakeDevice): Promise<Row[]> {
  note('4,096 cancels …')
  const count = 4096
  const times = new Float64Array(count)
  let calls = 0
  const engine = await withNativeCancel(
    // the launch of a graph would not block
    () =>
      device.load(plan(), { batching: { maxBatch }, lanes: 1, maxQueue: 2 * count, tensorrt: { cudaGraph: false } }),
    (cancel) => (request) => {
      const begun = performance.now()
      const isOut = cancel(request)
      times[calls++] = performance.now() - begun
      return isOut
    },
  )
  const x = single()
  interface Round {
    readonly longest: number
    readonly all: number
    readonly canceled: number
  }
  const round = async (): Promise<Round> => {
    // the only lane is held up in its enqueue, so that no other request leaves the queue
    device.driver.set({ blockMs: 600_000 })
    const running = engine.infer(x)
    while (engine.stats().inFlight === 0) await sleep(1)
    const controller = new AbortController()
    const { signal } = controller
    const settled = Promise.allSettled(Array.from({ length: count }, () => engine.infer(x, { signal })))
    const before = engine.counters().failures.cancelledWaiting
    calls = 0
    const begun = performance.now()
    controller.abort()
    const all = performance.now() - begun
    device.driver.set({ blockMs: 0 })
    await Promise.all([running, settled])
    if (calls !== count) throw new Error(`Expected ${count} calls of cancel() but counted ${calls}.`)
    const canceled = engine.counters().failures.cancelledWaiting - before
    return { longest: Math.max(...times), all, canceled }
  }
  await round()
  const rounds: Round[] = []
  for (let i = 0; i < roundsOf(9); i++) rounds.push(await round())
  await engine.close()
  const longest = rounds.map((each) => each.longest)
  const goal = { of: 'ours', sign: '<=', value: 1, isRemainder: true } as const
  const every = { of: 'ours', sign: '=', value: count } as const
  const fewest = Math.min(...rounds.map((each) => each.canceled))
  const told = `the longest of ${count} native calls of cancel(), which hold the queue's lock for a part of it, timed from JavaScript; median of ${rounds.length} rounds, the longest of all ${Math.max(...longest).toFixed(3)} ms`
  const all = median(rounds.map((each) => each.all))
  return [
    row('4,096 requests cancelled at once, the longest cancel', 'ms', median(longest), null, goal, told),
    shown('all of them, by one signal', 'ms', all, median(longest), 'peer: the row above'),
    row('waiting requests that the signal canceled', 'requests', fewest, null, every, 'the fewest of all rounds'),
  ]
}

type Cancel = NativeEngine['cancel']

/** An engine whose native cancel() is another. */
async function withNativeCancel(open: () => Promise<Engine>, changed: (cancel: Cancel) => Cancel): Promise<Engine> {
  const addon = loadAddon()
  const openEngine = addon.openEngine.bind(addon)
  const changing: typeof openEngine = async (...args) => {
    const native = await openEngine(...args)
    const value = changed(native.cancel.bind(native))
    return Object.defineProperty(native, 'cancel', { value })
  }
  Object.assign(addon, { openEngine: changing })
  try {
    return await open()
  } finally {
    Object.assign(addon, { openEngine })
  }
}
