/**
 * The execution core on the fake device: what a call costs, whether the event loop stays free, what overlaps, what is
 * copied, what leaks.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Results } from '../lib/backend/backend.js'
import { Tensor } from '../lib/index.js'
import { identityPlan } from '../test/fake/plan.js'
import { cancels, counters, levels, preferred, saturated } from './support/batching.js'
import { fakeDevice, type FakeDevice } from './support/fake.js'
import {
  interleaved,
  keepInFlight,
  loopDelay,
  microsecondsPerCall,
  oneAfterAnother,
  throughput,
} from './support/measure.js'
import { runParts, rowsOfBench, withContext } from './support/parts.js'
import { driverLoop, onnxruntimeDetector, onnxruntimeIdentity, onnxruntimeVersion, RoundTrip } from './support/peers.js'
import { merged as withGroups } from '../test/support/groups.js'
import { flags, isQuick, roundsOf } from './support/quick.js'
import { type Goal, machine, note, row, type Row } from './support/report.js'

const rounds = roundsOf(9)
/** Of measurements that take longer. */
const fewRounds = roundsOf(7)
const picture = [1, 3, 224, 224]

/** Microseconds of one call of 16 floats, on a device that takes no time. */
async function calls(device: FakeDevice): Promise<Row[]> {
  note('calls of 16 floats …')
  device.driver.set({ inline: 1 })
  const engine = await device.load(identityPlan([16]))
  const x = new Tensor('float32', new Float32Array(16), [16])
  const peer = await onnxruntimeIdentity(16)
  const roundTrip = RoundTrip.shared
  const infer = (): Promise<unknown> => engine.infer(x)
  const time = await interleaved(rounds, {
    many: () => microsecondsPerCall(40_000, (count) => keepInFlight(64, count, infer)),
    manyPeer: () => microsecondsPerCall(20_000, (count) => keepInFlight(64, count, peer.run)),
    sync: () =>
      microsecondsPerCall(10_000, async (count) => {
        for (let i = 0; i < count; i++) engine.inferSync(x)
      }),
    syncPeer: () => microsecondsPerCall(5_000, (count) => oneAfterAnother(count, peer.run)),
    // Two threads that never work at the same time may share a core, and then wake each other much faster. Which it is,
    // is luck: so both pairs of threads first work at once. That gives each thread a core of its own where one is free,
    // and on a busy machine still need not.
    single: async () => {
      await keepInFlight(64, 2_000, infer)
      return microsecondsPerCall(1_000, (count) => oneAfterAnother(count, infer))
    },
    singlePeer: async () => {
      await roundTrip.spread(8)
      return microsecondsPerCall(1_000, (count) => roundTrip.run(count))
    },
  })
  await peer.release()
  await engine.close()
  device.driver.set({ inline: 0 })
  const onnxruntime = `peer: onnxruntime-node, Identity of 16 floats; ${rounds} rounds`
  return [
    row(
      'infer, 64 in flight, per call',
      'µs',
      time.many,
      time.manyPeer,
      { of: 'ratio', sign: '<=', value: 0.5 },
      onnxruntime,
    ),
    row(
      'inferSync, one after another',
      'µs',
      time.sync,
      time.syncPeer,
      { of: 'ratio', sign: '<=', value: 0.5 },
      onnxruntime,
    ),
    row(
      'infer, one after another',
      'µs',
      time.single,
      time.singlePeer,
      { of: 'ratio', sign: '<=', value: 1.3 },
      `peer: a bare addon, one thread and a thread-safe function; both after a burst on two threads; ${rounds} rounds`,
    ),
  ]
}

