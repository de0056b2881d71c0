// Options that are about the CPU alone: the group `cpu`.
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import * as ort from 'onnxruntime-node'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sessionConfig, threadsFor } from '../../lib/backend/cpu-options.js'
import { checkedRows } from '../../lib/base/option-table.js'
import { cpuRows } from '../../lib/engine/cpu-options.js'
import { Engine, type EngineOptions } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { identity } from '../support/models.js'
import { realModels } from '../support/real-models.js'
import { same } from '../support/same.js'
import { pattern } from '../support/values.js'
import { onEachWay } from './ways.js'

const cpu = { backend: 'cpu' } as const
const argument = 'ERR_TRT_INVALID_ARGUMENT'

t.test('what is no such option', (t) => {
  const rows: [object, string][] = [
    ...[0, -1, 1.5, 1025, NaN, '2', null].map((threads): [object, string] => [{ cpu: { threads } }, 'Expected a number of threads from 1 to 1024 for cpu.threads']),
    [{ cpu: 5 }, 'Expected an object for the options of cpu but received number 5'],
    [{ cpu: null }, 'Expected an object for the options of cpu but received null'],
    [{ cpu: { optimisation: 'all' } }, 'Unknown option "optimisation" for cpu: did you mean optimization?'],
    [{ cpu: { optimization: 'ALL' } }, "Expected one of 'disabled', 'basic', 'extended', 'layout', 'all' for cpu.optimization but received string \"ALL\""],
    [{ cpu: { deterministic: 1 } }, 'Expected true or false for cpu.deterministic but received number 1'],
    [{ cpu: { library: '' } }, 'Expected a path or a file: URL for cpu.library but received string ""'],
    [{ cpu: { library: 'https://example.com/x.so' } }, 'Expected a path or a file: URL for cpu.library'],
    [{ cpu: { config: 'x' } }, 'Expected a record of strings for cpu.config but received string "x"'],
    [{ cpu: { config: [] } }, 'Expected a record of strings for cpu.config but received array'],
    [{ cpu: { config: new Map([['a', 'b']]) } }, 'Expected a record of strings (Object.fromEntries(map) makes one) for cpu.config but received Map'],
    [{ cpu: { config: { 'session.x': 1 } } }, 'Expected a string for cpu.config["session.x"] but received number 1'],
    [{ cpu: { config: { 'session.x': 'a\0b' } } }, 'Expected a string for cpu.config["session.x"]'],
    ...['', 'a\0b', 'k'.repeat(1025)].map((key): [object, string] => [{ cpu: { config: { [key]: '' } } }, 'Expected names of 1 to 1024 bytes for cpu.config']),
  ] // prettier-ignore
  for (const [options, message] of rows) {
    const given = { ...cpu, ...options } as EngineOptions
    t.throws(() => new Engine(identity(), given), { code: argument, message }, message)
  }
  t.end()
})

t.test('each has its one place', (t) => {
  for (const [options, place] of [
    [{ threads: 2 }, 'cpu.threads'],
    [{ onnxruntime: {} }, 'cpu'],
  ] as const)
    t.throws(() => new Engine(identity(), options as object), {
      code: argument,
      message: `did you mean ${place}?`,
    })
  t.end()
})

t.test('what a backend is given', (t) => {
  t.same(checkedRows({ cpu: {} }, cpuRows).cpu, {
    optimization: 'all',
    deterministic: false,
    config: {},
    customOps: [],
  })
  const config = { a: 'b' }
  const given = checkedRows(
    { cpu: { threads: 3, library: 'file:///lib/x.so', config, deterministic: true, optimization: 'basic' } },
    cpuRows,
  ).cpu
  config.a = 'c'
  t.same(given, {
    threads: 3,
    library: '/lib/x.so',
    optimization: 'basic',
    deterministic: true,
    config: { a: 'b' },
    customOps: [],
  })
  t.equal(threadsFor(given, 4), 3)
  t.equal(threadsFor(checkedRows({ cpu: {} }, cpuRows).cpu, 1), availableParallelism())
  t.equal(threadsFor(checkedRows({ cpu: {} }, cpuRows).cpu, 64 * availableParallelism()), 1)
  t.same(sessionConfig(given), { 'session.intra_op.allow_spinning': '0', a: 'b' })
  const spinning = checkedRows({ cpu: { config: { 'session.intra_op.allow_spinning': '1' } } }, cpuRows).cpu
  t.same(sessionConfig(spinning), { 'session.intra_op.allow_spinning': '1' }, "the user's word")
  t.end()
})

onEachWay('optimization gives what onnxruntime gives at that level, bit for bit', async (t) => {
  const x = pattern('float32', [1, 3, 96, 160])
  const results = new Map<string, unknown>()
  for (const optimization of ['disabled', 'basic', 'extended', 'layout', 'all'] as const) {
    await using engine = await Engine.load(realModels.detector, { ...cpu, cpu: { threads: 1, optimization } })
    const { data } = await engine.infer(x)
    const session = await ort.InferenceSession.create(realModels.detector, {
      graphOptimizationLevel: optimization,
      intraOpNumThreads: 1,
      logSeverityLevel: 4,
    })
    const { [session.outputNames[0] as string]: wanted } = await session.run({
      [session.inputNames[0] as string]: new ort.Tensor('float32', x.data, x.shape),
    })
    same(t, data, wanted?.data, optimization)
    await session.release()
    results.set(optimization, data)
  }
  t.notSame(results.get('disabled'), results.get('all'), 'levels differ')
})

onEachWay('config goes to onnxruntime by its own names', async (t) => {
  const affinities = (text: string): EngineOptions => ({
    ...cpu,
    cpu: { threads: 2, config: { 'session.intra_op_thread_affinities': text } },
  })
  await using engine = await Engine.load(identity(), affinities('1'))
  t.same((await engine.infer(pattern('float32', [1]))).shape, [1])
  const refused = await failureOf(() => Engine.load(identity(), affinities('bad')))
  t.match(refused, { message: /must consist of only digits: bad/ })
})

onEachWay('threads of one inference', async (t) => {
  /** The threads of this process, once those that only load and close are gone. */
  const count = async (): Promise<number> => {
    let last = 0
    for (let same = 0; same < 20; await sleep(5)) {
      const now = readdirSync('/proc/self/task').length
      same = now === last ? same + 1 : 0
      last = now
    }
    return last
  }
  const more = async (threads: number): Promise<number> => {
    const before = await count()
    await using engine = await Engine.load(identity(), { ...cpu, cpu: { threads } })
    await engine.infer(pattern('float32', [1]))
    return (await count()) - before
  }
  await more(1) // threads that are started once
  const one = await more(1)
  t.equal((await more(4)) - one, 3, 'the thread that calls is one of them')
})
