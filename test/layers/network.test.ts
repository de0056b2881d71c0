import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Builder, type ModelSource, type NetworkInfo, Tensor } from '../../lib/index.js'
import { GraphBuilder, inspectModel, readModel, writeModel } from '../../lib/onnx/index.js'
import { failureOf } from '../support/errors.js'
import { oneNode } from '../support/models.js'
import { modelsToBuild } from '../support/real-models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'

const audit = (model: ModelSource): Promise<NetworkInfo> => new Builder().parse(model)
const sum = (counts: object): number => Object.values(counts as Record<string, number>).reduce((a, b) => a + b, 0)
const scalar = (dtype: 'float32' | 'float16', value: number): Tensor => {
  const tensor = Tensor.zeros(dtype, [])
  if (dtype === 'float32') new Float32Array(tensor.data.buffer)[0] = value
  else new Uint16Array(tensor.data.buffer)[0] = 0x3c00 // 1.0
  return tensor
}

t.test(
  'the face detector: as many layers of each type as the file has nodes, and all of its weights',
  { skip: skipWithoutRtx },
  async (t) => {
    const bytes = await faceDetectorModel({ batch: 'N' })
    const found = await audit(bytes)
    const model = await readModel(bytes)
    const { operators, inputs, outputs } = inspectModel(model)
    t.same(found.layerTypes, {
      convolution: operators['Conv'],
      activation: operators['LeakyRelu'],
      pooling: operators['MaxPool'],
    })
    t.equal(found.layers, inspectModel(model).nodeCount)
    t.same(found.outputTypes, { float32: found.layers })
    t.equal(
      found.weightBytes,
      model.graph?.initializer.reduce((bytes, { rawData }) => bytes + rawData.length, 0),
      'each weight is counted once',
    )
    const named = (list: readonly { name: string; dtype: string }[]) => list.map(({ name, dtype }) => ({ name, dtype }))
    t.same(named(found.inputs), named(inputs))
    t.same(named(found.outputs), named(outputs))
    t.same(found.inputs[0]?.shape, [-1, 3, 416, 416])
    t.same(
      [found.quantize, found.dequantize],
      [
        { layers: 0, types: {} },
        { layers: 0, types: {} },
      ],
    )
  },
)

t.test('real models: what TensorRT keeps one to one', { skip: skipWithoutRtx }, async (t) => {
  for (const { name, source } of modelsToBuild) {
    const model = await source()
    const found = await audit(model)
    const { operators } = inspectModel(await readModel(model))
    t.equal(found.layerTypes['convolution'], operators['Conv'], `${name}: ${operators['Conv']} convolutions`)
    t.equal(found.layerTypes['deconvolution'], operators['ConvTranspose'], `${name}: deconvolutions`)
    t.equal(found.layerTypes['matrix_multiply'], operators['MatMul'], `${name}: products of matrices`)
    t.equal(found.layerTypes['softmax'], operators['Softmax'], `${name}: softmax`)
    t.equal(sum(found.layerTypes), found.layers, 'each layer has one type')
    t.equal(sum(found.outputTypes), found.layers, 'and one type of output')
    t.equal(found.layerTypes['unknown'], undefined, 'that is known here')
  }
})

/** y = relu(x · w) with Q/DQ before the product `times` over, in the type. */
function quantized(times: number, dtype: 'float32' | 'float16' = 'float32'): Uint8Array {
  const graph = new GraphBuilder({ name: 'qdq', opset: 19 })
  const scale = graph.constant('scale', scalar(dtype, 0.5))
  const zero = graph.constant('zero', Tensor.zeros('int8', []))
  let value = graph.input('x', dtype, [1, 4])
  for (let i = 0; i < times; i++) {
    const q = graph.node('QuantizeLinear', [value, scale, zero])
    value = graph.node('Relu', [graph.node('DequantizeLinear', [q, scale, zero])])
  }
  graph.output(value, dtype, [1, 4])
  return writeModel(graph.toModel())
}

t.test('Q/DQ is counted, with the type that it quantizes to', { skip: skipWithoutRtx }, async (t) => {
  for (const times of [1, 3]) {
    const model = quantized(times)
    const { operators } = inspectModel(await readModel(model))
    const found = await audit(model)
    t.same(found.quantize, { layers: operators['QuantizeLinear'], types: { int8: times } })
    t.same(found.dequantize, { layers: operators['DequantizeLinear'], types: { int8: times } })
    t.equal(found.layerTypes['activation'], times)
    t.equal(found.outputTypes['int8'], times, 'and what they give is int8')
  }
})

t.test('types that the graph has are the types of the layers', { skip: skipWithoutRtx }, async (t) => {
  const graph = new GraphBuilder({ name: 'half' })
  const x = graph.input('x', 'float32', ['N', 4])
  const half = graph.node('Relu', [graph.node('Cast', [x], { to: 10 })])
  graph.output(graph.node('Sigmoid', [graph.node('Cast', [half], { to: 1 })]), 'float32', ['N', 4])
  const found = await audit(writeModel(graph.toModel()))
  t.same(found.layerTypes, { activation: 2, cast: 2 })
  t.same(found.outputTypes, { float16: 2, float32: 2 }, 'cast and relu in half precision, cast and sigmoid in single')
  const whole = await audit(oneNode('Relu'))
  t.same(whole.outputTypes, { float32: 1 })
})

t.test('a plan carries the audit of its network, and plain data it is', { skip: skipWithoutRtx }, async (t) => {
  const model = oneNode('Relu', ['N', 4])
  const { info } = await new Builder().build(model, { shapes: { x: [2, 4] } })
  const alone = await audit(model)
  t.same(info.network, alone, 'a parse without a build, and without shapes, finds the same')
  t.equal(info.layers, alone.layers)
  t.same(JSON.parse(JSON.stringify(alone)), alone)
  const parts = [
    alone,
    alone.layerTypes,
    alone.quantize,
    alone.quantize.types,
    alone.inputs,
    alone.inputs[0],
    alone.inputs[0]?.shape,
  ]
  t.ok(
    parts.every((part) => Object.isFrozen(part)),
    'frozen through and through',
  )
})

t.test('what cannot be parsed, an abort, and a closed builder', { skip: skipWithoutRtx }, async (t) => {
  const builder = new Builder()
  const relu = oneNode('Relu')
  t.match(await failureOf(() => builder.parse(oneNode('NoSuchOperator', [1, 4], 'org.example'))), {
    code: 'ERR_TRT_UNSUPPORTED_OPERATOR',
  })
  t.match(await failureOf(() => builder.parse('/no/such/model.onnx')), { code: 'ERR_TRT_FILE' })
  t.match(await failureOf(() => builder.parse(relu, { shapes: {} } as never)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /shapes/,
  })
  t.match(await failureOf(() => builder.parse(relu, { signal: 1 } as never)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  await t.rejects(builder.parse(relu, { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
  const abort = new AbortController()
  const running = builder.parse(relu, { signal: abort.signal })
  abort.abort(new Error('while it runs'))
  await t.rejects(running, { message: 'while it runs' })
  await builder.close()
  t.match(await failureOf(() => builder.parse(relu)), { code: 'ERR_TRT_CLOSED' })
})
