// Shapes that were given for the CPU: checked as where TensorRT builds, and held to at each inference.
import { inspect } from 'node:util'
import t from 'tap'
import { profilesFor } from '../../lib/backend/profiles.js'
import { checkedProfiles } from '../../lib/building/shapes.js'
import { Builder, Engine } from '../../lib/index.js'
import type { Shapes } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { expand, identity, twoInTwoOut } from '../support/models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { pattern, range } from '../support/values.js'
import { onEachWay } from './ways.js'

const cpu = { backend: 'cpu' } as const
const ok = range([1, 3], [2, 3], [4, 3])

/** What is wrong with shapes for the model of two inputs [N, 3], and what is said of it. */
const wrong: readonly [Shapes | readonly Shapes[], string, string][] = [
  [{ q: [1, 3], a: ok, b: ok }, 'ERR_TRT_UNKNOWN_INPUT', "The model has no input 'q' to give shapes for; it has 'a' [-1, 3], 'b' [-1, 3]"],
  [{ a: ok }, 'ERR_TRT_SHAPES_REQUIRED', "Input 'b' [-1, 3] is dynamic: give its min, opt and max shapes"],
  [{}, 'ERR_TRT_SHAPES_REQUIRED', "Input 'a' [-1, 3] is dynamic: give its min, opt and max shapes"],
  [[{ a: ok, b: ok }, { b: ok }], 'ERR_TRT_SHAPES_REQUIRED', "Input 'a' [-1, 3] is dynamic: give its min, opt and max shapes"],
  [{ a: [1, 3, 1], b: ok }, 'ERR_TRT_SHAPE', "Expected shapes of 2 dimensions for input 'a' [-1, 3]: min [1, 3, 1], opt [1, 3, 1], max [1, 3, 1]"],
  [{ a: range([1, 3], [2], [4, 3]), b: ok }, 'ERR_TRT_SHAPE', "Expected shapes of 2 dimensions for input 'a' [-1, 3]: min [1, 3], opt [2], max [4, 3]"],
  [{ a: range([-1, 3], [1, 3], [4, 3]), b: ok }, 'ERR_TRT_SHAPE', "Expected no negative dimension for input 'a' [-1, 3]: min [-1, 3], opt [1, 3], max [4, 3]"],
  [{ a: range([2, 3], [1, 3], [4, 3]), b: ok }, 'ERR_TRT_SHAPE', "Expected min ≤ opt ≤ max in dimension 0 for input 'a' [-1, 3]: min [2, 3], opt [1, 3], max [4, 3]"],
  [{ a: ok, b: range([1, 3], [5, 3], [4, 3]) }, 'ERR_TRT_SHAPE', "Expected min ≤ opt ≤ max in dimension 0 for input 'b' [-1, 3]: min [1, 3], opt [5, 3], max [4, 3]"],
  [{ a: range([1, 2], [2, 3], [4, 3]), b: ok }, 'ERR_TRT_SHAPE', "Expected 3, which the model fixes, in dimension 1 for input 'a' [-1, 3]: min [1, 2], opt [2, 3], max [4, 3]"],
] // prettier-ignore

onEachWay('shapes that do not fit the model', async (t) => {
  for (const [shapes, code, message] of wrong)
    t.match(await failureOf(() => Engine.load(twoInTwoOut(), { ...cpu, shapes })), { code, message }, message)
  const unreadable = await failureOf(() =>
    Engine.load(identity(), { ...cpu, shapes: { x: { min: [1], opt: [1] } as never } }),
  )
  t.match(unreadable, { code: 'ERR_TRT_SHAPES_REQUIRED', message: "Input 'x' has no max shape: give min, opt and max" })
})

t.test('the builder of TensorRT says the same', { skip: skipWithoutRtx }, async (t) => {
  await using builder = new Builder()
  for (const [shapes, code, message] of wrong)
    t.match(await failureOf(() => builder.build(twoInTwoOut(), { shapes })), { code, message }, message)
})

onEachWay('they become profiles, and an inference beyond all of them is refused', async (t) => {
  const second = range([8, 3], [8, 3], [16, 3])
  await using engine = await Engine.load(twoInTwoOut(), {
    ...cpu,
    shapes: [
      { a: ok, b: ok },
      { a: second, b: second },
    ],
  })
  t.same(engine.inputs.a?.profiles, [ok, second])
  t.same(engine.outputs.sum?.profiles, [])
  const run = (a: number, b: number): unknown =>
    engine.infer({ a: pattern('float32', [a, 3]), b: pattern('float32', [b, 3]) })
  for (const rows of [1, 4, 8, 16]) await run(rows, rows)
  t.match(await failureOf(() => run(5, 5)), {
    code: 'ERR_TRT_SHAPE',
    message: /within profile 0: \[1, 3\] to \[4, 3\], profile 1: \[8, 3\] to \[16, 3\]/,
  })
  t.match(await failureOf(() => run(1, 8)), {
    code: 'ERR_TRT_SHAPE',
    message: /No optimization profile fits all inputs together/,
  })
  await engine.warmup({ iterations: 1 })
})

