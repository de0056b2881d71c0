// A signal ends the process, however long the step takes that TensorRT's builder is in: nobody waits for it, nothing is
// left.
import t from 'tap'
import { type Ended, runNode } from '../support/children.js'
import { useFakes } from '../native/fakes.js'
import { long } from '../support/tiers.js'
import { certain } from '../support/waiting.js'
import { markedProcesses } from './processes.js'

const { fakes } = await useFakes()
const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** `slow()` begins a build whose first step takes ten minutes. */
const prelude = (tensorrt: string): string => `
  import { Builder } from ${url('../../lib/index.js')}
  import { GraphBuilder, writeModel } from ${url('../../lib/onnx/index.js')}
  import { controlFakes } from ${url('../fake/control.js')}
  const startSlowly = () => {
    const { trt10, trt11 } = controlFakes(JSON.parse(process.env.FAKES))
    for (const { runtime } of [trt10, trt11]) runtime.set({ builderStartMs: 600_000 })
  }
  const slow = (isolation, wish = ';stepMs=600000') => {
    const graph = new GraphBuilder({ name: 'relu' + wish })
    graph.output(graph.node('Relu', [graph.input('x', 'float32', [1, 4])]), 'float32', [1, 4])
    const builder = new Builder({ isolation, tensorrt: { library: ${JSON.stringify(tensorrt)} } })
    return new Promise((resolve) => builder.build(writeModel(graph.toModel()), { onProgress: resolve }))
  }
`
/** Who is still there after a minute says so. */
const guard = "setTimeout(() => { console.log('still here'); process.kill(process.pid, 'SIGKILL') }, 60_000)\n"

const inWorker = (program: string): string => `
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(program)})))
  await new Promise((resolve) => worker.on('message', resolve))
`
const telling = "; (await import('node:worker_threads')).parentPort.postMessage(0); setInterval(() => {}, 1000)"

const signals = ['SIGTERM', 'SIGINT'] as const
type Row = [what: string, program: (head: string) => string, wanted: Partial<Ended>]

const places: [what: string, begin: (head: string) => string][] = [
  ['here', (head) => `${head}\nawait slow('none')`],
  [
    'here, and it never asks whether to go on',
    (head) => `${head}\nslow('none', ';die=build:loop'); await new Promise((r) => setTimeout(r, 500))`,
  ],
  [
    'here, and its builder comes up',
    (head) => `${head}\nstartSlowly(); slow('none'); await new Promise((resolve) => setTimeout(resolve, 500))`,
  ],
  ['in a worker', (head) => inWorker(`${head}\nawait slow('none')${telling}`)],
  ['in a process of its own', (head) => `${head}\nawait slow('process')`],
]

/** In CI half of them: each place has both signals, and an end with a listener and one without. */
const rows = places.flatMap(([place, begin], nth): Row[] =>
  signals.flatMap((signal, i): Row[] => {
    const both: Row[] = [
      [
        `${signal} while a build runs ${place}`,
        (head) => `${begin(head)}\nprocess.kill(process.pid, '${signal}')`,
        { code: null, signal },
      ],
      [
        `${signal} and a listener that exits, while a build runs ${place}`,
        (head) =>
          `${begin(head)}\nprocess.on('${signal}', () => process.exit(7)); process.kill(process.pid, '${signal}')`,
        { code: 7 },
      ],
    ]
    return long ? both : [both[(nth + i) % 2]!]
  }),
)

const others: Row[] = [
  [
    'a worker that is terminated while it builds',
    (head) => `${places[3]?.[1](head) ?? ''}\nawait worker.terminate(); console.log('terminated'); process.exit(5)`,
    { code: 5, stdout: 'terminated\n' },
  ],
  [
    'a worker that is terminated while it builds, and a process that goes on and comes to its end',
    (head) => `${places[3]?.[1](head) ?? ''}\nawait worker.terminate(); clearTimeout(still)`,
    { code: 0 },
  ],
]

let marks = 0
t.jobs = 2
for (const [index, [what, program, wanted]] of [...rows, ...others].entries()) {
  t.test(what, async (t) => {
    const mark = `signal-${process.pid}-${++marks}`
    const head = prelude(index % 2 === 0 ? fakes.trt10 : fakes.trt11)
    const start = `process.env.TRT_TEST_MARK = '${mark}'; const still = ${guard}`
    const { stderr, ...ended } = await runNode(['--input-type=module', '-e', start + program(head)])
    t.same(ended, { code: 0, signal: null, stdout: '', ...wanted })
    t.equal(stderr, '')
    await certain(() => markedProcesses(mark).length === 0)
  })
}
