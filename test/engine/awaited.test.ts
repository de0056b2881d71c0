// A promise where its value is meant is called one; and the choice of 'auto' is told by errors that it explains alone.
import { join } from 'node:path'
import t from 'tap'
import type { Benchmark } from '../../lib/benchmark/index.js'
import { Builder, Engine, inspect, Plan, Tensor } from '../../lib/index.js'
import { GraphBuilder, inspectModel, readModel, writeModel } from '../../lib/onnx/index.js'
import { Classifier } from '../../lib/tasks/index.js'
import { streams } from '../../lib/video/index.js'
import { readImage } from '../../lib/vision/index.js'
import { trt } from '../cli/rig.js'
import { failureOf } from '../support/errors.js'

const graph = new GraphBuilder({ name: 'g' })
graph.output(graph.node('Relu', [graph.input('x', 'float32', [1, 4])], {}, { output: 'y' }), 'float32', [1, 4])
const model = writeModel(graph.toModel())
const x = Tensor.zeros('float32', [1, 4])
const engine = await Engine.load(model)
t.teardown(() => engine.close())

t.test('a promise that nobody awaited', async (t) => {
  const later = (value: unknown): never => Promise.resolve(value) as never
  const task = Promise.reject(new Error('not loaded')) as never
  Promise.resolve(task).catch(() => {})
  const rows: [string, () => unknown][] = [
    ['a record of inputs', () => engine.infer(later({ x }))],
    ['a bare input', () => engine.infer(later(x))],
    ['inferSync', () => engine.inferSync(later({ x }))],
    ['an input', () => engine.infer({ x: later(x) })],
    ['options of infer', () => engine.infer({ x }, later({}))],
    ['into', () => engine.infer({ x }, { into: later({}) })],
    ['a tensor of into', () => engine.infer({ x }, { into: { y: later(x) } })],
    ['location', () => engine.infer({ x }, { location: later('host') })],
    ['inputs of stream', () => engine.stream(later([{ x }])).next()],
    ['inputs of warmup', () => engine.warmup({ inputs: later({ x }) })],
    ['inputs of benchmark', () => engine.benchmark({ inputs: later({ x }) })],
    ['a model', () => Engine.load(later(model))],
    ['options of load', () => Engine.load(model, later({}))],
    ['a group of options', () => Engine.load(model, { cpu: later({}) })],
    ['shapes', () => Engine.load(model, { shapes: later({}) })],
    ['a token', () => Engine.attach(later(engine.share()))],
    ['a plan', () => Plan.load(later(model))],
    ['a model to build', () => new Builder().build(later(model))],
    ['a model to inspect', () => inspect(later(model))],
    ['a model to read', () => readModel(later(model))],
    ['a model that is being read', () => inspectModel(readModel(model) as never)],
    ['data of a tensor', () => new Tensor('float32', later(x.data), [1, 4])],
    ['a picture', () => readImage(later(new Uint8Array(4)))],
    ['options of a task', () => Classifier.load(model, later({}))],
    ['a task', () => streams([], task)],
  ]
  for (const [name, call] of rows)
    t.match(
      await failureOf(async () => call()),
      { code: 'ERR_TRT_INVALID_ARGUMENT', message: /^Expected .* but received a Promise: await it$/ },
      name,
    )
})

t.test("errors that the choice of 'auto' does not explain", { skip: engine.backend !== 'cpu' }, async (t) => {
  const rows: [string, () => Promise<unknown>, string][] = [
    ['a truncated model', () => Engine.load(model.subarray(0, model.length - 8)), 'ERR_TRT_ONNX_PARSE'],
    ['no model', () => Engine.load(Buffer.from('<html></html>')), 'ERR_TRT_MODEL_FORMAT'],
    ['batches of a fixed model', () => Engine.load(model, { batching: { maxBatch: 4 } }), 'ERR_TRT_INVALID_ARGUMENT'],
    ['an unknown shape', () => Engine.load(model, { shapes: { z: [1, 4] } }), 'ERR_TRT_UNKNOWN_INPUT'],
    ['a wrong shape', () => Engine.load(model, { shapes: { x: [2, 4] } }), 'ERR_TRT_SHAPE'],
    ['no onnxruntime', () => Engine.load(model, { cpu: { library: '/no/such' } }), 'ERR_TRT_NO_ONNXRUNTIME'],
    ['a stranger', () => Engine.load(model, { conf: 1 } as never), 'ERR_TRT_INVALID_ARGUMENT'],
    ['a declaration', () => Engine.load(model, { inputs: { x: 'int8' } }), 'ERR_TRT_DECLARATION'],
    ['an input', () => engine.infer({ z: x }), 'ERR_TRT_UNKNOWN_INPUT'],
  ]
  for (const [name, call, code] of rows) {
    const error = await failureOf(call)
    t.match(error, { code }, name)
    t.notMatch(error.message, /auto/, error.message)
  }
  t.match(await failureOf(() => engine.layers()), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /layers\(\) needs the TensorRT backend; this engine runs on the CPU, which 'auto' took since/,
  })
})

t.test('options of a build where nothing is built', { skip: engine.backend !== 'cpu' }, async (t) => {
  const file = join(t.testdir({ 'm.onnx': Buffer.from(model) }), 'm.onnx')
  await using built = await Engine.load(file, { tensorrt: { builder: { precision: 'fp16' } } })
  t.match(built.backendReason, /of the options, tensorrt\.builder does not count here$/)
  const brief = ['bench', file, '--fp16', '--warm-up', '1', '--duration', '0.02', '--iterations', '5']
  const idle = /--fp16 had no effect: the CPU backend was measured/
  t.match((await trt(brief)).stdout.replaceAll(/\s+/g, ' '), idle, 'the table says so')
  const { warnings } = JSON.parse((await trt([...brief, '--json'])).stdout) as Benchmark
  t.match(
    warnings.find(({ code }) => code === 'not-built'),
    { message: idle },
    'and the document',
  )
})