onEachWay('a dynamic model needs none, a static one has none', async (t) => {
  await using free = await Engine.load(identity(), { ...cpu, shapes: [] })
  t.same(free.inputs.x?.profiles, [])
  const message =
    'Input \'x\' [-1] is dynamic, and no profile says which shape to warm up with: warmup({ shapes: { "x": [1] } }) or ' +
    'warmup({ inputs: { "x": tensor } }) says it, or the option shapes of the engine when it is loaded'
  t.match(await failureOf(() => free.warmup()), { code: 'ERR_TRT_SHAPES_REQUIRED', message })
  await free.infer(pattern('float32', [1000]))
  await using fixed = await Engine.load(identity('float32', [4]), { ...cpu, shapes: { x: [4] } })
  t.same(fixed.inputs.x?.profiles, [])
  await fixed.infer(pattern('float32', [4]))
})

onEachWay('an input whose values decide shapes has a range of values', async (t) => {
  const x = range([1], [1], [4])
  await using engine = await Engine.load(expand(), { ...cpu, shapes: { x, s: range([-1], [3], [5]) } })
  t.same(engine.inputs.s?.profiles, [])
  t.same(engine.inputs.s?.profileValues, [range([-1], [3], [5])])
  t.same([engine.inputs.x?.profiles, engine.inputs.x?.profileValues], [[x], []])
  const order = await failureOf(() => Engine.load(expand(), { ...cpu, shapes: { x, s: range([4], [3], [5]) } }))
  t.match(order, {
    code: 'ERR_TRT_SHAPE',
    message: "Expected min ≤ opt ≤ max in value 0 for input 's' [1]: min [4], opt [3], max [5]",
  })
})

t.test('what console.log shows of an engine, a builder and a tensor that stays', async (t) => {
  const engine = new Engine(identity(), cpu)
  t.equal(inspect(engine), "Engine { state: 'loading' }")
  await engine.ready
  const fields = "backend: 'cpu',\n  inputs: { x: 'float32 [-1]' },\n  outputs: { y: 'float32 [-1]' }\n}"
  t.equal(inspect(engine), `Engine {\n  state: 'ready',\n  ${fields}`)
  t.equal(inspect({ a: { b: engine } }, { depth: 1 }), '{ a: { b: [Engine] } }')
  const kept = (await engine.infer({ x: pattern('float32', [3]) }, { location: 'device' }))['y']
  const options = { breakLength: Infinity }
  const tensor = "DeviceTensor { dtype: 'float32', shape: [ 3 ], device: 'the CPU', state: "
  t.equal(inspect(kept, options), `${tensor}'open' }`)
  kept?.dispose()
  t.equal(inspect(kept, options), `${tensor}'disposed' }`)
  await engine.close()
  t.equal(inspect(engine), `Engine {\n  state: 'closed',\n  ${fields}`)
  const failed = new Engine(Uint8Array.of(1, 2, 3), cpu)
  await failureOf(() => failed.ready)
  t.equal(inspect(failed), "Engine { state: 'failed' }")
  const builder = new Builder()
  t.equal(inspect(builder), "Builder { state: 'open' }")
  await builder.close()
  t.equal(inspect(builder), "Builder { state: 'closed' }")
})

t.test('which static inputs have values, and which a shape', (t) => {
  const input = (dtype: 'int32' | 'float32', shape: number[]) =>
    ({ name: 'x', dtype, shape, profiles: [], format: 'linear' }) as const
  const of = (shapes: Shapes, dtype: 'int32' | 'float32', shape: number[]): unknown =>
    profilesFor(checkedProfiles(shapes), [input(dtype, shape)])
  const [sizes, one] = [range([1, 1], [640, 480], [4096, 4096]), range([1], [2], [3])]
  t.same(of({ x: sizes }, 'int32', [2]), [{ profiles: [], values: [sizes] }], 'values of two elements')
  t.same(of({ x: one }, 'int32', []), [{ profiles: [], values: [one] }], 'the value of a scalar')
  t.same(of({ x: [2, 3] }, 'int32', [2, 3]), [{ profiles: [] }], 'its shape')
  t.throws(() => of({ x: [2, 4] }, 'int32', [2, 3]), {
    code: 'ERR_TRT_SHAPE',
    message: /Expected 3, which the model fixes, in dimension 1/,
  })
  t.throws(() => of({ x: range([1, 1], [2, 2], [3, 3]) }, 'float32', [2]), {
    code: 'ERR_TRT_SHAPE',
    message: /Expected shapes of 1 dimensions/,
  })
  t.end()
})
