// Every option of an engine, with a value other than its default, on each runtime: it counts, or it is an error, or it
// stands in `backendReason`. The names are those that the API itself says it knows, so that an option that is added has
// to say here what becomes of it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Builder, Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { useFakes } from '../native/fakes.js'
import { failureOf as typedFailureOf } from '../support/errors.js'
import { identity } from '../support/models.js'
import { failureOf } from './table.js'

const { families, leftovers } = await useFakes()
const library = families[0].path
const folder = t.testdir()
const model = identity('float32', ['N'])
const shapes = { x: { min: [1], opt: [2], max: [4] } }
const run = (engine: Engine, rows = 1): Promise<unknown> => engine.infer(Tensor.zeros('float32', [rows]))

/** Whether an engine does as its option says. */
type Proof = (engine: Engine) => unknown

/**
 * What becomes of an option: it counts, as the proof shows, or as only the runtime itself could show (`handed on`);
 * there is nothing that it could be about (`nothing to do`: such as progress, where nothing is built); `backendReason`
 * names it; or loading fails with this code.
 */
type Fate = Proof | 'handed on' | 'nothing to do' | 'named' | `ERR_TRT_${string}`

/** A value, and its fate on the CPU, with TensorRT from ONNX, and with TensorRT from a plan. */
type Sample = readonly [value: unknown, onCpu: Fate, fromOnnx: Fate, fromPlan: Fate]

const queueFull: Proof = async (engine) => (await typedFailureOf(() => run(engine))).code === 'ERR_TRT_QUEUE_FULL'
const batched: Proof = async (engine) => {
  await Promise.all([run(engine), run(engine), run(engine), run(engine)])
  return engine.counters().executions < 4
}
const isSized: Proof = ({ inputs }) => inputs['x']?.shape[0] === 2
const runs: Proof = async (engine) => (await run(engine)) !== undefined
const argument = 'ERR_TRT_INVALID_ARGUMENT'
const inBatches = (options: object): object => ({ batching: { maxBatch: 4, maxDelayMs: 20, ...options } })
const everywhere = (value: unknown, fate: Fate): Sample => [value, fate, fate, fate]
const forTensorRT = (value: unknown, fromOnnx: Fate, fromPlan: Fate): Sample => [value, 'named', fromOnnx, fromPlan]
const forCpu = (value: unknown, fate: Fate): Sample => [value, fate, 'named', 'named']

const samples: Readonly<Record<string, Readonly<Record<string, Sample>>>> = {
  '': {
    signal: everywhere(new AbortController().signal, 'nothing to do'),
    backend: ['cpu', ({ backend }) => backend === 'cpu', ({ backend }) => backend === 'cpu', argument],
    shapes: [shapes, ({ inputs }) => inputs['x']?.profiles.length === 1, 'handed on', argument],
    freeDimensions: [{ N: 2 }, isSized, 'ERR_TRT_SHAPE', argument],
    onProgress: ['progress', 'nothing to do', 'handed on', 'nothing to do'],
    cache: [join(folder, 'cache'), 'nothing to do', () => existsSync(join(folder, 'cache')), 'nothing to do'],
    cpu: forCpu({ threads: 1 }, 'handed on'),
    tensorrt: forTensorRT({ wait: 'block' }, 'handed on', 'handed on'),
    lanes: everywhere(9, ({ concurrency }) => concurrency >= 9),
    batching: everywhere({ maxBatch: 4, maxDelayMs: 2000 }, batched),
    maxQueue: everywhere(1, ({ concurrency }) => concurrency === 1),
    maxQueueBytes: everywhere(1, queueFull),
    inputs: everywhere({ x: 'float16' }, 'ERR_TRT_DECLARATION'),
    outputs: everywhere({ y: 'float16' }, 'ERR_TRT_DECLARATION'),
  },
  cpu: {
    threads: forCpu(1, 'handed on'),
    library: forCpu(join(folder, 'nowhere'), 'ERR_TRT_NO_ONNXRUNTIME'),
    optimization: forCpu('disabled', 'handed on'),
    deterministic: forCpu(true, 'handed on'),
    customOps: forCpu([join(folder, 'nowhere.so')], 'ERR_TRT_FILE'),
    config: forCpu({ 'session.intra_op.allow_spinning': '1' }, 'handed on'),
  },
  tensorrt: {
    library: forTensorRT(join(folder, 'nowhere'), 'ERR_TRT_NO_LIBRARY', 'ERR_TRT_NO_LIBRARY'),
    device: forTensorRT(7, 'ERR_TRT_NO_GPU', 'ERR_TRT_NO_GPU'),
    builder: forTensorRT({ precision: 'fp16' }, 'handed on', argument),
    anyGpu: forTensorRT(true, argument, 'handed on'),
    weights: forTensorRT(model, argument, 'ERR_TRT_WEIGHTS'),
    memoryLimit: forTensorRT(1, 'ERR_TRT_OUT_OF_MEMORY', 'ERR_TRT_OUT_OF_MEMORY'),
    plugins: forTensorRT([join(folder, 'nowhere.so')], 'ERR_TRT_FILE', 'ERR_TRT_FILE'),
    hostCode: forTensorRT(true, 'handed on', 'handed on'),
    allowPlaceholderRanges: forTensorRT(true, 'handed on', 'handed on'),
    profile: forTensorRT(9, argument, argument),
    priority: forTensorRT('high', 'handed on', 'handed on'),
    cudaGraph: forTensorRT(false, 'handed on', 'handed on'),
    wait: forTensorRT('spin', 'handed on', 'handed on'),
  },
  batching: {
    maxBatch: everywhere(4, batched),
    maxDelayMs: everywhere(2000, batched),
    preferred: everywhere([2], runs),
    pad: everywhere(true, runs),
    preserveOrder: everywhere(true, runs),
    holdUntil: everywhere(4, batched),
    queue: everywhere({ maxQueue: 1 }, runs),
    priorities: everywhere({ levels: 2 }, runs),
  },
}

