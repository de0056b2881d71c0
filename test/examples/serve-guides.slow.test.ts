// The guide of ensembles: its fences are the files of the example, its commands get a label, and mistakes say what it says.
import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { Seeded } from '../../examples/models/seeded.js'
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { serve, type Server } from '../../lib/serve/index.js'
import { photographs } from '../demo/variants.js'
import { readPage } from '../docs/pages.js'
import { root } from '../package/support.js'

const guide = 'docs/guides/serving-ensembles.md'
const page = readPage(guide)
const models = join(root, 'examples/serve-ensemble/models')
const files = ['preprocess/config.pbtxt', 'preprocess/1/model.js', 'resnet50/config.pbtxt', 'postprocess/config.pbtxt', 'postprocess/1/model.js', 'classify/config.pbtxt'] // prettier-ignore

/** The fence below the line that is a file's name. */
function fenceOf(file: string): string {
  const after = page.text.split(`\n\`models/${file}\`:\n`)[1]
  return /^\s*```\w+\n([^]*?)^```$/m.exec(after ?? '')?.[1] ?? ''
}

/** A classifier of the mean colour of 224 x 224 pixels, with the names of the ResNet-50: its answers are a thousand scores, too. */
function classifier(): Uint8Array {
  const graph = new GraphBuilder({ name: 'classifier' })
  const mean = graph.node('Flatten', [graph.node('GlobalAveragePool', [graph.input('images', 'float32', ['N', 3, 224, 224])])])
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
  writeFileSync(join(folder, 'resnet50/labels.txt'), Array.from({ length: 1000 }, (_, i) => `thing ${i}\n`).join(''))
}

t.test('its fences are the files of the example', async (t) => {
  for (const file of files) t.equal(fenceOf(file), readFileSync(join(models, file), 'utf8'), file)
})

t.test('its commands of curl get a label', async (t) => {
  const folder = t.testdir()
  putRepository(join(folder, 'models'))
  copyFileSync(photographs[0]!, join(folder, 'photo.jpg'))
  await using server = await serve({ modelRepository: join(folder, 'models'), http: { port: 0, address: '127.0.0.1' } })
  const commands = page.fences.filter(({ language, text }) => language === 'sh' && text.includes('curl '))
  t.equal(commands.length, 2)
  for (const { text } of commands) {
    const script = text.replaceAll('localhost:8000', server.addresses.http?.url ?? '')
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd: folder })
    t.match(stdout, /"name":"label".*thing \d+/s)
  }
})
