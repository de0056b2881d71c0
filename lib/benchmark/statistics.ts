import type { Benchmark, BenchmarkWarning, Summary, TraceRow } from './types.js'

/** One query, in milliseconds: when its stages began, since the start, and what they took. */
export interface QueryTimes {
  readonly enqueueStart: number
  readonly enqueueEnd: number
  readonly copyInStart: number
  readonly copyIn: number
  readonly computeStart: number
  readonly compute: number
  readonly copyOutStart: number
  readonly copyOut: number
}

/** A row of a trace, by trtexec's names. Latency is the sum of the three stages, without what lies between them. */
export function traceRow(times: QueryTimes): TraceRow {
  const { enqueueStart, enqueueEnd, copyInStart, copyIn, computeStart, compute, copyOutStart, copyOut } = times
  return Object.freeze({
    startEnqMs: enqueueStart,
    endEnqMs: enqueueEnd,
    startH2dMs: copyInStart,
    endH2dMs: copyInStart + copyIn,
    startComputeMs: computeStart,
    endComputeMs: computeStart + compute,
    startD2hMs: copyOutStart,
    endD2hMs: copyOutStart + copyOut,
    h2dMs: copyIn,
    computeMs: compute,
    d2hMs: copyOut,
    latencyMs: copyIn + compute + copyOut,
  })
}

/** Of all queries, however many of them are in a trace. */
export interface AllQueries {
  /** How many there were. */
  readonly seen: number
  /** How many began their computation after the warm-up. */
  readonly counted: number
  /** When the first copy in of those began, in milliseconds. */
  readonly beginMs: number
  /** When the last copy out of those ended. */
  readonly endMs: number
}

/** What follows from a trace alone. */
export type TraceSummary = Pick<
  Benchmark,
  'warmUp' | 'queries' | 'wallMs' | 'throughput' | 'latency' | 'enqueue' | 'copyIn' | 'compute' | 'copyOut' | 'trace'
>

/**
 * The queries of all streams, as trtexec sums them up: in the order in which their copies in began, from the first on
 * whose computation began after the warm-up. `queries` may be in any order, and one of them is after the warm-up. Where
 * they are a sample of `all`, counts and throughput are those of all.
 */
export function summarizeTrace(
  queries: readonly TraceRow[],
  warmUpMs: number,
  percentiles: readonly number[],
  all: AllQueries = { seen: queries.length, counted: 0, beginMs: 0, endMs: 0 },
): TraceSummary {
  const sorted = queries.toSorted((a, b) => a.startH2dMs - b.startH2dMs)
  const first = sorted.findIndex(({ startComputeMs }) => startComputeMs >= warmUpMs)
  const trace = Object.freeze(sorted.slice(first))
  const isSample = all.seen > queries.length
  const [count, wallMs] = isSample
    ? [all.counted, all.endMs - all.beginMs]
    : [trace.length, (trace.at(-1)?.endD2hMs ?? 0) - (trace[0]?.startH2dMs ?? 0)]
  const of = (value: (row: TraceRow) => number): Summary => summarize(columnOf(trace, value), percentiles)
  return {
    warmUp: Object.freeze({ queries: isSample ? all.seen - all.counted : first, ms: warmUpMs }),
    queries: count,
    wallMs,
    throughput: wallMs > 0 ? (count / wallMs) * 1000 : 0,
    latency: of(({ latencyMs }) => latencyMs),
    enqueue: of(({ startEnqMs, endEnqMs }) => endEnqMs - startEnqMs),
    copyIn: of(({ h2dMs }) => h2dMs),
    compute: of(({ computeMs }) => computeMs),
    copyOut: of(({ d2hMs }) => d2hMs),
    trace,
  }
}

/** Float64Array.from() asks an iterator, which takes three times as long. */
function columnOf(trace: readonly TraceRow[], value: (row: TraceRow) => number): Float64Array {
  const column = new Float64Array(trace.length)
  trace.forEach((row, i) => (column[i] = value(row)))
  return column
}

