// What is printed of an error says everything once: by console.log, and by Node when nobody catches it.
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { Builder, Engine, EngineCache, Plan, Refitter, Tensor, TensorRTError } from '../../lib/index.js'
import { runChild } from '../lanes/children.js'
import { families, fanPlan, leftovers, load, planOf, rows, rowsPlan } from '../lanes/rig.js'
import { expand, oneNode } from '../support/models.js'

const folder = t.testdir({})
const missing = join(folder, 'missing')
const damaged = new Uint8Array([8, 7, 1, 2, 3])

const occurrences = (text: string, of: string): number => text.split(of).length - 1
/** A line of a log without its severity. */
const textOf = (line: string): string => line.slice(line.indexOf(': ') + 2)

async function failureOf(operation: () => Promise<unknown>): Promise<TensorRTError> {
  const error = await operation().catch((reason: unknown) => reason)
  if (error instanceof TensorRTError) return error
  throw new Error('it did not fail as it should', { cause: error })
}

function saysAllOnce(
  t: Test,
  printed: string,
  { message, log }: Pick<TensorRTError, 'message' | 'log'>,
  what: string,
): void {
  t.equal(occurrences(printed, message), 1, `${what}: ${message}`)
  for (const line of log) t.equal(occurrences(printed, textOf(line)), 1, `${what}: ${line}`)
}

/** An error whose log has lines that its message does not quote, and one whose message quotes it. */
let [withLog, quoted] = [0, 0]

for (const family of families)
  await t.test(family.name, async (t) => {
    const { path: tensorrt, control } = family
    await using engine = await load(family, rowsPlan(), { tensorrt: { cudaGraph: false } })
    await using builder = new Builder({ tensorrt: { library: tensorrt } })
    await using isolated = new Builder({ tensorrt: { library: tensorrt }, isolation: 'process' })
    const unknown = oneNode('NoSuchOperator', [1, 4])
    const failing = (method: string, operation: () => Promise<unknown>) => (): Promise<unknown> => {
      control.failNth(method, 1)
      return operation()
    }
    const operations: Record<string, () => Promise<unknown>> = {
      infer: failing('enqueueV3', () => engine.infer(rows(1))),
      'infer with limits': failing('enqueueV3', () => engine.infer(rows(1), { timeoutMs: 60_000 })),
      inferSync: failing('enqueueV3', async () => engine.inferSync(rows(1))),
      load: failing('deserializeCudaEngine', () =>
        Engine.load(planOf(family, rowsPlan()), { tensorrt: { library: tensorrt } }),
      ),
      'load, damaged': () => Engine.load(damaged, { tensorrt: { library: tensorrt }, cache: false }),
      build: () => builder.build(damaged),
      'build, unknown operator': () => builder.build(unknown),
      'build in a process': () => isolated.build(damaged),
      'build in a process, unknown operator': () => isolated.build(unknown),
      'build, not built': failing('buildSerializedNetwork', () => builder.build(oneNode('Relu', [1, 4]))),
      'cached, unknown operator': () =>
        new EngineCache({ folder }).plan(unknown, { builder: { tensorrt: { library: tensorrt } } }),
      audit: failing('enqueueV3', () => engine.layers()),
      refit: () => new Refitter(planOf(family, fanPlan(1)), { tensorrt: { library: tensorrt } }).refit(),
      'no plan': () => Plan.inspect(damaged),
      'no driver function': () =>
        Engine.load(planOf(family, rowsPlan()), { tensorrt: { library: tensorrt, device: 1000 } }),
    }
    for (const [name, operation] of Object.entries(operations)) {
      const error = await failureOf(operation)
      saysAllOnce(t, inspect(error), error, name)
      saysAllOnce(t, inspect({ deep: { down: [error] } }, { depth: 9 }), error, `${name}, in an object`)
      if (error.cause instanceof Error)
        t.not(error.cause.message, error.message, `${name}: the cause says something else`)
      if (error.log.length > 0) withLog++
    }
    const { message, log } = await failureOf(operations['load'] as () => Promise<unknown>)
    if (message.includes('told to fail') && log.length === 0) quoted++
  })
t.ok(withLog >= 4, `${withLog} errors had lines of TensorRT's log`)
t.equal(quoted, 2, 'a line that the message quotes is not in the log')

await t.test('CPU', async (t) => {
  await using engine = await Engine.load(expand(), { backend: 'cpu' })
  const inputs = { x: Tensor.from(new Float32Array(3)), s: Tensor.from(BigInt64Array.of(7n)) }
  for (const operation of [
    () => engine.infer(inputs),
    () => Engine.load(damaged, { backend: 'cpu' }),
    () => Engine.load(missing, { backend: 'cpu' }),
  ]) {
    const error = await failureOf(operation)
    saysAllOnce(t, inspect(error), error, 'CPU')
    if (error.cause instanceof Error) t.not(error.cause.message, error.message, 'the cause says something else')
  }
})

await t.test('what is empty is not printed', async (t) => {
  const error = await failureOf(() => Engine.load(missing, { backend: 'cpu' }))
  t.notMatch(inspect(new TensorRTError('ERR_TRT_CLOSED', 'closed')), /log|details/)
  t.match(inspect(error), /details: \{/)
  t.notMatch(inspect(error), /log: \[\]/)
  t.same(
    [new TensorRTError('ERR_TRT_CLOSED', 'closed')].map(({ log, details }) => [log, details]),
    [[[], {}]],
  )
})

await t.test('nobody catches it', async (t) => {
  const wanted = { message: 'TensorRT 10.15.1: enqueueV3 failed: IExecutionContext::enqueueV3: Error Code 3', log: [] }
  const { code, stderr } = await runChild(`
    const e = await load({ tensorrt: { cudaGraph: false } })
    trt10.runtime.failNth('enqueueV3', 1)
    await call(e)
  `)
  t.equal(code, 1)
  saysAllOnce(t, stderr, wanted, 'uncaught')
})

await t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
