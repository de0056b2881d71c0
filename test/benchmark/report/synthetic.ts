import type {
  Benchmark,
  CountedSummary,
  EngineLayers,
  LayerTiming,
  Summary,
  TraceRow,
} from '../../../lib/benchmark/types.js'

/** Milliseconds that the stages of a query take, by its number. */
export interface Stages {
  readonly copyIn: (query: number) => number
  readonly compute: (query: number) => number
  readonly copyOut: (query: number) => number
}

interface Made {
  readonly queries: number
  readonly shapes: Readonly<Record<string, readonly number[]>>
  readonly streams?: number
  readonly model?: string
  readonly runtime?: string
  readonly layers?: readonly Omit<LayerTiming, 'type' | 'precision'>[]
  readonly warnings?: Benchmark['warnings']
}

/**
 * Queries one after the other in each stage, each as early as its own former stage and the device allow; the host
 * enqueues two ahead.
 */
export function traceOf(queries: number, { copyIn, compute, copyOut }: Stages): TraceRow[] {
  const rows: TraceRow[] = []
  for (let i = 0; i < queries; i++) {
    const [before, ready] = [rows[i - 1], rows[i - 2]]
    const startEnqMs = Math.max(before?.endEnqMs ?? 0, ready?.endD2hMs ?? 0)
    const startH2dMs = Math.max(startEnqMs, before?.endH2dMs ?? 0)
    const startComputeMs = Math.max(startH2dMs + copyIn(i), before?.endComputeMs ?? 0)
    const startD2hMs = Math.max(startComputeMs + compute(i), before?.endD2hMs ?? 0)
    const [h2dMs, computeMs, d2hMs] = [copyIn(i), compute(i), copyOut(i)]
    const ends = {
      endEnqMs: startEnqMs + 0.05,
      endH2dMs: startH2dMs + h2dMs,
      endComputeMs: startComputeMs + computeMs,
      endD2hMs: startD2hMs + d2hMs,
    }
    rows.push({
      startEnqMs,
      startH2dMs,
      startComputeMs,
      startD2hMs,
      ...ends,
      h2dMs,
      computeMs,
      d2hMs,
      latencyMs: h2dMs + computeMs + d2hMs,
    })
  }
  return rows
}

/** What {@link Engine.layers} would tell of such layers. */
export function madeLayers(
  layers: readonly Omit<LayerTiming, 'type' | 'precision'>[],
  iterations: number,
  document = '',
): EngineLayers {
  return {
    count: layers.length,
    layers: layers.map((layer) => ({ ...layer, type: 'unknown', precision: 'unknown' })),
    precisions: [],
    totalMs: layers.reduce((sum, { averageMs }) => sum + averageMs, 0),
    iterations,
    profile: 0,
    shapes: {},
    warnings: [],
    document,
  }
}

/** Nothing was run for it: what a benchmark of such stages would be. */
export function syntheticBenchmark(
  stages: Stages,
  { queries, shapes, streams = 1, layers, warnings = [], ...named }: Made,
): Benchmark {
  const trace = traceOf(queries, stages)
  const of = (key: keyof TraceRow): Summary => summaryOf(trace.map((row) => row[key]))
  const alone = trace.map(({ latencyMs }) => latencyMs + 0.08)
  const endToEnd = counted(alone)
  const wallMs = (trace.at(-1)?.endD2hMs ?? 0) - (trace[0]?.startH2dMs ?? 0)
  return {
    kind: 'benchmark',
    runtime: 'TensorRT 10.15.1',
    backend: 'tensorrt',
    device: { index: 0, name: 'NVIDIA L4' },
    ...named,
    settings: { ...settings, streams, shapes },
    warmUp: { queries: 60, ms: 201.5 },
    queries,
    wallMs,
    throughput: (queries / wallMs) * 1000,
    latency: of('latencyMs'),
    enqueue: summaryOf(trace.map(({ startEnqMs, endEnqMs }) => endEnqMs - startEnqMs)),
    copyIn: of('h2dMs'),
    compute: of('computeMs'),
    copyOut: of('d2hMs'),
    endToEnd,
    javascript: { infer: counted(alone.map((ms) => ms + 0.021)), addsMs: 0.021, addsRangeMs: [0.019, 0.024] },
    ...(layers && { layers: madeLayers(layers, 10) }),
    warnings,
    trace,
  }
}

const settings = {
  profile: 0,
  threads: false,
  depth: 2,
  warmUpMs: 200,
  durationMs: 3000,
  iterations: 10,
  sleepMs: 0,
  idleMs: 0,
  transfers: true,
  cudaGraph: false,
  spinWait: false,
  percentiles: [90, 95, 99],
  endToEnd: true,
  javascript: true,
  layers: false,
} as const

const counted = (values: readonly number[]): CountedSummary => ({ ...summaryOf(values), queries: values.length })

function summaryOf(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length
  const deviation = Math.sqrt(sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sorted.length)
  const percentiles = { 90: at(0.9), 95: at(0.95), 99: at(0.99) }
  return {
    min: sorted[0] ?? 0,
    max: sorted.at(-1) ?? 0,
    mean,
    median: at(0.5),
    cv: (deviation / mean) * 100,
    percentiles,
  }
}
