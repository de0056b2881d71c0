// What trtexec prints of a measurement, word for word.
import t from 'tap'
import type { Benchmark, Summary, TraceRow } from '../../../lib/benchmark/types.js'
import { madeLayers } from '../../benchmark/report/synthetic.js'
import {
  beyondLines,
  figure,
  profileLines,
  profilesLines,
  reportLines,
  warningLines,
} from '../../../lib/cli/exec/report.js'

const summary = (median: number, cv = 1): Summary => ({
  min: 0.5,
  max: 4,
  mean: median,
  median,
  cv,
  percentiles: { '90': 3, '99': 3.25 },
})
const row = (i: number): TraceRow => ({
  startEnqMs: 10 * i,
  endEnqMs: 10 * i + 0.25,
  startH2dMs: 10 * i,
  endH2dMs: 10 * i + 1,
  startComputeMs: 10 * i + 1,
  endComputeMs: 10 * i + 1 + i,
  startD2hMs: 10 * i + 5,
  endD2hMs: 10 * i + 6,
  h2dMs: 1,
  computeMs: i,
  d2hMs: 1,
  latencyMs: 2 + i,
})
const benchmark = {
  warmUp: { queries: 7, ms: 200.4 },
  settings: { warmUpMs: 200, percentiles: [99, 90] },
  queries: 5,
  wallMs: 3012.3456789,
  throughput: 331.9876543,
  latency: summary(2.1234567),
  enqueue: summary(0.01),
  copyIn: summary(0.5),
  compute: summary(1.5),
  copyOut: summary(0.25),
  warnings: [],
  trace: [1, 2, 3, 4, 5].map(row),
} as unknown as Benchmark

t.test('numbers are printed as C++ does', async (t) => {
  const numbers: [number, string][] = [
    [0, '0'],
    [1, '1'],
    [1.5, '1.5'],
    [1234.5678, '1234.57'],
    [999999.4, '999999'],
    [1234567, '1.23457e+06'],
    [0.00012345678, '0.000123457'],
    [0.00001, '1e-05'],
    [-2.5, '-2.5'],
    [Infinity, 'inf'],
  ]
  for (const [value, text] of numbers) t.equal(figure(value), text)
})

t.test('the report', async (t) => {
  const stages = 'min = 0.5 ms, max = 4 ms, mean = '
  const ranks = 'percentile(99%) = 3.25 ms, percentile(90%) = 3 ms'
  t.same(reportLines(benchmark, 2), [
    '',
    'Warmup completed 7 queries over 200 ms',
    'Timing trace has 5 queries over 3.01235 s',
    '',
    '=== Trace details ===',
    'Trace averages of 2 runs:',
    'Average on 2 runs - GPU latency: 1.5 ms - Host latency: 3.5 ms (enqueue 0.25 ms)',
    'Average on 2 runs - GPU latency: 3.5 ms - Host latency: 5.5 ms (enqueue 0.25 ms)',
    '',
    '=== Performance summary ===',
    'Throughput: 331.988 qps',
    `Latency: ${stages}2.12346 ms, median = 2.12346 ms, ${ranks}`,
    `Enqueue Time: ${stages}0.01 ms, median = 0.01 ms, ${ranks}`,
    `H2D Latency: ${stages}0.5 ms, median = 0.5 ms, ${ranks}`,
    `GPU Compute Time: ${stages}1.5 ms, median = 1.5 ms, ${ranks}`,
    `D2H Latency: ${stages}0.25 ms, median = 0.25 ms, ${ranks}`,
    'Total Host Walltime: 3.01235 s',
    'Total GPU Compute Time: 0.0075 s',
  ])
  const long = reportLines({ ...benchmark, trace: Array.from({ length: 1000 }, (_, i) => row(i)) }, 2)
  t.equal(long.filter((line) => line.startsWith('Average on')).length, 400)
  t.ok(long.includes('... Omitting 200 lines'))
})

t.test('warnings, and what trtexec does not measure', async (t) => {
  t.same(warningLines(benchmark), [])
  const codes = ['enqueue-bound', 'copy-in-bound', 'copy-out-bound', 'unstable', 'several-streams', 'no-graph'] as const
  const lines = warningLines({
    ...benchmark,
    compute: summary(1.5, 3.14159),
    warnings: codes.map((code) => ({ code, message: `own ${code}` })),
  })
  t.match(lines, [
    /^\* Throughput may be bound by Enqueue Time rather than GPU Compute/,
    /^ {2}If not already in use, --useCudaGraph/,
    /^\* Throughput may be bound by host-to-device transfers for the inputs/,
    /^ {2}Add --noDataTransfers/,
    /^\* Throughput may be bound by device-to-host transfers for the outputs/,
    /^ {2}Add --noDataTransfers/,
    /^\* GPU compute time is unstable, with coefficient of variance = 3\.14159%\.$/,
    /locking GPU clock frequency/,
    /^\* Multiple inference streams are used/,
    /^own no-graph$/,
  ])
  t.same(beyondLines(benchmark), [])
  const ends = beyondLines({
    ...benchmark,
    endToEnd: { ...summary(3), queries: 9 },
    javascript: { infer: { ...summary(4), queries: 9 }, addsMs: 1, addsRangeMs: [0.5, 1.5] },
  })
  t.match(ends, [/one query at a time.*median = 3 ms/, /engine\.infer\(\).*median = 4 ms.*adds 1 ms$/])
  const javascript = { infer: { ...summary(4), queries: 9 }, addsRangeMs: [-2, 1] } as const
  t.match(beyondLines({ ...benchmark, javascript }), [/not measurable \(0 to 2 ms\)$/])
})

t.test('layers and profiles', async (t) => {
  const layers = [
    { name: 'conv', averageMs: 3, medianMs: 2.9, timeShare: 0.75 },
    { name: 'none', averageMs: 0, medianMs: 0, timeShare: 0 },
    { name: 'relu', averageMs: 1, medianMs: 1, timeShare: 0.25 },
  ]
  t.same(profileLines(madeLayers(layers, 10)), [
    '',
    '=== Profile (10 iterations ) ===',
    '   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer',
    '      30.00       3.0000       2.9000      75.0   conv',
    '      10.00       1.0000       1.0000      25.0   relu',
    '      40.00       4.0000       3.9000     100.0   Total',
    '',
  ])
  t.same(profilesLines([[{ name: 'x', min: [], opt: [1, 3], max: [2, 3] }]]), [
    'Optimization Profile Information:',
    'Model input x (profile 0): min=scalar, opt=1x3, max=2x3',
  ])
})
