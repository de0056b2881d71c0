import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, type ModelProto, writeModel } from '../../lib/onnx/index.js'
import { TensorProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { force } from './ways.js'
import { failureOf } from '../support/errors.js'
import { identity, twoInTwoOut } from '../support/models.js'

const cpu = { backend: 'cpu' } as const
const a = Tensor.from(Float32Array.of(1, 2, 3), [1, 3])

t.test('what was declared is what infer takes and gives', async (t) => {
  await using engine = await Engine.load(twoInTwoOut(), {
    ...cpu,
    inputs: { b: 'float32', a: 'float32' },
    outputs: { difference: 'float32' },
  })
  const results = await engine.infer({ a, b: a })
  const difference: Float32Array = results.difference.data
  t.same(difference, new Float32Array(3))
  t.same(Object.keys(results), ['difference'], 'what was not declared is not given')
  t.same(Object.keys(await engine.infer({ a, b: a }, { outputs: ['difference'] })), ['difference'])
  t.same(engine.inputNames, ['a', 'b'], "in the model's order")
  t.same(engine.outputNames, ['sum', 'difference'], 'the model has others too')
})

t.test('a bare tensor gives the output that was declared', async (t) => {
  const g = new GraphBuilder({ name: 'one to two' })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('Neg', [x], {}, { output: 'minus' }), 'float32', ['N'])
  g.output(g.node('Abs', [x], {}, { output: 'abs' }), 'float32', ['N'])
  const model = writeModel(g.toModel())
  await using engine = new Engine(model, { ...cpu, inputs: { x: 'float32' }, outputs: { abs: 'float32' } })
  const early = engine.infer(Tensor.from(Float32Array.of(-4)))
  t.same((await early).data, Float32Array.of(4))
  t.same((await engine.infer(Tensor.from(Float32Array.of(-5)))).data, Float32Array.of(5))
  const streamed: Float32Array[] = []
  for await (const { data } of engine.stream([Tensor.from(Float32Array.of(-1)), Tensor.from(Float32Array.of(2))]))
    streamed.push(data)
  t.same(streamed, [Float32Array.of(1), Float32Array.of(2)])
  await using both = await Engine.load(model, cpu)
  const chosen: unknown[] = []
  for await (const { data } of both.stream([Tensor.from(Float32Array.of(-1))], { outputs: ['minus'] }))
    chosen.push(data)
  t.same(chosen, [Float32Array.of(1)])
})

t.test('a declaration that is not so is an error that says both', async (t) => {
  const has = 'the model has { "a": float32, "b": float32 }'
  const rows: [options: object, message: string, details: object][] = [
    [
      { inputs: { a: 'float16', b: 'float32' } },
      `The inputs were declared as { "a": float16, "b": float32 } but ${has}`,
      { input: 'a' },
    ],
    [
      { inputs: { a: 'float32', c: 'float32' } },
      `The inputs were declared as { "a": float32, "c": float32 } but ${has}`,
      { input: 'c' },
    ],
    [{ inputs: { a: 'float32' } }, `The inputs were declared as { "a": float32 } but ${has}`, { input: 'b' }],
    [
      { outputs: { sum: 'float32', product: 'float32' } },
      'The outputs were declared as { "sum": float32, "product": float32 } but the model has { "sum": float32, "difference": float32 }',
      { output: 'product' },
    ],
  ]
  for (const [options, message, details] of rows) {
    const engine = new Engine(twoInTwoOut(), { ...cpu, ...options })
    t.match(await failureOf(() => engine.ready), { code: 'ERR_TRT_DECLARATION', message, details })
    t.match(await failureOf(() => engine.infer({ a, b: a })), { code: 'ERR_TRT_DECLARATION' })
    await engine.close()
  }
  for (const options of [
    { inputs: 5 },
    { inputs: ['a'] },
    { inputs: { a: 'double' } },
    { outputs: null },
    { outputs: { a: 5 } },
  ])
    t.throws(
      () => new Engine(identity(), { ...cpu, ...options } as object),
      { code: 'ERR_TRT_INVALID_ARGUMENT' },
      JSON.stringify(options),
    )
})

t.test('names of dynamic dimensions', async (t) => {
  await using engine = await Engine.load(identity('float32', ['batch', 3, 'height']), cpu)
  t.same(engine.inputs['x']?.dimensionNames, ['batch', undefined, 'height'])
  t.same(engine.outputs['y']?.dimensionNames, ['batch', undefined, 'height'])
})

