// Engines at work, on a GPU.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Benchmark } from '../../../lib/benchmark/index.js'
import { inspectedLayers } from '../../../lib/benchmark/inspector.js'
import {
  type BuilderOptions,
  Engine,
  type EngineOptions,
  type InputRecord,
  type Shapes,
  Tensor,
} from '../../../lib/index.js'
import { dense, float, identity, ints, oneNode, reshaping, rows, twoInputs, weights } from '../models.js'
import { traced } from '../../gpu/trace.js'
import { merged } from '../../support/groups.js'
import { build, named, type Named, type Place, type Scenario } from './scenario.js'

const two: readonly Shapes[] = [
  { x: { min: [1, 3], opt: [2, 3], max: [4, 3] } },
  { x: { min: [5, 3], opt: [6, 3], max: [8, 3] } },
]

/** An engine of a model, for the body, where it can be built and opened. */
async function withEngine(
  place: Place,
  model: Named,
  {
    shapes,
    builder = {},
    options = {},
  }: { shapes?: Shapes | readonly Shapes[]; builder?: BuilderOptions; options?: EngineOptions },
  body: (engine: Engine) => Promise<void>,
): Promise<void> {
  const { recorder, tensorrt } = place
  const how = shapes === undefined ? {} : { shapes }
  const plan = await build(place, model, { tf32: false, ...builder }, how, ({ inputs, outputs }) => ({
    inputs,
    outputs,
  }))
  if (plan === undefined) return
  const method = 'memoryLimit' in options ? 'Engine.load, with a limit' : 'Engine.load'
  const load = (): Promise<Engine> => Engine.load(plan.bytes, merged({ tensorrt: { library: tensorrt } }, options))
  await using engine = await recorder.observe(method, { model: model.name, ...options }, load, ({ backend }) => backend)
  if (engine) await body(engine)
}

const infer = ({ recorder }: Place, engine: Engine, what: string, inputs: InputRecord): Promise<unknown> =>
  recorder.observe('Engine.infer', { inputs: what }, () => engine.infer(inputs))

