// Whoever awaits an operation stands in the stack of its error; who gave an error gets that very one back.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  Builder,
  type BuildOptions,
  Engine,
  EngineCache,
  Plan,
  Refitter,
  Tensor,
  TensorRTError,
} from '../../lib/index.js'
import { readImage } from '../../lib/vision/index.js'
import { driver, families, fanPlan, leftovers, load, planOf, rows, rowsPlan } from '../lanes/rig.js'
import { expand, identity, oneNode, slow } from '../support/models.js'
import { certain, until } from '../support/waiting.js'

type Operation = () => Promise<unknown>

const folder = t.testdir({ 'no.plan': 'none', 'no.jpg': 'none' })
const missing = join(folder, 'missing')
const cpu = { backend: 'cpu' } as const
const damaged = new Uint8Array([8, 7, 1, 2, 3])

async function theOneWhoWaits(operation: Operation): Promise<unknown> {
  const result = await operation()
  return result
}

/**
 * Every operation fails in its way, is a TensorRTError, and names who waits for it; what failed before is not under way
 * any more.
 */
async function showCallers(t: Test, isIdle: () => boolean, operations: Record<string, Operation>): Promise<void> {
  for (const [name, operation] of Object.entries(operations)) {
    await certain(isIdle)
    const error = await theOneWhoWaits(operation).catch((reason: unknown) => reason)
    if (!(error instanceof TensorRTError)) t.fail(name, { error })
    else t.match(error.stack, /\n {4}at .*theOneWhoWaits /, `${name}: ${error.code}`)
  }
}

