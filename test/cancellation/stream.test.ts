// What a stream owes to its source, its consumer and a signal: nobody waits for what is not needed, nothing is left.
import { getEventListeners } from 'node:events'
import { mock } from 'node:test'
import t from 'tap'
import { inOrder } from '../../lib/engine/stream.js'
import { Engine, Tensor } from '../../lib/index.js'
import { driven, families, leftovers, load, rows, rowsPlan, wanted } from '../lanes/rig.js'
import { identity, slow } from '../support/models.js'
import { until } from '../support/waiting.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}
function deferred<T>(): Deferred<T> {
  let [resolve, reject]: unknown[] = []
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle))
  return { promise, resolve, reject } as Deferred<T>
}
const never = (): Promise<never> => new Promise(() => {})
/** As many turns as anything here takes that does not wait for something. */
const turns = async (): Promise<void> => {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}
/** Whether it has ended when all that waits for nothing has had its turn. */
const hasSettled = (work: Promise<unknown>): Promise<boolean> => {
  const ended = work.then(
    () => true,
    () => true,
  )
  return Promise.race([ended, turns().then(() => false)])
}
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing',
    (error: unknown) => error,
  )

/** Runs that settle when the test says so, and a source that is asked for its inputs. */
function scene(most: number, options: { signal?: AbortSignal; count?: number } = {}) {
  const runs: (Deferred<string> & { signal: AbortSignal })[] = []
  let [asked, returned] = [0, 0]
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: async () =>
        asked < (options.count ?? Infinity) ? { done: false, value: asked++ } : { done: true, value: undefined },
      return: async () => {
        returned++
        return { done: true, value: undefined }
      },
    }),
  }
  const run = (input: number, signal: AbortSignal): Promise<string> => {
    runs[input] = { ...deferred<string>(), signal }
    return runs[input].promise
  }
  const flow = inOrder(source, { most, signal: options.signal, run })
  return { runs, flow, facts: () => ({ asked, begun: runs.length, returned }) }
}

t.test('as many places as asked, one input for each, the oldest first', async (t) => {
  const { runs, flow, facts } = scene(3, { count: 6 })
  t.same(facts(), { asked: 0, begun: 0, returned: 0 }, 'nothing before the first result is asked for')
  const first = flow.next()
  await turns()
  t.same(facts(), { asked: 3, begun: 3, returned: 0 })
  runs[1]?.resolve('b')
  runs[2]?.resolve('c')
  await turns()
  t.same(facts(), { asked: 3, begun: 3, returned: 0 }, 'what is done keeps its place until it is taken')
  runs[0]?.resolve('a')
  t.same(await first, { done: false, value: 'a' })
  await turns()
  t.equal(facts().begun, 4, 'a place is filled again while the consumer is busy')
  t.same(await flow.next(), { done: false, value: 'b' })
  t.same(await flow.next(), { done: false, value: 'c' })
  await turns()
  for (const i of [5, 4, 3]) runs[i]?.resolve(String(i))
  const rest = []
  for await (const each of flow) rest.push(each)
  t.same(rest, ['3', '4', '5'])
  t.same(facts(), { asked: 6, begun: 6, returned: 0 })
})

t.test('the first failure ends it, however many older ones are under way', async (t) => {
  const { runs, flow, facts } = scene(4)
  const next = failure(flow.next())
  await turns()
  runs[2]?.reject(new RangeError('third'))
  t.match(await next, new RangeError('third'))
  t.same(facts(), { asked: 4, begun: 4, returned: 1 })
  t.ok(runs.every(({ signal }) => signal.aborted))
  runs[0]?.reject(new RangeError('later'))
  t.same(await flow.next(), { done: true, value: undefined })
})

t.test('an abort', async (t) => {
  for (const busy of ['waiting', 'busy'] as const) {
    const controller = new AbortController()
    const { runs, flow, facts } = scene(2, { signal: controller.signal })
    const next = flow.next()
    await turns()
    t.equal(getEventListeners(controller.signal, 'abort').length, 1)
    if (busy === 'busy') {
      runs[0]?.resolve('a')
      await next
      await turns()
    }
    controller.abort(null)
    t.ok(
      runs.slice(1).every(({ signal }) => signal.aborted),
      'what is under way is cancelled, whatever the consumer does',
    )
    t.equal(await failure(busy === 'busy' ? flow.next() : next), null, busy)
    t.equal(facts().returned, 1)
    t.equal(getEventListeners(controller.signal, 'abort').length, 0)
  }
})

