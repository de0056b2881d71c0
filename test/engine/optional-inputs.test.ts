// Inputs that a model has a value for: initializers that are inputs, too.
import t from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { failureOf } from '../support/errors.js'
import { force } from './ways.js'

const cpu = { backend: 'cpu' } as const
const floats = (...numbers: number[]): Tensor<'float32'> => Tensor.from(Float32Array.from(numbers))

/** y = x · v + w; w is 10 and v is 1 unless they are given. */
function model(irVersion = 8): Uint8Array {
  const g = new GraphBuilder({ name: 'optional' })
  const x = g.input('x', 'float32', ['N'])
  const [v, w] = [g.constant('v', floats(1)), g.constant('w', floats(10))]
  g.output(g.node('Add', [g.node('Mul', [x, v]), w], {}, { output: 'y' }), 'float32', ['N'])
  const other = new GraphBuilder({ name: 'inputs' })
  for (const name of [v, w]) other.output(other.input(name, 'float32', [1]), 'float32', [1])
  const made = g.toModel()
  made.graph!.input.push(...other.toModel().graph!.input)
  made.irVersion = BigInt(irVersion)
  return writeModel(made)
}

t.test('left out the value of the model counts, given that of the call', async (t) => {
  await using engine = await Engine.load(model(), { ...cpu, lanes: 2 })
  t.same(engine.inputNames, ['x'])
  t.same(Object.keys(engine.inputs), ['x'])
  t.match(engine.optionalInputs, { v: { name: 'v', dtype: 'float32', shape: [1] }, w: { shape: [1] } })
  const x = floats(1, 2)
  t.same((await engine.infer(x)).data, Float32Array.of(11, 12), 'a bare tensor')
  const rows: [Record<string, Tensor>, number[]][] = [
    [{}, [11, 12]],
    [{ w: floats(0) }, [1, 2]],
    [{ v: floats(3) }, [13, 16]],
    [{ w: floats(0), v: floats(-1) }, [-1, -2]],
  ]
  for (const [given, wanted] of [...rows, ...rows]) {
    const y = Float32Array.from(wanted)
    t.same((await engine.infer({ x, ...given }))['y']?.data, y)
    t.same(engine.inferSync({ x, ...given })['y']?.data, y)
    t.same((await engine.infer({ ...given, x }, { outputs: ['y'], timeoutMs: 60_000 }))['y']?.data, y)
  }
  const many = Array.from({ length: 200 }, async (_, i) => {
    const w = floats(i)
    const running = engine.infer(i % 3 === 0 ? { x } : { x, w })
    w.data.fill(-1) // it was copied
    const { y } = await running
    return y?.data[0] === (i % 3 === 0 ? 11 : 1 + i)
  })
  t.ok((await Promise.all(many)).every(Boolean))
  const held = await engine.upload(floats(5))
  t.same((await engine.infer({ x, w: held }))['y']?.data, Float32Array.of(6, 7), 'one on the device')
  held.dispose()
})

t.test('what is wrong with one', async (t) => {
  await using engine = await Engine.load(model(), cpu)
  const x = floats(1)
  const rows: [Record<string, Tensor>, string, RegExp][] = [
    [{ x, w: floats(1, 2) }, 'ERR_TRT_SHAPE', /shape \[1\] for input "w" but received \[2\]/],
    [{ x, w: Tensor.from(Int32Array.of(1)) }, 'ERR_TRT_DTYPE', /float32 for input "w" but received int32/],
    [{ w: floats(1) }, 'ERR_TRT_MISSING_INPUT', /Input "x"/],
    [{ x, u: floats(1) }, 'ERR_TRT_UNKNOWN_INPUT', /no input "u"/],
  ]
  for (const [given, code, message] of rows) t.match(await failureOf(() => engine.infer(given)), { code, message })
})

t.test('with batching none can be given, and the model has its values', async (t) => {
  await using engine = await Engine.load(model(), { ...cpu, batching: { maxBatch: 4 } })
  const answers = await Promise.all([1, 2, 3].map((number) => engine.infer(floats(number))))
  t.same(
    answers.map(({ data }) => data[0]),
    [11, 12, 13],
  )
  t.match(await failureOf(() => engine.infer({ x: floats(1), w: floats(1) })), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /The optional input "w" cannot be given with the option batching/,
  })
})

t.test('where there are none', async (t) => {
  await using old = await Engine.load(model(3), cpu)
  t.same({ ...old.optionalInputs }, {}, 'before IR version 4 they are weights')
  const x = floats(1)
  t.match(await failureOf(() => old.infer({ x, w: x })), { code: 'ERR_TRT_UNKNOWN_INPUT', message: /"w"/ })
  force('portable')
  await using portable = await Engine.load(model(), cpu)
  force('addon')
  t.same({ ...portable.optionalInputs }, {})
  t.same((await portable.infer({ x }))['y']?.data, Float32Array.of(11))
  t.match(await failureOf(() => portable.infer({ x, w: x })), { code: 'ERR_TRT_UNKNOWN_INPUT', message: /"w"/ })
})
