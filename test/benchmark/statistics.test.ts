// The arithmetic of a benchmark, held against traces that were summed up by hand, as trtexec would.
import t from 'tap'
import { exportLayerInfo, exportOutput, exportProfile, exportTimes, type TraceRow } from '../../lib/benchmark/index.js'
import {
  addedTime,
  medianOf,
  percentileOf,
  summarize,
  summarizeTrace,
  traceRow,
  warningsOf,
} from '../../lib/benchmark/statistics.js'
import { Sample } from '../../lib/benchmark/sample.js'
import { checkedBenchmarkOptions } from '../../lib/engine/benchmark-options.js'
import { randomTensor } from '../../lib/benchmark/random.js'
import { failureOf } from '../support/errors.js'
import { madeLayers } from './report/synthetic.js'
import { numberDTypes, Tensor } from '../../lib/tensor.js'

const upTo = (count: number): Float64Array => Float64Array.from({ length: count }, (_, i) => i + 1)

t.test('what one way adds: by the medians, unless the times vary by more than that', async (t) => {
  const steady = Float64Array.from({ length: 800 }, (_, i) => 1 + (i % 10) / 1000)
  const slower = steady.map((time) => time + 0.25)
  const { addsMs, addsRangeMs } = addedTime(slower, steady)
  t.ok(Math.abs(addsMs! - 0.25) < 1e-9)
  t.ok(Math.abs(addsRangeMs[0] - 0.25) < 1e-9 && Math.abs(addsRangeMs[1] - 0.25) < 1e-9)
  // for an eighth of the time the machine did something else
  const disturbed = steady.map((time, i) => (i < 100 ? 2 * time : time))
  t.equal(addedTime(slower, disturbed).addsMs, undefined)
  t.equal(addedTime(steady, slower).addsMs, undefined, 'it is never below 0')
  const [low, high] = addedTime(slower, disturbed).addsRangeMs
  t.ok(low < -0.7 && high > 0.24)
  t.same(addedTime(Float64Array.of(3), Float64Array.of(1)), { addsMs: 2, addsRangeMs: [2, 2] })
})

t.test(
  'percentiles are values that were measured: nearest rank, of which trtexec excludes (int)((1 - p / 100) * N)',
  async (t) => {
    t.equal(percentileOf(upTo(10), 90), 9)
    t.equal(percentileOf(upTo(10), 50), 5)
    t.equal(percentileOf(upTo(1000), 99), 991, '0.01 is a little less in single precision: 9 are excluded')
    t.equal(percentileOf(upTo(1000), 95), 950)
    t.equal(percentileOf(upTo(100), 99), 100, 'and none of a hundred')
    t.equal(percentileOf(upTo(4), 100), 4)
    t.equal(percentileOf(upTo(4), 0.001), 1)
    t.equal(percentileOf(upTo(1), 90), 1)
  },
)

t.test('a median is of the middle, or of both', async (t) => {
  t.equal(medianOf(Float64Array.of(1, 2, 9)), 2)
  t.equal(medianOf(Float64Array.of(1, 2, 4, 9)), 3)
  t.equal(medianOf(Float64Array.of(7)), 7)
})

t.test('a sample: all of few, of many the extremes and a part by chance', async (t) => {
  const few = new Sample(20)
  const many = new Sample(2000)
  for (let i = 0; i < 20; i++) few.add(i)
  for (let i = 0; i < 200_000; i++) many.add((i * 7919) % 200_000)
  t.same(
    [...few.values],
    Array.from({ length: 20 }, (_, i) => i),
  )
  const { min, max, median } = summarize(many.values, [])
  t.same([many.seen, many.values.length, min, max], [200_000, 2000, 0, 199_999])
  // one of so many of the standard errors of the rank would be a defect
  t.ok(Math.abs(median / 200_000 - 0.5) < (5 * 0.5) / Math.sqrt(2000), String(median))
})

t.test('a summary', async (t) => {
  // by hand: mean 5, squares of the differences 9, 1, 1, 1, 0, 0, 4, 16, their mean 4
  t.same(summarize(Float64Array.of(9, 2, 4, 4, 5, 4, 5, 7), [75, 90, 99.9]), {
    min: 2,
    max: 9,
    mean: 5,
    median: 4.5,
    cv: 40,
    percentiles: { '75': 5, '90': 9, '99.9': 9 },
  })
  t.equal(summarize(Float64Array.of(0, 0), []).cv, 0, 'of nothing')
})

