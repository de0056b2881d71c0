// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu. Ensembles on real plans: a JPEG to its label
// with the preprocessing on the host and inside of the engine, and two engines between which a tensor stays on the
// device.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { HttpClient } from '../../lib/client/index.js'
import { Builder, Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, readModel, withPreprocessing, writeModel } from '../../lib/onnx/index.js'
import { serve } from '../../lib/serve/index.js'
import { readImage, stretch, toTensor } from '../../lib/vision/index.js'
import { temporaryFolder } from '../support/folders.js'
import { resnet50 } from './models.js'

const folder = temporaryFolder(t)
const shape = [1, ...resnet50.picture]
const picture = { width: 320, height: 240 }
const steps = {
  filter: 'triangle',
  round: true,
  range: '0-1',
  mean: [0.485, 0.456, 0.406],
  std: [0.229, 0.224, 0.225],
} as const
const mostRows = 16

function put(model: string, config: string, file?: string, content: string | Uint8Array = ''): void {
  mkdirSync(join(folder, model, '1'), { recursive: true })
  writeFileSync(join(folder, model, 'config.pbtxt'), config)
  if (file !== undefined) writeFileSync(join(folder, model, '1', file), content)
}

const tensor = (name: string, type: string, ...dims: readonly number[]): string =>
  `[ { name: "${name}" data_type: TYPE_${type} dims: [ ${dims.join(', ')} ] } ]`
const step = (model: string, [input, from]: readonly string[], [output, to]: readonly string[]): string =>
  `{ model_name: "${model}" model_version: -1 input_map { key: "${input}" value: "${from}" } output_map { key: "${output}" value: "${to}" } }`

function ensemble(name: string, input: string, output: string, all: readonly string[]): void {
  put(
    name,
    `platform: "ensemble" max_batch_size: ${mostRows} input ${input} output ${output} ensemble_scheduling { step [ ${all.join(', ')} ] }`,
  )
}

/** The probabilities of what ResNet-50 gives. */
function softmaxModel(classes: number): Uint8Array {
  const graph = new GraphBuilder({ name: 'softmax' })
  const x = graph.input('scores', 'float32', ['n', classes])
  graph.output(graph.node('Softmax', [x], { axis: 1 }, { output: 'probabilities' }), 'float32', ['n', classes])
  return writeModel(graph.toModel())
}

await using builder = new Builder({ precision: 'fp16' })
const rows = (dims: readonly number[]): { min: number[]; opt: number[]; max: number[] } => ({
  min: [1, ...dims],
  opt: [mostRows, ...dims],
  max: [mostRows, ...dims],
})
const plan = (await builder.build(resnet50.model(), { shapes: { x: rows(resnet50.picture) } })).bytes
const inside = writeModel(withPreprocessing(await readModel(resnet50.model()), { steps, picture }))
const insidePlan = (await builder.build(inside, { shapes: { x: rows([picture.height, picture.width, 3]) } })).bytes

await using alone = await Engine.load(plan)
const [output] = alone.outputNames
const classes = alone.outputs[output ?? '']?.shape.at(-1) ?? 0
const softmaxPlan = (await builder.build(softmaxModel(classes), { shapes: { scores: rows([classes]) } })).bytes

const engine = (input: string, result: string): string =>
  `backend: "tensorrt" max_batch_size: ${mostRows} input ${input} output ${result} dynamic_batching { max_queue_delay_microseconds: 500 }`
const scores = (name: string): string => tensor(name, 'FP32', classes)
put('resnet50', engine(tensor('x', 'FP32', ...resnet50.picture), scores(output ?? '')), 'model.plan', plan)
put(
  'inside',
  engine(tensor('x', 'UINT8', picture.height, picture.width, 3), scores(output ?? '')),
  'model.plan',
  insidePlan,
)
put('softmax', engine(scores('scores'), scores('probabilities')), 'model.plan', softmaxPlan)

