// Sweeps: which points there are, in which order, and what each is measured with.
import t from 'tap'
import {
  type Benchmark,
  type Benchmarkable,
  type BenchmarkOptions,
  sweep,
  type SweepPoint,
} from '../../lib/benchmark/index.js'
import { leftovers, load, onnxruntime, rowsPlan } from '../lanes/rig.js'
import { failureOf } from '../support/errors.js'
import { range } from '../support/values.js'

const short = { warmUpMs: 0, durationMs: 0, iterations: 2, endToEnd: false }

/** Takes note of what it is asked, and measures nothing. */
function recorder(shape = [-1, 3, -1, -1]): Benchmarkable & { readonly asked: BenchmarkOptions[] } {
  const asked: BenchmarkOptions[] = []
  return {
    asked,
    inputs: {
      x: {
        shape,
        profiles: [
          range([1, 3, 8, 8], [4, 3, 16, 16], [8, 3, 32, 32]),
          range([9, 3, 8, 8], [16, 3, 24, 24], [32, 3, 32, 32]),
        ],
      },
    },
    benchmark: async (options = {}) => {
      asked.push(options)
      options.onProgress?.({ phase: 'measure', elapsedMs: 1, totalMs: 2 })
      return { queries: asked.length } as Benchmark
    },
  }
}

t.test('batches with each number of streams', async (t) => {
  const engine = recorder()
  const told: SweepPoint[] = []
  const found = await sweep(engine, {
    ...short,
    batches: [1, 8],
    streams: [1, 2],
    onProgress: ({ point }) => told.push(point),
  })
  t.same(
    engine.asked.map(({ shapes, streams }) => [shapes, streams]),
    [
      [{ x: [1, 3, 16, 16] }, 1],
      [{ x: [1, 3, 16, 16] }, 2],
      [{ x: [8, 3, 16, 16] }, 1],
      [{ x: [8, 3, 16, 16] }, 2],
    ],
    'the other dimensions are the best ones',
  )
  t.same(
    found.map(({ queries }) => queries),
    [1, 2, 3, 4],
  )
  t.same(told.at(-1), { batch: 8, streams: 2, index: 3, count: 4 })
  t.equal(engine.asked[0]?.durationMs, 0)
  await sweep(engine, { batches: [9], profile: 1 })
  t.same(engine.asked.at(-1), { profile: 1, shapes: { x: [9, 3, 24, 24] } })
  await sweep(engine)
  t.same(engine.asked.at(-1), {}, 'nothing to sweep over is one point')
})

t.test('an engine for each point, closed when it is measured', async (t) => {
  const log: string[] = []
  const factory = ({ index, shapes }: SweepPoint) => {
    log.push(`open ${index} ${JSON.stringify(shapes)}`)
    const benchmark = async (): Promise<Benchmark> => {
      log.push('measure')
      if (index === 1) throw new Error('the second')
      return {} as Benchmark
    }
    return { ...recorder(), benchmark, [Symbol.asyncDispose]: async () => void log.push('close') }
  }
  await t.rejects(sweep(factory, { shapes: [{ x: [1] }, { x: [2] }, { x: [3] }] }), { message: 'the second' })
  t.same(log, ['open 0 {"x":[1]}', 'measure', 'close', 'open 1 {"x":[2]}', 'measure', 'close'])
})

t.test('what cannot be', async (t) => {
  const engine = recorder()
  const refused = (options: Parameters<typeof sweep>[1]) => failureOf(() => sweep(engine, options))
  t.match(await refused({ batches: [0] }), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await refused({ batches: [1, 1] }), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await refused({ streams: [1.5] }), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await refused({ batches: [1], shapes: [{ x: [1] }] }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /either shapes or batches/,
  })
  t.match(await failureOf(() => sweep(recorder([4, 3]), { batches: [1] })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /dynamic dimension 0/,
  })
  const open = { ...engine, inputs: { x: { shape: [-1, -1], profiles: [] } } }
  t.match(await failureOf(() => sweep(open, { batches: [1] })), { code: 'ERR_TRT_SHAPES_REQUIRED' })
  await t.rejects(sweep(engine, { signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' })
  t.match(await refused({ shapes: { x: [1] } as never }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /an array for shapes/,
  })
  for (const source of [undefined, 'model.onnx', {}, () => undefined, async () => 'model.onnx'])
    t.match(await failureOf(() => sweep(source as never)), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /an Engine, .* for source/,
    })
  t.same(engine.asked, [])
})

t.test('a real one', async (t) => {
  const engine = await load(onnxruntime, rowsPlan())
  const found = await sweep(engine, { ...short, batches: [1, 16], streams: [1, 2] })
  t.same(
    found.map(({ settings, queries }) => [settings.shapes['x'], settings.streams, queries]),
    [
      [[1, 3], 1, 2],
      [[1, 3], 2, 4],
      [[16, 3], 1, 2],
      [[16, 3], 2, 4],
    ],
  )
  await engine.close()
  t.same(leftovers(), {})
})
