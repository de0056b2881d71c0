// The end of a process, at any moment: with the exit code that was asked for, without a word, within the time.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Ended } from '../support/children.js'
import { long, size } from '../support/tiers.js'
import { runChild } from './children.js'
import { everyRuntime, families } from './rig.js'

type Wanted = Partial<Omit<Ended, 'stderr'>> & { stderr?: RegExp }

/** What an engine does when the end comes; `e` is there where it is loaded. */
const states: [what: string, program: string][] = [
  ['idle', 'const e = await load(); await call(e)'],
  ['loading', 'load().catch(() => {}); load().catch(() => {})'],
  [
    'in flight',
    'driver.set({ computeMs: 40 }); const e = await load({ lanes: 2 }); for (let i = 0; i < 4; i++) call(e).catch(() => {}); await soon(10)',
  ],
  [
    'held up in enqueue',
    'driver.set({ blockMs: 60 }); const e = await load(); for (let i = 0; i < 4; i++) call(e).catch(() => {}); await soon(10)',
  ],
  [
    'queued',
    'driver.set({ computeMs: 20 }); const e = await load(); for (let i = 0; i < 400; i++) call(e).catch(() => {}); await soon(10)',
  ],
  [
    'waiting for a batch',
    'const e = await load({ batching: { maxBatch: 8, maxDelayMs: 300 } }); call(e).catch(() => {})',
  ],
  [
    'closing',
    'driver.set({ computeMs: 40 }); const e = await load(); for (let i = 0; i < 4; i++) call(e).catch(() => {}); await soon(5); e.close()',
  ],
  ['warming up', 'const e = await load({ lanes: 2 }); e.warmup({ iterations: 200 }).catch(() => {}); await soon(5)'],
]

const ends: [what: string, program: string, wanted: Wanted][] = [
  ['process.exit()', 'process.exit(3)', { code: 3 }],
  ['a throw', "setImmediate(() => { throw new Error('mine') })", { code: 1, stderr: /Error: mine/ }],
  ['SIGTERM', "process.kill(process.pid, 'SIGTERM'); await soon(2000)", { code: null, signal: 'SIGTERM' }],
]

/** The same in a worker: `ended` is what its exit event must say. */
const workerEnds: [what: string, program: string, ended: string][] = [
  ['exit() of the worker', 'process.exit(5)', '5'],
  ['a throw in the worker', "setImmediate(() => { throw new Error('mine') })", 'mine 1'],
]

/** Each state with each end in long runs; in CI a quarter of them: each state once or more, each end twice or more. */
const ofStates = states.flatMap(([state, program], nth) => {
  const all: [what: string, program: string, wanted: Wanted][] = [
    ...ends.map(([end, last, wanted]): (typeof all)[number] => [`${end}, ${state}`, `${program}\n${last}`, wanted]),
    ...workerEnds.map(([end, last, ended]): (typeof all)[number] => [
      `${end}, ${state}`,
      `const w = worker(${JSON.stringify(`${program}\n${last}`)}); let said = ''; w.on('error', (e) => (said += e.message + ' ')); w.on('exit', (code) => console.log(said + code))`,
      { stdout: `${ended}\n` },
    ]),
    [
      `exit() of the process, a worker ${state}`,
      `const w = worker(${JSON.stringify(`${program}\nparentPort.postMessage(0); setInterval(() => {}, 1000)`)}); w.on('message', () => process.exit(3))`,
      { code: 3 },
    ],
  ]
  return all.filter((_, i) => long || (nth + i) % 4 === 0)
})

type Row = [what: string, program: string, wanted: Wanted]

const inCI: readonly Row[] = [
  ...ofStates,
  ['a return, idle', 'const e = await load(); await call(e)', {}],
  ['a return, in flight', "driver.set({ computeMs: 30 }); call(await load()).then(() => console.log('done'))", { stdout: 'done\n' }],
  ['a return, after an abort', "driver.set({ computeMs: 1000 }); await (await load()).infer(x, { timeoutMs: 10 }).catch((e) => console.log(e.code))", { stdout: 'ERR_TRT_TIMEOUT\n' }],
  ['a return of a worker, in flight', "worker(\"driver.set({ computeMs: 30 }); call(await load()).then(() => console.log('done'))\").on('exit', (code) => console.log(code))", { stdout: 'done\n0\n' }],
  ['an inference in an exit handler', "const e = await load(); process.on('exit', () => console.log(e.inferSync(x).data[0]))", { stdout: '1\n' }],
  ['exit() while a worker blocks in inferSync', 'driver.set({ computeMs: 300 }); worker("const e = await load(); parentPort.postMessage(0); await soon(1); e.inferSync(x); setInterval(() => {}, 1000)").on("message", () => setTimeout(() => process.exit(3), 50))', { code: 3 }],
  ['exit() with a device that never answers', "driver.set({ clock: 'manual', computeMs: 10 }); const e = await load(); call(e); await soon(10); process.exit(3)", { code: 3 }],
] // prettier-ignore