const module = (body: string): string => `
import { defineModel } from 'node-tensorrt/serve'
import { readImage, stretch, toTensor } from 'node-tensorrt/vision'
export default defineModel({ execute: (requests) => Promise.all(requests.map(async (request) => {
  const picture = await readImage(request.inputs.jpeg.data)
  ${body}
})) })`
const jpeg = tensor('jpeg', 'UINT8', -1)
const threads = 'instance_group [ { count: 2 kind: KIND_CPU } ]'
put(
  'prepare',
  `backend: "node" max_batch_size: ${mostRows} input ${jpeg} output ${tensor('pixels', 'FP32', ...resnet50.picture)} ${threads}`,
  'model.mjs',
  module(`const into = request.output('pixels', ${JSON.stringify(shape)})
  return { pixels: await toTensor(picture, stretch(picture, 224), { ...${JSON.stringify(steps)}, into }) }`),
)
put(
  'decode',
  `backend: "node" max_batch_size: ${mostRows} input ${jpeg} output ${tensor('bytes', 'UINT8', picture.height, picture.width, 3)} ${threads}`,
  'model.mjs',
  module(`const bytes = request.output('bytes', [1, ${picture.height}, ${picture.width}, 3])
  bytes.data.set(picture.data)
  return { bytes }`),
)
ensemble('probable', tensor('x', 'FP32', ...resnet50.picture), scores('probabilities'), [
  step('resnet50', ['x', 'x'], [output ?? '', 'scores']),
  step('softmax', ['scores', 'scores'], ['probabilities', 'probabilities']),
])
ensemble('by-host', jpeg, scores('scores'), [
  step('prepare', ['jpeg', 'jpeg'], ['pixels', 'pixels']),
  step('resnet50', ['x', 'pixels'], [output ?? '', 'scores']),
])
ensemble('by-engine', jpeg, scores('scores'), [
  step('decode', ['jpeg', 'jpeg'], ['bytes', 'bytes']),
  step('inside', ['x', 'bytes'], [output ?? '', 'scores']),
])

await using server = await serve({ modelRepository: folder, http: { port: 0, address: '127.0.0.1' } })
await using client = new HttpClient(server.addresses.http?.url ?? '')

const photo = await readImage(
  readFileSync(
    join(dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')), 'demo', 'sample1.jpg'),
  ),
)
const { default: sharp } = await import('sharp')
const file = await sharp(photo.data, { raw: { width: photo.width, height: photo.height, channels: 3 } })
  .resize(picture.width, picture.height, { fit: 'fill' })
  .jpeg()
  .toBuffer()
const given = Tensor.fromBytes('uint8', new Uint8Array(file), [1, file.length])

const read = await readImage(file)
const pixels = await toTensor(read, stretch(read, 224), steps)
const expected = Float32Array.from(Object.values(await alone.infer({ x: pixels }))[0]?.data as Float32Array)
const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
/** Relative to the largest score. */
const errorOf = (values: unknown): number =>
  Array.from(values as Float32Array).reduce(
    (most, value, i) => Math.max(most, Math.abs(value - (expected[i] ?? NaN))),
    0,
  ) / largest

for (const [name, allowed] of [
  ['by-host', 0.01],
  ['by-engine', 0.03],
] as const) {
  await t.test(`${name}: a JPEG gives the scores that the engine gives alone, also 16 at once`, async (t) => {
    const begun = performance.now()
    const answers = await Promise.all(Array.from({ length: 16 * 20 }, () => client.infer(name, { jpeg: given })))
    t.comment(`${Math.round((1000 * answers.length) / (performance.now() - begun))} pictures a second, 320 x 240`)
    const error = Math.max(...answers.map(({ scores }) => errorOf(scores?.data)))
    t.ok(error < allowed, `${error} is the largest error, of FP16${name === 'by-engine' ? ' and TF32' : ''}`)
    const { model_stats: stats } = server.statistics(name === 'by-host' ? 'resnet50' : 'inside')
    t.ok((stats[0]?.execution_count ?? Infinity) < answers.length, 'requests of several threads fill batches')
  })
}

await t.test('what lies between two engines stays on the device', async (t) => {
  const { probabilities } = await client.infer('probable', { x: pixels })
  const sum = expected.reduce((total, value) => total + Math.exp(value - largest), 0)
  const wanted = expected.map((value) => Math.exp(value - largest) / sum)
  const error = Array.from(probabilities?.data as Float32Array, (value, i) => Math.abs(value - (wanted[i] ?? NaN)))
  t.ok(Math.max(...error) < 0.01, `${Math.max(...error)} is the largest error`)
})
