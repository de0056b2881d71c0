// attach() with queue: 'shared': front-ends in several threads fill the same batches.
import type { Worker } from 'node:worker_threads'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  type AttachOptions,
  type BatchingOptions,
  type DeviceTensor,
  Engine,
  type EngineOptions,
  Tensor,
} from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { size } from '../support/tiers.js'
import { until } from '../support/waiting.js'
import { startWorker } from './children.js'
import { driver, leftovers, load, rows, rowsPlan, runtimes, wanted } from './rig.js'

t.setTimeout(600_000) // a sanitizer makes it take minutes
process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const shared = { queue: 'shared' } as const
/** Only what is full leaves, or what somebody who closes waits for. */
const full = (maxBatch = 16, more: Partial<BatchingOptions> = {}): EngineOptions => ({
  batching: { maxBatch, maxDelayMs: 60_000, ...more },
})

/** The next message of a worker; what it throws rejects. */
const message = (worker: Worker): Promise<unknown> =>
  new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
const exit = (worker: Worker): Promise<number> => new Promise((resolve) => worker.once('exit', resolve))

/** What a worker begins with: `engine` is its front-end, `row(i)` a request, `said()` the next message to it. */
const joined = `
  const engine = await Engine.attach(workerData, { queue: 'shared' })
  const row = (i) => new Tensor('float32', Float32Array.of(i, -i, i / 2), [1, 3])
  const right = (i, y) => y.data[0] === Math.max(0, 2 * i + 1) && y.data[1] === Math.max(0, 1 - 2 * i) && y.data[2] === Math.max(0, i + 1)
  const said = () => new Promise((resolve) => parentPort.once('message', resolve))
`
const row = (i: number): Tensor<'float32'> => new Tensor('float32', Float32Array.of(i, -i, i / 2), [1, 3])

