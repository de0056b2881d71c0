// A warm-up takes no more memory than work will, and ends when it is told to.
import { getEventListeners } from 'node:events'
import t from 'tap'
import { AddonBackend } from '../../lib/backend/addon.js'
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { onEachWay } from '../engine/ways.js'
import { driven, driver, families, leftovers, load, rowsPlan, type Spec } from '../lanes/rig.js'
import { identity, slow } from '../support/models.js'
import { range } from '../support/values.js'
import { until } from '../support/waiting.js'

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing',
    (error: unknown) => error,
  )

for (const family of families)
  await t.test(family.name, async (t) => {
    const plan = rowsPlan(3, 64, { profiles: [{ dims: { x: range([1, 3], [8, 3], [64, 3]) } }] })
    const cases = [
      { options: { lanes: 1 }, most: 2 },
      { options: { lanes: 3 }, most: 6 },
      { options: { lanes: 2, maxQueue: 3 }, most: 3 },
      { options: { batching: { maxBatch: 64 } }, most: 16 },
      { options: { lanes: 2, batching: { maxBatch: 20 } }, most: 8 },
      { options: { lanes: 2, batching: { maxBatch: 5 } }, most: 4 },
    ]
    for (const { options, most } of cases)
      await t.test(`${JSON.stringify(options)}: ${most} at once`, async (t) => {
        await using engine = await load(family, plan, options)
        let [running, seen] = [0, 0]
        // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with the backend that it is asked of
        const { run } = AddonBackend.prototype
        AddonBackend.prototype.run = async function (this: AddonBackend, ...given: Parameters<typeof run>) {
          seen = Math.max(seen, ++running)
          return run.apply(this, given).finally(() => running--)
        } as typeof run
        t.teardown(() => (AddonBackend.prototype.run = run))
        await driven({ computeMs: 4 }, () => engine.warmup())
        t.equal(seen, most, 'as many as there is memory for, and no more')
        const { completed } = engine.stats()
        t.ok(
          completed >= 4 * most && completed % most === 0,
          `${completed}: four rounds, or more where a lane met none`,
        )
      })

    await t.test('every lane captures its graphs', async (t) => {
      await using engine = await load(family, plan, { lanes: 3 })
      const before = driver.stats().graphExecs
      await driven({ computeMs: 10 }, () => engine.warmup())
      t.ok(driver.stats().graphExecs - before >= 3, `${driver.stats().graphExecs - before} graphs`)
    })

    await t.test('an abort, before and in the midst', async (t) => {
      await using engine = await load(family, plan)
      const controller = new AbortController()
      await driven({ computeMs: 20 }, async () => {
        const warming = failure(engine.warmup({ iterations: 1000, signal: controller.signal }))
        await until(() => engine.stats().completed > 2)
        controller.abort(null)
        t.equal(await warming, null)
      })
      t.ok(engine.stats().completed < 100)
      t.equal(getEventListeners(controller.signal, 'abort').length, 0)
      t.equal(await failure(engine.warmup({ signal: controller.signal })), null)
      t.ok(await until(() => engine.stats().inFlight === 0))
    })
  })

await t.test('an abort while the engine loads', async (t) => {
  const engine = new Engine(slow(), { backend: 'cpu' })
  const controller = new AbortController()
  const warming = failure(engine.warmup({ signal: controller.signal }))
  controller.abort('enough')
  t.equal(await warming, 'enough')
  t.throws(() => engine.inputs, { code: 'ERR_TRT_NOT_READY' }, 'before it was loaded')
  await engine.close()
})

await t.test('on the CPU', async (t) => {
  await using engine = await Engine.load(identity('float32', [2, 3]), { backend: 'cpu' })
  await engine.warmup()
  await using dynamic = await Engine.load(identity(), { backend: 'cpu' })
  t.match(await failure(dynamic.warmup()), { code: 'ERR_TRT_SHAPES_REQUIRED' })
})

