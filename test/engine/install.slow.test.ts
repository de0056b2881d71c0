// The package where onnxruntime-node is not installed, or does what the real one does on bad days only. install.test.ts
// has the first of those days.
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../support/folders.js'
import { checkStandIn, cjs, esm, folder, infer, load, prints, report, standIns } from './stand-ins.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

t.test('import and require work with neither onnxruntime-node nor the addon', async (t) => {
  const remedy =
    'npm install onnxruntime-node; behind a firewall: ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node'
  const wanted = `ERR_TRT_NO_ONNXRUNTIME The CPU backend needs onnxruntime-node. What to do: ${remedy}\n`
  t.equal(await prints('import.mjs', esm + load + report), wanted)
  t.equal(await prints('require.cjs', cjs + load + report), wanted)
  const auto = load.replace(", { backend: 'cpu' }", '')
  const both = /^ERR_TRT_NO_ONNXRUNTIME .*npm install onnxruntime-node/
  t.match(
    await prints('auto.mjs', `delete process.env.TENSORRT_PATH\n${esm}${auto}${report}`),
    both,
    'and why it would be the CPU',
  )
})

t.test(
  'a linked package finds onnxruntime-node from where the program lies, and not from where it is called',
  async (t) => {
    const place = temporaryFolder(t)
    mkdirSync(join(place, 'node_modules'))
    for (const [name, from] of [
      ['node-tensorrt', folder],
      ['onnxruntime-node', root],
    ] as const)
      // prettier-ignore
      symlinkSync(join(from, 'node_modules', name), join(place, 'node_modules', name))
    t.equal(await prints('linked.mjs', esm + infer + report, folder, place), 'Tensor\n')
    t.match(await prints('called.mjs', esm + infer + report, root), /^ERR_TRT_NO_ONNXRUNTIME /)
  },
)

for (const standIn of standIns.slice(1))
  t.test(`an onnxruntime-node that ${standIn[0]}`, (t) => checkStandIn(t, standIn))