for (const family of families)
  await t.test(family.name, async (t) => {
    const { path: tensorrt, control } = family
    const failed = new Engine(missing)
    await failed.ready.catch(() => {})
    const x = rows(1)
    const wrong = Tensor.zeros('float32', [1, 7, 7])
    const young = (): Engine => new Engine(missing)
    const fixed = planOf(family, fanPlan(1))
    const cache = new EngineCache({ folder: join(folder, 'cache') })
    await using engine = await load(family, rowsPlan(), { tensorrt: { cudaGraph: false } })
    await using builder = new Builder({ tensorrt: { library: tensorrt } })
    await using isolated = new Builder({ tensorrt: { library: tensorrt }, isolation: 'process' })
    const drain = async (of: Engine, ...inputs: Tensor[]): Promise<void> => {
      for await (const y of of.stream(inputs)) if (y.size === 0) break
    }
    const whenItFails = (call: Operation): Operation => {
      return () => {
        control.failNth('enqueueV3', 1)
        return call()
      }
    }
    const whenItNeverAnswers = (call: Operation): Operation => {
      return () => {
        driver.set({ clock: 'manual', computeMs: 1 })
        return call().finally(() => driver.set({ clock: 'real', computeMs: 0 }))
      }
    }
    // what a stream that failed had under way would take the next failure
    const isIdle = (): boolean => engine.stats().waiting === 0 && engine.stats().inFlight === 0
    await showCallers(t, isIdle, {
      'infer, refused': () => engine.infer(wrong),
      'infer, failed': whenItFails(() => engine.infer(x)),
      'infer with limits, refused': () => engine.infer(wrong, { timeoutMs: 60_000 }),
      'infer with limits, failed': whenItFails(() => engine.infer(x, { timeoutMs: 60_000 })),
      'infer, timed out': whenItNeverAnswers(() => engine.infer(x, { timeoutMs: 1 })),
      'infer, before a load fails': () => young().infer(x),
      'infer with limits, before a load fails': () => young().infer(x, { timeoutMs: 60_000 }),
      'infer, after a load failed': () => failed.infer(x),
      'infer, before close': () => {
        const closing = new Engine(fixed, { tensorrt: { library: tensorrt } })
        void closing.close()
        return closing.infer(x)
      },
      'infer, among others': whenItFails(() => Promise.all([engine.infer(x)])),
      'inferSync, after a load failed': async () => failed.inferSync(x),
      'inferSync, failed': whenItFails(async () => engine.inferSync(x)),
      inputs: async () => failed.inputs,
      allocate: async () => engine.allocate('z', [1]),
      'stream, refused': () => drain(engine, wrong),
      'stream, failed': whenItFails(() => drain(engine, x, x)),
      'stream, after a load failed': () => drain(failed, x),
      'warmup, failed': whenItFails(() => engine.warmup()),
      'warmup, after a load failed': () => failed.warmup(),
      'audit, refused': () => engine.layers({ profile: 9 }),
      'audit, refused, with a signal': () => engine.layers({ profile: 9, signal: new AbortController().signal }),
      'audit, before a load fails': () => young().layers(),
      ready: () => young().ready,
      'Engine.load, no file': () => Engine.load(missing),
      'Engine.load, no model': () => Engine.load(join(folder, 'no.plan')),
      'Engine.load, not loaded': () => {
        control.failNth('deserializeCudaEngine', 1)
        return Engine.load(fixed, { tensorrt: { library: tensorrt } })
      },
      'Engine.load, damaged': () =>
        Engine.load(damaged, { tensorrt: { library: tensorrt }, cache: join(folder, 'cache') }),
      'Engine.load, damaged, without a cache': () =>
        Engine.load(damaged, { tensorrt: { library: tensorrt }, cache: false }),
      'Engine.attach': () => Engine.attach({ pid: process.pid, id: 'none' }),
      'Builder.build': () => builder.build(damaged),
      'Builder.build, no file': () => builder.build(missing),
      'Builder.build, in a process': () => isolated.build(damaged),
      'Builder.parse': () => builder.parse(damaged),
      'EngineCache.plan, damaged': () => cache.plan(damaged, { builder: { tensorrt: { library: tensorrt } } }),
      'EngineCache.plan, no file': () => cache.plan(missing, { builder: { tensorrt: { library: tensorrt } } }),
      'EngineCache.plan, no parser': () =>
        cache.plan(oneNode('NoSuchOperator', [1, 4]), { builder: { tensorrt: { library: tensorrt } } }),
      'Plan.load': () => Plan.load(missing),
      'Plan.load, no plan': () => Plan.load(join(folder, 'no.plan')),
      'Plan.inspect': () => Plan.inspect(missing),
      'Plan.inspect of bytes': () => Plan.inspect(damaged),
      'plan.save': async () => (await builder.build(oneNode('Relu', [1, 4]))).save(join(missing, 'x.plan')),
      'Refitter.weights, no file': () => new Refitter(missing, { tensorrt: { library: tensorrt } }).weights(),
      'Refitter.weights, not refittable': () => new Refitter(fixed, { tensorrt: { library: tensorrt } }).weights(),
      'Refitter.set': () => new Refitter(fixed, { tensorrt: { library: tensorrt } }).set('x', x),
      'Refitter.setFromOnnx': () => new Refitter(fixed, { tensorrt: { library: tensorrt } }).setFromOnnx(damaged),
      'Refitter.refit': () => new Refitter(fixed, { tensorrt: { library: tensorrt } }).refit(),
    })
    await cache.close()
    await engine.close()
    t.ok(await until(() => control.stats().live.engines === 0))
  })

