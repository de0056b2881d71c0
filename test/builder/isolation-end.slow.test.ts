// A building process never outlives who started it, and never keeps it alive, however that one ends.
import { readdirSync } from 'node:fs'
import t from 'tap'
import { type Ended, runNode } from '../support/children.js'
import { useFakes } from '../native/fakes.js'
import { temporaryFolder } from '../support/folders.js'
import { long } from '../support/tiers.js'
import { certain } from '../support/waiting.js'
import { markedProcesses } from './processes.js'

const { fakes } = await useFakes()
const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** `build(wishes)`, see test/fake/nvinfer/deaths.h; `soon()` is in the middle of a slow one. */
const prelude = `
  import { Builder } from ${url('../../lib/index.js')}
  import { GraphBuilder, writeModel } from ${url('../../lib/onnx/index.js')}
  const builder = new Builder({ isolation: 'process', tensorrt: { library: ${JSON.stringify(fakes.trt10)} } })
  const build = (wishes = '', options = {}) => {
    const graph = new GraphBuilder({ name: 'relu' + wishes })
    graph.output(graph.node('Relu', [graph.input('x', 'float32', [1, 4])]), 'float32', [1, 4])
    return builder.build(writeModel(graph.toModel()), options)
  }
  const slow = () => build(';stepMs=1000').catch((error) => console.log(error.code))
  const soon = (ms = 300) => new Promise((resolve) => setTimeout(resolve, ms))
`

const inWorker = (program: string): string =>
  `const { Worker } = await import('node:worker_threads')
   const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(prelude + program)})))`

const endless =
  "slow(); await soon(); (await import('node:worker_threads')).parentPort.postMessage(0); setInterval(() => {}, 1000)"

type Row = [what: string, program: string, wanted: Partial<Omit<Ended, 'stderr'>> & { stderr?: RegExp }]

/** Each way to end, and each state of the builds. */
const inCI: readonly Row[] = [
  ['return with an idle process', "await build(); console.log('built')", { stdout: 'built\n' }],
  ['return while one builds that nobody awaits', "build(';stepMs=5').then(() => console.log('built'))", { stdout: 'built\n' }],
  ['return after an abort', "await build(';die=build:loop', { signal: AbortSignal.timeout(300) }).catch((e) => console.log(e.name))", { stdout: 'TimeoutError\n' }],
  ['return after a crash', "await build(';die=build:segv').catch((e) => console.log(e.code))", { stdout: 'ERR_TRT_CRASH\n' }],
  ['exit() while the process starts', 'slow(); await soon(5); process.exit(3)', { code: 3 }],
  ['exit() in mid-build', 'slow(); await soon(); process.exit(3)', { code: 3 }],
  ['a throw in mid-build', "slow(); await soon(); throw new Error('mine')", { code: 1, stderr: /Error: mine/ }],
  ['SIGKILL with an idle process', "await build(); process.kill(process.pid, 'SIGKILL'); await soon()", { code: null, signal: 'SIGKILL' }],
  ['SIGKILL in an endless loop', "build(';die=parse:loop'); await soon(); process.kill(process.pid, 'SIGKILL'); await soon()", { code: null, signal: 'SIGKILL' }],
  ['SIGTERM in mid-build', "slow(); await soon(); process.kill(process.pid, 'SIGTERM'); await soon()", { code: null, signal: 'SIGTERM' }],
  ['a worker that exits in mid-build', `${inWorker('slow(); await soon(); process.exit(5)')}; worker.on('exit', (code) => console.log(code))`, { stdout: '5\n' }],
  ['a worker that is terminated in mid-build', `${inWorker(endless)}; worker.on('message', () => worker.terminate().then(console.log))`, { stdout: '1\n' }],
  ['a worker in mid-build when the program exits', `${inWorker(endless)}; worker.on('message', () => process.exit(3))`, { code: 3 }],
] // prettier-ignore

/** Other pairs of them, for long runs. */
const others: readonly Row[] = [
  ['return with several idle processes', 'await Promise.all([build(), build(), build()])', {}],
  ['return after close', 'await build(); await builder.close()', {}],
  ['exit() with an idle process', 'await build(); process.exit(3)', { code: 3 }],
  ['exit() in an endless loop', "build(';die=build:loop'); await soon(); process.exit(3)", { code: 3 }],
  ['SIGKILL while the process starts', "slow(); await soon(5); process.kill(process.pid, 'SIGKILL'); await soon()", { code: null, signal: 'SIGKILL' }],
  ['SIGKILL in mid-build', "slow(); await soon(); process.kill(process.pid, 'SIGKILL'); await soon()", { code: null, signal: 'SIGKILL' }],
  ['a worker that builds', `${inWorker('await build()')}; worker.on('exit', (code) => console.log(code))`, { stdout: '0\n' }],
  ['a worker in which TensorRT crashes', `${inWorker("await build(';die=step:abort').catch((e) => console.log(e.code)); await build()")}; worker.on('exit', (code) => console.log(code))`, { stdout: 'ERR_TRT_CRASH\n0\n' }],
  ['four workers at once, and here', `for (let i = 0; i < 4; i++) { ${inWorker('await build()')} }; await build()`, {}],
] // prettier-ignore

let marks = 0
t.jobs = 2
for (const [what, program, wanted] of long ? [...inCI, ...others] : inCI) {
  t.test(what, async (t) => {
    const mark = `mark-${process.pid}-${++marks}`
    const folder = temporaryFolder(t)
    const head = `process.env.TMPDIR = ${JSON.stringify(folder)}; process.env.TRT_TEST_MARK = '${mark}'\n`
    const { stderr, ...ended } = await runNode(['--input-type=module', '-e', prelude + head + program])
    const { stderr: complaint = /^$/, ...rest } = wanted
    t.same(ended, { code: 0, signal: null, stdout: '', ...rest })
    t.match(stderr, complaint)
    await certain(() => markedProcesses(mark).length === 0)
    t.same(readdirSync(folder), [], 'no file')
  })
}

t.test('flags and options of the parent that are not for a build stay with it; its variables do not', async (t) => {
  const program = `
    const { buildingProcesses, contents } = await import(${url('./processes.js')})
    process.env.NODE_OPTIONS = '--import=data:text/javascript,throw(1)'
    process.env.NODE_TENSORRT_TEST = 'mine'
    await build()
    const [pid] = buildingProcesses()
    const environ = contents('/proc/' + pid + '/environ').split('\\0')
    console.log(environ.filter((line) => /^NODE_(OPTIONS|TENSORRT_TEST)=/.test(line)).join(), contents('/proc/' + pid + '/cmdline').split('\\0').length)`
  const { code, stdout, stderr } = await runNode([
    '--inspect=0',
    '--import=data:text/javascript,0',
    '--input-type=module',
    '-e',
    prelude + program,
  ])
  t.equal(code, 0, stderr)
  t.equal(stdout, 'NODE_TENSORRT_TEST=mine 3\n', 'the program and its path, and no flags')
})