/**
 * A query whose stages follow each other at once: copy in 1 ms, computation 4, copy out 2, enqueued in half a
 * millisecond.
 */
const query = (begin: number, compute = 4): TraceRow =>
  traceRow({
    enqueueStart: begin - 1,
    enqueueEnd: begin - 0.5,
    copyInStart: begin,
    copyIn: 1,
    computeStart: begin + 1,
    compute,
    copyOutStart: begin + 1 + compute,
    copyOut: 2,
  })

t.test('a trace: queries before the warm-up is over are cut, the others are counted', async (t) => {
  // two streams, each in its own order, as native code hands them over
  const queries = [query(0), query(8), query(20, 6), query(4), query(9.5), query(14, 5)]
  const summary = summarizeTrace(queries, 10, [50])
  t.same(summary.warmUp, { queries: 3, ms: 10 }, 'those that began to compute at 1, 5 and 9')
  t.equal(summary.queries, 3)
  t.same(
    summary.trace.map(({ startH2dMs }) => startH2dMs),
    [9.5, 14, 20],
    'one whose copy in began before, and its computation after, counts',
  )
  // the first copy in begins at 9.5, the last copy out ends at 20 + 1 + 6 + 2
  t.equal(summary.wallMs, 19.5)
  t.equal(summary.throughput, (3 / 19.5) * 1000)
  t.match(summary.latency, { min: 7, max: 9, median: 8, mean: 8, percentiles: { '50': 8 } })
  t.match(summary.compute, { min: 4, max: 6, median: 5 })
  t.equal(summary.compute.cv, (Math.sqrt(2 / 3) / 5) * 100)
  t.match(summary.enqueue, { min: 0.5, max: 0.5, cv: 0 })
  t.match(summary.copyIn, { mean: 1, cv: 0 })
  t.match(summary.copyOut, { mean: 2, cv: 0 })
  t.same(summarizeTrace([query(0), query(5)], 0, []).warmUp, { queries: 0, ms: 0 })
  t.same(summarizeTrace([query(9), query(5)], 6, []).warmUp.queries, 0, 'a computation that begins just then counts')
})

/**
 * NVIDIA's own bounds, from trtexec's public source (NVIDIA/TensorRT, samples/common/sampleReporting.cpp):
 * kENQUEUE_BOUND_REPORTING_THRESHOLD{0.8F} of the median of the computation, exceeded; the median of the computation
 * itself, reached by that of a copy; kUNSTABLE_PERF_REPORTING_THRESHOLD{1.0F} percent, exceeded.
 */
const bounds = { enqueueOfCompute: 0.8, copyOfCompute: 1, unstableCv: 1 }

t.test('what is wrong with the figures is said, at the bounds that trtexec has', async (t) => {
  const of = (median: number, cv = 0) => ({ ...summarize(Float64Array.of(median), []), cv })
  const told = (
    stages: { enqueue?: number; copyIn?: number; copyOut?: number; cv?: number },
    compute = 10,
    streams = 1,
  ) => {
    const { enqueue = 0, copyIn = 0, copyOut = 0, cv } = stages
    const summaries = { enqueue: of(enqueue), copyIn: of(copyIn), compute: of(compute, cv), copyOut: of(copyOut) }
    return warningsOf(summaries, { streams, cudaGraph: false, backend: 'tensorrt' })
  }
  const codes = (...args: Parameters<typeof told>) => told(...args).map(({ code }) => code)
  const [above, below] = [1 + 1e-6, 1 - 1e-6]
  const [enqueue, copy] = [10 * bounds.enqueueOfCompute, 10 * bounds.copyOfCompute]
  t.same(
    codes({ enqueue, copyIn: copy * below, copyOut: copy * below, cv: bounds.unstableCv }),
    [],
    'just within all of them',
  )
  t.same(codes({ enqueue: enqueue * above }), ['enqueue-bound'])
  t.same(codes({ copyIn: copy }), ['copy-in-bound'])
  t.same(codes({ copyOut: copy }), ['copy-out-bound'])
  t.same(codes({ cv: bounds.unstableCv * above }), ['unstable'])
  t.match(told({ cv: 1.93 })[0]?.message, /coefficient of variation is 1\.93 %/)
  t.same(codes({}, 10, 2), ['several-streams'])
  t.same(codes({}, 0), [], 'nothing that took no time is bound by nothing')
  // by hand: of 9.9 and 10.1 the mean is 10, the deviation 0.1, so 1 %; of 9.89 and 10.11 it is 1.1 %
  t.ok(Math.abs(summarize(Float64Array.of(9.9, 10.1), []).cv - 1) < 1e-9)
  t.same(codes({ cv: summarize(Float64Array.of(9.89, 10.11), []).cv }), ['unstable'])
})

