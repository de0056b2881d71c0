// The guide of ensembles: its fences are the files of the example, its commands get a label, and mistakes say what it
// says.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import t from 'tap'
import { Seeded } from '../support/networks/seeded.js'
import { Tensor } from '../../lib/index.js'
import { HttpClient } from '../../lib/client/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { serve } from '../../lib/serve/index.js'
import { photographs } from '../demo/variants.js'
import { failureOf } from '../support/errors.js'
import { hugePng } from '../support/huge-png.js'
import { readPage } from '../docs/pages.js'
import { root } from '../package/support.js'

const guide = 'docs/guides/serving-ensembles.md'
const page = readPage(guide)
const models = join(root, 'examples/serve-ensemble/models')
const files = [
  'preprocess/config.pbtxt',
  'preprocess/1/model.js',
  'resnet50/config.pbtxt',
  'postprocess/config.pbtxt',
  'postprocess/1/model.js',
  'classify/config.pbtxt',
]

/** The fence below the line that is a file's name. */
function fenceOf(file: string): string {
  const after = page.text.split(`\n\`models/${file}\`:\n`)[1]
  return /^\s*```\w+\n([^]*?)^```$/m.exec(after ?? '')?.[1] ?? ''
}

/**
 * A classifier of the mean colour of 224 x 224 pixels, with the names of the ResNet-50: its answers are a thousand
 * scores, too.
 */
function classifier(): Uint8Array {
  const graph = new GraphBuilder({ name: 'classifier' })
  const mean = graph.node('Flatten', [
    graph.node('GlobalAveragePool', [graph.input('images', 'float32', ['N', 3, 224, 224])]),
  ])
  const weights = graph.constant('weights', new Tensor('float32', new Seeded(3).values(3000, 4), [3, 1000]))
  graph.output(graph.node('MatMul', [mean, weights], {}, { output: 'logits' }), 'float32', ['N', 1000])
  return writeModel(graph.toModel())
}

/** The repository of the page. */
function putRepository(folder: string): void {
  cpSync(models, folder, { recursive: true })
  mkdirSync(join(folder, 'classify/1'))
  mkdirSync(join(folder, 'resnet50/1'))
  writeFileSync(join(folder, 'resnet50/1/model.onnx'), classifier())
  // one thread is enough here
  const config = join(folder, 'preprocess/config.pbtxt')
  writeFileSync(config, readFileSync(config, 'utf8').replace('count: 2', 'count: 1'))
  writeFileSync(join(folder, 'resnet50/labels.txt'), Array.from({ length: 1000 }, (_, i) => `thing ${i}\n`).join(''))
}

t.test('its fences are the files of the example', async (t) => {
  for (const file of files) t.equal(fenceOf(file), readFileSync(join(models, file), 'utf8'), file)
})

const folder = t.testdir()
const repository = join(folder, 'models')
putRepository(repository)
// a small one: how fast it is decoded is not the matter
await sharp(photographs[0]).resize(160).jpeg().toFile(join(folder, 'photo.jpg'))
const server = await serve({
  modelRepository: repository,
  http: { port: 0, address: '127.0.0.1' },
  modelControlMode: 'explicit',
  loadModel: ['classify'],
})
t.teardown(() => server.close())

t.test('its commands of curl get a label', async (t) => {
  const commands = page.fences.filter(({ language, text }) => language === 'sh' && text.includes('curl '))
  t.equal(commands.length, 2)
  for (const { text } of commands) {
    const script = text.replaceAll('localhost:8000', server.addresses.http?.url ?? '')
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd: folder })
    t.match(stdout, /"name":"label".*thing \d+/s)
  }
})

/**
 * By the words of the page: a change of a file that is wrong, and of the model that is loaded again; or a request that
 * is.
 */
