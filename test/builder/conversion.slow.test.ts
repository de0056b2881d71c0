// Builder({ precision: 'fp16' | 'bf16' }): flags on TensorRT 10, types in the model elsewhere, which are put there on
// another thread.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Builder, type LogLine, onLog, Plan, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { oneNode, typedModel } from '../support/models.js'

const { families } = await useFakes()
const [trt10, trt11] = families
const folder = temporaryFolder(t)

const relu = oneNode('Relu')
/** TensorRT 10's BuilderFlag kFP16 is 0, and kTF32, which is on by default, 6: see enums.json. */
const flags = 2 ** 0 + 2 ** 6

t.test('TensorRT 10 has flags: the model stays as it is', async (t) => {
  const { info } = await new Builder({ tensorrt: { library: trt10.path }, precision: 'fp16' }).build(relu)
  t.equal(info.conversion, undefined)
  t.same(info.network.outputTypes, { float32: 1 })
  t.match(info.settings, { precision: ['fp16'], stronglyTyped: false })
  t.equal(trt10.control.stats().builds.at(-1)?.['flags'], flags)
})

for (const [name, options] of [
  ['TensorRT 11', { tensorrt: { library: trt11.path } }],
  ['TensorRT 10, strongly typed', { tensorrt: { library: trt10.path }, stronglyTyped: true }],
] as const) {
  t.test(`${name}: the model is converted, and it is said so`, async (t) => {
    for (const [precision, type] of [
      ['fp16', 'float16'],
      ['bf16', 'bfloat16'],
    ] as const) {
      // prettier-ignore
      const lines: LogLine[] = []
      const stop = onLog((line) => lines.push(line), 'info')
      const plan = await new Builder({ ...options, precision }).build(relu)
      await new Promise((resolve) => setImmediate(resolve))
      stop()
      const { info } = plan
      t.same(info.network.outputTypes, { [type]: 2, float32: 1 }, 'a cast, the node, a cast back')
      t.same(info.inputs.map(({ dtype }) => dtype), ['float32']) // prettier-ignore
      t.match(info.conversion, { precision, converted: 1, kept: [], casts: 2 })
      t.match(info.settings, { precision: [precision], stronglyTyped: true })
      const told = lines.filter(({ text }) => text.includes('was converted'))
      t.equal(told.length, 1, 'one line of the log')
      t.match(told[0], {
        level: 'info',
        text: new RegExp(`types from the model, which was converted to ${type}: .* 1 nodes, 2 casts`),
      })
      const path = join(folder, `${name} ${precision}.plan`)
      await plan.save(path)
      t.same((await Plan.inspect(path)).info.conversion, info.conversion, 'it stands in the sidecar')
    }
  })
}

t.test('a model that has the type already is as its maker wanted it', async (t) => {
  const g = new GraphBuilder({ name: 'mixed' })
  const half = g.node('Relu', [g.node('Cast', [g.input('x', 'float32', [4])], { to: 10 })])
  g.output(g.node('Exp', [g.node('Cast', [half], { to: 1 })], {}, { output: 'y' }), 'float32', [4])
  for (const [model, types] of [
    [typedModel('float16'), { float16: 1 }],
    [writeModel(g.toModel()), { float16: 2, float32: 2 }],
  ] as const) {
    const { info } = await new Builder({ tensorrt: { library: trt11.path }, precision: 'fp16' }).build(model)
    t.equal(info.conversion, undefined)
    t.same(info.network.outputTypes, types)
  }
  t.match(
    await failureOf(() =>
      new Builder({ tensorrt: { library: trt11.path }, precision: 'bf16' }).build(typedModel('float16')),
    ),
    {
      code: 'ERR_TRT_PRECISION',
      message: /no 'bf16'/,
    },
  )
})

/** y = x + w, with w in a file beside the model. */
function external(): string {
  const g = new GraphBuilder({ name: 'external' })
  g.output(
    g.node(
      'Add',
      [g.input('x', 'float32', [4]), g.constant('w', Tensor.from(Float32Array.of(1, 2, 3, 4)))],
      {},
      { output: 'y' },
    ),
    'float32',
    [4],
  )
  const model = parseModel(writeModel(g.toModel()))
  const [w] = model.graph?.initializer ?? []
  if (w === undefined) throw new Error('it has one')
  writeFileSync(join(folder, 'w.bin'), w.rawData)
  w.rawData = new Uint8Array()
  w.dataLocation = 1
  w.externalData = [{ $typeName: 'onnx.StringStringEntryProto', key: 'location', value: 'w.bin' }]
  const path = join(folder, 'external.onnx')
  writeFileSync(path, writeModel(model))
  return path
}

t.test('a file with weights in another file, a process of its own, an audit', async (t) => {
  const path = external()
  const weights = { bytesBefore: 16, bytesAfter: 8, bytesConverted: 16, flushed: 0 }
  for (const isolation of ['none', 'process'] as const) {
    await using builder = new Builder({ tensorrt: { library: trt11.path }, precision: 'fp16', isolation })
    const { info } = await builder.build(path)
    t.same(info.conversion?.weights, weights, isolation)
    t.same((await builder.parse(path)).outputTypes, info.network.outputTypes, 'an audit sees what would be built')
  }
})

t.test('what goes wrong', async (t) => {
  const builder = new Builder({ tensorrt: { library: trt11.path }, precision: 'fp16' })
  t.match(await failureOf(() => builder.build(join(folder, 'none.onnx'))), {
    code: 'ERR_TRT_FILE',
    message: /none\.onnx/,
  })
  t.match(await failureOf(() => builder.build(Uint8Array.of(8, 7, 255))), { code: 'ERR_TRT_ONNX_PARSE' })
  const g = new GraphBuilder({ name: 'old', opset: 6 })
  g.output(g.node('Relu', [g.input('x', 'float32', [4])], {}, { output: 'y' }), 'float32', [4])
  t.match(
    await failureOf(() =>
      new Builder({ tensorrt: { library: trt11.path }, precision: 'bf16' }).build(writeModel(g.toModel())),
    ),
    {
      code: 'ERR_TRT_PRECISION',
      message: /cannot be converted to bfloat16/,
    },
  )
  t.match(
    await failureOf(() =>
      new Builder({ tensorrt: { library: trt11.path }, precision: 'bf16' }).build(oneNode('HardSwish')),
    ),
    {
      code: 'ERR_TRT_PRECISION',
      message:
        /Nothing of the model can be converted to bfloat16: the-node stays in float32 \(TensorRT-RTX does not build HardSwish/,
      details: { precision: 'bf16', node: 'the-node', reason: 'unsupported' },
    },
  )
  const controller = new AbortController()
  const building = builder.build(relu, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await t.rejects(building, { message: 'enough' })
  await builder.close()
  t.match(await failureOf(() => new Builder({ tensorrt: { library: folder }, precision: 'fp16' }).build(relu)), {
    code: 'ERR_TRT_NO_LIBRARY',
  })
})
