// The end in the middle of a real inference: of the process, of a worker, of an engine that nobody holds. Never a
// crash, never a hang.
import t from 'tap'
import type { Ended } from '../support/children.js'
import { realModels } from '../support/real-models.js'
import { long, size } from '../support/tiers.js'
import { runChild } from './children.js'
import { onnxruntime } from './rig.js'

/** PP-OCR's detector at work: more than a tenth of a second of one thread for each call. */
const busy = `
  const work = (e) => e.infer(Tensor.zeros('float32', [1, 3, 320, 320])).catch(() => {})
  const open = (more = {}) => Engine.load(${JSON.stringify(realModels.detector)}, { backend: 'cpu', cpu: { threads: 1 }, ...more })
  const at = Number(process.env.AT ?? 0)
`

/** A loop of many small nodes, which ends only when it is told to. */
const endless = `
  const work = (e) => e.infer(x).catch(() => {})
  const open = (more = {}) => load(more, { computeMs: 600_000 })
  const at = Number(process.env.AT ?? 0)
`

const inWorker = (program: string): string => JSON.stringify(program)

/** Programs by what ends; `at`: milliseconds into the inference. */
const ends: [what: string, program: (begin: string) => string, wanted: Partial<Ended> & { error?: RegExp }][] = [
  ['process.exit()', (begin) => `${begin} const e = await open({ lanes: 2 }); work(e); work(e); work(e); await soon(at); process.exit(3)`, { code: 3 }],
  ['an uncaught error', (begin) => `${begin} const e = await open(); work(e); work(e); await soon(at); setImmediate(() => { throw new Error('mine') })`, { code: 1, error: /Error: mine/ }],
  [
    'worker.terminate()',
    (begin) => `
      const w = worker(${inWorker(`${begin} const e = await open({ lanes: 2 }); work(e); work(e); work(e); parentPort.postMessage(0); setInterval(() => {}, 1000)`)})
      await new Promise((resolve, reject) => w.once('message', resolve).once('error', reject))
      await soon(Number(process.env.AT)); await w.terminate()
      ${begin} console.log((await (await load()).infer(x)).data[0]); process.exitCode = 4`,
    { code: 4, stdout: '1\n' },
  ],
  [
    'process.exit() while a worker runs',
    (begin) => `
      const w = worker(${inWorker(`${begin} const e = await open(); work(e); work(e); parentPort.postMessage(0); setInterval(() => {}, 1000)`)})
      w.on('message', () => setTimeout(() => process.exit(3), Number(process.env.AT)))`,
    { code: 3 },
  ],
] // prettier-ignore

/** A dropped engine: whoever waits gets a result, and then nothing of it is left. */
const dropped = `
  ${busy}
  const { setFlagsFromString } = await import('node:v8'); setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const begin = async () => { const e = await open(); return [work(e), work(e)] }
  const calls = await begin()
  await soon(at); gc(); await soon(1); gc()
  console.log((await Promise.all(calls)).map((y) => y.dtype).join())
  for (let i = 0; i < 3000 && liveEngines() > 0; i++) { gc(); await soon(10) }
  console.log(liveEngines())
`

/** An endless one that is dropped after an abort is ended, and its process with it. */
const droppedEndless = `
  const begin = async () => { const e = await load({}, { computeMs: 600_000 }); await e.infer(x, { timeoutMs: 5 + Number(process.env.AT) }).catch((error) => console.log(error.code)) }
  await begin()
`

const table: typeof ends = [
  ...[busy, endless].flatMap((begin, nth) =>
    ends
      .filter((_, i) => long || i % 2 === nth)
      .map(([what, program, wanted]): (typeof ends)[number] => [
        `${what}, ${begin === busy ? "PP-OCR's detector" : 'a loop without an end'}`,
        () => program(begin),
        wanted,
      ]),
  ),
  [
    'process.exit() while models load',
    () => `${busy} for (let i = 0; i < 3; i++) open().catch(() => {}); await soon(at); process.exit(3)`,
    { code: 3 },
  ],
  [
    'process.exit() while engines close',
    () =>
      `${busy} for (const e of await Promise.all([open(), open()])) { work(e); e.close() } await soon(at); process.exit(3)`,
    { code: 3 },
  ],
  ['an engine that was dropped', () => dropped, { stdout: 'float32,float32\n0\n' }],
  ['an endless engine that was aborted and dropped', () => droppedEndless, { stdout: 'ERR_TRT_TIMEOUT\n' }],
  [
    'a return in the middle of an inference',
    () => `${busy} const e = await open(); work(e).then((y) => console.log(y.dtype))`,
    { stdout: 'float32\n' },
  ],
]

t.jobs = 2
for (const [nth, [what, program, { error = /^$/, ...wanted }]] of table.entries()) {
  t.test(what, async (t) => {
    // each time at another moment; a child costs most of a second of a core
    const times = size(1, 200)
    for (let i = 0; i < times; i++) {
      const at = Math.round(((i + nth / table.length) * 120) / times)
      const moment = `process.env.AT = '${at}'\n`
      const { stderr, ...ended } = await runChild(moment + program(''), onnxruntime)
      t.same(ended, { code: 0, signal: null, stdout: '', ...wanted }, `after ${at} ms`)
      t.match(stderr, error)
      t.notMatch(stderr, /abort|Segmentation|FATAL|terminate called/)
    }
  })
}