/** Microseconds of a lone request of 16 floats, on a device that takes 200 µs: 100 for each copy. */
async function lone(device: FakeDevice): Promise<Row[]> {
  note('a lone request …')
  device.driver.set({ copyMs: 0.1 })
  const engine = await device.load(identityPlan([16]))
  const x = new Tensor('float32', new Float32Array(16), [16])
  const roundTrip = RoundTrip.shared
  const time = await interleaved(rounds, {
    ours: () => microsecondsPerCall(300, (count) => oneAfterAnother(count, () => engine.infer(x))),
    loop: () => driverLoop(device.libcuda, x.byteLength, 300),
    roundTrip: () => microsecondsPerCall(300, (count) => roundTrip.run(count)),
  })
  await engine.close()
  device.driver.set({ copyMs: 0 })
  const told = `peer: a bare driver loop in C++ (${time.loop.toFixed(0)} µs) and 1.3 bare round trips (${time.roundTrip.toFixed(0)} µs each); ${rounds} rounds`
  const goal = { of: 'ratio', sign: '<=', value: 1 } as const
  return [row('a lone request, 200 µs device time', 'µs', time.ours, time.loop + 1.3 * time.roundTrip, goal, told)]
}

/**
 * Milliseconds that the event loop is late while eight inferences of 20 ms are in flight, beyond what it is when idle.
 */
async function eventLoop(device: FakeDevice): Promise<Row[]> {
  note('event-loop delay …')
  device.driver.set({ computeMs: 20 })
  const engine = await device.load(identityPlan(picture), { lanes: 8 })
  const x = Tensor.zeros('float32', picture)
  const peer = await onnxruntimeDetector(20)
  const eight = (run: () => Promise<unknown>): Promise<number> => loopDelay(400, () => keepInFlight(8, 64, run))
  const free = Array.from({ length: 8 }, () => engine.allocate('y', picture))
  const again = async (): Promise<void> => {
    const y = free.pop()
    if (y === undefined) throw new Error('no tensor is free')
    await engine.infer(x, { into: { y } })
    free.push(y)
  }
  const late = await interleaved(fewRounds, {
    idle: () => loopDelay(400, () => sleep(100)),
    ours: () => eight(() => engine.infer(x)),
    again: () => eight(again),
    peer: () => loopDelay(100, () => keepInFlight(8, 16, peer.run)),
  })
  await peer.release()
  await engine.close()
  device.driver.set({ computeMs: 0 })
  return [
    row(
      'event-loop delay, p99 above idle, eight 20 ms inferences of 602 KB in flight',
      'ms',
      late.ours - late.idle,
      late.peer - late.idle,
      { of: 'ours', sign: '<', value: 2, isRemainder: true },
      `peer: onnxruntime-node, PP-OCR's detector, ${peer.size}x${peer.size} (${peer.ms.toFixed(0)} ms); idle p99 ${late.idle.toFixed(2)} ms; ${fewRounds} rounds; new results of 602 KB each, which V8 collects`,
    ),
    row(
      'the same with results in tensors that are used again',
      'ms',
      late.again - late.idle,
      late.peer - late.idle,
      { of: 'ours', sign: '<', value: 2, isRemainder: true },
      'into, tensors of allocate()',
    ),
  ]
}

/** Throughput of four lanes against one, where an enqueue holds up its thread as long as the device works. */
async function lanes(device: FakeDevice): Promise<Row[]> {
  note('lanes …')
  device.driver.set({ blockMs: 10 })
  const x = new Tensor('float32', new Float32Array(16), [16])
  // a graph's launch would not block
  const one = await device.load(identityPlan([16]), { lanes: 1, tensorrt: { cudaGraph: false } })
  const four = await device.load(identityPlan([16]), { lanes: 4, tensorrt: { cudaGraph: false } })
  const rate = await interleaved(fewRounds, {
    four: () => throughput(16, 80, () => four.infer(x)),
    one: () => throughput(16, 20, () => one.infer(x)),
  })
  await Promise.all([one.close(), four.close()])
  device.driver.set({ blockMs: 0 })
  const goal = { of: 'ratio', sign: '>=', value: 3.8 } as const
  return [
    row(
      'four lanes, 10 ms device time, enqueue blocks',
      '/s',
      rate.four,
      rate.one,
      goal,
      `peer: one lane; ${fewRounds} rounds`,
    ),
  ]
}