/** The names of an object's fields, and those of objects within it; of a list those of what it begins with. */
function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(formOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, field]) => [name, formOf(field)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/**
 * The inspector's text; of it a fake is held to the form of the document and of its tensors, and the product's parser
 * to what it read in it.
 */
async function observeDocument({ recorder }: Place, engine: Engine, verbosity: string): Promise<void> {
  const run = { durationMs: 1, warmUpMs: 0, iterations: 1, endToEnd: false, javascript: false, layers: true } as const
  const look = ({ layers }: Benchmark): unknown => {
    const text = layers?.document ?? ''
    const document = JSON.parse(text) as Readonly<Record<string, unknown>>
    const [layer] = document['Layers'] as unknown[]
    const tensors = typeof layer === 'object' ? formOf((layer as Readonly<Record<string, unknown>>)['Inputs']) : 'none'
    return { fields: Object.keys(document).sort(), tensors, layer: formOf(layer), text, layers: inspectedLayers(text) }
  }
  await recorder.observe("inspector's document", { verbosity }, () => engine.benchmark(run), look)
}

/**
 * Calls between the library and this package while an engine is loaded and runs twice. Bytes of an output, and
 * allocations, differ between libraries: those are kept for readers.
 */
async function observeCalls(place: Place, model: Named, inputs: InputRecord): Promise<void> {
  const { recorder, tensorrt } = place
  const plan = await build(place, model, { tf32: false }, {}, ({ outputs }) => outputs)
  if (plan === undefined) return
  const observe = <T>(of: string, call: () => Promise<T>): Promise<{ result: T } | undefined> =>
    recorder.observe(
      'calls',
      { model: model.name, of },
      () => traced(call),
      ({ calls }) => ({
        order: calls
          .filter((call) => !/^(de)?allocate/.test(call))
          .map((call) => (call.startsWith('reallocate') ? call.replace(/ \d+$/, '') : call)),
        all: calls,
      }),
    )
  const loaded = await observe('Engine.load', () => Engine.load(plan.bytes, { tensorrt: { library: tensorrt } }))
  if (loaded === undefined) return
  await using engine = loaded.result
  for (const which of ['the first', 'the second']) await observe(`${which} inference`, () => engine.infer(inputs))
}

export const running: readonly Scenario[] = [
  {
    name: 'what an engine tells',
    needs: ['gpu'],
    play: (place) =>
      withEngine(place, named('dense', dense()), { shapes: two }, async (engine) => {
        const { inputs, outputs, inputNames, outputNames, unsupported } = engine
        await place.recorder.observe('Engine', {}, () => ({ inputs, outputs, inputNames, outputNames, unsupported }))
        await place.recorder.observe('Engine.memory', {}, () => engine.memory())
      }),
  },
  {
    name: 'inference',
    needs: ['gpu'],
    play: (place) =>
      withEngine(place, named('dense', dense()), { shapes: two }, async (engine) => {
        for (const count of [1, 2, 4, 5, 8]) await infer(place, engine, `${count} rows`, { x: rows(count) })
        await place.recorder.observe('Engine.inferSync', { inputs: '3 rows' }, () => engine.inferSync({ x: rows(3) }))
        await infer(place, engine, 'more rows than any profile has', { x: rows(9) })
        await infer(place, engine, 'no rows', { x: Tensor.zeros('float32', [0, 3]) })
        await infer(place, engine, 'other columns', { x: rows(2, 4) })
        await infer(place, engine, 'another rank', { x: weights(3) })
        await infer(place, engine, 'another type', { x: Tensor.zeros('int32', [2, 3]) })
        await infer(place, engine, 'none', {})
        await infer(place, engine, 'one too many', { x: rows(1), nobody: rows(1) })
        await infer(place, engine, '2 rows, after the failures', { x: rows(2) })
        const { completed, failed, cancelled } = engine.stats()
        await place.recorder.observe('Engine.stats()', {}, () => ({ completed, failed, cancelled }))
      }),
  },
  {
    name: 'graphs, lanes and batches',
    needs: ['gpu'],
    play: async (place) => {
      for (const options of [{ cudaGraph: false }, { lanes: 3 }, { batching: { maxBatch: 4, maxDelayMs: 5 } }] as const)
        await withEngine(place, named('dense', dense()), { shapes: two[0] ?? {}, options }, async (engine) => {
          const answers = (): Promise<unknown> =>
            Promise.all([1, 2, 1, 3, 1, 2].map((count) => engine.infer({ x: rows(count) })))
          await place.recorder.observe('Engine.infer', { ...options, rows: [1, 2, 1, 3, 1, 2] }, answers)
        })
    },
  },
  {
    name: 'types of tensors, at work',
    needs: ['gpu'],
    play: async (place) => {
      for (const dtype of ['float32', 'float16', 'int32', 'int64', 'bool', 'uint8'] as const)
        await withEngine(place, named(`Identity of ${dtype}`, identity(dtype)), {}, async (engine) => {
          const x = Tensor.zeros(dtype, [4])
          x.data[1] = dtype === 'int64' ? 1n : 1
          await infer(place, engine, dtype, { x0: x })
        })
    },
  },
  {
    name: 'sizes that the data decides',
    needs: ['gpu'],
    play: async (place) => {
      const places = oneNode('NonZero', { inputs: [float(8)], output: ['int64', [1, 'found']] })
      await withEngine(place, named('NonZero', places), {}, async (engine) => {
        await place.recorder.observe('Engine', {}, () => engine.outputs)
        for (const values of [
          [0, 0, 0, 0, 0, 0, 0, 0],
          [1, 0, 0, 2, 0, 0, 0, 3],
          [1, 1, 1, 1, 1, 1, 1, 1],
        ])
          await infer(place, engine, values.join(' '), { x0: Tensor.from(Float32Array.from(values), [8]) })
      })
    },
  },
  {
    name: 'calls of an inference',
    needs: ['gpu'],
    play: async (place) => {
      await observeCalls(place, named('dense', dense(1, 2)), { x: rows(2) })
      const places = oneNode('NonZero', { inputs: [float(8)], output: ['int64', [1, 'found']] })
      const x0 = Tensor.from(Float32Array.of(1, 0, 0, 2, 0, 0, 0, 3), [8])
      await observeCalls(place, named('NonZero', places), { x0 })
    },
  },
  {
    name: 'values of shape tensors, at work',
    needs: ['gpu'],
    play: (place) =>
      withEngine(
        place,
        named('reshaping', reshaping()),
        { shapes: { shape: { min: [1, 1], opt: [4, 6], max: [24, 24] } } },
        async (engine) => {
          await place.recorder.observe('Engine', {}, () => engine.inputs)
          for (const shape of [
            [4, 6],
            [24, 1],
            [5, 5],
            [2, 48],
          ])
            await infer(place, engine, `to [${shape.join(', ')}]`, { x: weights(4, 6), shape: ints(...shape) })
        },
      ),
  },
  {
    name: 'memory that is limited',
    needs: ['gpu'],
    play: async (place) => {
      const shapes = { x0: [2, 4], x1: [2, 4] }
      await withEngine(
        place,
        named('two inputs', twoInputs()),
        { shapes, options: { tensorrt: { memoryLimit: 1 } } },
        async () => {},
      )
    },
  },
  {
    name: 'layers and documents',
    needs: ['gpu'],
    play: async (place) => {
      for (const profilingVerbosity of ['detailed', 'layerNames', 'none'] as const)
        await withEngine(
          place,
          named('dense', dense()),
          { shapes: two, builder: { profilingVerbosity } },
          async (engine) => {
            const about = { profilingVerbosity }
            await place.recorder.observe(
              'Engine.layers',
              about,
              () => engine.layers({ iterations: 2 }),
              ({ count, precisions, shapes, limited }) => ({
                count,
                precisions,
                shapes,
                limited: limited !== undefined,
              }),
            )
            await observeDocument(place, engine, profilingVerbosity)
          },
        )
    },
  },
  {
    name: 'what TensorRT-RTX compiles',
    needs: ['gpu', 'rtx'],
    play: async ({ recorder, tensorrt, folder }) => {
      const cache = join(folder, 'engines')
      const kept = async (): Promise<unknown> =>
        (await readdir(cache)).filter((name) => name.endsWith('.runtime')).length
      for (const time of ['first', 'second'])
        await recorder.observe('Engine.load', { cache: time }, async () => {
          await using engine = await Engine.load(dense(1, 2), {
            backend: 'tensorrt',
            tensorrt: { library: tensorrt },
            cache,
          })
          return await engine.infer({ x: rows(2) })
        })
      await recorder.observe('files', { kept: 'runtime caches' }, kept)
    },
  },
]