interface Runtime {
  readonly name: string
  readonly column: 1 | 2 | 3
  readonly model: Uint8Array
  readonly base: EngineOptions
}

const builder = new Builder({ tensorrt: { library } })
const plan = await builder.build(model, { shapes })
await builder.close()
const runtimes: readonly Runtime[] = [
  { name: 'the CPU', column: 1, model, base: { backend: 'cpu' } },
  {
    name: 'TensorRT, from ONNX',
    column: 2,
    model,
    base: { backend: 'tensorrt', tensorrt: { library }, shapes, cache: false },
  },
  { name: 'TensorRT, from a plan', column: 3, model: plan.bytes, base: { backend: 'tensorrt', tensorrt: { library } } },
]

/** Options with one in its group, beside those that a runtime needs. */
function given(group: string, name: string, value: unknown, base: EngineOptions): object {
  const real = value === 'progress' ? () => {} : value
  if (group === '') return { ...base, [name]: name === 'tensorrt' ? { ...base.tensorrt, ...(real as object) } : real }
  if (group === 'batching') return { ...base, ...inBatches({ [name]: real }) }
  return { ...base, [group]: { ...base[group as 'cpu' | 'tensorrt'], [name]: real } }
}

t.test('each option that there is has a sample', async (t) => {
  for (const [group, rows] of Object.entries(samples)) {
    const strange = { 'no such option': 0 }
    const { details } = await typedFailureOf(() =>
      Engine.load(model, (group === '' ? strange : { [group]: strange }) as object),
    )
    t.same(Object.keys(rows).sort(), [...(details['known'] as readonly string[])].sort(), group)
  }
})

for (const { name: runtime, column, model, base } of runtimes)
  t.test(runtime, async (t) => {
    for (const [group, rows] of Object.entries(samples))
      for (const [name, sample] of Object.entries(rows)) {
        const what = `${runtime}: ${group === '' ? name : `${group}.${name}`}`
        t.equal(await problemOf(sample, given(group, name, sample[0], base), group, name), undefined, what)
      }

    async function problemOf(
      sample: Sample,
      options: object,
      group: string,
      name: string,
    ): Promise<string | undefined> {
      const fate = sample[column]
      const failure = await failureOf(async () => {
        await using engine = await Engine.load(model, options as EngineOptions)
        const { backendReason = '' } = engine
        const label = group === '' ? `${name}.` : `${group}.${name} `
        const isNamed = backendReason.includes(`of the options, `) || backendReason.includes('Of the options, ')
        if ((fate === 'named') !== (isNamed && `${backendReason} `.includes(label)))
          throw new Error(`backendReason is ${JSON.stringify(backendReason)}`)
        if (typeof fate === 'function' && !(await fate(engine))) throw new Error('has no effect')
      })
      if (failure === undefined) return fate.toString().startsWith('ERR_TRT_') ? `no ${fate.toString()}` : undefined
      const { code, message } = failure as { readonly code?: string; readonly message: string }
      return code === fate ? undefined : `${code ?? ''} ${message}`
    }
  })

t.test('an engine that is attached', async (t) => {
  await using owner = await Engine.load(model, { backend: 'cpu' })
  const token = owner.share()
  const { details } = await typedFailureOf(() => Engine.attach(token, { tensorrt: { 'no such option': 0 } } as object))
  for (const name of details['known'] as readonly string[]) {
    const [value] = samples['tensorrt']?.[name] ?? []
    await using engine = await Engine.attach(token, { tensorrt: { [name]: value } })
    t.equal(engine.backendReason, `Of the options, tensorrt.${name} does not count here`)
  }
})

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