t.test('a source that never answers holds up nobody', async (t) => {
  let returned = 0
  const silent = { [Symbol.asyncIterator]: () => ({ next: never, return: () => (returned++, never()) }) }
  const controller = new AbortController()
  const aborted = failure(inOrder(silent, { most: 2, signal: controller.signal, run: never }).next())
  await turns()
  controller.abort('enough')
  t.equal(await aborted, 'enough')
  t.equal(returned, 1, 'it is told')

  // no time passes but what the test lets pass
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let [given, told] = [0, 0]
  const once = {
    [Symbol.asyncIterator]: () => ({
      next: async () => (given++ ? never() : { done: false, value: 1 }),
      return: () => (told++, never()),
    }),
  }
  const busy = inOrder(once, { most: 2, signal: undefined, run: async (x: number) => x })
  t.same(await busy.next(), { done: false, value: 1 })
  await turns()
  t.same({ given, told }, { given: 2, told: 0 }, 'it owes its second input')
  t.equal(await hasSettled(busy.return()), true, 'one that owes an input is not waited for')
  t.equal(told, 1, 'it is told')
  t.same(await busy.next(), { done: true, value: undefined })

  given = told = 0
  const failing = inOrder(once, { most: 2, signal: undefined, run: async () => Promise.reject(new RangeError('mine')) })
  const failed = failure(failing.next())
  t.equal(await hasSettled(failed), true, 'nor is one that was told of a failure')
  t.match(await failed, new RangeError('mine'))
  t.equal(told, 1, 'once')

  let asked = 0
  told = 0
  const next = () => (asked++, { done: false, value: asked })
  const stubborn = { [Symbol.iterator]: () => ({ next, return: (() => (told++, never())) as never }) }
  const idle = inOrder(stubborn, { most: 1, signal: undefined, run: async (x: number) => x })
  t.same(await idle.next(), { done: false, value: 1 })
  await turns()
  const left = idle.return()
  await turns()
  mock.timers.tick(999)
  t.equal(await hasSettled(left), false, 'one that owes nothing may take its time to end')
  mock.timers.tick(1)
  t.equal(await hasSettled(left), true, 'of which there is a second')
  t.same({ asked, told }, { asked: 2, told: 1 }, 'no input is asked for after that')
})

t.test('a consumer that leaves early', async (t) => {
  let ended = ''
  const source = async function* () {
    try {
      for (;;) yield 1
    } finally {
      await turns()
      ended = 'after its last words'
    }
  }
  const signals: AbortSignal[] = []
  const run = (x: number, signal: AbortSignal): Promise<number> =>
    signals.push(signal) === 1 ? Promise.resolve(x) : never()
  for await (const y of inOrder(source(), { most: 3, signal: undefined, run })) {
    t.equal(y, 1)
    await turns()
    break
  }
  t.equal(ended, 'after its last words')
  t.equal(signals.length, 4)
  t.ok(signals.every(({ aborted }) => aborted))
  const leave = async (inputs: Iterable<number>): Promise<void> => {
    for await (const y of inOrder(inputs, { most: 1, signal: undefined, run: async (x: number) => x }))
      if (y === 1) break
  }
  const grumbling = {
    [Symbol.iterator]: () => ({
      next: () => ({ done: false, value: 1 }),
      return: () => {
        throw new RangeError('not yet')
      },
    }),
  }
  await t.rejects(leave(grumbling as Iterable<number>), new RangeError('not yet'), 'as with for await')
})

