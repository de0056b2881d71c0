// share() and attach(): one engine's weights, lanes of one's own, in this thread and in others.
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { Engine, type EngineToken, type TensorRTError } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { size } from '../support/tiers.js'
import { startWorker } from './children.js'
import { leftovers, load, rows, rowsPlan, runtimes, wanted } from './rig.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

for (const runtime of runtimes) {
  const engines = (): number => runtime.live().engines

  await t.test(runtime.name, async (t) => {
    await t.test('in one thread: the weights once, each with lanes of its own', async (t) => {
      const owner = await load(runtime, rowsPlan())
      const token = owner.share()
      t.match(token, { pid: process.pid, id: /^[0-9a-f]{32}$/ })
      t.same(owner.share(), token, 'the same token each time')
      const first = await Engine.attach(token, { lanes: 2 })
      const second = await Engine.attach(structuredClone(token), { batching: { maxBatch: 8, maxDelayMs: 1000 } })
      t.equal(engines(), 1)
      t.equal(runtime.live().lanes, 4)
      t.same(first.inputs, owner.inputs)
      t.equal(first.backend, runtime.backend)
      t.same(second.share(), token, 'who attached may pass it on')
      const all = [owner, first, second].map((engine) =>
        Promise.all(Array.from({ length: 16 }, (_, i) => engine.infer(rows(i)))),
      )
      for (const results of await Promise.all(all)) results.forEach((y, i) => t.same(y.data, wanted(rows(i).data)))
      t.match(
        [owner, first, second].map((engine) => engine.stats().batches),
        [16, 16, 2],
      )
      await owner.close()
      t.equal(engines(), 1, 'the owner may go first')
      t.same((await first.infer(rows(1))).data, wanted(rows(1).data))
      await using third = await Engine.attach(token)
      await first.close()
      await second.close()
      t.same(third.inferSync(rows(2)).data, wanted(rows(2).data))
      await third.close()
      t.equal(engines(), 0, 'the last one frees')
      t.match(await failureOf(() => Engine.attach(token)), { code: 'ERR_TRT_TOKEN', message: /closed everywhere/ })
    })

    await t.test('attach while the owner closes', async (t) => {
      for (let i = 0; i < size(10, 100); i++) {
        const owner = await load(runtime, rowsPlan())
        const attaching = Engine.attach(owner.share())
        const closing = owner.close()
        // whoever comes first: it goes on, or says that it came too late
        const attached = await attaching.catch((error: unknown) => error as TensorRTError)
        await closing
        if (attached instanceof Engine) {
          t.same((await attached.infer(rows(i))).data, wanted(rows(i).data))
          await attached.close()
        } else t.equal(attached.code, 'ERR_TRT_TOKEN')
        t.equal(engines(), 0)
      }
    })

    await t.test('tokens that are none', async (t) => {
      await using owner = await load(runtime, rowsPlan())
      const { pid, id } = owner.share()
      const table: [unknown, string][] = [
        ...[undefined, null, '', id, 7, {}, [], { pid }, { id }, { pid: String(pid), id }, { pid, id: 5 }].map(
          (token): [unknown, string] => [token, 'ERR_TRT_INVALID_ARGUMENT'],
        ),
        [{ pid: pid + 1, id }, 'ERR_TRT_TOKEN'],
        [{ pid: 0, id }, 'ERR_TRT_TOKEN'],
        ...['', 'x', id.slice(1), id.toUpperCase() + '0', `${id}\0`, 'f'.repeat(32), '💥'.repeat(5000)].map(
          (other): [unknown, string] => [{ pid, id: other }, 'ERR_TRT_TOKEN'],
        ),
      ]
      for (const [token, code] of table)
        t.equal((await failureOf(() => Engine.attach(token as EngineToken))).code, code)
      t.match(await failureOf(() => Engine.attach({ pid: 1, id })), {
        message: /of process 1, and this is process \d+/,
      })
      t.equal(
        (await failureOf(() => Engine.attach(owner.share(), { device: 0 } as object))).code,
        'ERR_TRT_INVALID_ARGUMENT',
      )
      if (runtime.backend === 'cpu') {
        await using attached = await Engine.attach(owner.share(), { tensorrt: { profile: 3 } })
        t.match(attached.backendReason, /tensorrt\.profile/, 'the group of the other runtime')
      } else
        t.equal(
          (await failureOf(() => Engine.attach(owner.share(), { tensorrt: { profile: 3 } }))).code,
          'ERR_TRT_INVALID_ARGUMENT',
        )
      t.equal(
        (await failureOf(() => Engine.attach(owner.share(), { batching: { maxBatch: 999 } }))).code,
        'ERR_TRT_INVALID_ARGUMENT',
      )
      await t.rejects(Engine.attach(owner.share(), { signal: AbortSignal.abort(new Error('mine')) }), {
        message: 'mine',
      })
    })

    await t.test('worker_threads on one engine', async (t) => {
      const owner = await load(runtime, rowsPlan())
      const program = `
        const engine = await Engine.attach(workerData, { lanes: 2 })
        parentPort.postMessage('attached')
        await new Promise((resolve) => parentPort.once('message', resolve))
        let sum = 0
        for (let i = 0; i < 50; i++) sum += (await engine.infer(new Tensor('float32', Float32Array.of(i, i, i), [1, 3]))).data[0]
        parentPort.postMessage(sum)
        if (engine.share().id !== workerData.id) throw new Error('another token')
      ` // it ends without a close
      const workers = Array.from({ length: 4 }, () => startWorker(program, runtime, owner.share()))
      const message = (worker: Worker): Promise<unknown> =>
        new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
      t.same(await Promise.all(workers.map(message)), Array(4).fill('attached'))
      t.equal(engines(), 1)
      await owner.close()
      t.equal(engines(), 1)
      const sums = workers.map(message)
      const ended = workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
      for (const worker of workers) worker.postMessage('go')
      t.same(await Promise.all(sums), Array(4).fill(50 * 49 + 50))
      t.same(await Promise.all(ended), [0, 0, 0, 0])
      t.equal(engines(), 0, 'the last thread frees')
    })

    await t.test('nothing is left', (t) => {
      t.same(leftovers(), {})
      t.end()
    })
  })
}
