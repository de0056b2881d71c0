// batching.preserveOrder with two lanes: what ends first and left later is told later, failures too. The device's clock
// stands until a test moves it.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import { Cut } from '../../lib/base/cancellation.js'
import { loadAddon } from '../../lib/backend/native.js'
import { runWithCut } from '../../lib/engine.js'
import { type BatchingOptions, type Engine, type InferMessage, Tensor, TensorRTError } from '../../lib/index.js'
import { Random } from '../support/random.js'
import { certain } from '../support/waiting.js'
import {
  driven,
  driver,
  type FakeName,
  type FakeRuntime,
  leftovers,
  load,
  rows,
  rowsPlan,
  rtx,
  suiteFamilies,
} from './rig.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

type Family = FakeRuntime<FakeName>

/**
 * How calls ended. A promise that fails is rejected some microtasks after those that were told with it: how all were
 * told, one after the other, says the channel.
 */
class Told {
  readonly results: number[] = []
  readonly failures: string[] = []
  readonly all: ('result' | 'failure')[] = []
  readonly #calls: Promise<unknown>[] = []
  readonly #listen = (message: unknown): void =>
    void this.all.push((message as InferMessage).error === undefined ? 'result' : 'failure')

  constructor() {
    subscribe('node-tensorrt:infer', this.#listen)
  }
  add(i: number, call: Promise<unknown>): void {
    const failed = (error: unknown): unknown =>
      this.failures.push(`${i}: ${error instanceof TensorRTError ? error.code : String(error)}`)
    this.#calls.push(call.then(() => this.results.push(i), failed))
  }
  async end(): Promise<void> {
    await Promise.all(this.#calls)
    unsubscribe('node-tensorrt:infer', this.#listen)
  }
}

const failed = (i: number): string => `${i}: ERR_TRT_EXECUTION`

/** Without graphs: each batch calls enqueueV3. */
const twoLanes = (family: Family, more: Partial<BatchingOptions> = {}): Promise<Engine> =>
  load(family, rowsPlan(), {
    lanes: 2,
    tensorrt: { cudaGraph: false },
    batching: { maxBatch: 1, preserveOrder: true, ...more },
  })

/**
 * With one slot a lane. A second one takes a request early where the other lane is on its way back from a batch, and
 * what stands behind a batch that runs long is as long under way.
 */
const twoSlots = async (family: Family, more: Partial<BatchingOptions> = {}): Promise<Engine> => {
  const addon = loadAddon()
  const openEngine = addon.openEngine.bind(addon)
  addon.openEngine = (plan, options) => openEngine(plan, { ...options, slots: 1 })
  try {
    return await twoLanes(family, more)
  } finally {
    addon.openEngine = openEngine
  }
}

const ended = (engine: Engine): number => {
  const { requests, failures } = engine.counters()
  return requests + failures.failed + failures.cancelledRunning
}

/** What calls begin is on the device, and takes until the clock is far on. */
const runsLong = async (call: () => void): Promise<void> => {
  const before = driver.stats().enqueues
  driver.set({ computeMs: 1e6 })
  call()
  await certain(() => driver.stats().enqueues > before)
  driver.set({ computeMs: 1 })
}

/** A call that ends on the lane that is free; what it is told with is on its way. */
const runsShort = async (engine: Engine, call: () => void): Promise<void> => {
  const before = ended(engine)
  call()
  await certain(() => {
    driver.advance(1)
    return ended(engine) > before
  })
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

for (const family of [...suiteFamilies, rtx]) {
  await t.test(family.name, async (t) => {
    for (const preserveOrder of [true, false]) {
      await t.test(
        `preserveOrder ${preserveOrder}: five batches of one lane while the first one runs on the other`,
        async (t) => {
          await using engine = await twoSlots(family, { preserveOrder })
          await driven({ clock: 'manual' }, async () => {
            const told = new Told()
            await runsLong(() => told.add(0, engine.infer(rows(0))))
            for (let i = 1; i <= 5; i++) {
              await runsShort(engine, () => {
                if (i === 2 || i === 4) family.control.failNth('enqueueV3', 1)
                told.add(i, engine.infer(rows(i)))
              })
            }
            t.match(engine.counters(), { requests: 3, failures: { failed: 2 } })
            if (preserveOrder) {
              await turns()
              t.same([told.results, told.failures], [[], []])
            } else {
              await certain(() => told.all.length === 5)
            }
            driver.advance(2e6)
            await told.end()
            t.same(told.results, preserveOrder ? [0, 1, 3, 5] : [1, 3, 5, 0])
            t.same(told.failures, [failed(2), failed(4)])
            const later = ['result', 'failure', 'result', 'failure', 'result']
            t.same(told.all, preserveOrder ? ['result', ...later] : [...later, 'result'])
          })
        },
      )
    }

    await t.test('a first batch that fails holds up nobody, and one whose request was given up does', async (t) => {
      await using engine = await twoSlots(family)
      await driven({ clock: 'manual', computeMs: 1 }, async () => {
        const told = new Told()
        family.control.failNth('enqueueV3', 1)
        await runsShort(engine, () => told.add(0, engine.infer(rows(0))))
        await runsShort(engine, () => told.add(1, engine.infer(rows(1))))
        await certain(() => told.results.length + told.failures.length === 2)
        const cut = new Cut()
        await runsLong(() => told.add(2, runWithCut(engine, { x: rows(2) }, undefined, cut)))
        await runsShort(engine, () => told.add(3, engine.infer(rows(3))))
        cut.happen('mine')
        await turns()
        t.same([told.results, told.failures], [[1], [failed(0), '2: mine']], 'the device computes on')
        driver.advance(2e6)
        await told.end()
        t.same(told.results, [1, 3])
        await certain(() => ended(engine) === 4)
      })
    })

    await t.test('300 random requests that merge, every fifth batch failing', async (t) => {
      await using engine = await twoLanes(family, { maxBatch: 6 })
      const random = new Random(9)
      for (let i = 5; i < 300; i += 5) family.control.failNth('enqueueV3', i)
      const told = new Told()
      await driven({ computeMs: 0.1 }, async () => {
        for (let i = 0; i < 300; i++) {
          told.add(i, engine.infer(Tensor.zeros('float32', [1 + random.below(4), 3])))
          if (random.chance(0.3)) await new Promise((resolve) => setImmediate(resolve))
          driver.set({ computeMs: random.below(3) / 5 })
        }
        await told.end()
      })
      const isFailed = new Set(told.failures.map((text) => Number.parseInt(text, 10)))
      t.ok(isFailed.size > 10 && told.results.length > 100, `${isFailed.size} failed, ${told.results.length} did not`)
      t.same(
        told.results,
        [...told.results].sort((a, b) => a - b),
      )
      t.same([...isFailed].map(failed), told.failures)
      t.same(
        told.all,
        Array.from({ length: 300 }, (_, i) => (isFailed.has(i) ? 'failure' : 'result')),
      )
      t.match(engine.counters(), { requests: told.results.length, failures: { failed: isFailed.size } })
    })
  })
}
t.same(leftovers(rtx), {})
