// Models of old operators, made newer: they compute what they did, bit by bit.
import * as ort from 'onnxruntime-node'
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import {
  checkModel,
  elementTypeNumber,
  float,
  GraphBuilder,
  GraphEditor,
  type ModelProto,
  inspectModel,
  readModel,
  withOpset,
  withPreprocessing,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { Calibrator, quantize } from '../../lib/quantization/index.js'
import { failureOf } from '../support/errors.js'
import { Random } from '../support/random.js'
import { realModels } from '../support/real-models.js'

function upgraded(model: ModelProto): Uint8Array {
  if (new GraphEditor(model).opset >= 13) return writeModel(model)
  const before = writeModel(model)
  const raised = writeModel(withOpset(model, 13))
  t.ok(Buffer.from(writeModel(model)).equals(before), 'the model that was given stays as it is')
  return raised
}

function refused(model: ModelProto, opset: number, message: RegExp): void {
  t.throws(() => withOpset(model, opset), { code: 'ERR_TRT_UNSUPPORTED', message })
}

/** Numbers between -2 and 2, the same in each run. */
function numbers(count: number): Float32Array {
  const random = new Random(5)
  return Float32Array.from({ length: count }, () => random.around() * 2)
}

async function run(model: Uint8Array, shape: readonly number[]): Promise<{ dims: readonly number[]; data: unknown }[]> {
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: 1,
    logSeverityLevel: 4,
    graphOptimizationLevel: 'disabled',
  })
  const x = new ort.Tensor('float32', numbers(shape.reduce((a, b) => a * b, 1)), shape)
  const outputs = await session.run({ [session.inputNames[0] as string]: x })
  const results = session.outputNames
    .map((name) => outputs[name] as ort.Tensor)
    .map(({ dims, data }) => ({ dims, data }))
  await session.release()
  return results
}

const shapes = { detector: [1, 3, 64, 96], reader: [1, 3, 48, 80], classifier: [2, 3, 48, 192] }
for (const [name, path] of Object.entries(realModels)) {
  t.test(`PP-OCR ${name}`, async (t) => {
    const [before, model] = [writeModel(await readModel(path)), await readModel(path)]
    t.ok(inspectModel(model).opset < 13)
    const after = upgraded(model)
    t.equal(inspectModel(parseModel(after)).opset, 13)
    const shape = shapes[name as keyof typeof shapes]
    t.same(await run(after, shape), await run(before, shape))
  })
}

/** A graph of one operator of an old version, and what it is run on. */
function small(opset: number, operator: string, attributes: object, outputs = 1): ModelProto {
  const g = new GraphBuilder({ name: operator, opset, irVersion: 4 })
  const x = g.input('x', 'float32', [2, 3, 4, 5])
  const found = g.nodeWithOutputs(operator, [x], outputs, attributes as Record<string, number>)
  for (const value of found) g.output(value, 'float32', [])
  const model = g.toModel()
  for (const { type } of model.graph?.output ?? []) if (type?.value.case === 'tensorType') delete type.value.value.shape
  return model
}

const operators: [name: string, opset: number, operator: string, attributes: object, outputs?: number][] = [
  ['Clip with both limits', 9, 'Clip', { min: -0.5, max: 0.75 }],
  ['Clip with one', 9, 'Clip', { max: 0.75 }],
  ['Clip without', 9, 'Clip', {}],
  ['Dropout', 10, 'Dropout', { ratio: 0.5 }],
  ['Pad', 10, 'Pad', { pads: [0, 0, 1, 2, 0, 0, 0, 3], value: float(0.25) }],
  ['Pad that reflects', 10, 'Pad', { pads: [0, 0, 1, 2, 0, 0, 0, 3], mode: 'reflect' }],
  ['ReduceSum', 12, 'ReduceSum', { axes: [1, -1], keepdims: 0 }],
  ['ReduceSum of all', 12, 'ReduceSum', {}],
  ['Slice', 9, 'Slice', { starts: [1, -3], ends: [3, 1000], axes: [1, 3] }],
  ['Slice without axes', 9, 'Slice', { starts: [0, 1], ends: [1, 3] }],
  ['Softmax', 11, 'Softmax', {}],
  ['Softmax over the last', 11, 'Softmax', { axis: 3 }],
  ['Softmax from the second on', 11, 'Softmax', { axis: 2 }],
  ['LogSoftmax', 11, 'LogSoftmax', { axis: -2 }],
  ['Split', 11, 'Split', { axis: 3, split: [2, 3] }, 2],
  ['Split into equal parts', 11, 'Split', { axis: 2 }, 2],
  ['Unsqueeze', 11, 'Unsqueeze', { axes: [0, 3] }],
  ['Upsample', 7, 'Upsample', { mode: 'nearest', scales: [1, 1, 2, 3] }],
  ['Upsample, linear', 7, 'Upsample', { mode: 'linear', scales: [1, 1, 2, 2] }],
]
for (const [name, opset, operator, attributes, outputs] of operators) {
  t.test(name, async (t) => {
    const make = (): ModelProto => small(opset, operator, attributes, outputs)
    t.same(await run(upgraded(make()), [2, 3, 4, 5]), await run(writeModel(make()), [2, 3, 4, 5]))
  })
}

