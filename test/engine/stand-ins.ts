// The package as it is installed where there is no onnxruntime-node, and modules that stand in for that.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { realModels } from '../support/real-models.js'
import { long } from '../support/tiers.js'
import { installPackage } from './installed.js'

/**
 * Outside of this repository, whose node_modules would be found: the package with what it cannot be imported without.
 */
export const folder = temporaryFolder(t)
installPackage(folder, { addon: false })
delete process.env['NODE_TENSORRT_ADDON'] // a sanitizer's addon is none of this package's

export const esm = "import { Engine, Tensor } from 'node-tensorrt'\n"
export const cjs = "const { Engine, Tensor } = require('node-tensorrt')\n"
export const load = `Engine.load(${JSON.stringify(realModels.classifier)}, { backend: 'cpu' })`
export const infer = `${load}.then((engine) => engine.infer(Tensor.zeros('float32', [1, 3, 48, 192])))`
export const report = '.then((x) => console.log(x.constructor.name), ({ code, message }) => console.log(code, message))'

/**
 * A program and what it prints; it lies in the installed package's folder, and runs there, unless others are given,
 * with little memory, so that it soon runs out.
 */
export async function prints(name: string, program: string, cwd = folder, place = folder): Promise<string> {
  const file = join(place, name)
  writeFileSync(file, program)
  const { code, stdout, stderr } = await runNode(['--max-old-space-size=64', file], cwd)
  return code === 0 ? stdout : stderr
}

/** Modules in place of onnxruntime-node, for what the real one does on bad days only. */
const session = (run: string): string => `
  const input = { name: 'x', isTensor: true, type: 'float32', shape: ['N', 3, 48, 192] }
  const session = { inputMetadata: [input], outputMetadata: [{ ...input, name: 'y' }], inputNames: ['x'], outputNames: ['y'], run: async () => { ${run} } }
  module.exports = { env: { versions: {} }, Tensor: class {}, InferenceSession: { create: async () => session } }`

/** What such a module does, and what is said of it. */
export const standIns: readonly [what: string, runtime: string, message: RegExp][] = [
  ['ends its thread', session('process.exit(9)'), /^ERR_TRT_EXECUTION The worker of the CPU backend ended with 9/],
  ['cannot be loaded', "throw new Error('no such GLIBC')", /^ERR_TRT_NO_ONNXRUNTIME onnxruntime-node was found .* but cannot be loaded: no such GLIBC/],
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

export async function checkStandIn(t: Test, [what, runtime, message]: (typeof standIns)[number]): Promise<void> {
  const target = join(folder, 'node_modules/onnxruntime-node')
  mkdirSync(target, { recursive: true })
  writeFileSync(join(target, 'index.js'), runtime)
  t.match(await prints('stub.mjs', esm + infer + report), message)
  if (long ? !/outside|memory/.test(what) : /cannot|ends/.test(what))
    t.match(await prints('stub-in-worker.mjs', inWorker), message, 'in a worker')
}
