// One program on every runtime: the CPU, the fakes of TensorRT 10, 11 and RTX, and without the addon; in each as an ES
// module, as CommonJS, and in a worker. contexts.slow.test.ts has it in a vm context, runners.long.test.ts in test
// runners, bundled, and on other versions of Node.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildFakes } from '../fake/build.js'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { onCpu, onTensorRT, withoutAddon, writeProgram } from './program.js'
import { root } from './support.js'

const fakes = await buildFakes()
const folder = temporaryFolder(t)
mkdirSync(join(folder, 'node_modules'))
symlinkSync(root, join(folder, 'node_modules', 'node-tensorrt'))
await writeProgram(folder)
writeFileSync(
  join(folder, 'ways.mjs'),
  `import { createHook } from 'node:async_hooks'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { program } from './program.mjs'
const handles = []
createHook({ init: (id, type, trigger, resource) => type === 'node-tensorrt' && handles.push(resource) }).enable()
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  const [[inWorker], asModule] = await Promise.all([once(worker, 'message'), program()])
  const required = createRequire(import.meta.url)('./program.cjs')
  const told = { asModule, inWorker, required: await required.program() }
  console.log(JSON.stringify({ ...told, alive: handles.map((handle) => handle.hasRef()) }))
} else parentPort.postMessage(await program())
`,
)
/** TensorRT-RTX has no kernels for the GPU that the fake driver has otherwise. */
const consumerGpu = `import { createRequire } from 'node:module'
createRequire(${JSON.stringify(root)})(${JSON.stringify(fakes.control)}).set(${JSON.stringify(fakes.cuda)}, 'computeCapability', '8.6')`
const fake = (library: string): NodeJS.ProcessEnv => ({ NODE_TENSORRT_LIBCUDA: fakes.cuda, TENSORRT_PATH: library })

const runtimes: readonly [name: string, env: NodeJS.ProcessEnv, told: object][] = [
  ['the CPU', {}, onCpu],
  ['TensorRT 10', fake(fakes.trt10), onTensorRT],
  ['TensorRT 11', fake(fakes.trt11), onTensorRT],
  ['TensorRT-RTX', fake(fakes.rtx17), onTensorRT],
  ['onnxruntime-node in a worker', { NODE_TENSORRT_PORTABLE: '1' }, withoutAddon],
]

t.jobs = 2
for (const [name, env, told] of runtimes)
  t.test(name, async (t) => {
    const driver = { NODE_TENSORRT_LIBCUDA: '/nonexistent', TENSORRT_PATH: '', NODE_TENSORRT_CACHE: join(folder, name) }
    const gpu = name === 'TensorRT-RTX' ? [`--import=data:text/javascript,${encodeURIComponent(consumerGpu)}`] : []
    const { code, stdout, stderr } = await runNode([...gpu, 'ways.mjs'], folder, undefined, { ...driver, ...env })
    if (code !== 0) return void t.fail(stderr)
    // the addon's handle does not keep Node alive, and says so
    t.same(JSON.parse(stdout), { asModule: told, inWorker: told, required: told, alive: [false] })
  })
