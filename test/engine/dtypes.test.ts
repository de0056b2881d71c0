// The data types of the CPU alone, through real inference: each to its ends, and where models change one into another.
import t from 'tap'
import { type DType, Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, inspectModel, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { elementTypeNumber } from '../../lib/onnx/element-type.js'
import { failureOf } from '../support/errors.js'
import { identity } from '../support/models.js'

const cpu = { backend: 'cpu' } as const

/** Tensors with the ends of each type. */
const ends = {
  float64: Tensor.from(Float64Array.of(0.1, -0, Number.MIN_VALUE, Number.MAX_VALUE, NaN, Infinity, -Infinity)),
  int16: Tensor.from(Int16Array.of(-32768, -1, 0, 32767)),
  uint16: new Tensor('uint16', Uint16Array.of(0, 0x3c00, 65535), [3]),
  uint32: Tensor.from(Uint32Array.of(0, 2 ** 31, 2 ** 32 - 1)),
  uint64: Tensor.from(BigUint64Array.of(0n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n)),
} as const

const types = Object.keys(ends) as (keyof typeof ends)[]

for (const dtype of types) {
  t.test(`${dtype}: every number comes back as it went in`, async (t) => {
    const model = identity(dtype)
    t.match(inspectModel(parseModel(model)), { inputs: [{ name: 'x', dtype }], outputs: [{ name: 'y', dtype }] })
    await using engine = await Engine.load(model, { ...cpu, inputs: { x: dtype }, outputs: { y: dtype } })
    const x = ends[dtype]
    const y = await engine.infer(x)
    t.same([y.dtype, y.shape, y.data], [dtype, x.shape, x.data])
    t.equal(y.data.constructor, x.data.constructor)
    const into = Tensor.zeros(dtype, x.shape)
    await engine.infer({ x }, { into: { y: into } })
    t.same(into.data, x.data, 'into memory of the caller')
    const memory = engine.allocate('x', [2])
    t.equal(memory.data.constructor, x.data.constructor, 'allocate')
    t.same(engine.unsupported, [])
  })
}

t.test('a tensor of another type of the same array is refused, and so is a declaration', async (t) => {
  await using engine = await Engine.load(identity('uint16'), cpu)
  t.match(await failureOf(() => engine.infer(new Tensor('float16', new Uint16Array(2), [2]))), {
    code: 'ERR_TRT_DTYPE',
    message: /uint16.*float16/,
  })
  t.match(await failureOf(() => Engine.load(identity('uint64'), { ...cpu, inputs: { x: 'int64' } })), {
    code: 'ERR_TRT_DECLARATION',
    message: /"x": int64 .* but the model has { "x": uint64 }/,
  })
})

/** y = x as another type. */
function cast(from: DType, to: DType): Uint8Array {
  const g = new GraphBuilder({ name: 'cast', opset: 19 })
  g.output(g.node('Cast', [g.input('x', from, ['N'])], { to: elementTypeNumber(to) }, { output: 'y' }), to, ['N'])
  return writeModel(g.toModel())
}

t.test('constants of these types, and casts between them, are what they are to onnxruntime', async (t) => {
  for (const dtype of types) {
    await using engine = await Engine.load(cast(dtype, 'float32'), cpu)
    const y = await engine.infer(ends[dtype])
    t.same(y, ends[dtype].toFloat32(), `${dtype}: as toFloat32 has it`)
  }
  const g = new GraphBuilder({ name: 'constants', opset: 19 })
  g.input('x', 'float32', [1])
  for (const dtype of types) {
    const kept = g.node('Identity', [g.constant(`kept ${dtype}`, ends[dtype])], {}, { output: dtype })
    g.output(kept, dtype, ends[dtype].shape)
  }
  await using engine = await Engine.load(writeModel(g.toModel()), cpu)
  const results = await engine.infer({ x: Tensor.zeros('float32', [1]) })
  for (const dtype of types) t.same(results[dtype], ends[dtype], dtype)
})