/** Throughput of one lane with two slots against one slot, where copies in and out and computing take 5 ms each. */
async function slots(device: FakeDevice): Promise<Row[]> {
  note('slots …')
  device.driver.set({ copyMs: 5, computeMs: 5 })
  const x = Tensor.zeros('float32', picture)
  const [one, two] = [
    await device.open(identityPlan(picture), { slots: 1 }),
    await device.open(identityPlan(picture), { slots: 2 }),
  ]
  const all = (results: Results): Results => results
  const rate = await interleaved(fewRounds, {
    two: () => throughput(8, 32, () => two.run([x], undefined, all)),
    one: () => throughput(8, 16, () => one.run([x], undefined, all)),
  })
  await Promise.all([one.close(), two.close()])
  device.driver.set({ copyMs: 0, computeMs: 0 })
  const goal = { of: 'ratio', sign: '>=', value: 1.6 } as const
  return [
    row(
      'one lane, two slots, copies and compute 5 ms each',
      '/s',
      rate.two,
      rate.one,
      goal,
      `peer: one slot; ${fewRounds} rounds`,
    ),
  ]
}

/**
 * How often each byte of a 602 KB input is copied by the CPU on its way to the device; the device's own copy is counted
 * too, and is always one.
 */
async function copies(device: FakeDevice): Promise<Row[]> {
  note('copies …')
  const count = 64
  const engine = await device.load(identityPlan(picture))
  const measure = async (x: Tensor): Promise<{ cpu: number; bus: number; pageable: number }> => {
    const before = { cpu: engine.stats().bytesCopied, ...device.driver.stats() }
    await oneAfterAnother(count, () => engine.infer(x))
    const after = { cpu: engine.stats().bytesCopied, ...device.driver.stats() }
    const times = (bytes: number): number => bytes / count / x.byteLength
    return {
      cpu: times(after.cpu - before.cpu),
      bus: times(after.bytesHtoD - before.bytesHtoD),
      pageable: after.pageableCopies - before.pageableCopies,
    }
  }
  const ordinary = await measure(Tensor.zeros('float32', picture))
  const pinned = await measure(engine.allocate('x', picture))
  await engine.close()
  const line = (what: string, { cpu, bus, pageable }: typeof pinned, wanted: number): Row => {
    const counted = row(
      what,
      'x',
      cpu,
      null,
      { of: 'ours', sign: '=', value: wanted },
      `host to device ${bus} x, of pageable memory ${pageable}`,
    )
    return { ...counted, ok: counted.ok && bus === 1 && pageable === 0 }
  }
  return [line('602 KB input, copies by the CPU', ordinary, 1), line('the same in a tensor of allocate()', pinned, 0)]
}

/** The most pinned memory at once, while a thousand requests wait and all their results are kept. */
async function pinned(device: FakeDevice): Promise<Row[]> {
  note('pinned memory …')
  const many = isQuick ? 250 : 1000
  device.driver.reset()
  const before = device.driver.stats().pinnedBytes
  const engine = await device.load(identityPlan(picture), { maxQueueBytes: 2 ** 30 })
  const x = Tensor.zeros('float32', picture)
  const results = await Promise.all(Array.from({ length: many }, () => engine.infer(x)))
  const { peakPinnedBytes, pageableCopies } = device.driver.stats()
  await engine.close()
  const goal: Goal = { of: 'ours', sign: '<=', value: 64, isCount: true }
  const told = `${results.length} results are kept; ${(before / 2 ** 20).toFixed(0)} MiB were kept from before; of pageable memory ${pageableCopies}`
  const peak = row(
    `peak pinned memory, ${many} requests of 602 KB at once`,
    'MiB',
    peakPinnedBytes / 2 ** 20,
    null,
    goal,
    told,
  )
  return [{ ...peak, ok: peak.ok && pageableCopies === 0 }]
}

