// attach() with queue: 'shared': front-ends in several threads fill the same batches. sharing-workers.slow.test.ts has
// threads that are ended.
import t from 'tap'
import { type AttachOptions, type DeviceTensor, Engine, type EngineOptions } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { size } from '../support/tiers.js'
import { until } from '../support/waiting.js'
import { leftovers, load, rows, rowsPlan, runtimes, wanted } from './rig.js'
import { exit, full, joining, message, row, shared } from './sharing-rig.js'

t.setTimeout(600_000) // a sanitizer makes it take minutes
process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

for (const runtime of runtimes) {
  const engines = (): number => runtime.live().engines
  const lanes = (): number => runtime.live().lanes

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
      const workers = [1, 2].map((seed) => joining(program, runtime, owner, { seed }))
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
      const other = joining(program, runtime, owner)
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

    await t.test('nothing is left', async (t) => {
      await until(() => Object.keys(leftovers()).length === 0)
      t.same(leftovers(), {})
    })
  })
}