/** More ways to end, for long runs. */
const others: readonly Row[] = [
  ['a return, loading', "load().then(() => console.log('done'))", { stdout: 'done\n' }],
  ['a return, waiting for a batch', "call(await load({ batching: { maxBatch: 8, maxDelayMs: 50 } })).then(() => console.log('done'))", { stdout: 'done\n' }],
  ['a return, closing', 'const e = await load(); call(e); e.close()', {}],
  ['a return, with allocated tensors', "const e = await load(); globalThis.kept = e.allocate('x', [4, 3]); await e.infer(kept)", {}],
  ['exit() in an exit handler', "const e = await load(); call(e); process.on('exit', () => process.exit(4))", { code: 4 }],
] // prettier-ignore

t.jobs = 2
for (const [what, program, wanted] of long ? [...inCI, ...others] : inCI) {
  t.test(what, async (t) => {
    for (let i = 0; i < size(1, 20); i++) {
      const { stderr, ...ended } = await runChild(program, families[i % 2])
      const { stderr: complaint = /^$/, ...rest } = wanted
      t.same(ended, { code: 0, signal: null, stdout: '', ...rest })
      t.match(stderr, complaint)
      t.notMatch(stderr, /abort|Segmentation|FATAL/)
    }
  })
}

/** Requests follow each other without end on two lanes; at each moment some wait, are enqueued, run and are told. */
const busy = `
  driver.set({ computeMs: 3 })
  const e = await load({ lanes: 2 })
  const again = () => call(e).then(again, () => {})
  for (let i = 0; i < 8; i++) again()
  await soon(Number(process.env.AT))
`
const busyEnds = ends.map(([what, program, wanted]): (typeof ends)[number] => [
  what,
  program.replace('exit(3)', 'exit(7)'),
  wanted.code === 3 ? { code: 7 } : wanted,
])

const moments = size(4, 40)
for (let i = 0; i < moments; i++) {
  const runtime = everyRuntime[i % everyRuntime.length]!
  const [what, program, wanted] = busyEnds[Math.floor(i / 2) % busyEnds.length]!
  const at = Math.round((i * 60) / moments)
  t.test(`${what}, ${at} ms into runs without an end on ${runtime.name}`, async (t) => {
    const { stderr, ...ended } = await runChild(busy + program, runtime, undefined, { AT: String(at) })
    const { stderr: complaint = /^$/, ...rest } = wanted
    t.same(ended, { code: 0, signal: null, stdout: '', ...rest })
    t.match(stderr, complaint)
    t.notMatch(stderr, /abort|Segmentation|FATAL/)
  })
}

t.test('process.exit() lets what is on the device end, and what never does is left where it is', async (t) => {
  /**
   * Which of our libraries the dynamic linker closed at the end: it does when the process ends as usual. A process in
   * which a thread is still inside of a library leaves by _exit(), and closes none.
   */
  const closed = async (program: string): Promise<string[]> => {
    const log = join(t.testdir(), 'ld')
    const traced = { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: log }
    const ended = await runChild(`${program}; process.exit(3)`, families[0], undefined, traced)
    t.same(ended, { code: 3, signal: null, stdout: '', stderr: '' })
    const lines = readdirSync(dirname(log)).map((name) => readFileSync(join(dirname(log), name), 'utf8'))
    const named = (what: string): string[] =>
      Array.from(
        lines.join('').matchAll(new RegExp(`calling ${what}: \\S*/(libnvinfer|libcuda|node_tensorrt)\\.`, 'g')),
        ([, name = '']) => name,
      ).sort()
    t.same(named('init'), ours, 'they were opened')
    return named('fini')
  }
  const ours = ['libcuda', 'libnvinfer', 'node_tensorrt']
  const blocking = (ms: number): string =>
    `driver.set({ blockMs: ${ms} }); const e = await load(); for (let i = 0; i < 9; i++) call(e); while (e.stats().inFlight === 0) await soon(1)`
  t.same(await closed('const e = await load(); await call(e)'), ours, 'idle')
  t.same(await closed(blocking(200)), ours, 'in an enqueue, which is waited for')
  t.same(await closed(blocking(600_000)), [], 'in one that never returns: its library stays as it is')
})
