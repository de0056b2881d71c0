// Programs that run in a process of their own, on any of the runtimes.
import { Worker } from 'node:worker_threads'
import { childEnvironment, type Ended, runNode } from '../support/children.js'
import { families, rowsPlan, type Runtime } from './rig.js'

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

const imports = `
  import { Engine, Tensor, onLog } from ${url('../../lib/index.js')}
  import { fakePlan } from ${url('../fake/plan.js')}
  import { controlFakes } from ${url('../fake/control.js')}
  import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
`

/**
 * What a program begins with. `plan`, `load`, `call` and `soon` are all that most need; `plan({ computeMs })` is slow
 * on any runtime.
 */
const given = (runtime: Runtime): string => `
  const { driver, trt10, trt11, rtx17 } = controlFakes(JSON.parse(process.env.FAKES))
  const planSpec = ${JSON.stringify(rowsPlan())}
  ${runtime.child}
  const plan = (more = {}) => planFrom({ ...planSpec, ...more })
  const merged = (more) => ({ ...options, ...more, tensorrt: { ...options.tensorrt, ...more.tensorrt } })
  const load = (more = {}, how = {}) => Engine.load(plan(how), merged(more))
  const x = Tensor.zeros('float32', [1, 3])
  const call = (engine) => engine.infer(x)
  const soon = (ms = 30) => new Promise((resolve) => setTimeout(resolve, ms))
  const worker = (program) => new Worker(new URL('data:text/javascript,' + encodeURIComponent('const prelude = ""\\n' + prelude + program)))
`

const prelude = (runtime: Runtime): string => imports + given(runtime)

/**
 * A thread with the prelude and a program, without tap's hooks, which it would load for seconds. The program is no
 * module's top level: Node 22.12 dies of a module that awaits while its thread is terminated.
 */
export const startWorker = (program: string, runtime: Runtime, workerData?: unknown): Worker =>
  new Worker(
    new URL(`data:text/javascript,${encodeURIComponent(`${imports};(async () => {${given(runtime)}${program}\n})()`)}`),
    {
      workerData,
      execArgv: [],
      env: childEnvironment(),
    },
  )

/** Runs a program with the prelude; in it `worker(program)` starts a thread with the same. */
export async function runChild(
  program: string,
  runtime: Runtime = families[0],
  timeout?: number,
  env?: NodeJS.ProcessEnv,
): Promise<Ended> {
  const head = prelude(runtime)
  const inner = `const prelude = ${JSON.stringify(head)}\n`
  return runNode(['--input-type=module', '-e', `${inner}${head}\n${program}`], process.cwd(), timeout, env)
}
