import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runNode } from './children.js'
import { installPackage } from './installed.js'
import { realModels } from './models.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Outside of this repository, whose node_modules would be found: the package with what it cannot be imported without. */
const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-'))
t.teardown(() => rmSync(folder, { recursive: true }))
installPackage(folder, { addon: false })
delete process.env['NODE_TENSORRT_ADDON'] // a sanitizer's addon is none of this package's

const esm = "import { Engine, Tensor } from 'node-tensorrt'\n"
const cjs = "const { Engine, Tensor } = require('node-tensorrt')\n"
const load = `Engine.load(${JSON.stringify(realModels.classifier)}, { backend: 'cpu' })`
const infer = `${load}.then((engine) => engine.infer(Tensor.zeros('float32', [1, 3, 48, 192])))`
const report = '.then((x) => console.log(x.constructor.name), ({ code, message }) => console.log(code, message))'

/** A program and what it prints; it runs in the installed package's folder unless another is given, with little memory, so that it soon runs out. */
async function prints(name: string, program: string, cwd = folder): Promise<string> {
  const file = join(folder, name)
  writeFileSync(file, program)
  const { code, stdout, stderr } = await runNode(['--max-old-space-size=64', file], cwd)
  return code === 0 ? stdout : stderr
}

t.test('import and require work with neither onnxruntime-node nor the addon', async (t) => {
  const wanted = 'ERR_TRT_NO_ONNXRUNTIME The CPU backend needs onnxruntime-node. What to do: npm install onnxruntime-node\n'
  t.equal(await prints('import.mjs', esm + load + report), wanted)
  t.equal(await prints('require.cjs', cjs + load + report), wanted)
  const auto = load.replace(", { backend: 'cpu' }", '')
  const both =
    /^ERR_TRT_NO_ONNXRUNTIME .*npm install onnxruntime-node \(on the CPU backend, which 'auto' took since .*The native addon .*cannot be loaded/
  t.match(await prints('auto.mjs', `delete process.env.TENSORRT_PATH\n${esm}${auto}${report}`), both, 'and why it would be the CPU')
})

t.test('a linked package finds onnxruntime-node from where the program runs', async (t) => {
  t.equal(await prints('linked.mjs', esm + infer + report, root), 'Tensor\n')
})

/** Modules in place of onnxruntime-node, for what the real one does on bad days only. */
const session = (run: string): string => `
  const input = { name: 'x', isTensor: true, type: 'float32', shape: ['N', 3, 48, 192] }
  const session = { inputMetadata: [input], outputMetadata: [{ ...input, name: 'y' }], inputNames: ['x'], outputNames: ['y'], run: async () => { ${run} } }
  module.exports = { env: { versions: {} }, Tensor: class {}, InferenceSession: { create: async () => session } }`
const rows: [what: string, runtime: string, message: RegExp][] = [
  ['cannot be loaded', "throw new Error('no such GLIBC')", /^ERR_TRT_NO_ONNXRUNTIME onnxruntime-node was found .* but cannot be loaded: no such GLIBC/],
  ['ends its thread', session('process.exit(9)'), /^ERR_TRT_EXECUTION The worker of the CPU backend ended with 9/],
  ['fails outside of a call', session("setImmediate(() => { throw new Error('late') }); await new Promise(() => {})"), /^ERR_TRT_EXECUTION The worker of the CPU backend failed: late/],
  ['runs out of memory', session('for (const a = [];;) a.push(new Array(1e6).fill({}))'), /^ERR_TRT_EXECUTION The worker of the CPU backend failed: .*memory/],
  ['forgets an output', session('return {}'), /^ERR_TRT_EXECUTION onnxruntime gave no output "y"/],
  ['throws no error', session('throw 5'), /^ERR_TRT_EXECUTION 5/],
] // prettier-ignore

/** The same in a worker of the user, where onnxruntime has a process of its own. */
const inWorker = `
  import { Worker, isMainThread } from 'node:worker_threads'
  ${esm}
  if (isMainThread) new Worker(new URL(import.meta.url))
  else ${infer}${report}`

for (const [what, runtime, message] of rows) {
  t.test(`an onnxruntime-node that ${what}`, async (t) => {
    const target = join(folder, 'node_modules/onnxruntime-node')
    mkdirSync(target, { recursive: true })
    writeFileSync(join(target, 'index.js'), runtime)
    t.match(await prints('stub.mjs', esm + infer + report), message)
    if (!/outside|memory/.test(what)) t.match(await prints('stub-in-worker.mjs', inWorker), message, 'in a worker')
  })
}
