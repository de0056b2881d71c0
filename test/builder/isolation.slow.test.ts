// Builds in processes of their own, on the fakes, which die in each way that a library can.
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import t, { type Test } from 'tap'
import {
  Builder,
  type BuilderOptions,
  type BuildProgress,
  type LogLine,
  onLog,
  type TensorRTError,
} from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { long, size } from '../support/tiers.js'
import { certain } from '../support/waiting.js'
import { buildingProcesses, contents, isAlive } from './processes.js'

const { fakes, families, trt10 } = await useFakes()
const folder = temporaryFolder(t)
process.env['TMPDIR'] = folder

const first = { tensorrt: { library: fakes.trt10 } }

/** y = relu(x); the graph's name is what the fakes obey, see test/fake/nvinfer/deaths.h. */
function model(wishes = '', shape: (number | string)[] = [1, 4]): Uint8Array {
  const graph = new GraphBuilder({ name: `relu${wishes}` })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', shape)]), 'float32', shape)
  return writeModel(graph.toModel())
}

const isolated = (options: BuilderOptions): Builder => new Builder({ ...options, isolation: 'process' })

/** Nothing of ours is left: no process, no file. */
function clean(t: Test): void {
  t.same(buildingProcesses(), [], 'no process is left')
  t.same(readdirSync(folder), [], 'no file is left')
}

t.test('isolation is none or process', async (t) => {
  t.match(await failureOf(() => new Builder({ isolation: 'thread' as never })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: "Expected 'none' or 'process' for isolation but received string \"thread\"",
  })
})

for (const { name, path: tensorrt } of families) {
  t.test(`${name}: the same plan, progress, log and errors as in this process`, async (t) => {
    const lines: LogLine[] = []
    const stop = onLog((line) => lines.push(line), 'verbose')
    const seen: { plan: Uint8Array; info: object; steps: BuildProgress[]; lines: LogLine[] }[] = []
    const here = new Builder({ tensorrt: { library: tensorrt } })
    await using there = isolated({ tensorrt: { library: tensorrt } })
    for (const builder of [here, there]) {
      const steps: BuildProgress[] = []
      lines.length = 0
      const { bytes, info } = await builder.build(model(), { onProgress: (step) => steps.push(step) })
      seen.push({ plan: bytes, info: { ...info, parseMs: 0, buildMs: 0, builtAt: '' }, steps, lines: [...lines] })
    }
    t.ok(seen[0]?.steps.length && seen[0].lines.length, 'there is something to compare')
    t.same(seen[1], seen[0])
    const wrong: [string, unknown[]][] = [
      ['no ONNX', [Uint8Array.of(8, 7, 255)]],
      ['a dynamic model without shapes', [model('', ['N', 4])]],
      ['an input that is none', [model('', ['N', 4]), { shapes: { z: [1, 4] } }]],
      ['a file that is none', ['/no/such/model.onnx']],
    ]
    for (const [what, args] of wrong) {
      const [expected, found] = [
        await failureOf(() => here.build(...(args as [never]))),
        await failureOf(() => there.build(...(args as [never]))),
      ]
      const known = ({ code, message, details, log }: TensorRTError): object => ({ code, message, details, log })
      t.same(known(found), known(expected), what)
      t.same([found.cause, expected.cause], [undefined, undefined], `${what}: the message says all`)
    }
    t.equal(buildingProcesses().length, 1, 'all of it in one process')
    stop()
  })

  t.test(`${name}: each way to die is an error, and the next build works`, async (t) => {
    await using builder = isolated({ tensorrt: { library: tensorrt } })
    const rows: [wish: string, details: object, said?: RegExp][] = [
      ['parse:segv', { signal: 'SIGSEGV', exitCode: null, phase: undefined }],
      ['build:segv', { signal: 'SIGSEGV', exitCode: null, phase: undefined }],
      ['step:segv', { signal: 'SIGSEGV' }],
      ['parse:abort', { signal: 'SIGABRT' }, /the fake was told to abort/],
      ['build:throw', { signal: 'SIGABRT' }, /the fake was told to throw/],
      ['build:exit', { signal: null, exitCode: 3 }],
      ['build:exitHandlers', { signal: null, exitCode: 4 }],
      ['step:kill', { signal: 'SIGKILL', exitCode: null }],
      ['build:stack', { signal: 'SIGSEGV' }],
      // which thread finds first that there is no memory decides how it ends
      ['build:memory', { signal: /^SIG(ABRT|TRAP|SEGV|ILL)$/, exitCode: null }],
    ]
    for (const [wish, details, said] of rows.filter((_, i) => long || name === 'TensorRT 10' || i % 4 === 0)) {
      let last: string | undefined
      const error = await failureOf(() =>
        builder.build(model(`;die=${wish};stepMs=5`), { onProgress: ({ phase }) => (last = phase) }),
      )
      t.match(error, { code: 'ERR_TRT_CRASH', details }, wish)
      if (said) t.match((error.details['stderr'] as string[]).join('\n'), said, `${wish}: what it said last`)
      // what it wrote in its last moment may be lost with it
      if (wish.startsWith('step'))
        t.same([typeof last, error.details['phase']], ['string', last], `${wish}: where it was, as far as it told`)
      t.equal((await builder.build(model())).info.layers, 1, `a build after ${wish}`)
    }
    await builder.close()
    clean(t)
  })
}

const crashes = size(3, 20)
t.test(`${crashes} crashes in a row`, async (t) => {
  await using builder = isolated(first)
  const ways = ['segv', 'abort', 'throw', 'kill', 'exit']
  for (let i = 0; i < crashes; i++) {
    const error = await failureOf(() =>
      builder.build(model(`;die=${i % 2 ? 'parse' : 'build'}:${ways[i % ways.length] ?? ''}`)),
    )
    if (error.code !== 'ERR_TRT_CRASH') t.fail(`crash ${i}: ${error.code}`)
  }
  t.equal((await builder.build(model())).info.layers, 1)
  t.equal(buildingProcesses().length, 1)
  await builder.close()
  clean(t)
})