/** Of at least one value. */
export function summarize(values: Float64Array, percentiles: readonly number[]): Summary {
  const sorted = values.toSorted()
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sorted.length
  return Object.freeze({
    min: sorted[0]!,
    max: sorted.at(-1)!,
    mean,
    median: medianOf(sorted),
    cv: mean === 0 ? 0 : (Math.sqrt(variance) / mean) * 100,
    percentiles: Object.freeze(
      Object.fromEntries(percentiles.map((percent) => [String(percent), percentileOf(sorted, percent)])),
    ),
  })
}

/** How much longer one way takes than another. */
export interface AddedTime {
  /** The difference of the medians; absent unless the whole of `addsRangeMs` is above 0. */
  readonly addsMs?: number
  readonly addsRangeMs: readonly [low: number, high: number]
}

/**
 * By the medians. The range is that of the medians of consecutive parts of both: while other work runs on the machine,
 * they vary by more than the difference.
 */
export function addedTime(slower: Float64Array, faster: Float64Array): AddedTime {
  const [high, low] = [partMedians(slower), partMedians(faster)]
  const range = [Math.min(...high) - Math.max(...low), Math.max(...high) - Math.min(...low)] as const
  const adds = medianOf(slower.toSorted()) - medianOf(faster.toSorted())
  return { ...(range[0] > 0 && { addsMs: adds }), addsRangeMs: Object.freeze(range) }
}

const timeParts = 8

function partMedians(times: Float64Array): number[] {
  const size = Math.max(1, Math.ceil(times.length / timeParts))
  return Array.from({ length: Math.ceil(times.length / size) }, (_, i) =>
    medianOf(times.slice(i * size, (i + 1) * size).sort()),
  )
}

/** Of sorted values; of an even number the mean of the two in the middle. */
export function medianOf(sorted: Float64Array): number {
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * Of sorted values, by nearest rank: so many of them, rounded down, lie above it. What remains of 100 percent is
 * computed in single precision, as trtexec does it: of a hundred values it excludes ten for 90 and none for 99.
 */
export function percentileOf(sorted: Float64Array, percent: number): number {
  const { fround } = Math
  const above = Math.trunc(fround(fround(1 - fround(fround(percent) / 100)) * sorted.length))
  return sorted[Math.max(sorted.length - 1 - above, 0)]!
}

/** In percent: trtexec's kUNSTABLE_PERF_REPORTING_THRESHOLD (sampleReporting.cpp). */
const unstableCv = 1

/** What trtexec warns of, by the bounds of its sampleReporting.cpp. A stage that took no time bounds nothing. */
export function warningsOf(
  { enqueue, copyIn, compute, copyOut }: Pick<TraceSummary, 'enqueue' | 'copyIn' | 'compute' | 'copyOut'>,
  how: { readonly streams: number; readonly cudaGraph: boolean; readonly backend: 'tensorrt' | 'cpu' },
): BenchmarkWarning[] {
  const { streams, cudaGraph, backend } = how
  const boundBy = (what: string): string =>
    `Throughput may be bound by ${what} rather than by the computation, and the GPU may have nothing to do at times`
  const without = 'transfers: false leaves copies out'
  const steady = backend === 'tensorrt' ? 'Locked clocks of the GPU, or spinWait,' : 'A machine that does nothing else'
  const isCopying = ({ median }: Summary): boolean => median > 0 && median >= compute.median
  const warnings: (readonly [isSo: boolean, code: BenchmarkWarning['code'], message: string])[] = [
    [
      enqueue.median > 0.8 * compute.median,
      'enqueue-bound',
      `${boundBy('the time that the host takes to enqueue')}${cudaGraph ? '' : '. cudaGraph may raise it'}`,
    ],
    [isCopying(copyIn), 'copy-in-bound', `${boundBy('copying inputs to the device')}. ${without}`],
    [isCopying(copyOut), 'copy-out-bound', `${boundBy('copying outputs from the device')}. ${without}`],
    [
      compute.cv > unstableCv,
      'unstable',
      `The time of the computation is not stable: its coefficient of variation is ${compute.cv.toFixed(2)} %. ${steady} may steady it`,
    ],
    [
      streams > 1,
      'several-streams',
      'With several streams, queries compute side by side, and latencies say little: throughput is what counts',
    ],
  ]
  return warnings.flatMap(([isSo, code, message]) => (isSo ? [Object.freeze({ code, message })] : []))
}
