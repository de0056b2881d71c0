// An onnxruntime of another version than onnxruntime-node's, from Python's wheel: by path, by variable, and found where
// nothing says where it is.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { runNode } from '../support/children.js'
import { installPackage } from '../engine/installed.js'
import { temporaryFolder } from '../support/folders.js'
import { pythonPath, skipWithoutPython } from '../support/tensorrt.js'
import { onnxModel } from './onnx-models.js'
import { rows, rowsPlan, wanted } from './rig.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folder = temporaryFolder(t)
const model = join(folder, 'rows.onnx')
writeFileSync(model, onnxModel(rowsPlan()))
const slow = join(folder, 'slow.onnx')
writeFileSync(slow, onnxModel(rowsPlan(3, 64, { computeMs: 600_000 })))

const wheel = (pythonPath ?? '').split(':')[0] as string
/** The folder is called so: NAME-VERSION-DIGEST. */
const version = /\/onnxruntime-([\d.]+)-[^/]*$/.exec(wheel)?.[1] ?? 'of no known version'
const capi = join(wheel, 'onnxruntime', 'capi')
const library = join(capi, `libonnxruntime.so.${version}`)

/**
 * Two requests that are one batch, a run that is ended, and what says which library did it. `from`: where the package
 * is imported from.
 */
const program = (from: string, options: { library?: string } = {}): string => `
  const { capabilities, Engine, Tensor } = await import(${JSON.stringify(pathToFileURL(join(from, 'dist/lib/index.js')).href)})
  const located = (await capabilities()).cpu
  const options = { backend: 'cpu', cpu: { threads: 1, ...${JSON.stringify(options)} } }
  const engine = await Engine.load(${JSON.stringify(model)}, { ...options, batching: { maxBatch: 2, maxDelayMs: 1000 } })
  const inputs = ${JSON.stringify([1, 2].map((seed) => Array.from(rows(seed).data)))}
  const results = await Promise.all(inputs.map((x) => engine.infer(Tensor.from(Float32Array.from(x), [1, 3]))))
  const endless = await Engine.load(${JSON.stringify(slow)}, options)
  const ended = await endless.infer(Tensor.zeros('float32', [1, 3]), { timeoutMs: 30 }).catch(({ code }) => code)
  await endless.close()
  const { batches } = engine.stats()
  console.log(JSON.stringify({
    description: engine.description, located, cpu: (await capabilities()).cpu, batches, ended, results: results.map(({ data }) => Array.from(data)),
  }))
  await engine.close()
`
const ofTheWheel = {
  description: `onnxruntime ${version} on the CPU`,
  cpu: { available: true, path: library },
  batches: 1,
  ended: 'ERR_TRT_TIMEOUT',
  results: [1, 2].map((seed) => Array.from(wanted(rows(seed).data))),
}

/** What a program in a process of its own printed, as JSON. */
async function printed(text: string, env: NodeJS.ProcessEnv): Promise<Record<string, unknown>> {
  const { code, signal, stdout, stderr } = await runNode(['--input-type=module', '-e', text], folder, undefined, env)
  if (code !== 0 || signal !== null || stderr !== '') throw new Error(`ended with ${code ?? signal}: ${stderr}`)
  return JSON.parse(stdout) as Record<string, unknown>
}

t.test('the option, a folder and a file', { skip: skipWithoutPython }, async (t) => {
  for (const path of [capi, library]) t.match(await printed(program(root, { library: path }), {}), ofTheWheel, path)
})

t.test('the variable', { skip: skipWithoutPython }, async (t) => {
  for (const path of [capi, library])
    t.match(await printed(program(root), { ONNXRUNTIME_PATH: path }), { ...ofTheWheel, located: ofTheWheel.cpu }, path)
  const both = await printed(program(root, { library }), { ONNXRUNTIME_PATH: '/no/such/folder' })
  t.match(both, { ...ofTheWheel, located: { available: false } }, 'the option goes before it')
})

t.test('a virtual environment of Python, without onnxruntime-node', { skip: skipWithoutPython }, async (t) => {
  const installed = installPackage(folder, { addon: true })
  const packages = join(folder, 'venv', 'lib', 'python3.11', 'site-packages')
  mkdirSync(packages, { recursive: true })
  symlinkSync(join(wheel, 'onnxruntime'), join(packages, 'onnxruntime'))
  const found = await printed(program(installed), { VIRTUAL_ENV: join(folder, 'venv'), ONNXRUNTIME_PATH: undefined })
  const linked = join(packages, 'onnxruntime', 'capi', `libonnxruntime.so.${version}`)
  t.match(found, { ...ofTheWheel, cpu: { available: true, path: linked }, located: { available: true, path: linked } })
})