onEachWay('shapes and inputs of the call', async (t) => {
  await using engine = await Engine.load(identity(), { backend: 'cpu' })
  const x = new Tensor('float32', new Float32Array(3), [3])
  await engine.warmup({ shapes: { x: [5] }, iterations: 1 })
  await engine.warmup({ inputs: { x }, iterations: 2 })
  await engine.warmup({ inputs: {}, shapes: { x: [2] } })
  const wrong: readonly [options: object, code: string, words: RegExp][] = [
    [{ shapes: { y: [1] } }, 'ERR_TRT_UNKNOWN_INPUT', /no input "y": it has "x"/],
    [{ inputs: { y: x } }, 'ERR_TRT_UNKNOWN_INPUT', /no input "y": it has "x"/],
    [{ inputs: { x }, shapes: { x: [3] } }, 'ERR_TRT_INVALID_ARGUMENT', /either a Tensor or a shape/],
    [{ inputs: x }, 'ERR_TRT_INVALID_ARGUMENT', /a record of Tensors for inputs/],
    [{ inputs: { x: [1] } }, 'ERR_TRT_INVALID_ARGUMENT', /a Tensor for input "x"/],
    [{ shapes: { x: [-1] } }, 'ERR_TRT_SHAPE', /non-negative integers for shapes "x"/],
    [{ shapes: { x: [1, 1] } }, 'ERR_TRT_SHAPE', /shape \[-1\].* for input "x"/],
    [{ inputs: { x: Tensor.zeros('int32', [1]) } }, 'ERR_TRT_DTYPE', /Expected float32 for input "x"/],
  ]
  for (const [options, code, message] of wrong)
    t.match(await failure(engine.warmup(options)), { code, message }, JSON.stringify(options))
})

/** y = x (24 elements) of the shape s. */
const reshape: Spec = {
  inputs: [
    { name: 'x', shape: [24] },
    { name: 's', shape: [2], dtype: 'int64', host: true },
  ],
  outputs: [{ name: 'y', shape: [-1, -1] }],
  ops: [{ type: 'reshape', inputs: ['x', 's'], output: 'y' }],
  profiles: [{ values: { s: range([1, 1], [4, 6], [4, 24]) } }, { values: { s: range([5, 1], [8, 3], [24, 4]) } }],
}

for (const family of families)
  await t.test(`${family.name}: a shape tensor has each profile's best values`, async (t) => {
    await using engine = await load(family, reshape)
    t.same(engine.inputs['s']?.profileValues, [range([1, 1], [4, 6], [4, 24]), range([5, 1], [8, 3], [24, 4])])
    t.same(
      [engine.inputs['s']?.profiles, engine.inputs['x']?.profileValues, engine.outputs['y']?.profileValues],
      [[], [], []],
    )
    await engine.warmup({ iterations: 1 })
    t.ok(engine.stats().completed > 1)
    t.equal(engine.stats().failed, 0)
    const s = new Tensor('int64', BigInt64Array.of(12n, 2n), [2])
    await engine.warmup({ inputs: { s }, iterations: 1 })
    await engine.warmup({ shapes: { x: [24] }, iterations: 1 })
    t.equal(engine.stats().failed, 0)
  })

for (const family of families)
  await t.test(`${family.name}: memory of allocate is copied, and so several run at once`, async (t) => {
    await using engine = await load(family, rowsPlan(3, 64), { lanes: 2 })
    await engine.warmup({ inputs: { x: engine.allocate('x', [2, 3]) } })
    t.equal(engine.stats().failed, 0)
  })

/** The same in ONNX, of any shape. */
function shaped(): Uint8Array {
  const g = new GraphBuilder({ name: 'shaped' })
  g.output(
    g.node('Reshape', [g.input('x', 'float32', [24]), g.input('shape', 'int64', [2])], {}, { output: 'y' }),
    'float32',
    ['a', 'b'],
  )
  return writeModel(g.toModel())
}

onEachWay('a shape tensor on the CPU has the values of the option shapes', async (t) => {
  const options = { backend: 'cpu', shapes: { shape: range([1, 1], [3, 8], [24, 24]) } } as const
  await using engine = await Engine.load(shaped(), options)
  t.same(engine.inputs['shape']?.profileValues, [range([1, 1], [3, 8], [24, 24])])
  await engine.warmup({ iterations: 1 })
  await using unknown = await Engine.load(shaped(), { backend: 'cpu' })
  t.same(unknown.inputs['shape']?.profileValues, [])
  t.match(await failure(unknown.warmup()), { code: 'ERR_TRT_EXECUTION' }, 'nothing says that it is one')
  await unknown.warmup({ inputs: { shape: new Tensor('int64', BigInt64Array.of(4n, 6n), [2]) }, iterations: 1 })
})

await t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
