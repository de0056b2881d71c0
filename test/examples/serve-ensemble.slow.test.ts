// The ensemble of the examples at a tenth of its size: all who ask it get the same answers, and nothing fails while a
// step is replaced.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DOMParser } from '@xmldom/xmldom'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { resnet50 } from '../support/networks/index.js'
import { Seeded } from '../support/networks/seeded.js'
import { type BatchingPoint, batchingText } from '../../examples/serve-ensemble/batching.js'
import { checkReplaced, type Replaced, replacedText } from '../../examples/serve-ensemble/replacing.js'
import { Repository, shortSideOf } from '../../examples/serve-ensemble/repository.js'
import { askEverybody, saidText } from '../../examples/serve-ensemble/witnesses.js'
import { startServer } from '../../examples/serve-support/server.js'
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Classifier, presets } from '../../lib/tasks/index.js'
import { photographs } from '../demo/variants.js'
import { example } from './running.js'

interface Label {
  readonly label: string
  readonly score: number
}

/** What --json prints. */
interface Printed {
  readonly machine: string
  readonly witnesses: readonly {
    readonly who: string
    readonly answers?: readonly Label[]
    readonly missing?: string
  }[]
  readonly batching: readonly BatchingPoint[]
  readonly replaced: Replaced
}

/** Two photographs, small: what is asked here is not how fast they are decoded. */
async function putPhotos(folder: string): Promise<readonly string[]> {
  const files = [join(folder, 'first.jpg'), join(folder, 'second.jpg')]
  for (const [i, file] of files.entries()) await sharp(photographs[i]).resize(160).jpeg().toFile(file)
  return files
}

const hasTritonclient = process.env['TRT_TEST_TRITONCLIENT'] !== undefined

/** What the classifier of lib/tasks says of the photographs, in this process. */
async function said(
  photos: readonly string[],
  model: Uint8Array,
  labels: readonly string[],
  size: number,
): Promise<readonly Label[]> {
  await using engine = await Engine.load(model, { backend: 'cpu' })
  const input = { ...presets.imagenet.input, size, shortSide: shortSideOf(size) }
  const classifier = await Classifier.load(engine, { preset: 'imagenet', input, labels, top: 1 })
  const answers = await classifier.classify(photos)
  return answers.flat().map(({ label = '', score }) => ({ label, score }))
}

t.test('at a tenth of its size', async (t) => {
  const folder = t.testdir()
  const photos = await putPhotos(folder)
  const { code, stdout, stderr } = await example('serve-ensemble', [
    ...photos,
    '--quick',
    '--requests',
    '120',
    '--size',
    '64',
    '--width',
    '0.25',
    '--out',
    folder,
    '--json',
  ])
  t.equal(code, 0, stderr)
  t.match(stderr, /seeded weights: its labels mean nothing/)
  t.match(stderr, /On \d+ cores of .*onnxruntime-node .* on the CPU/)
  const { witnesses, batching, replaced } = JSON.parse(stdout) as Printed
  const own = [
    'curl, the picture alone',
    'curl, JSON and the picture',
    'node-tensorrt/client, HTTP',
    'node-tensorrt/client, gRPC',
  ]
  const python = hasTritonclient ? ['tritonclient 2.73.0, HTTP', 'tritonclient 2.73.0, gRPC'] : ['tritonclient']
  t.same(witnesses.map(({ who }) => who), [...own, ...python]) // prettier-ignore
  const asked = witnesses.filter(({ answers }) => answers !== undefined)
  t.equal(asked.length, hasTritonclient ? 6 : 4)
  if (!hasTritonclient) t.match(witnesses.at(-1)?.missing, /^python3 has no tritonclient/)
  for (const { who, answers } of asked) t.same(answers, asked[0]?.answers, who)
  const names = Array.from({ length: 1000 }, (_, i) => `class ${i}`)
  const expected = await said(photos, writeModel(resnet50.modelOf({ size: 64, width: 0.25, batch: 'N' })), names, 64)
  for (const [i, { label, score }] of expected.entries()) {
    t.equal(asked[0]?.answers?.[i]?.label, label)
    t.ok(Math.abs((asked[0]?.answers?.[i]?.score ?? NaN) - score) < 1e-5 * score, 'as the classifier of lib/tasks says')
  }
  t.same(
    batching.map((point) => [point.batching, point.clients, point.requests]),
    [
      [false, 1, 12],
      [false, 4, 12],
      [true, 1, 12],
      [true, 4, 12],
    ],
  )
  t.ok(batching.every(({ rate, median, p95 }) => rate > 0 && median > 0 && p95 >= median))
  t.ok(batching.every((point) => (point.batching && point.clients > 1 ? point.meanBatch >= 1 : point.meanBatch === 1)))
  t.same(replaced.failures, [])
  t.equal(replaced.ofNeither, 0)
  t.ok(
    replaced.ofOld >= 3 && replaced.ofNew >= 3,
    `${replaced.ofOld} answers of the old version, ${replaced.ofNew} of the new one`,
  )
  t.equal(replaced.ofOld + replaced.ofNew, replaced.requests)
  t.match(batchingText(batching), /dynamic batching .* requests\/s .* mean batch/)
  t.match(
    replacedText(replaced),
    /^Version 2 of resnet50 was loaded in .* while 4 clients asked: \d+ requests, 0 failed; \d+ answers of version 1/,
  )
  await isWritten(t, folder, stdout)
})