/** y = -x beside outputs of types that no Tensor has. */
function withOthers(): Uint8Array {
  const g = new GraphBuilder({ name: 'others', opset: 19 })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('Cast', [x], { to: 19 }, { output: 'words' }), 'float8e5m2', ['N'])
  g.output(g.node('Neg', [x], {}, { output: 'y' }), 'float32', ['N'])
  g.output(g.node('Cast', [x], { to: 19 }, { output: 'text' }), 'float8e5m2', ['N'])
  return writeModel(g.toModel())
}

t.test('a data type that no Tensor has is an error only where it is needed', async (t) => {
  await using engine = await Engine.load(withOthers(), cpu)
  const x = Tensor.from(Float32Array.of(1, 2))
  t.same(engine.outputNames, ['y'])
  t.same(engine.unsupported, [
    { name: 'words', use: 'output', type: 'float8e5m2' },
    { name: 'text', use: 'output', type: 'float8e5m2' },
  ])
  t.same((await engine.infer({ x }, { outputs: ['y'] })).y.data, Float32Array.of(-1, -2))
  const refused = {
    code: 'ERR_TRT_DTYPE',
    message:
      /^The output "words" of the model is of type float8e5m2; a Tensor is one of float32, .*, string\. Name the outputs that you want: outputs: \["y"\]$/,
    details: { output: 'words', type: 'float8e5m2' },
  }
  t.match(await failureOf(() => engine.infer({ x })), refused)
  t.match(await failureOf(() => engine.infer({ x }, { timeoutMs: 1000 })), refused)
  t.match(await failureOf(() => engine.infer(x, { outputs: ['text'] })), {
    code: 'ERR_TRT_DTYPE',
    message: /"text" of the model is of type float8e5m2/,
  })
  await using declared = await Engine.load(withOthers(), { ...cpu, outputs: { y: 'float32' } })
  t.same((await declared.infer({ x })).y.data, Float32Array.of(-1, -2))
})

/**
 * y = a number of eight bits as another, beside an input that no Tensor can hold; with a value of its own it need not
 * be given, where the version says so.
 */
function ofOther(value?: number): ModelProto {
  const g = new GraphBuilder({ name: 'other', opset: 19 })
  const [words, x] = [g.input('words', 'float8e5m2', [1]), g.input('x', 'float32', [1])]
  g.output(g.node('Add', [g.node('Cast', [words], { to: 1 }), x], {}, { output: 'y' }), 'float32', [1])
  const model = g.toModel()
  if (value !== undefined)
    model.graph?.initializer.push(
      create(TensorProtoSchema, { name: 'words', dataType: 19, dims: [1n], rawData: Buffer.of(value) }),
    )
  return model
}

t.test('a model with an input that no Tensor can hold is refused when it is loaded', async (t) => {
  t.teardown(() => force('addon'))
  for (const way of ['addon', 'portable'] as const) {
    force(way)
    const text = writeModel(ofOther())
    for (const load of [() => Engine.load(text, cpu), () => Engine.load(text, { ...cpu, outputs: { y: 'float32' } })])
      t.match(await failureOf(load), {
        code: 'ERR_TRT_DTYPE',
        message:
          way === 'addon'
            ? /^The input "words" of the model is of type float8e5m2, and no inference goes without it; a Tensor is one of float32, .*, string\. What to do: .*after what reads it/
            : /"words" of type float8e5m2, which onnxruntime-node does not take or give/,
      })
    await using engine = await Engine.load(writeModel(ofOther(0x51)), cpu)
    t.same([engine.inputNames, engine.unsupported], [['x'], []], `${way}: one that has a value need never be given`)
    t.same((await engine.infer({ x: Tensor.from(Float32Array.of(2)) }))['y']?.data, Float32Array.of(42))
  }
})

t.test('a data type that the runtime lacks is named', async (t) => {
  force('portable')
  t.teardown(() => force('addon'))
  t.match(await failureOf(() => Engine.load(identity('bfloat16'), cpu)), {
    code: 'ERR_TRT_DTYPE',
    message: /"x" of type bfloat16, which onnxruntime-node does not take or give; it does float32, /,
  })
})
