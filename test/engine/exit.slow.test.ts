import t from 'tap'
import { type Ended, runNode } from '../support/children.js'
import { realModels } from '../support/real-models.js'
import { long } from '../support/tiers.js'

const main = new URL('../../lib/index.js', import.meta.url).href

/** What a child's program begins with: an engine that is loaded, and a call that takes tens of milliseconds. */
const prelude = `
  import { Engine, Tensor } from ${JSON.stringify(main)}
  const load = () => Engine.load(${JSON.stringify(realModels.detector)}, { backend: 'cpu' })
  const call = (engine) => engine.infer(Tensor.zeros('float32', [1, 3, 160, 160]))
  const soon = () => new Promise((resolve) => setTimeout(resolve, 10))
`

/** Runs a worker_threads worker with the prelude and a program. */
const inWorker = (program: string): string =>
  `const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(prelude + program)})))`

/** A worker's program that tells when a call is running. */
const flying =
  "call(await load()); await soon(); (await import('node:worker_threads')).parentPort.postMessage(0); setInterval(() => {}, 1000)"

/** The way that has a guard: onnxruntime-node must not be in a native call when its thread is stopped. */
process.env['NODE_TENSORRT_PORTABLE'] = '1'

/** The program comes by the command line, with a flag that a worker must not inherit. */
const run = (program: string): Promise<Ended> =>
  runNode(['--input-type=module', '-e', `import { Worker } from 'node:worker_threads'\n${prelude}\n${program}`])

type Row = [what: string, program: string, wanted: Partial<Omit<Ended, 'stderr'>> & { stderr?: RegExp }]

/** Each way to end, and each state of an engine. */
const inCI: readonly Row[] = [
  ['return with an idle engine', 'await call(await load())', {}],
  ['return after an abort in mid-flight', "const e = await load(); await e.infer(Tensor.zeros('float32', [1, 3, 640, 640]), { timeoutMs: 20 }).catch((x) => console.log(x.code))", { stdout: 'ERR_TRT_TIMEOUT\n' }],
  ['exit() in mid-flight', 'const e = await load(); call(e); call(e); call(e); await soon(); process.exit(3)', { code: 3 }],
  ['exit() while loading', 'load(); await soon(); process.exit(3)', { code: 3 }],
  ['a throw in mid-flight', "call(await load()); await soon(); throw new Error('mine')", { code: 1, stderr: /Error: mine/ }],
  ['SIGTERM in mid-flight', "call(await load()); await soon(); process.kill(process.pid, 'SIGTERM'); await soon()", { code: null, signal: 'SIGTERM' }],
  ['a worker that exits in mid-flight', `${inWorker('call(await load()); await soon(); process.exit(5)')}; worker.on('exit', (code) => console.log(code))`, { stdout: '5\n' }],
  ['a worker that is terminated in mid-flight', `${inWorker(flying)}; worker.on('message', () => worker.terminate().then(console.log))`, { stdout: '1\n' }],
  ['a worker in mid-flight when the program exits', `${inWorker(flying)}; worker.on('message', () => process.exit(3))`, { code: 3 }],
] // prettier-ignore

/** Other pairs of them, for long runs. */
const others: readonly Row[] = [
  ['return with a call that nobody awaits', "call(await load()).then(() => console.log('done'))", { stdout: 'done\n' }],
  ['exit() while closing', 'const e = await load(); call(e); e.close(); await soon(); process.exit(3)', { code: 3 }],
  ['engines in several workers and here', `for (let i = 0; i < 3; i++) { ${inWorker('await call(await load())')} }; await call(await load())`, {}],
  ['return after close', 'const e = await load(); await call(e); await e.close()', {}],
  ['return while loading', "load().then(() => console.log('done'))", { stdout: 'done\n' }],
  ['exit() when idle', 'await load(); process.exit(3)', { code: 3 }],
  ['exit() with two engines in mid-flight', 'for (const e of await Promise.all([load(), load()])) call(e); await soon(); process.exit(3)', { code: 3 }],
  ['a throw in a callback in mid-flight', "call(await load()); setTimeout(() => { throw new Error('mine') }, 10)", { code: 1, stderr: /Error: mine/ }],
  ['a worker that returns', `${inWorker('await call(await load())')}; worker.on('exit', (code) => console.log(code))`, { stdout: '0\n' }],
  ['a worker that throws in mid-flight', `${inWorker("call(await load()); await soon(); throw new Error('mine')")}; worker.on('error', (e) => console.log(e.message))`, { stdout: 'mine\n' }],
  ['a worker that is terminated when idle', `${inWorker("await call(await load()); (await import('node:worker_threads')).parentPort.postMessage(0); setInterval(() => {}, 1000)")}; worker.on('message', () => worker.terminate().then(console.log))`, { stdout: '1\n' }],
] // prettier-ignore

t.jobs = 2
for (const [what, program, wanted] of long ? [...inCI, ...others] : inCI) {
  t.test(what, async (t) => {
    const { stderr, ...ended } = await run(program)
    const { stderr: complaint = /^$/, ...rest } = wanted
    t.same(ended, { code: 0, signal: null, stdout: '', ...rest })
    t.match(stderr, complaint)
  })
}