for (const runtime of runtimes) {
  const engines = (): number => runtime.live().engines
  const lanes = (): number => runtime.live().lanes
  const worker = (program: string, owner: Engine): Worker => startWorker(joined + program, runtime, owner.share())

  await t.test(runtime.name, async (t) => {
    await t.test('two workers and the owner fill one batch', async (t) => {
      await using owner = await load(runtime, rowsPlan(), full())
      const program = `
        const calls = Array.from({ length: 5 }, (_, i) => engine.infer(row(100 * workerData.seed + i)))
        parentPort.postMessage('asked')
        const results = await Promise.all(calls)
        parentPort.postMessage(results.every((y, i) => right(100 * workerData.seed + i, y)))
        await engine.close()
      `
      const workers = [1, 2].map((seed) => startWorker(joined + program, runtime, { ...owner.share(), seed }))
      t.same(await Promise.all(workers.map(message)), ['asked', 'asked'])
      t.match(owner.stats(), { waiting: 10, batches: 0 })
      t.equal(lanes(), 1)
      const told = workers.map(message)
      const ends = workers.map(exit)
      const results = await Promise.all(Array.from({ length: 6 }, (_, i) => owner.infer(row(i))))
      results.forEach((y, i) => t.same(y.data, wanted(row(i).data)))
      t.same(await Promise.all(told), [true, true])
      t.match(owner.stats(), { waiting: 0, batches: 1, completed: 16, failed: 0 })
      t.same(await Promise.all(ends), [0, 0])
      t.equal(lanes(), 1)
    })

    await t.test('what of one thread is cut short leaves what another asked for, of the same number', async (t) => {
      await using owner = await load(runtime, rowsPlan(), full())
      // the first request of its thread, and so are the aborted ones here, sooner or later
      const program = `
        const first = engine.infer(row(1))
        const others = [2, 3].map((i) => engine.infer(row(i), { signal: AbortSignal.timeout(30_000) }))
        parentPort.postMessage('asked')
        parentPort.postMessage((await Promise.all([first, ...others])).every((y, i) => right(i + 1, y)))
        await engine.close()
      `
      const other = worker(program, owner)
      await message(other)
      const told = message(other)
      const ended = exit(other)
      const controller = new AbortController()
      const given = Array.from({ length: 8 }, (_, i) => owner.infer(row(i), { signal: controller.signal }))
      const timed = failureOf(() => owner.infer(row(9), { timeoutMs: 1 }))
      t.equal((await timed).code, 'ERR_TRT_TIMEOUT')
      controller.abort(new Error('mine'))
      for (const call of given) await t.rejects(call, { message: 'mine' })
      t.match(owner.stats(), { waiting: 3, cancelled: 9 })
      await Promise.all(Array.from({ length: 13 }, (_, i) => owner.infer(row(i))))
      t.equal(await told, true)
      t.match(owner.stats(), { batches: 1, completed: 16 })
      await ended
    })

    await t.test('the owner closes first, then the others', async (t) => {
      const owner = await load(runtime, rowsPlan(), full())
      const token = owner.share()
      const first = await Engine.attach(token, shared)
      const second = await Engine.attach(first.share(), shared)
      t.same([first.share(), lanes(), engines()], [token, 1, 1])
      t.same(
        [first.inputs, first.outputs, first.backend, first.description],
        [owner.inputs, owner.outputs, runtime.backend, owner.description],
      )
      const calls = [owner, first, second].map((engine, i) => engine.infer(row(i)))
      const [mine, ...beside] = calls
      await owner.close()
      t.same((await mine)?.data, wanted(row(0).data), 'it waits for no more rows')
      for (const [i, call] of beside.entries()) t.same((await call).data, wanted(row(i + 1).data))
      t.match(await failureOf(() => owner.infer(row(1))), { code: 'ERR_TRT_CLOSED' })
      t.match(await failureOf(() => owner.inferSync(row(1))), { code: 'ERR_TRT_CLOSED' })
      t.equal(first.stats().batches, 1)
      const third = await Engine.attach(token, shared)
      t.same(
        [first, second, third].map((engine) => engine.inferSync(row(3)).data),
        Array(3).fill(wanted(row(3).data)),
      )
      const last = [first, second, third].map((engine, i) => engine.infer(row(i)))
      await Promise.all([first.close(), second.close()])
      t.ok(lanes() >= 1)
      t.equal(engines(), 1, 'the third has it')
      await third.close()
      for (const [i, call] of last.entries()) t.same((await call).data, wanted(row(i).data))
      t.same([lanes(), engines()], [0, 0], 'the last one frees')
      t.match(await failureOf(() => Engine.attach(token, shared)), {
        code: 'ERR_TRT_TOKEN',
        message: /closed everywhere/,
      })
    })

    await t.test('a queue that is closed, of an engine that is not', async (t) => {
      const owner = await load(runtime, rowsPlan(), full())
      const token = owner.share()
      await using own = await Engine.attach(token)
      await owner.close()
      t.match(await failureOf(() => Engine.attach(token, shared)), {
        code: 'ERR_TRT_TOKEN',
        message: /The queue .* closed everywhere.*queue: 'own'/,
      })
      t.same((await own.infer(row(1))).data, wanted(row(1).data))
    })

    await t.test('attach while the owner closes', async (t) => {
      for (let i = 0; i < size(10, 100); i++) {
        const owner = await load(runtime, rowsPlan())
        const attaching = Engine.attach(owner.share(), shared)
        const closing = owner.close()
        const attached = await attaching.catch((error: unknown) => error)
        await closing
        if (attached instanceof Engine) {
          t.same((await attached.infer(rows(i))).data, wanted(rows(i).data))
          await attached.close()
        } else t.match(attached, { code: 'ERR_TRT_TOKEN' })
        t.equal(engines(), 0)
      }
    })

    await t.test('all that an engine does goes through', async (t) => {
      await using owner = await load(runtime, rowsPlan(), {
        lanes: 2,
        batching: { maxBatch: 4, preferred: [2] },
        maxQueue: 9,
        maxQueueBytes: 400,
      })
      const declared = { ...shared, inputs: { x: 'float32' }, outputs: { y: 'float32' } } as const
      await using engine = await Engine.attach(owner.share(), declared)
      t.equal(lanes(), 2)
      await engine.warmup({ iterations: 2 })
      const device = { location: 'device' } as const
      {
        using there = await engine.infer(row(1), device)
        using again = await owner.infer(there, device)
        t.same((await engine.infer(again as DeviceTensor<'float32'>)).data, wanted(wanted(wanted(row(1).data))))
        t.equal(engine.memory().tensors, there.byteLength + again.byteLength)
      }
      const [x, y] = [engine.allocate('x', [1, 3]), engine.allocate('y', [1, 3])]
      x.data.set(row(7).data)
      t.equal((await engine.infer({ x }, { into: { y } })).y, y)
      t.same(y.data, wanted(row(7).data))
      t.same(engine.inferSync(row(8)).data, wanted(row(8).data))
      let i = 0
      for await (const result of engine.stream(Array.from({ length: 20 }, (_, k) => row(k))))
        t.same(result.data, wanted(row(i++).data))
      t.equal(i, 20)
      t.match(await failureOf(() => engine.infer(rows(1, 5))), { code: 'ERR_TRT_SHAPE', message: /maxBatch/ })
      t.match(await failureOf(() => Engine.attach(owner.share(), { ...declared, inputs: { x: 'int8' } })), {
        code: 'ERR_TRT_DECLARATION',
      })
      t.equal((await engine.infer(row(2), { timeoutMs: 60_000 })).data[0], 5)
      await t.rejects(engine.infer(row(2), { signal: AbortSignal.abort(new Error('mine')) }), { message: 'mine' })
      t.same(engine.stats(), owner.stats())
      await using full = await load(runtime, rowsPlan(), {
        batching: { maxBatch: 16, maxDelayMs: 60_000 },
        maxQueue: 2,
      })
      await using beside = await Engine.attach(full.share(), shared)
      const waiting = [full.infer(row(1)), beside.infer(row(2))]
      t.match(await failureOf(() => beside.infer(row(3))), { code: 'ERR_TRT_QUEUE_FULL' })
      t.match(await failureOf(() => full.infer(row(3))), { code: 'ERR_TRT_QUEUE_FULL' })
      await full.close()
      t.equal((await Promise.all(waiting)).length, 2)
    })

    await t.test('options that are refused', async (t) => {
      await using owner = await load(runtime, rowsPlan())
      const given = { lanes: 2, batching: { maxBatch: 4 }, maxQueue: 4, maxQueueBytes: 400 }
      const ofTensorRT = { profile: 0, priority: 'high', cudaGraph: false, wait: 'spin' }
      const cases = [
        ...Object.entries(given).map(([name, value]) => [name, { [name]: value }, { [name]: undefined }] as const),
        ...Object.entries(ofTensorRT).map(
          ([name, value]) =>
            [`tensorrt.${name}`, { tensorrt: { [name]: value } }, { tensorrt: { [name]: undefined } }] as const,
        ),
      ]
      for (const [name, option, nothing] of cases) {
        const refused = {
          code: 'ERR_TRT_INVALID_ARGUMENT',
          message: new RegExp(`^Expected no ${name} beside queue 'shared'.* for ${name} but received`),
        }
        t.match(await failureOf(() => Engine.attach(owner.share(), { ...shared, ...option } as AttachOptions)), refused)
        await using own = await Engine.attach(owner.share(), { queue: 'own', ...nothing })
        t.same((await own.infer(row(1))).data, wanted(row(1).data))
      }
      for (const queue of ['', 'Shared', 1, null, {}, true]) {
        t.match(await failureOf(() => Engine.attach(owner.share(), { queue } as unknown as AttachOptions)), {
          code: 'ERR_TRT_INVALID_ARGUMENT',
          message: /queue/,
        })
      }
      t.match(await failureOf(() => load(runtime, rowsPlan(), shared as EngineOptions)), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /Unknown option "queue"/,
      })
      await t.rejects(Engine.attach(owner.share(), { ...shared, signal: AbortSignal.abort(new Error('mine')) }), {
        message: 'mine',
      })
      for (const id of ['', 'f'.repeat(32)])
        t.match(await failureOf(() => Engine.attach({ pid: process.pid, id }, shared)), { code: 'ERR_TRT_TOKEN' })
    })

    for (const [what, program] of [
      ['', 'for (let i = 0; i < 7; i++) engine.infer(row(i)); parentPort.postMessage(0)'],
      [
        ' from allocated tensors to others',
        "for (let i = 0; i < 7; i++) engine.infer({ x: engine.allocate('x', [1, 3]) }, { into: { y: engine.allocate('y', [1, 3]) } }); parentPort.postMessage(0)",
      ],
    ] as const) {
      await t.test(`a worker is terminated while its requests wait${what}`, async (t) => {
        await using owner = await load(runtime, rowsPlan(), full())
        const other = worker(program, owner)
        const calls = Array.from({ length: 3 }, (_, i) => owner.infer(row(i)))
        await message(other)
        for (let i = 3; i < 6; i++) calls.push(owner.infer(row(i)))
        t.equal(owner.stats().waiting, 13)
        await other.terminate()
        t.match(owner.stats(), { waiting: 6, cancelled: 7 }, 'they are taken out')
        t.equal(owner.memory().queued, 6 * 12)
        for (let i = 6; i < 16; i++) calls.push(owner.infer(row(i)))
        for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(row(i).data))
        t.match(owner.stats(), { waiting: 0, batches: 1, completed: 16 })
      })
    }

    for (const [what, program] of [
      [
        'with work under way',
        'parentPort.postMessage(0); for (;;) await Promise.all(Array.from({ length: 20 }, (_, i) => engine.infer(row(i))))',
      ],
      [
        'with tensors that stay',
        "parentPort.postMessage(0); globalThis.kept = []; for (let i = 0; ; i++) { kept.push(await engine.infer(row(i), { location: 'device' })); engine.infer(kept.at(-1)) }",
      ],
      [
        'in inferSync',
        "parentPort.postMessage(0); for (let i = 0; ; i++) { if (!right(i, engine.inferSync(row(i)))) throw new Error('wrong'); await soon(0) }",
      ],
      [
        'attaching and closing',
        "parentPort.postMessage(0); for (let i = 0; ; i++) { const e = await Engine.attach(workerData, { queue: 'shared' }); e.infer(row(i)).catch(() => {}); e.close() }",
      ],
    ] as const) {
      await t.test(`a worker is terminated ${what}`, async (t) => {
        await using owner = await load(runtime, rowsPlan(), { lanes: 2, batching: { maxBatch: 8, maxDelayMs: 1 } })
        driver.set({ computeMs: 1 })
        for (let round = 0; round < size(3, 10); round++) {
          const other = worker(program, owner)
          await message(other)
          const calls = Array.from({ length: 20 }, (_, i) => owner.infer(row(round * 5 + i)))
          await sleep((round * 7) % 23)
          await other.terminate()
          for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(row(round * 5 + i).data))
          t.same((await owner.infer(row(round))).data, wanted(row(round).data), 'the others go on')
          t.ok(await until(() => owner.stats().waiting + owner.stats().inFlight === 0), 'nothing of it is left')
        }
        driver.set({ computeMs: 0 })
      })
    }

    await t.test('the owner’s thread ends amid work, and its queue goes on', async (t) => {
      const program = `
        const owner = await load({ lanes: 2, batching: { maxBatch: 8, maxDelayMs: 1 } })
        parentPort.postMessage(owner.share())
        for (;;) await Promise.all(Array.from({ length: 20 }, () => call(owner)))
      `
      for (let round = 0; round < size(3, 10); round++) {
        const other = startWorker(program, runtime)
        const token = (await message(other)) as ReturnType<Engine['share']>
        const engine = await Engine.attach(token, shared)
        const calls = Array.from({ length: 30 }, (_, i) => engine.infer(row(i)))
        await other.terminate()
        for (const [i, y] of (await Promise.all(calls)).entries()) t.same(y.data, wanted(row(i).data))
        t.same((await engine.infer(row(5))).data, wanted(row(5).data))
        t.ok(lanes() >= 2)
        t.equal(engines(), 1, 'the owner’s, whose thread has ended')
        await engine.close()
        t.same([lanes(), engines()], [0, 0])
      }
    })

    await t.test('nothing is left', async (t) => {
      await until(() => Object.keys(leftovers()).length === 0)
      t.same(leftovers(), {})
    })
  })
}
