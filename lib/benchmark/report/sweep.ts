import { TensorRTError } from '../../errors.js'
import type { Benchmark } from '../types.js'
import { plural } from './numbers.js'

/** What several benchmarks differ in: a number for each of them, in their order. */
export interface ReportSweep {
  /** What is varied: `batch size`, `streams`, `side`. */
  readonly name: string
  /** The unit of the values, such as `pixels`. */
  readonly unit?: string | undefined
  /** The value of each benchmark, in their order. */
  readonly values: readonly number[]
  /**
   * The line of the charts that each benchmark belongs to, such as `FP16`; default: found from what else they differ
   * in.
   */
  readonly series?: readonly string[] | undefined
}

/** The same work done by something else, for the charts and a table beside ours: PyTorch, onnxruntime. */
export interface OtherMeasurement {
  /** The name of its line in the charts. */
  readonly series: string
  /** Where it lies on the axis of the sweep. */
  readonly value: number
  /** The median from call to answer, one call at a time, in milliseconds. */
  readonly medianMs: number
  /** Percentiles of the same, in milliseconds: `{ '99': 1.25 }`. */
  readonly percentiles?: Readonly<Record<string, number>> | undefined
}

/** A benchmark with its place in the sweep. */
export interface SweepRun {
  readonly series: string
  readonly value: number
  readonly benchmark: Benchmark
}

export interface Sweep {
  readonly name: string
  readonly unit?: string | undefined
  /** How many of what a model is given lie in a query, where that is what is varied. */
  readonly isBatch: boolean
  readonly runs: readonly SweepRun[]
}

/**
 * What was given, or else what the benchmarks tell by what they differ in; undefined where they differ in nothing that
 * has a number.
 */
export function sweepOf(benchmarks: readonly Benchmark[], described: ReportSweep | undefined): Sweep | undefined {
  if (described === undefined && benchmarks.length < 2) return undefined
  const axis = described ?? foundAxis(benchmarks)
  if (axis === undefined) return undefined
  for (const key of ['values', 'series'] as const) {
    const list = axis[key]
    if (list !== undefined && list.length !== benchmarks.length)
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        `Expected ${benchmarks.length} elements, one for each benchmark, for sweep.${key} but received ${list.length}`,
      )
  }
  const series = axis.series ?? seriesOf(benchmarks, axis.name)
  const runs = benchmarks.map((benchmark, i) => ({ benchmark, series: series[i]!, value: axis.values[i]! }))
  return {
    name: axis.name,
    ...(axis.unit !== undefined && { unit: axis.unit }),
    isBatch: axis.name === batchSize,
    runs,
  }
}

const batchSize = 'batch size'

function foundAxis(benchmarks: readonly Benchmark[]): ReportSweep | undefined {
  const streams = benchmarks.map(({ settings }) => settings.streams)
  const dims = varyingDims(benchmarks)
  if (dims.length === 0) return isVaried(streams) ? { name: 'streams', values: streams } : undefined
  const [first] = dims
  if (dims.every(({ axis }) => axis === 0)) return { name: batchSize, values: first!.sizes }
  const isOne = dims.every(({ sizes }) => sizes.every((size, i) => size === first!.sizes[i]))
  return isOne ? { name: 'input size', values: first!.sizes } : undefined
}

/** The dimensions of inputs that are not the same in all of them. */
function varyingDims(benchmarks: readonly Benchmark[]): { axis: number; sizes: number[] }[] {
  const shapes = benchmarks.map(({ settings }) => settings.shapes)
  return Object.entries(shapes[0] ?? {}).flatMap(([name, shape]) =>
    shape
      .map((_, axis) => ({ axis, sizes: shapes.map((of) => of[name]?.[axis] ?? NaN) }))
      .filter(({ sizes }) => isVaried(sizes)),
  )
}

const isVaried = (values: readonly unknown[]): boolean => new Set(values).size > 1

/** By what they differ in beside the axis. */
function seriesOf(benchmarks: readonly Benchmark[], axis: string): string[] {
  const facts = [
    benchmarks.map(({ model = '' }) => model),
    benchmarks.map(({ runtime }) => runtime),
    benchmarks.map(({ device }) => device.name ?? String(device.index)),
    benchmarks.map(({ settings }) => (axis === 'streams' ? '' : plural(settings.streams, 'stream'))),
  ].filter(isVaried)
  return benchmarks.map((_, i) => facts.map((fact) => fact[i]).join(', '))
}

/**
 * A median and the highest percentile of what an application waits for, where each run measured that; of the stages'
 * sum otherwise.
 */
export function waitOf(sweep: Sweep): {
  readonly isEndToEnd: boolean
  readonly of: (benchmark: Benchmark) => { median: number; tail: number; percentile: string }
} {
  const isEndToEnd = sweep.runs.every(({ benchmark }) => benchmark.endToEnd !== undefined)
  return {
    isEndToEnd,
    of: (benchmark) => {
      const { median, percentiles } = (isEndToEnd ? benchmark.endToEnd : undefined) ?? benchmark.latency
      return { median, ...tailOf(percentiles, median) }
    },
  }
}

/** The highest percentile there is. */
export function tailOf(
  percentiles: Readonly<Record<string, number>> = {},
  median: number,
): { readonly percentile: string; readonly tail: number } {
  const [percentile, tail] = Object.entries(percentiles).sort(([a], [b]) => Number(b) - Number(a))[0] ?? ['50', median]
  return { percentile, tail }
}