async function isWritten(t: Test, folder: string, stdout: string): Promise<void> {
  t.equal(await readFile(join(folder, 'serve-ensemble.json'), 'utf8'), stdout)
  const drawing = new DOMParser().parseFromString(
    await readFile(join(folder, 'serve-ensemble.svg'), 'utf8'),
    'image/svg+xml',
  )
  t.equal(drawing.getElementsByTagName('polyline').length, 8, 'two lines in four panels')
  t.equal(drawing.getElementsByTagName('circle').length, 16, 'two points each')
  for (const file of [
    'preprocess/1/model.js',
    'resnet50/1/model.onnx',
    'resnet50/2/model.onnx',
    'postprocess/1/model.js',
    'classify/1',
  ])
    t.ok(existsSync(join(folder, 'models', file)), file)
}

/** A linear classifier of the mean colour, whose tensors have other names. */
function small(batch: number | 'N'): Uint8Array {
  const graph = new GraphBuilder({ name: 'small' })
  const mean = graph.node('Flatten', [
    graph.node('GlobalAveragePool', [graph.input('data', 'float32', [batch, 3, 32, 32])]),
  ])
  const weights = graph.constant('weights', new Tensor('float32', new Seeded(3).values(15, 4), [3, 5]))
  graph.output(graph.node('MatMul', [mean, weights], {}, { output: 'prob' }), 'float32', [batch, 5])
  return writeModel(graph.toModel())
}

t.test('a model and labels of the user', async (t) => {
  const labels = ['ant', 'bee', 'cat', 'dog', 'elk']
  const folder = t.testdir({ 'labels.txt': `${labels.join('\n')}\n`, 'small.onnx': Buffer.from(small('N')) })
  const photos = await putPhotos(folder)
  const given = { model: join(folder, 'small.onnx'), labels: join(folder, 'labels.txt'), backend: 'cpu' } as const
  const repository = await Repository.put(join(folder, 'models'), given)
  const flags = ['--model-control-mode=explicit', '--load-model=classify']
  await using server = await startServer(repository.folder, flags)
  const [first, second] = await said(photos, small('N'), labels, 32)
  const row = new RegExp(
    `client, gRPC .* ${first?.label} ${first?.score.toFixed(4)} .* ${second?.label} ${second?.score.toFixed(4)} `,
  )
  t.match(saidText(await askEverybody(server.addresses, photos, folder)), row)
})

t.test('what cannot be served is told, without a stack', async (t) => {
  const folder = t.testdir({ 'fixed.onnx': Buffer.from(small(1)) })
  const fixed = await example('serve-ensemble', ['--model', join(folder, 'fixed.onnx'), '--out', folder])
  t.match(fixed, {
    code: 1,
    stdout: '',
    stderr: /the batch dynamic, but received data \[1, 3, 32, 32\] and prob \[1, 5\]/,
  })
  const noLabels = await example('serve-ensemble', ['--labels', 'none.txt', '--out', folder])
  t.match(noLabels, { code: 1, stdout: '', stderr: /There is no file none\.txt/ })
  const missing = await example('serve-ensemble', ['none.jpg', '--out', folder])
  t.match(missing, { code: 1, stdout: '', stderr: /There is no file none\.jpg/ })
  t.notMatch(fixed.stderr + noLabels.stderr + missing.stderr, /^ +at /m)
})

t.test('a request that failed fails the program', (t) => {
  const replaced = { clients: 4, requests: 9, ofOld: 4, ofNew: 4, ofNeither: 0, loadMs: 5, failures: [] }
  t.doesNotThrow(() => checkReplaced(replaced))
  t.throws(() => checkReplaced({ ...replaced, failures: ['gone'] }), {
    code: 'ERR_TRT_SERVER',
    message: /1 requests failed .*: gone/,
  })
  t.throws(() => checkReplaced({ ...replaced, ofNeither: 1 }), { message: /1 answers were of neither version/ })
  t.end()
})
