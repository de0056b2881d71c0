import { setTimeout as sleep } from 'node:timers/promises'
import * as ort from 'onnxruntime-node'
import t from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { watchEventLoop } from '../support/event-loop.js'
import { identity, slow } from '../support/models.js'
import { realModels } from '../support/real-models.js'
import { pattern } from '../support/values.js'

const cpu = { backend: 'cpu' } as const

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

t.test('the event loop runs on while the detector runs', async (t) => {
  const input = pattern('float32', [1, 3, 960, 960])
  const session = await ort.InferenceSession.create(realModels.detector, { logSeverityLevel: 4 })
  const feeds = { [session.inputNames[0] as string]: new ort.Tensor('float32', input.data, input.shape) }
  const direct = await watchEventLoop(() => session.run(feeds))
  await session.release()
  await using engine = await Engine.load(realModels.detector, cpu)
  const ours = await watchEventLoop(() => engine.infer(input))
  t.comment(
    `direct: blocked ${direct.longest.toFixed(1)} of ${direct.total.toFixed(1)} ms; Engine: ${ours.longest.toFixed(1)} of ${ours.total.toFixed(1)} ms`,
  )
  t.ok(ours.ticks > 10, `${ours.ticks} ticks of a timer`)
})

t.test('abort', async (t) => {
  await using engine = await Engine.load(slow(), cpu)
  const x = pattern('float32', [512, 512])
  const reason = new Error('enough')
  await t.rejects(engine.infer(x, { signal: AbortSignal.abort(reason) }), reason, 'before')
  const controller = new AbortController()
  const running = Array.from({ length: 6 }, () => engine.infer(x, { signal: controller.signal }))
  let free = false
  const behind = engine.infer(x).then(() => (free = true))
  setTimeout(() => controller.abort(reason), 5)
  for (const call of running) t.equal(await call.catch((e: unknown) => e), reason, 'running and waiting')
  t.notOk(free, 'rejected before the worker was free')
  await behind
  await t.rejects(engine.infer(x, { signal: controller.signal }), reason, 'an old signal')
})

t.test('timeout', async (t) => {
  await using engine = new Engine(slow(), cpu)
  const x = pattern('float32', [512, 512])
  await t.rejects(
    engine.infer(x, { timeoutMs: 1 }),
    { code: 'ERR_TRT_TIMEOUT', message: 'Not done within 1 ms' },
    'while loading',
  )
  await engine.ready
  await t.rejects(engine.infer(x, { timeoutMs: 1 }), { code: 'ERR_TRT_TIMEOUT' }, 'while running')
  t.ok(await engine.infer(x, { timeoutMs: 60_000, signal: new AbortController().signal }), 'and the next call works')
})

t.test('loading can be aborted', async (t) => {
  const reason = new Error('no')
  await t.rejects(Engine.load(identity(), { ...cpu, signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  const engine = new Engine(realModels.detector, { ...cpu, signal: controller.signal })
  const call = engine.infer(pattern('float32', [1, 3, 32, 32])).catch((e: unknown) => e)
  controller.abort(reason)
  await t.rejects(engine.ready, reason)
  t.equal(await call, reason)
  t.throws(() => engine.inputs, reason)
  await engine.close()
})

t.test('close in every state', async (t) => {
  const x = Tensor.from(Float32Array.of(1))
  const closed = { code: 'ERR_TRT_CLOSED' }

  const loading = new Engine(identity(), cpu)
  const early = t.rejects(loading.infer(x), closed, 'a call that waits for the load')
  await Promise.all([loading.close(), loading.close()])
  await t.rejects(loading.ready, closed, 'while loading')
  await t.rejects(loading.infer(x), closed)
  await early

  const idle = await Engine.load(identity(), cpu)
  await idle.close()
  await idle.close()
  await t.rejects(idle.infer(x), closed, 'idle')

  const running = await Engine.load(slow(256, 20), cpu)
  const calls = Array.from({ length: 5 }, () => running.infer(pattern('float32', [256, 256])))
  const closing = running.close()
  await t.rejects(running.infer(pattern('float32', [256, 256])), closed, 'new work is refused')
  t.equal((await Promise.all(calls)).length, 5, 'running work ends')
  await closing

  const failed = new Engine('/none.onnx', cpu)
  await failed.close()
  await t.rejects(failed.ready, { code: /^ERR_TRT_(FILE|CLOSED)$/ }, 'failed')

  const disposed = await Engine.load(identity(), cpu)
  await disposed[Symbol.asyncDispose]()
  await t.rejects(disposed.infer(x), closed, 'await using')
})

t.test('a getter that closes the engine in the midst of a call', async (t) => {
  const engine = await Engine.load(identity(), cpu)
  const input = {
    get x() {
      void engine.close()
      return Tensor.from(Float32Array.of(1))
    },
  }
  await t.rejects(engine.infer(input), { code: 'ERR_TRT_CLOSED' })
  await engine.close()
})

t.test('failed loads that nobody looks at', async () => {
  for (const source of ['/none.onnx', new Uint8Array(9), Buffer.from('ftrt')]) new Engine(source, cpu)
  await sleep(50)
})