t.test("what nobody chose is trtexec's default", async (t) => {
  // its --help: warmUp 200 ms, duration 3 s, iterations 10, infStreams 1, percentile 90,95,99, all others off
  t.match(checkedBenchmarkOptions({}), {
    ...{
      warmUpMs: 200,
      durationMs: 3000,
      iterations: 10,
      streams: 1,
      sleepMs: 0,
      idleMs: 0,
      profile: 0,
      percentiles: [90, 95, 99],
    },
    ...{ depth: 2, threads: false, transfers: true, cudaGraph: false, spinWait: false, layers: false, outputs: false },
  })
})

t.test("exports have trtexec's names", async (t) => {
  const trace = [query(0)]
  t.same(JSON.parse(exportTimes({ trace })), [
    {
      startEnqMs: -1,
      endEnqMs: -0.5,
      startH2dMs: 0,
      endH2dMs: 1,
      startComputeMs: 1,
      endComputeMs: 5,
      startD2hMs: 5,
      endD2hMs: 7,
      h2dMs: 1,
      computeMs: 4,
      d2hMs: 2,
      latencyMs: 7,
    },
  ])
  const layers = madeLayers([{ name: 'conv "1"', averageMs: 3, medianMs: 2.5, timeShare: 1 }], 10, '{"Layers": []}')
  t.same(JSON.parse(exportProfile({ layers })), [
    { count: 10 },
    { name: 'conv "1"', timeMs: 30, averageMs: 3, medianMs: 2.5, percentage: 100 },
  ])
  const outputs = {
    y: new Tensor('float32', Float32Array.of(1.5, NaN, -2, 0.1), [1, 4]),
    n: new Tensor('int64', BigInt64Array.of(2n ** 60n), []),
    h: Tensor.fromFloat32('float16', [0.5, 3]),
  }
  t.same(JSON.parse(exportOutput({ outputs })), [
    { name: 'y', dimensions: '1x4', values: [1.5, null, -2, Math.fround(0.1)] },
    { name: 'n', dimensions: '', values: [2 ** 60] },
    { name: 'h', dimensions: '2', values: [0.5, 3] },
  ])
  t.match(exportOutput({ outputs }), /1152921504606846976/, 'whole numbers as they are')
  t.equal(exportLayerInfo({ layers }), '{"Layers": []}')
  for (const without of [exportLayerInfo, exportProfile, exportOutput])
    t.match(await failureOf(() => without({})), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /that was measured with (layers|outputs): true/,
    })
  for (const write of [exportLayerInfo, exportProfile, exportOutput, exportTimes])
    for (const wrong of [undefined, null, 'times.json', [{ trace }]])
      t.match(await failureOf(() => write(wrong as never)), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /a benchmark for benchmark/,
      })
  t.match(await failureOf(() => exportTimes({} as never)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /an array for the trace/,
  })
})

t.test('random inputs are in their ranges, and the same each time', async (t) => {
  for (const dtype of numberDTypes) {
    const [tensor, again] = [randomTensor({ dtype }, [3, 333], 1), randomTensor({ dtype }, [3, 333], 1)]
    t.same(tensor.data, again.data, dtype)
    if (dtype === 'int4' || dtype === 'float4e2m1') {
      t.equal(Number(tensor.data.at(-1)) < 16, true, 'the half byte that is nobody’s is empty')
      continue
    }
    const numbers = tensor.toFloat32().data
    const [least, most] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))]
    const [low, high] =
      dtype === 'bool' ? [0, 1] : dtype.startsWith('uint') ? [0, 255] : dtype.startsWith('int') ? [-128, 127] : [-1, 1]
    t.ok(least >= low && most <= high && most - least > (high - low) * 0.9, `${dtype}: ${least} to ${most}`)
  }
  const large = randomTensor({ dtype: 'uint8' }, [2, 2 ** 20 + 5], 1)
  t.same(
    (large.data as NodeJS.TypedArray).subarray(0, 100),
    (large.data as NodeJS.TypedArray).subarray(2 ** 20, 2 ** 20 + 100),
    'of a large one the first 2^20 come again',
  )
  t.notSame(randomTensor({ dtype: 'uint8' }, [50], 2).data, large.data.slice(0, 50), 'another seed gives others')
  t.equal(randomTensor({ dtype: 'float32' }, [0, 4], 1).size, 0)
})