/** y = Pad(Clip(x)) of float16 or float64, between casts. */
function narrow(dtype: 'float16' | 'float64', declared = true): ModelProto {
  const g = new GraphBuilder({ name: 'narrow', opset: 9, irVersion: 4, domains: { 'own.domain': 1 } })
  const x = g.node('Cast', [g.input('x', 'float32', [2, 3])], { to: elementTypeNumber(dtype) })
  const known = declared ? x : g.node('Own', [x], {}, { domain: 'own.domain' })
  const clipped = g.node('Clip', [known], { min: -0.5, max: 0.75 }, { name: 'clip' })
  const padded = g.node('Pad', [clipped], { pads: [0, 1, 0, 2], value: float(0.25) }, { name: 'pad' })
  g.output(g.node('Cast', [padded], { to: elementTypeNumber('float32') }, { output: 'y' }), 'float32', [2, 6])
  return g.toModel()
}

for (const dtype of ['float16', 'float64'] as const)
  t.test(`limits and padding of ${dtype} have its type`, async (t) => {
    const message = `Clip node "clip" reads "x" of ${dtype} and "least" of float32, which have to be of one type`
    t.throws(() => checkModel(mixed(dtype)), {
      code: 'ERR_TRT_ONNX_PARSE',
      message,
      details: { node: 'clip', value: 'least' },
    })
    const after = upgraded(narrow(dtype))
    checkModel(parseModel(after))
    const [{ data } = { data: [] }] = await run(after, [2, 3])
    const rounded = Tensor.fromFloat32(dtype, numbers(6))
      .toFloat32()
      .data.map((value) => Math.min(Math.max(value, -0.5), 0.75))
    t.same(data, Float32Array.from([0.25, ...rounded.slice(0, 3), 0.25, 0.25, 0.25, ...rounded.slice(3), 0.25, 0.25]))
    const pictures = withPreprocessing(pictureModel(dtype), {
      steps: { round: true },
      picture: { width: 4, height: 4 },
    })
    t.equal(inspectModel(pictures).opset, 13)
    checkModel(pictures)
    const session = await ort.InferenceSession.create(writeModel(pictures), {
      intraOpNumThreads: 1,
      logSeverityLevel: 4,
    })
    const x = new ort.Tensor(
      'uint8',
      Uint8Array.from({ length: 48 }, (_, i) => i * 5),
      [1, 4, 4, 3],
    )
    const { y } = await session.run({ x })
    t.same([...(y?.data as Float32Array)].slice(0, 4), [10, 15, 30, 45])
    await session.release()
  })

/** What came of {@link narrow} before: a limit of float32. */
function mixed(dtype: 'float16' | 'float64'): ModelProto {
  const g = new GraphBuilder({ name: 'mixed', opset: 13 })
  const x = g.input('x', dtype, [2])
  g.output(
    g.node('Clip', [x, g.constant('least', Tensor.from(Float32Array.of(0), []))], {}, { name: 'clip' }),
    dtype,
    [2],
  )
  return g.toModel()
}

/** Clip before a model of pictures in half precision. */
function pictureModel(dtype: 'float16' | 'float64'): ModelProto {
  const g = new GraphBuilder({ name: 'pictures', opset: 9, irVersion: 4 })
  const x = g.node('Cast', [g.input('x', 'float32', [1, 3, 4, 4])], { to: elementTypeNumber(dtype) })
  const clipped = g.node('Clip', [x], { min: 10, max: 200 })
  g.output(g.node('Cast', [clipped], { to: elementTypeNumber('float32') }, { output: 'y' }), 'float32', [1, 3, 4, 4])
  return g.toModel()
}

t.test('a type that is not known, and statistics for each element, are reasons', (t) => {
  refused(
    narrow('float16', false),
    13,
    /clip \(Clip\) has min and max as attributes, which become inputs of the type of "/,
  )
  const g = new GraphBuilder({ name: 'each element', opset: 8, irVersion: 4 })
  const statistics = [1, 2, 3, 4].map((value, i) =>
    g.constant(`s${i}`, new Tensor('float32', new Float32Array(6).fill(value), [3, 2])),
  )
  g.output(
    g.node('BatchNormalization', [g.input('x', 'float32', [1, 3, 2]), ...statistics], { spatial: 0 }, { name: 'bn' }),
    'float32',
    [1, 3, 2],
  )
  refused(g.toModel(), 13, /bn \(BatchNormalization\) has a mean and variance for each element/)
  t.equal(inspectModel(withOpset(g.toModel(), 8)).opset, 8, 'its own')
  t.end()
})

t.test('what cannot be', async (t) => {
  refused(small(6, 'Relu', {}), 13, /cannot be raised to opset 13: .*from opset 7 on/)
  refused(small(9, 'Relu', {}), 23, /22 at most/)
  refused(small(9, 'Relu', {}), 8, /an opset from 9 on, the model's, but received 8/)
  for (const opset of [0, 8.5, '13', undefined, NaN])
    t.throws(() => withOpset(small(7, 'Relu', {}), opset as number), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  const failure = quantize(small(6, 'Relu', {}), new Calibrator([]))
  t.match(await failureOf(() => failure), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /needs opset 13 and the model has 6.*Export it/,
  })
})
