// A model of 300 MB is loaded, edited and saved by a process of its own, whose peak of memory is looked at.
import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { GraphBuilder, GraphEditor, loadExternalData, readModel, saveModel } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import { temporaryFolder } from '../support/folders.js'

const layers = 20
const side = 1920 // whole pages
const weights = layers * side * side * 4
const role = process.argv[2]

/** In the child. */
async function edit(folder: string): Promise<void> {
  const before = process.memoryUsage().rss
  const model = await readModel(join(folder, 'large.onnx'))
  await loadExternalData(model, folder)
  const editor = new GraphEditor(model)
  const last = editor.nodes().at(-1)
  if (last === undefined) throw new Error('no node')
  editor.renameOutput(last, 0, editor.unused('raw'))
  editor.addNode('Relu', [last.output[0] as string], {}, { output: 'y' })
  await saveModel(editor.finish(), join(folder, 'edited.onnx'), { externalData: true })
  process.stdout.write(JSON.stringify({ before, peak: process.resourceUsage().maxRSS * 1024 }))
}

async function make(folder: string): Promise<void> {
  const g = new GraphBuilder({ name: 'large' })
  let last = g.input('x', 'float32', [1, side])
  const data = new Float32Array(side * side)
  for (let i = 0; i < layers; i++) {
    data.fill(i + 1)
    last = g.node(
      'MatMul',
      [last, g.constant(`w${i}`, new Tensor('float32', data, [side, side]))],
      {},
      i === layers - 1 ? { output: 'y' } : {},
    )
  }
  g.output(last, 'float32', [1, side])
  await saveModel(g.toModel(), join(folder, 'large.onnx'), { externalData: true })
}

if (role !== undefined) await edit(role)
else {
  t.test('300 MB of weights are in memory once', async (t) => {
    const folder = temporaryFolder(t)
    await make(folder)
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url), folder])
    const { before, peak } = JSON.parse(stdout) as { before: number; peak: number }
    t.comment(
      `${Math.round((peak - before) / 2 ** 20)} MiB more than before, for ${Math.round(weights / 2 ** 20)} MiB of weights`,
    )
    t.ok(peak - before > weights * 0.9, 'they were in memory')
    t.ok(peak - before < weights * 1.5, `once: ${peak - before} bytes for ${weights}`)
    t.same((await readdir(folder)).sort(), ['edited.onnx', 'edited.onnx.data', 'large.onnx', 'large.onnx.data'])
    t.equal((await stat(join(folder, 'edited.onnx.data'))).size, weights)
    t.ok((await readFile(join(folder, 'edited.onnx.data'))).equals(await readFile(join(folder, 'large.onnx.data'))))
  })
}
