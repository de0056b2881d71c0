// Models on the CPU whose outputs are counted where they are computed.
import { create } from '@bufbuild/protobuf'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import * as ort from 'onnxruntime-node'
import t from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import { Observation, type Observed } from '../../lib/backend/observing.js'
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { ValueInfoProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { force } from '../engine/ways.js'
import { failureOf } from '../support/errors.js'
import { expand, identity, slow, twoInTwoOut } from '../support/models.js'
import { Random } from '../support/random.js'
import { realModels } from '../support/real-models.js'
import { randomTensor } from '../support/values.js'
import { until } from '../support/waiting.js'

/**
 * What is to be said of values, by the definition: numbers of JavaScript are doubles, in which every step of this is
 * exact.
 */
function counted(tensors: readonly Float32Array[]): Omit<Observed, 'name' | 'shape'> {
  const finite = tensors.map((tensor) => tensor.filter(Number.isFinite))
  const count = finite.reduce((sum, { length }) => sum + length, 0)
  let [min, max] = [Infinity, -Infinity]
  for (const values of finite) for (const value of values) [min, max] = [Math.min(min, value), Math.max(max, value)]
  const largest = count === 0 ? 0 : Math.max(-min, max)
  let width = largest === 0 ? 0 : 2 ** -200
  while (largest > 0 && largest >= 4096 * width) width *= 2
  const counts = new Float64Array(largest === 0 ? Math.min(count, 1) : Math.floor(largest / width) + 1)
  for (const values of finite)
    for (const value of values) counts[largest === 0 ? 0 : Math.floor(Math.abs(value) / width)]! += 1
  const nonFinite = tensors.reduce((sum, { length }) => sum + length, 0) - count
  return { count, nonFinite, min: count === 0 ? 0 : min + 0, max: count === 0 ? 0 : max + 0, width, counts }
}

/** The operators of PP-OCR's classifier of directions whose outputs are of float32. */
const ofFloats = [
  'Conv',
  'Relu',
  'Add',
  'Mul',
  'Clip',
  'Div',
  'BatchNormalization',
  'HardSigmoid',
  'GlobalAveragePool',
  'MaxPool',
  'MatMul',
  'Softmax',
]

/** A real model of which the outputs of most nodes were made outputs of the model. */
function opened(): Uint8Array {
  const model = parseModel(readFileSync(realModels.classifier))
  const { node, output } = model.graph!
  const names = new Set(output.map(({ name }) => name))
  const floats = node.filter(({ opType }) => ofFloats.includes(opType)).flatMap((each) => each.output)
  for (const name of floats.filter((name) => !names.has(name))) {
    output.push(create(ValueInfoProtoSchema, { name, type: { value: { case: 'tensorType', value: { elemType: 1 } } } }))
  }
  return writeModel(model)
}

/** y = x, and where x is not zero, which is int64 and of no interest. */
function mixed(): Uint8Array {
  const g = new GraphBuilder({ name: 'mixed', opset: 19 })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('NonZero', [x], {}, { output: 'i' }), 'int64', [1, 'M'])
  g.output(g.node('Identity', [x], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

t.test(
  'every activation of a real model is what onnxruntime gives for it, counted; with one lane and with three',
  async (t) => {
    const model = opened()
    const random = new Random(1)
    const inputs = Array.from({ length: 5 }, (_, i) =>
      randomTensor([1, 3, 32, 48 + 16 * (i % 2)], random, 2 ** (i - 2)),
    )
    const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1 })
    const given = new Map<string, Float32Array[]>(session.outputNames.map((name) => [name, []]))
    const shapes = new Map<string, string[]>(session.outputNames.map((name) => [name, []]))
    for (const { data, shape } of inputs) {
      const outputs = await session.run({ [session.inputNames[0]!]: new ort.Tensor('float32', data, shape) })
      for (const [name, { data, dims }] of Object.entries(outputs)) {
        given.get(name)!.push(data as Float32Array)
        shapes.get(name)!.push(dims.join('x'))
      }
    }
    await session.release()
    const expected = new Map(Array.from(given, ([name, tensors]) => [name, counted(tensors)]))
    t.ok(expected.size > 50)
    for (const lanes of [1, 3]) {
      await using observation = await Observation.open(model, { cpu: { threads: 1 }, lanes })
      await Promise.all((lanes === 1 ? inputs : inputs.toReversed()).map((input) => observation.run([input])))
      const observed = observation.observed()
      t.same(observed.map(({ name }) => name), session.outputNames) // prettier-ignore
      for (const { name, shape, ...figures } of observed) {
        t.ok(isDeepStrictEqual(figures, expected.get(name)), name)
        t.ok(shapes.get(name)!.includes(shape.join('x')), `${name}: ${shape.join('x')}`)
      }
    }
    t.end()
  },
)

t.test('the shape is that of the first inference; outputs of other types are not there', async (t) => {
  await using observation = await Observation.open(mixed())
  t.same(
    observation.inputs.map(({ name, dtype, shape }) => ({ name, dtype, shape })),
    [{ name: 'x', dtype: 'float32', shape: [-1] }],
  )
  t.same(observation.observed(), [], 'nothing has run')
  const tensors = [
    new Float32Array(3),
    Float32Array.of(NaN, -0, Infinity, 2 ** -149, -Infinity),
    Float32Array.of(3.4028234663852886e38),
  ]
  for (const [i, data] of tensors.entries()) {
    t.equal(await observation.run([new Tensor('float32', data, [data.length])]), undefined)
    t.same(observation.observed(), [{ name: 'y', shape: [3], ...counted(tensors.slice(0, i + 1)) }])
  }
})

t.test('more outputs than an engine may have', async (t) => {
  const g = new GraphBuilder({ name: 'many', opset: 19 })
  const x = g.input('x', 'float32', ['N'])
  for (let i = 0; i < 1100; i++) g.output(g.node('Neg', [x], {}, { output: `y${i}` }), 'float32', ['N'])
  await using observation = await Observation.open(writeModel(g.toModel()), { cpu: { threads: 1 } })
  await observation.run([new Tensor('float32', Float32Array.of(-2, 1), [2])])
  const observed = observation.observed()
  t.equal(observed.length, 1100)
  const one = { shape: [2], ...counted([Float32Array.of(2, -1)]) }
  t.ok(
    isDeepStrictEqual(
      observed,
      Array.from({ length: 1100 }, (_, i) => ({ name: `y${i}`, ...one })),
    ),
  )
})

t.test('options of onnxruntime arrive there', async (t) => {
  const config = { 'session.disable_prepacking': '1' }
  const observation = await Observation.open(identity(), {
    cpu: { optimization: 'disabled', deterministic: true, config },
  })
  await observation.close()
  const wrong = { cpu: { library: '/nowhere/libonnxruntime.so' } }
  t.equal((await failureOf(() => Observation.open(identity(), wrong))).code, 'ERR_TRT_NO_ONNXRUNTIME')
  const refused = { cpu: { config: { 'session.use_ort_model_bytes_directly': '1' } } }
  t.match(await failureOf(() => Observation.open(identity(), refused)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /use_ort_model_bytes/,
  })
})

t.test('what it does not take', async (t) => {
  const parse = await failureOf(() => Observation.open(new Uint8Array(9)))
  t.equal(parse.code, 'ERR_TRT_ONNX_PARSE')
  const none = await failureOf(() => Observation.open(identity('int64')))
  t.match(none, { code: 'ERR_TRT_INVALID_ARGUMENT', message: 'Expected a model with an output of float32' })
  await using observation = await Observation.open(twoInTwoOut())
  const a = randomTensor([2, 3], 2)
  const code = async (...inputs: unknown[]): Promise<string> =>
    (await failureOf(() => observation.run(inputs as Tensor[]))).code
  t.equal(await code(a), 'ERR_TRT_INVALID_ARGUMENT')
  t.equal(await code(a, new Float32Array(6)), 'ERR_TRT_INVALID_ARGUMENT')
  t.equal(await code(a, Tensor.zeros('int32', [2, 3])), 'ERR_TRT_DTYPE')
  t.equal(await code(a, Tensor.zeros('float32', [2, 4])), 'ERR_TRT_SHAPE')
  const gone = Tensor.zeros('float32', [2, 3])
  structuredClone(gone.data, { transfer: [gone.data.buffer as ArrayBuffer] })
  t.equal(await code(a, gone), 'ERR_TRT_DETACHED')
  t.same(observation.observed(), [])
})

t.test('an inference that fails counts nothing, and the next one does', async (t) => {
  await using observation = await Observation.open(expand())
  const x = randomTensor([3], 3)
  const run = (size: bigint): Promise<void> => observation.run([x, new Tensor('int64', BigInt64Array.of(size), [1])])
  t.equal((await failureOf(() => run(5n))).code, 'ERR_TRT_EXECUTION')
  t.same(observation.observed(), [])
  await run(3n)
  t.equal(observation.observed()[0]?.count, 3)
})

t.test('a signal ends an inference, and the opening; no listener is left', async (t) => {
  const reason = new Error('enough')
  const controller = new AbortController()
  await t.rejects(Observation.open(identity(), { signal: AbortSignal.abort(reason) }), reason)
  const opening = Observation.open(slow(), { signal: controller.signal })
  controller.abort(reason)
  await t.rejects(opening, reason)
  const observation = await Observation.open(slow(), { cpu: { threads: 1 } })
  const running = new AbortController()
  const x = randomTensor([512, 512], 4)
  const runs = [observation.run([x], { signal: running.signal }), observation.run([x], { signal: running.signal })]
  running.abort(reason)
  for (const run of runs) await t.rejects(run, reason)
  await t.rejects(observation.run([x], { signal: AbortSignal.abort(reason) }), reason)
  await observation.close()
})

t.test('closed: twice without harm, and nothing works any more', async (t) => {
  const observation = await Observation.open(identity())
  const last = observation.run([randomTensor([9], 5)])
  await Promise.all([observation.close(), observation.close(), t.resolves(last)])
  await observation.close()
  t.throws(() => observation.observed(), { code: 'ERR_TRT_CLOSED' })
  t.equal((await failureOf(() => observation.run([randomTensor([9], 5)]))).code, 'ERR_TRT_CLOSED')
})

t.test('without the addon it is refused, with the reason', async (t) => {
  force('portable')
  t.teardown(() => force('addon'))
  const message =
    'To count what a model computes takes the addon of node-tensorrt: NODE_TENSORRT_PORTABLE=1 asks for that'
  t.match(await failureOf(() => Observation.open(identity())), { code: 'ERR_TRT_NO_ADDON', message })
})

t.test('nothing is left', async (t) => {
  // an opening that was aborted ends once onnxruntime has read the model
  await until(() => loadAddon().cpuLive().engines === 0)
  t.same(loadAddon().cpuLive(), { engines: 0, lanes: 0, values: 0 })
})