t.test('sources of every kind', async (t) => {
  const all = async (inputs: Iterable<unknown> | AsyncIterable<unknown>): Promise<unknown[]> => {
    const seen = []
    for await (const y of inOrder(inputs, { most: 2, signal: undefined, run: async (x) => x })) seen.push(y)
    return seen
  }
  t.same(await all([1, Promise.resolve(2), 3]), [1, 2, 3])
  t.same(await all(new Set([1, 2])), [1, 2])
  t.same(await all([]), [])
  t.same(await all(Object.assign([1, 2], { [Symbol.asyncIterator]: undefined })), [1, 2])
  await t.rejects(all([1, Promise.reject(new RangeError('mine'))]), new RangeError('mine'))
  await t.rejects(all({ [Symbol.iterator]: () => ({ next: () => 7 as never }) }), TypeError)
  await t.rejects(
    all({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new RangeError('mine')) }) }),
    new RangeError('mine'),
  )
  await t.rejects(
    all({
      [Symbol.iterator]: () => {
        throw new RangeError('mine')
      },
    }),
    new RangeError('mine'),
  )
})

const engines: [
  string,
  () => Promise<Engine>,
  (seed: number) => Tensor<'float32'>,
  (x: Tensor<'float32'>) => Float32Array,
][] = [
  ...families.map((family): (typeof engines)[0] => [
    family.name,
    () => load(family, rowsPlan(), { lanes: 2 }),
    rows,
    (x) => wanted(x.data),
  ]),
  ['CPU', () => Engine.load(identity('float32', ['N', 3]), { backend: 'cpu' }), rows, (x) => x.data],
]
for (const [name, open, input, answer] of engines) {
  t.test(`${name}: a source that waits for each result`, async (t) => {
    await using engine = await open()
    let arrived = deferred<undefined>()
    let taken = 0
    const source = async function* () {
      for (let i = 0; i < 20; i++) {
        const now = (arrived = deferred<undefined>())
        yield input(i)
        await now.promise
      }
    }
    for await (const y of engine.stream(source())) {
      t.same(y.data, answer(input(taken++)))
      arrived.resolve(undefined)
    }
    t.equal(taken, 20)
  })

  t.test(`${name}: a refused input, a silent source`, async (t) => {
    await using engine = await open()
    const source = async function* () {
      yield input(1)
      yield Tensor.zeros('float32', [1, 7, 7])
      await never()
    }
    const drain = async (inputs: AsyncIterable<Tensor>, signal?: AbortSignal): Promise<void> => {
      for await (const y of engine.stream(inputs as AsyncIterable<Tensor<'float32'>>, { signal })) t.equal(y.size, 3)
    }
    await t.rejects(drain(source()), { code: 'ERR_TRT_SHAPE' })
    const controller = new AbortController()
    const silent = async function* () {
      yield input(1)
      controller.abort('enough')
      await never()
    }
    t.equal(await failure(drain(silent(), controller.signal)), 'enough')
    t.equal(getEventListeners(controller.signal, 'abort').length, 0)
    let opened = false
    const unopened = { [Symbol.asyncIterator]: () => ((opened = true), silent()) }
    t.equal(await failure(drain(unopened, controller.signal)), 'enough')
    t.notOk(opened, 'aborted already: the source is not even opened')
  })
}

t.test('an abort while the engine loads', async (t) => {
  const engine = new Engine(slow(), { backend: 'cpu' })
  const controller = new AbortController()
  const next = failure(engine.stream([Tensor.zeros('float32', [512, 512])], { signal: controller.signal }).next())
  controller.abort('enough')
  t.equal(await next, 'enough')
  t.throws(() => engine.inputs, { code: 'ERR_TRT_NOT_READY' }, 'before it was loaded')
  await engine.close()
})

for (const family of families)
  t.test(`${family.name}: what is under way is cancelled`, async (t) => {
    await using engine = await load(family, rowsPlan())
    await driven({ computeMs: 20 }, async () => {
      const forever = function* () {
        for (;;) yield rows(1)
      }
      for await (const y of engine.stream(forever(), { inFlight: 40 })) if (y.size === 3) break
      const { waiting, cancelled } = engine.stats()
      t.equal(waiting, 0)
      t.ok(cancelled > 20, `${cancelled} left the queue`)
    })
    t.ok(await until(() => engine.stats().inFlight === 0))
  })

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