const inFiles: Readonly<Record<string, readonly [model: string, file: string, from: string, to: string]>> = {
  'a step names a model that is not there': ['classify', 'config.pbtxt', '"resnet50"', '"resnet5"'],
  'a `value` that no step gives': [
    'classify',
    'config.pbtxt',
    'key: "images" value: "pixels"',
    'key: "images" value: "pixel"',
  ],
  'a `key` that the step does not have': ['classify', 'config.pbtxt', 'key: "images"', 'key: "image"'],
  'an output of the ensemble that no step gives': [
    'classify',
    'config.pbtxt',
    'key: "score" value: "score"',
    'key: "score" value: "sum"',
  ],
  'shapes of two steps that cannot meet': ['postprocess', 'config.pbtxt', 'dims: [ 1000 ]', 'dims: [ 10 ]'],
  'the module exports nothing by default': ['postprocess', '1/model.js', 'export default', 'export const model ='],
  '`load()` throws': ['postprocess', 'config.pbtxt', 'labels.txt', 'names.txt'],
  'an output with another name': ['postprocess', '1/model.js', ', score: Tensor', ', scores: Tensor'],
  "an output without the batch's rows": ['postprocess', '1/model.js', '[best.length, 1]', '[1]'],
  'fewer answers than requests': ['postprocess', '1/model.js', 'requests.map(', 'requests.slice(1).map('],
}
const inRequests: Readonly<Record<string, Readonly<Record<string, Tensor>>>> = {
  'a client leaves the rows out: [length]': { jpeg: Tensor.from(new Uint8Array(9)) },
  'a client names another input': { image: Tensor.from(new Uint8Array(9), [1, 9]) },
  'a client sends what is no picture': { jpeg: Tensor.from(new Uint8Array(9), [1, 9]) },
}

/** The rows of its last table: a mistake, and what is said. */
function mistakes(): Readonly<Record<string, string>> {
  const rows = page.text.split('\n## Mistakes')[1]?.matchAll(/^\| (.+) \| `(.+)` \|$/gm) ?? []
  return Object.fromEntries(Array.from(rows, ([, mistake = '', text = '']) => [mistake, text]))
}

t.test('mistakes say what it says', async (t) => {
  await using client = new HttpClient(server.addresses.http?.url ?? '')
  const photo = readFileSync(join(folder, 'photo.jpg'))
  const classify = (): Promise<unknown> => client.infer('classify', { jpeg: Tensor.from(photo, [1, photo.length]) })
  t.same(Object.keys(mistakes()), [...Object.keys(inFiles), ...Object.keys(inRequests)])
  const told = mistakes()
  for (const [mistake, change] of Object.entries(inFiles)) {
    const { message } = await failureOf(() => askWith(change, classify))
    t.match(message, told[mistake], mistake)
  }
  await server.load('postprocess')
  for (const [mistake, inputs] of Object.entries(inRequests)) {
    const { message, details } = await failureOf(() => client.infer('classify', inputs))
    t.match(message, told[mistake], mistake)
    t.equal(details?.['status'], 400, `the client's fault: ${mistake}`)
  }
  t.ok(await classify(), 'what was at work goes on')
})

t.test('a small file with many pixels is the fault of the client, and costs no memory', async (t) => {
  await using client = new HttpClient(server.addresses.http?.url ?? '')
  const huge = hugePng(16_000, 16_000)
  t.ok(huge.length < 300_000, `${huge.length} bytes`)
  const before = process.memoryUsage().rss
  await t.rejects(client.infer('classify', { jpeg: Tensor.from(huge, [1, huge.length]) }), {
    details: { status: 400 },
    message: /it has 256000000 pixels \(16000 x 16000\), limitPixels allows 40000000/,
  })
  t.ok(process.memoryUsage().rss - before < 400e6, 'its pixels alone are 768 MB')
})

/** Loads a model with a fault in one of its files, sends a request if it loads, and restores the file. */
async function askWith(
  [model, name, from, to]: readonly [string, string, string, string],
  ask: () => Promise<unknown>,
): Promise<unknown> {
  const file = join(repository, model, name)
  const right = readFileSync(file, 'utf8')
  writeFileSync(file, right.replace(from, to))
  const loaded = server.load(model).finally(() => writeFileSync(file, right))
  await loaded
  return await ask()
}
