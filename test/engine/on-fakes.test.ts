// The same on fakes of TensorRT, which refuses texts; and libraries of custom operators, which are built with them.
import { create } from '@bufbuild/protobuf'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Builder, Engine, Tensor } from '../../lib/index.js'
import { type Dim, GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { StringStringEntryProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { Segmenter } from '../../lib/tasks/index.js'
import { writeImage } from '../../lib/vision/index.js'
import { trt } from '../cli/rig.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { identity, strings } from '../support/models.js'

const { fakes, families } = await useFakes()
const library = families[0].path
const gpu = { backend: 'tensorrt', tensorrt: { library } } as const

function described(): Uint8Array {
  const g = new GraphBuilder({ name: 'described' })
  g.output(g.node('Relu', [g.input('x', 'float32', ['N', 3])], {}, { output: 'y' }), 'float32', ['N', 3])
  const model = g.toModel()
  model.metadataProps = [create(StringStringEntryProtoSchema, { key: 'a', value: 'b' })]
  return writeModel(model)
}

t.test('TensorRT has the metadata of the model that it was built from, cached or not; a plan none', async (t) => {
  const cache = join(t.testdir(), 'cache')
  for (const what of ['built', 'cached']) {
    await using engine = await Engine.load(described(), { ...gpu, cache, freeDimensions: { N: 2 } })
    t.same({ ...engine.customMetadata }, { a: 'b' }, what)
    t.same({ ...engine.optionalInputs }, {})
    t.same(engine.inputs['x']?.shape, [2, 3], 'no shapes are needed for a model whose dimensions are all known')
    await using attached = await Engine.attach(engine.share())
    t.same({ ...attached.customMetadata }, { a: 'b' })
  }
  await using builder = new Builder({ tensorrt: { library } })
  const plan = await builder.build(described(), { shapes: { x: [2, 3] } })
  await using engine = await Engine.load(plan, gpu)
  t.same({ ...engine.customMetadata }, {})
  t.match(await failureOf(() => Engine.load(plan, { ...gpu, freeDimensions: { N: 2 } })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /its dimensions were decided when it was built. Leave out the option freeDimensions/,
  })
})

t.test('TensorRT refuses texts by name, before anything is built', async (t) => {
  const rows: [Uint8Array, RegExp, object][] = [
    [identity('string', ['N']), /The input "x" of the model is of texts/, { input: 'x', type: 'string' }],
    [strings(), /The output "s" of the model is of texts/, { output: 's', type: 'string' }],
  ]
  await using builder = new Builder({ tensorrt: { library } })
  for (const [model, message, details] of rows) {
    const wanted = { code: 'ERR_TRT_DTYPE', message, details }
    t.match(await failureOf(() => Engine.load(model, { ...gpu, shapes: { x: [1] }, cache: false })), wanted)
    t.match(await failureOf(() => builder.build(model, { shapes: { x: [1] } })), wanted)
    t.match(await failureOf(() => builder.parse(model)), wanted)
  }
})

t.test('libraries of custom operators', async (t) => {
  const g = new GraphBuilder({ name: 'twice', opset: 17, domains: { test: 1 } })
  const x = g.input('x', 'float32', ['N', 2])
  g.output(g.node('Twice', [x], {}, { output: 'y', domain: 'test' }), 'float32', ['N', 2])
  const model = writeModel(g.toModel())
  const load = (...customOps: string[]): Promise<Engine> => Engine.load(model, { backend: 'cpu', cpu: { customOps } })
  for (let i = 0; i < 3; i++) {
    await using engine = await load(fakes.customOps)
    t.same((await engine.infer(new Tensor('float32', [1, 2], [1, 2]))).data, Float32Array.of(2, 4))
  }
  const rows: [string, RegExp][] = [
    [join(t.testdir(), 'nowhere.so'), /no such file/i],
    [process.argv[1] ?? '', /invalid ELF header|file too short/],
    [fakes.plugin, /RegisterCustomOps/],
    [fakes.refusingOps, /this library wants nobody's sessions/],
  ]
  for (const [path, message] of rows) {
    const failure = await failureOf(() => load(path))
    t.match(failure, { code: 'ERR_TRT_FILE', message, details: { path } })
    t.ok(failure.message.includes(path))
  }
  t.equal((await failureOf(() => load())).code, 'ERR_TRT_ONNX_PARSE', 'without one')
})

t.test('sizes that a task opens carry their range to TensorRT; shapes of the user go first', async (t) => {
  const model = (...shape: Dim[]): Uint8Array => {
    const g = new GraphBuilder({ name: 'classes' })
    g.output(g.node('Relu', [g.input('images', 'float32', shape)], {}, { output: 'y' }), 'float32', shape)
    return writeModel(g.toModel())
  }
  const preset = {
    task: 'segment',
    input: { size: { multipleOf: 32 }, minSide: 64 },
    output: { decide: 'argmax' },
    source: 'a test',
  } as const
  const square = (batch: number, side: number): number[] => [batch, 3, side, side]
  const ranges = async (source: Uint8Array | string, options: object): Promise<unknown> => {
    await using segmenter = await Segmenter.load(source, { ...gpu, preset, cache: false, ...options })
    return segmenter.engine.inputs['images']?.profiles
  }
  const path = join(t.testdir(), 'small.onnx')
  writeFileSync(path, model(1, 3, 32, 32))
  for (const source of [path, model(1, 3, 32, 32), model('batch', 3, 'height', 'width')])
    t.same(await ranges(source, {}), [{ min: square(1, 32), opt: square(1, 640), max: square(1, 1920) }])
  t.same(
    await ranges(path, { batching: { maxBatch: 4 }, input: { maxSide: 320 } }),
    [{ min: square(1, 32), opt: square(4, 320), max: square(4, 320) }],
    'of a batch, and of what is allowed',
  )
  t.same(await ranges(path, { shapes: { images: square(1, 64) } }), [
    { min: square(1, 64), opt: square(1, 64), max: square(1, 64) },
  ])
  t.same(
    await ranges(model('batch', 3, 64, 64), { input: { size: 64 } }),
    [{ min: square(1, 64), opt: square(1, 64), max: square(1, 64) }],
    'only the batch is dynamic',
  )
})

t.test('trt run does the same', async (t) => {
  const folder = t.testdir({ preset: {} })
  const g = new GraphBuilder({ name: 'classes' })
  const shape = [1, 3, 32, 32]
  g.output(g.node('Relu', [g.input('images', 'float32', shape)], {}, { output: 'y' }), 'float32', shape)
  writeFileSync(join(folder, 'm.onnx'), writeModel(g.toModel()))
  const input = { size: { multipleOf: 32 }, minSide: 64 }
  writeFileSync(
    join(folder, 'p.json'),
    JSON.stringify({ task: 'segment', input, output: { decide: 'argmax' }, source: '' }),
  )
  await writeImage({ width: 40, height: 80, channels: 3, data: new Uint8Array(9600).fill(9) }, join(folder, 'a.png'))
  const [model, picture, json] = ['m.onnx', 'a.png', 'p.json'].map((name) => join(folder, name))
  const args = ['run', model!, picture!, '--preset', json!, '--backend', 'tensorrt', '--tensorrt', library, '--json']
  t.match(await trt(args), { code: 0, stdout: /"backend": "tensorrt"/, stderr: /its sizes are opened/ })
})
