import type { NamedShapes } from '../../backend/backend.js'
import type {
  Benchmark,
  BenchmarkSettings,
  BenchmarkWarning,
  EngineLayers,
  LayerTiming,
  Summary,
  TraceRow,
} from '../../benchmark/types.js'

// What trtexec prints of a measurement, word for word: programs read it.

/** Of many averages, so many at the beginning and at the end are printed. */
const mostLines = 200

/** The whole report, in trtexec's order. */
export function reportLines(benchmark: Benchmark, avgRuns: number): string[] {
  return ['', ...prologLines(benchmark), ...traceLines(benchmark.trace, avgRuns), ...summaryLines(benchmark)]
}

function prologLines({ warmUp, queries, wallMs, settings }: Benchmark): string[] {
  return [
    `Warmup completed ${warmUp.queries} queries over ${figure(settings.warmUpMs)} ms`,
    `Timing trace has ${queries} queries over ${figure(wallMs / 1000)} s`,
  ]
}

function traceLines(trace: readonly TraceRow[], runs: number): string[] {
  const lines: string[] = []
  for (let first = 0; first + runs <= trace.length; first += runs) {
    const rows = trace.slice(first, first + runs)
    const average = (of: (row: TraceRow) => number): string =>
      figure(rows.reduce((sum, row) => sum + of(row), 0) / runs)
    const enqueue = average(({ startEnqMs, endEnqMs }) => endEnqMs - startEnqMs)
    lines.push(
      `Average on ${runs} runs - GPU latency: ${average((row) => row.computeMs)} ms - Host latency: ${average((row) => row.latencyMs)} ms (enqueue ${enqueue} ms)`,
    )
  }
  const head = ['', '=== Trace details ===', `Trace averages of ${runs} runs:`]
  if (trace.length <= 2 * mostLines * runs) return [...head, ...lines]
  const omitted = `... Omitting ${trace.length - 2 * mostLines * runs} lines`
  return [...head, ...lines.slice(0, mostLines), omitted, ...lines.slice(-mostLines)]
}

function summaryLines(benchmark: Benchmark): string[] {
  const { throughput, latency, enqueue, copyIn, compute, copyOut, wallMs, queries, settings } = benchmark
  const text = (summary: Summary): string => summaryText(summary, settings)
  return [
    '',
    '=== Performance summary ===',
    `Throughput: ${figure(throughput)} qps`,
    `Latency: ${text(latency)}`,
    `Enqueue Time: ${text(enqueue)}`,
    `H2D Latency: ${text(copyIn)}`,
    `GPU Compute Time: ${text(compute)}`,
    `D2H Latency: ${text(copyOut)}`,
    `Total Host Walltime: ${figure(wallMs / 1000)} s`,
    `Total GPU Compute Time: ${figure((compute.mean * queries) / 1000)} s`,
  ]
}

/** Percentiles stand in the order in which they were asked for. */
function summaryText(
  { min, max, mean, median, percentiles }: Summary,
  asked: Pick<BenchmarkSettings, 'percentiles'>,
): string {
  const ranks = asked.percentiles.map(
    (percent) => `, percentile(${percent}%) = ${figure(percentiles[percent] ?? NaN)} ms`,
  )
  return `min = ${figure(min)} ms, max = ${figure(max)} ms, mean = ${figure(mean)} ms, median = ${figure(median)} ms${ranks.join('')}`
}

/** What trtexec warns of; its two lines each. */
export function warningLines({ warnings, compute }: Benchmark): string[] {
  return warnings.flatMap(({ code, message }) => warningTexts[code]?.(compute) ?? [message])
}

const withoutTransfers = '  Add --noDataTransfers flag to disable data transfers.'

const warningTexts: Partial<Record<BenchmarkWarning['code'], (compute: Summary) => string[]>> = {
  'enqueue-bound': () => [
    '* Throughput may be bound by Enqueue Time rather than GPU Compute and the GPU may be under-utilized.',
    '  If not already in use, --useCudaGraph (utilize CUDA graphs where possible) may increase the throughput.',
  ],
  'copy-in-bound': () => [
    '* Throughput may be bound by host-to-device transfers for the inputs rather than GPU Compute and the GPU may be under-utilized.',
    withoutTransfers,
  ],
  'copy-out-bound': () => [
    '* Throughput may be bound by device-to-host transfers for the outputs rather than GPU Compute and the GPU may be under-utilized.',
    withoutTransfers,
  ],
  unstable: ({ cv }) => [
    `* GPU compute time is unstable, with coefficient of variance = ${figure(cv)}%.`,
    '  If not already in use, locking GPU clock frequency or adding --useSpinWait may improve the stability.',
  ],
  'several-streams': () => [
    '* Multiple inference streams are used. Latencies may not be accurate since inferences may run in   parallel. Please use "Throughput" as the performance metric instead.',
  ],
}

/** What trtexec does not measure: what an application sees. */
export function beyondLines({ endToEnd, javascript, settings }: Benchmark): string[] {
  return [
    ...(endToEnd === undefined
      ? []
      : [`Beyond trtexec - one query at a time, copies and waiting included: ${summaryText(endToEnd, settings)}`]),
    ...(javascript === undefined
      ? []
      : [
          `Beyond trtexec - the same by engine.infer(): ${summaryText(javascript.infer, settings)}, ${addsText(javascript)}`,
        ]),
  ]
}

function addsText({ addsMs, addsRangeMs: [low, high] }: NonNullable<Benchmark['javascript']>): string {
  if (addsMs !== undefined) return `which adds ${figure(addsMs)} ms`
  return `and what that adds is not measurable (0 to ${figure(Math.max(Math.abs(low), high))} ms)`
}

/** The table of `--dumpProfile`. */
export function profileLines({ layers, iterations }: EngineLayers): string[] {
  const row = (time: number, average: number, median: number, share: number, name: string): string =>
    `${time.toFixed(2).padStart(11)}${average.toFixed(4).padStart(13)}${median.toFixed(4).padStart(13)}${share.toFixed(1).padStart(10)}   ${name}`
  const sum = (of: (layer: LayerTiming) => number): number => layers.reduce((total, layer) => total + of(layer), 0)
  const average = sum(({ averageMs }) => averageMs)
  return [
    '',
    `=== Profile (${iterations} iterations ) ===`,
    '   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer',
    ...layers
      .filter(({ averageMs }) => averageMs > 0)
      .map(({ name, averageMs, medianMs, timeShare }) =>
        row(averageMs * iterations, averageMs, medianMs, timeShare * 100, name),
      ),
    row(
      average * iterations,
      average,
      sum(({ medianMs }) => medianMs),
      100,
      'Total',
    ),
    '',
  ]
}

/** A number as C++ prints it: six digits that count. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf'
  if (value === 0) return '0'
  const [digits = '', exponent = '0'] = value.toExponential(5).split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(Number(value.toPrecision(6)))
  const sign = power < 0 ? '-' : '+'
  return `${Number(digits)}e${sign}${String(Math.abs(power)).padStart(2, '0')}`
}

/** What `--dumpOptimizationProfile` prints. */
export function profilesLines(profiles: readonly (readonly NamedShapes[])[]): string[] {
  const text = (shape: readonly number[]): string => (shape.length === 0 ? 'scalar' : shape.join('x'))
  return [
    'Optimization Profile Information:',
    ...profiles.flatMap((profile, i) =>
      profile.map(
        ({ name, min, opt, max }) =>
          `Model input ${name} (profile ${i}): min=${text(min)}, opt=${text(opt)}, max=${text(max)}`,
      ),
    ),
  ]
}
