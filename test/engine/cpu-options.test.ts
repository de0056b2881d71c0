// Options that are about the CPU alone: `threads` and `onnxruntime`.
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import * as ort from 'onnxruntime-node'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sessionConfig, threadsFor } from '../../lib/backend/cpu-options.js'
import { checkedCpuOptions } from '../../lib/engine/cpu-options.js'
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
    ...[0, -1, 1.5, 1025, NaN, '2', null].map((threads): [object, string] => [{ threads }, 'Expected a number of threads from 1 to 1024 for threads']),
    [{ onnxruntime: 5 }, 'Expected an object for the options of onnxruntime but received number 5'],
    [{ onnxruntime: null }, 'Expected an object for the options of onnxruntime but received null'],
    [{ onnxruntime: { optimisation: 'all' } }, 'Unknown option "optimisation" for onnxruntime: did you mean optimization?'],
    [{ onnxruntime: { optimization: 'ALL' } }, "Expected one of 'disabled', 'basic', 'extended', 'layout', 'all' for onnxruntime.optimization but received string \"ALL\""],
    [{ onnxruntime: { deterministic: 1 } }, 'Expected true or false for onnxruntime.deterministic but received number 1'],
    [{ onnxruntime: { path: '' } }, 'Expected a path or a file: URL for onnxruntime.path but received string ""'],
    [{ onnxruntime: { path: 'https://example.com/x.so' } }, 'Expected a path or a file: URL for onnxruntime.path'],
    [{ onnxruntime: { config: 'x' } }, 'Expected a record of strings for onnxruntime.config but received string "x"'],
    [{ onnxruntime: { config: [] } }, 'Expected a record of strings for onnxruntime.config but received array'],
    [{ onnxruntime: { config: new Map([['a', 'b']]) } }, 'Expected a record of strings (Object.fromEntries(map) makes one) for onnxruntime.config but received Map'],
    [{ onnxruntime: { config: { 'session.x': 1 } } }, 'Expected a string for onnxruntime.config["session.x"] but received number 1'],
    [{ onnxruntime: { config: { 'session.x': 'a\0b' } } }, 'Expected a string for onnxruntime.config["session.x"]'],
    ...['', 'a\0b', 'k'.repeat(1025)].map((key): [object, string] => [{ onnxruntime: { config: { [key]: '' } } }, 'Expected names of 1 to 1024 bytes for onnxruntime.config']),
  ] // prettier-ignore
  for (const [options, message] of rows) {
    const given = { ...cpu, ...options } as EngineOptions
    t.throws(() => new Engine(identity(), given), { code: argument, message }, message)
  }
  t.end()
})

t.test('they are for the CPU alone', async (t) => {
  for (const [name, options] of Object.entries({ threads: { threads: 2 }, onnxruntime: { onnxruntime: {} } })) {
    const message = `Expected no option that is for the CPU for backend 'tensorrt' but received string "${name}"`
    t.throws(() => new Engine(identity(), { backend: 'tensorrt', ...options }), { code: argument, message })
    t.match(await failureOf(() => Engine.load(Buffer.from('ftrt'.padEnd(64)), options)), {
      code: argument,
      message: `is a TensorRT plan: it never runs on the CPU. Leave out the option ${name}`,
    })
  }
  await using engine = await Engine.load(identity(), { threads: 1, shapes: { x: [1] }, backend: 'auto' })
  t.ok(engine.backend, 'with auto they count where the CPU is taken')
})

t.test('what a backend is given', (t) => {
  t.same(checkedCpuOptions({}), { optimization: 'all', deterministic: false, config: {} })
  const config = { a: 'b' }
  const given = checkedCpuOptions({
    threads: 3,
    onnxruntime: { path: 'file:///lib/x.so', config, deterministic: true, optimization: 'basic' },
  })
  config.a = 'c'
  t.same(given, { threads: 3, path: '/lib/x.so', optimization: 'basic', deterministic: true, config: { a: 'b' } })
  t.equal(threadsFor(given, 4), 3)
  t.equal(threadsFor(checkedCpuOptions({}), 1), availableParallelism())
  t.equal(threadsFor(checkedCpuOptions({}), 64 * availableParallelism()), 1)
  t.same(sessionConfig(given), { 'session.intra_op.allow_spinning': '0', a: 'b' })
  const spinning = checkedCpuOptions({ onnxruntime: { config: { 'session.intra_op.allow_spinning': '1' } } })
  t.same(sessionConfig(spinning), { 'session.intra_op.allow_spinning': '1' }, "the user's word")
  t.end()
})

onEachWay('optimization gives what onnxruntime gives at that level, bit for bit', async (t) => {
  const x = pattern('float32', [1, 3, 96, 160])
  const results = new Map<string, unknown>()
  for (const optimization of ['disabled', 'basic', 'extended', 'layout', 'all'] as const) {
    await using engine = await Engine.load(realModels.detector, { ...cpu, threads: 1, onnxruntime: { optimization } })
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
    threads: 2,
    onnxruntime: { config: { 'session.intra_op_thread_affinities': text } },
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
    await using engine = await Engine.load(identity(), { ...cpu, threads })
    await engine.infer(pattern('float32', [1]))
    return (await count()) - before
  }
  await more(1) // threads that are started once
  const one = await more(1)
  t.equal((await more(4)) - one, 3, 'the thread that calls is one of them')
})
