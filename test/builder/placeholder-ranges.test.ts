// Ranges of INT8 that nobody measured: set as trtexec sets them, marked in the plan, and refused by whoever was not
// told.
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Builder, type BuilderOptions, Engine, EngineCache, Plan } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { identityPlan } from '../fake/plan.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { oneNode, quantizedModel } from '../support/models.js'

const { families } = await useFakes()
const [trt10, trt11] = families

const placeholders: BuilderOptions = {
  tensorrt: { library: trt10.path },
  precision: ['int8', 'fp16'],
  placeholderRanges: true,
}

/** x → Relu → a, x → Abs → b, Concat(a, b) → c → Sigmoid → d. */
function branches(): Uint8Array {
  const graph = new GraphBuilder({ name: 'branches' })
  const x = graph.input('x', 'float32', [1, 4])
  const node = (op: string, name: string, inputs: string[], attributes = {}): string =>
    graph.node(op, inputs, attributes, { name })
  const c = node('Concat', 'c', [node('Relu', 'a', [x]), node('Abs', 'b', [x])], { axis: 1 })
  graph.output(node('Sigmoid', 'd', [c]), 'float32', [1, 8])
  return writeModel(graph.toModel())
}

const told = (): Record<string, number> => trt10.control.stats().builds.at(-1) ?? {}

t.test('each tensor has a range: 2 into a layer, 4 out of it and on both sides of a concatenation', async (t) => {
  const plan = await new Builder(placeholders).build(branches())
  t.match(told(), {
    'rangeMin.x': -2,
    'rangeMax.x': 2,
    'rangeMax.a': 4,
    'rangeMax.b': 4,
    'rangeMin.c': -4,
    'rangeMax.c': 4,
    'rangeMax.d': 4,
  })
  t.same(plan.info.settings.placeholderRanges, true)
  t.same(plan.info.settings.precision, ['fp16', 'int8'])
  const without = await new Builder({ tensorrt: { library: trt10.path }, placeholderRanges: false }).build(branches())
  t.notOk('placeholderRanges' in without.info.settings)
  t.notOk(
    Object.keys(told()).some((name) => name.startsWith('range')),
    'never unless asked for',
  )
})

t.test('what does not go together', async (t) => {
  const wrong: [BuilderOptions, RegExp][] = [
    [{ placeholderRanges: true }, /placeholderRanges needs precision 'int8'/],
    [{ placeholderRanges: true, precision: 'fp16' }, /placeholderRanges needs precision 'int8'/],
    [{ ...placeholders, stronglyTyped: true }, /placeholderRanges needs a weakly typed network/],
    [{ placeholderRanges: 1 as never }, /Expected true or false for placeholderRanges/],
  ]
  for (const [options, message] of wrong)
    t.match(await failureOf(() => new Builder(options)), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
  const calibrator = { batches: () => [] }
  t.match(await failureOf(() => new Builder(placeholders).build(oneNode('Relu'), { calibrator })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
  })
  t.match(await failureOf(() => new Builder(placeholders).build(quantizedModel())), {
    code: 'ERR_TRT_PRECISION',
    message: /the model has ranges of its own, in quantizing layer 'q'/,
  })
  t.match(
    await failureOf(() =>
      new Builder({ ...placeholders, tensorrt: { library: trt11.path }, precision: 'int8' }).build(oneNode('Relu')),
    ),
    {
      code: 'ERR_TRT_UNSUPPORTED',
      message: /ranges of tensors need TensorRT 10; this is TensorRT 11.*quantize/,
    },
  )
  trt10.parser.failNth('VTensor.setDynamicRange', 1)
  t.match(await failureOf(() => new Builder(placeholders).build(oneNode('Relu'))), {
    code: 'ERR_TRT_PRECISION',
    message: /takes no range for tensor 'x'/,
  })
})

t.test('Engine refuses such a plan unless told, with its sidecar and without', async (t) => {
  const folder = t.testdir()
  const [path, bare] = [join(folder, 'model.plan'), join(folder, 'bare.plan')]
  const plan = await new Builder(placeholders).build(oneNode('Relu'))
  await plan.save(path)
  await copyFile(path, bare)
  const tensorrt = trt10.path
  for (const source of [plan, path, bare, await Plan.load(bare)]) {
    const error = await failureOf(() => Engine.load(source, { tensorrt: { library: tensorrt } }))
    t.match(error, {
      code: 'ERR_TRT_PLACEHOLDER_RANGES',
      message: /nobody measured.*outputs mean nothing.*allowPlaceholderRanges: true/,
    })
    await using engine = await Engine.load(source, { tensorrt: { library: tensorrt, allowPlaceholderRanges: true } })
    t.equal(engine.backend, 'tensorrt')
  }
  await using other = await Engine.load(identityPlan([1, 4]), { tensorrt: { library: tensorrt } })
  t.equal(other.backend, 'tensorrt', 'others need no permission')
})

t.test('a model that is to be built so, and the cache', async (t) => {
  const { tensorrt, ...builder } = placeholders
  const model = oneNode('Relu')
  const before = trt10.control.stats().builds.length
  t.match(await failureOf(() => Engine.load(model, { tensorrt: { ...tensorrt, builder } })), {
    code: 'ERR_TRT_PLACEHOLDER_RANGES',
  })
  t.equal(trt10.control.stats().builds.length, before, 'nothing was built for it')
  await using engine = await Engine.load(model, {
    tensorrt: { ...tensorrt, builder, allowPlaceholderRanges: true },
    cache: false,
  })
  t.equal(engine.backend, 'tensorrt')
  await using cache = new EngineCache({ folder: t.testdir() })
  const int8 = { tensorrt: { library: trt10.path }, precision: 'int8' } as const
  await cache.plan(quantizedModel(), { builder: int8 })
  t.match(
    await failureOf(() => cache.plan(quantizedModel(), { builder: { ...int8, placeholderRanges: true } })),
    { code: 'ERR_TRT_PRECISION' },
    'another key',
  )
})
