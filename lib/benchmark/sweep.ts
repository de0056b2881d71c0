import { checkedArray, checkedList, checkedListener, checkedObject, isWhole } from '../base/checks.js'
import { expected, TensorRTError } from '../errors.js'
import type { Benchmark, Benchmarkable, BenchmarkOptions, BenchmarkProgress } from './types.js'

type Shapes = Readonly<Record<string, readonly number[]>>

/** One benchmark of a sweep. */
export interface SweepPoint {
  /** The number of the point, from 0. */
  readonly index: number
  /** How many points the sweep has. */
  readonly count: number
  /** Queries side by side, where the sweep varies them. */
  readonly streams?: number | undefined
  /** The shapes to measure at, as {@link BenchmarkOptions.shapes}, each once. */
  readonly shapes?: Shapes | undefined
  /** The size of dimension 0, where the sweep varies it. */
  readonly batch?: number | undefined
}

/** What a sweep varies, and how each point is measured: {@link BenchmarkOptions}. */
export interface SweepOptions extends Omit<BenchmarkOptions, 'inputs' | 'shapes' | 'streams' | 'onProgress'> {
  /** Each once; as {@link BenchmarkOptions.shapes}. */
  readonly shapes?: readonly Shapes[] | undefined
  /**
   * In place of `shapes`: sizes of dimension 0 of all inputs in which that is dynamic; the other dimensions are the
   * profile's best.
   */
  readonly batches?: readonly number[] | undefined
  /** Numbers of streams, each with each of the shapes. */
  readonly streams?: readonly number[] | undefined
  /** Called about ten times a second, with the point that is measured. What it throws ends the sweep. */
  readonly onProgress?: ((progress: BenchmarkProgress & { readonly point: SweepPoint }) => void) | undefined
}

/**
 * An engine for all points; or what makes one for each (of another resolution, of another precision), which is closed
 * when its point is measured.
 */
export type SweepSource =
  Benchmarkable | ((point: SweepPoint) => ClosableBenchmarkable | Promise<ClosableBenchmarkable>)

/** What can be measured and then closed: an {@link Engine}. */
export type ClosableBenchmarkable = Benchmarkable & Partial<AsyncDisposable>

/**
 * Benchmarks of one model, one after the other, at several shapes or batches and numbers of streams.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPES_REQUIRED, and as `benchmark` does; or
 * it is the reason of the signal
 */
export async function sweep(source: SweepSource, options: SweepOptions = {}): Promise<Benchmark[]> {
  const { shapes, batches, streams, onProgress, ...rest } = checkedObject(
    options,
    'the options of sweep',
  ) as SweepOptions
  checkedListener(onProgress, 'onProgress')
  const points = pointsOf(shapes, batches, streams)
  if (typeof source !== 'function') checkedEngine(source)
  const benchmarks: Benchmark[] = []
  for (const point of points) {
    rest.signal?.throwIfAborted()
    const engine = typeof source === 'function' ? checkedEngine(await source(point)) : source
    try {
      benchmarks.push(
        await engine.benchmark({
          ...rest,
          ...shapesOf(engine, point, rest.profile ?? 0),
          streams: point.streams,
          ...(onProgress !== undefined && { onProgress: (progress) => onProgress({ ...progress, point }) }),
        }),
      )
    } finally {
      if (typeof source === 'function') await (engine as ClosableBenchmarkable)[Symbol.asyncDispose]?.()
    }
  }
  return benchmarks
}

/** What can be measured: an Engine, not the path of a model. */
function checkedEngine<B extends Benchmarkable>(engine: B): B {
  if (typeof engine === 'object' && engine !== null && typeof engine.benchmark === 'function') return engine
  throw expected('an Engine, or a function that gives one for each point,', 'source', engine)
}

function pointsOf(
  shapes: readonly Shapes[] | undefined,
  batches: readonly number[] | undefined,
  streams: readonly number[] | undefined,
): SweepPoint[] {
  if (shapes !== undefined && batches !== undefined)
    throw expected('either shapes or batches, not both', 'batches', batches)
  const places: Pick<SweepPoint, 'shapes' | 'batch'>[] =
    shapes === undefined
      ? each(batches, 'batches', (batch) => ({ batch }))
      : checkedArray(shapes, 'shapes').map((shapes) => ({ shapes: shapes as Shapes }))
  const widths: Pick<SweepPoint, 'streams'>[] = each(streams, 'streams', (streams) => ({ streams }))
  const points = places.flatMap((place) => widths.map((width) => ({ ...place, ...width })))
  return points.map((point, index) => Object.freeze({ ...point, index, count: points.length }))
}

/** What a sweep has of each of the values; one that has nothing of them where they are not varied. */
function each<T extends object>(values: unknown, name: string, of: (value: number) => T): Partial<T>[] {
  if (values === undefined) return [{}]
  return checkedList(values, name, 'integers from 1', (value): value is number => isWhole(value, 1)).map(of)
}

function shapesOf(
  { inputs }: Benchmarkable,
  { shapes, batch }: SweepPoint,
  profile: number,
): { shapes?: Shapes | undefined } {
  if (batch === undefined) return shapes === undefined ? {} : { shapes }
  const dynamic = Object.entries(inputs).filter(([, { shape }]) => shape[0] === -1)
  if (dynamic.length === 0)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      'Expected a model with a dynamic dimension 0 for batches: that of no input is',
    )
  const batched = dynamic.map(([name, { shape, profiles }]) => {
    const dims = (profiles[profile]?.opt ?? shape).with(0, batch)
    if (!dims.includes(-1)) return [name, dims] as const
    throw new TensorRTError(
      'ERR_TRT_SHAPES_REQUIRED',
      `Input ${JSON.stringify(name)} is dynamic beyond dimension 0, and no profile says which shape is best: give shapes in place of batches`,
    )
  })
  return { shapes: Object.fromEntries(batched) }
}