await t.test('the first line of a stack is the caller', async (t) => {
  await using engine = await Engine.load(identity(), cpu)
  const operations: Record<string, Operation> = {
    'Engine.load': () => Engine.load(missing, cpu),
    infer: () => engine.infer({}),
    readImage: () => readImage(missing),
  }
  for (const [name, operation] of Object.entries(operations)) {
    const error = (await theOneWhoWaits(operation).catch((reason: unknown) => reason)) as TensorRTError
    t.match(error.stack, /^TensorRTError: [^]*?\n {4}at [^\n]*(stacks\.test|theOneWhoWaits)/, name)
    const [, first = ''] =
      error.stack?.slice(error.stack.indexOf(error.message) + error.message.length).split('\n') ?? []
    t.notMatch(first, /\/lib\//, `${name}: ${first}`)
    error.stack = 'mine'
    t.equal(error.stack, 'mine')
  }
})

await t.test('CPU', async (t) => {
  await using engine = await Engine.load(expand(), cpu)
  // seconds, of which it takes the first millisecond
  await using lazy = await Engine.load(slow(512, 400), cpu)
  const inputs = { x: Tensor.from(new Float32Array(3)), s: Tensor.from(BigInt64Array.of(7n)) }
  const { signal } = new AbortController()
  await showCallers(t, () => true, {
    'infer, refused': () => engine.infer({}),
    'infer, failed': () => engine.infer(inputs),
    'infer with limits, failed': () => engine.infer(inputs, { signal, timeoutMs: 60_000 }),
    'infer, timed out': () => lazy.infer(Tensor.zeros('float32', [512, 512]), { timeoutMs: 1 }),
    'infer, before a load fails': () => new Engine(damaged, cpu).infer(inputs),
    'Engine.load': () => Engine.load(damaged, cpu),
    'Engine.load, with a signal': () => Engine.load(damaged, { ...cpu, signal }),
    audit: () => engine.layers(),
    readImage: () => readImage(missing),
    'readImage, no picture': () => readImage(join(folder, 'no.jpg')),
    'readImage, with a signal': () => readImage(missing, { signal }),
  })
})

await t.test('an error that was given comes back itself', async (t) => {
  const [{ path: tensorrt }] = families
  const model = oneNode('Relu', [1, 4])
  const x = Tensor.from(new Float32Array(3))
  const came = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)
  const open = new Engine(identity(), cpu)
  const aborted: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    infer: (signal) => open.infer(x, { signal }),
    stream: (signal) => open.stream([x], { signal }).next(),
    warmup: (signal) => open.warmup({ signal }),
    'Engine.load': (signal) => Engine.load(identity(), { ...cpu, signal }),
    ready: (signal) => new Engine(identity(), { ...cpu, signal }).ready,
    'infer, after its load was aborted': async (signal) => {
      const engine = new Engine(identity(), { ...cpu, signal })
      await engine.ready.catch(() => {})
      return engine.infer(x)
    },
    'Builder.build': (signal) => new Builder({ tensorrt: { library: tensorrt } }).build(model, { signal }),
    'EngineCache.plan': (signal) =>
      new EngineCache({ folder }).plan(model, { builder: { tensorrt: { library: tensorrt } }, signal }),
    'Refitter.weights': (signal) => new Refitter(missing).weights({ signal }),
    readImage: (signal) => readImage(missing, { signal }),
  }
  for (const [name, begin] of Object.entries(aborted)) {
    const early = new TensorRTError('ERR_TRT_TIMEOUT', 'mine')
    t.equal(await came(begin(AbortSignal.abort(early))), early, `${name}, before`)
    const late = new TensorRTError('ERR_TRT_TIMEOUT', 'mine')
    const controller = new AbortController()
    const error = came(begin(controller.signal))
    controller.abort(late)
    t.equal(await error, late, `${name}, in the midst`)
  }
  const thrown: Record<string, (options: BuildOptions) => Promise<unknown>> = {
    build: (options) => new Builder({ tensorrt: { library: tensorrt } }).build(model, options),
    'build in a process': (options) =>
      new Builder({ tensorrt: { library: tensorrt }, isolation: 'process' }).build(model, options),
    'EngineCache.plan': (options) =>
      new EngineCache({ folder: join(folder, 'other') }).plan(model, {
        builder: { tensorrt: { library: tensorrt } },
        ...options,
      }),
  }
  for (const [name, build] of Object.entries(thrown)) {
    const error = new TensorRTError('ERR_TRT_TIMEOUT', 'mine')
    const onProgress = (): never => {
      throw error
    }
    t.equal(await came(build({ onProgress })), error, name)
  }
  await open.close()
})

await t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