/** How many enqueues 64 single requests take. */
async function batching(device: FakeDevice): Promise<Row[]> {
  note('batching …')
  const range = { min: [1, 16], opt: [16, 16], max: [16, 16] }
  const plan = identityPlan([-1, 16], { profiles: [{ dims: { x: range } }] })
  const x = new Tensor('float32', new Float32Array(16), [1, 16])
  const enqueues = async (options: object): Promise<number> => {
    const engine = await device.load(plan, withGroups({ tensorrt: { cudaGraph: false } }, options))
    const before = device.driver.stats().enqueues
    await keepInFlight(64, 64, () => engine.infer(x))
    await engine.close()
    return device.driver.stats().enqueues - before
  }
  const [merged, single] = [await enqueues({ batching: { maxBatch: 16, maxDelayMs: 60_000 } }), await enqueues({})]
  const goal = { of: 'ours', sign: '=', value: 4 } as const
  return [row('64 single requests, maxBatch 16', 'enqueues', merged, single, goal, 'peer: without batching')]
}

/** What a stream owes to a source that waits for each result, and to an abort. */
async function streams(device: FakeDevice): Promise<Row[]> {
  note('streams …')
  const engine = await device.load(identityPlan([16]))
  const x = new Tensor('float32', new Float32Array(16), [16])
  const waiting = async (count: number): Promise<void> => {
    let arrived = (): void => {}
    const source = async function* () {
      for (let i = 0; i < count; i++) {
        const result = new Promise<void>((resolve) => (arrived = resolve))
        yield x
        await result
      }
    }
    // one that stalls ends with an error
    for await (const y of engine.stream(source(), { signal: AbortSignal.timeout(60_000) })) if (y.size === 16) arrived()
  }
  /**
   * Milliseconds from an abort until the loop is over, while inferences of 50 ms are under way and the source never
   * answers.
   */
  const aborted = async (): Promise<number> => {
    const controller = new AbortController()
    const source = async function* () {
      yield* [x, x]
      await new Promise(() => {})
    }
    let begun = NaN
    setTimeout(() => {
      begun = performance.now()
      controller.abort()
    }, 5)
    try {
      for await (const y of engine.stream(source(), { signal: controller.signal })) if (y.size === 0) break
    } catch {
      // the reason of the abort
    }
    const ms = performance.now() - begun
    while (engine.stats().inFlight > 0) await sleep(1)
    return ms
  }
  const bare = async (): Promise<number> => {
    const controller = new AbortController()
    let begun = NaN
    setTimeout(() => {
      begun = performance.now()
      controller.abort()
    }, 5)
    await once(controller.signal, 'abort')
    return performance.now() - begun
  }
  device.driver.set({ computeMs: 1 })
  const per = await interleaved(fewRounds, {
    ours: () => microsecondsPerCall(100, waiting),
    peer: () => microsecondsPerCall(100, (count) => oneAfterAnother(count, () => engine.infer(x))),
  })
  device.driver.set({ computeMs: 50 })
  const aborts = roundsOf(21)
  const end = await interleaved(aborts, { ours: aborted, peer: bare })
  device.driver.set({ computeMs: 0 })
  await engine.close()
  return [
    row(
      'stream over a source that waits for each result, 1 ms device time, per result',
      'µs',
      per.ours,
      per.peer,
      { of: 'ratio', sign: '<=', value: 1.2 },
      `peer: infer, one after another; ${fewRounds} rounds`,
    ),
    row(
      'an abort ends a stream, two inferences of 50 ms under way, source silent',
      'ms',
      end.ours,
      end.peer,
      { of: 'difference', sign: '<', value: 1, isRemainder: true },
      `peer: events.once of the same signal; ${aborts} rounds`,
    ),
  ]
}

/** The soak, in a process of its own: nothing else moves its memory. */
function soak(): Promise<readonly Row[]> {
  note('soak …')
  return rowsOfBench('soak', [])
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
const parts = {
  calls,
  lone,
  eventLoop,
  lanes,
  slots,
  copies,
  pinned,
  batching,
  saturated,
  preferred,
  levels,
  counters,
  cancels,
  streams,
  soak,
}

const device = await fakeDevice()
const identityEngine = await device.load(identityPlan([16]))
const on = machine({ peers: onnxruntimeVersion(), device: `the fakes of test/fake: ${identityEngine.description}` })
await identityEngine.close()
// a part that failed may have left the device slow, or blocked
const onDevice = withContext(parts, device, () => device.driver.reset())
await runParts(onDevice, positionals, { bench: 'core', machine: on, json: values.json })
RoundTrip.end()