t.test('8 crashes at once, among builds that work; no more processes than there are places', async (t) => {
  await using builder = isolated(first)
  let most = 0
  const timer = setInterval(() => (most = Math.max(most, buildingProcesses().length)), 5)
  const settled = await Promise.allSettled(
    Array.from({ length: 16 }, (_, i) => builder.build(model(i % 2 ? ';stepMs=2' : ';die=step:segv;stepMs=2'))),
  )
  clearInterval(timer)
  t.same(
    settled.map((one) => (one.status === 'fulfilled' ? 'built' : (one.reason as TensorRTError).code)),
    Array.from({ length: 16 }, (_, i) => (i % 2 ? 'built' : 'ERR_TRT_CRASH')),
  )
  t.ok(most > 0 && most <= availableParallelism(), `${most} processes at once`)
  await builder.close()
  clean(t)
})

t.test('an abort rejects at once, and the process is gone, whatever it does', async (t) => {
  await using builder = isolated(first)
  const rows: [what: string, wishes: string, afterMs: number, fresh: boolean][] = [
    ['while the process starts', ';stepMs=600000', 0, true],
    ['while the process loads', ';stepMs=600000', 25, true],
    ['in a step of ten minutes', ';stepMs=600000', 150, false],
    ['in an endless loop', ';die=build:loop', 150, false],
    ['in an endless loop of the parser', ';die=parse:loop', 150, true],
  ]
  for (const [what, wishes, afterMs, fresh] of rows) {
    if (!fresh) await builder.build(model())
    const abort = new AbortController()
    const build = t.rejects(builder.build(model(wishes), { signal: abort.signal }), { message: what }, what)
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    const before = buildingProcesses()
    abort.abort(new Error(what))
    await build
    await certain(() => !before.some(isAlive))
    t.equal((await builder.build(model())).info.layers, 1, `${what}: the next build has a process of its own`)
    t.notOk(buildingProcesses().some((pid) => before.includes(pid)))
  }
  await builder.close()
  clean(t)
})

t.test('an abort in the queue takes only that build out of it', async (t) => {
  await using builder = isolated(first)
  const abort = new AbortController()
  const running = Array.from({ length: availableParallelism() }, () => builder.build(model(';stepMs=20')))
  const waiting = builder.build(model(), { signal: abort.signal })
  const last = builder.build(model())
  abort.abort(new Error('not any more'))
  await t.rejects(waiting, { message: 'not any more' })
  for (const build of [...running, last]) t.equal((await build).info.layers, 1)
})

t.test('a listener that throws ends the build and its process', async (t) => {
  await using builder = isolated(first)
  let calls = 0
  const build = builder.build(model(';stepMs=20;steps=100000'), {
    onProgress: () => {
      calls++
      throw new Error('from the listener')
    },
  })
  await t.rejects(build, { message: 'from the listener' })
  await certain(() => buildingProcesses().length === 0)
  t.equal(calls, 1)
})

t.test('close() waits for what is under way, and ends what is idle', async (t) => {
  const builder = isolated(first)
  await builder.build(model())
  const [pid] = buildingProcesses()
  const build = builder.build(model(';stepMs=20'))
  await certain(() => contents(`/proc/${pid}/stat`) !== '')
  let built = false
  void build.then(() => (built = true))
  await Promise.all([builder.close(), builder.close()])
  t.ok(built, 'the build came to its end')
  clean(t)
  t.match(await failureOf(() => builder.build(model())), { code: 'ERR_TRT_CLOSED' })
})

t.test(
  'in this process, an abort rejects at once, and close() waits for the end of the step, not of the build',
  async (t) => {
    const builder = new Builder(first)
    const stats = (): ReturnType<typeof trt10.runtime.stats> => trt10.runtime.stats()
    const abort = new AbortController()
    const before = stats().builds.length
    // the whole of it would take a day
    const build = builder.build(model(';stepMs=1000;steps=100000'), { signal: abort.signal, onProgress: () => {} })
    await certain(() => stats().builds.length > before)
    abort.abort(new Error('enough'))
    await t.rejects(build, { message: 'enough' })
    t.equal(stats().live.builders, 1, 'TensorRT is still at its step')
    await builder.close()
    t.equal(stats().live.builders, 0)
  },
)

t.test(
  'who listens while a build is under way hears it too; a process lives in its own group and dies first',
  async (t) => {
    await using builder = isolated(first)
    const lines: LogLine[] = []
    let stop = (): void => {}
    let facts: { cmdline: string; group: string; score: string } | undefined
    await builder.build(model(';stepMs=20'), {
      onProgress: ({ phase, step }) => {
        if (phase !== 'Building engine' || step !== 1) return
        stop = onLog((line) => lines.push(line), 'info')
        const [pid] = buildingProcesses()
        facts = {
          cmdline: contents(`/proc/${pid}/cmdline`),
          group: contents(`/proc/${pid}/stat`).replace(/^\d+ \(.*\) \S \d+ (\d+).*/s, '$1'),
          score: contents(`/proc/${pid}/oom_score_adj`).trim(),
        }
        t.equal(facts.group, String(pid))
      },
    })
    await builder.build(model())
    stop()
    t.ok(lines.length > 0, `${lines.length} lines`)
    t.equal(facts?.score, '900', 'the kernel takes it before the server when memory runs out')
    t.match(facts?.cmdline, /^[^\0]*\0[^\0]*building\/child\.js\0$/, 'no flags')
  },
)
