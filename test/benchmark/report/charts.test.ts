import t from 'tap'
import { binsOf, histogram, usualRange } from '../../../lib/benchmark/report/histogram.js'
import { stages, tracksOf } from '../../../lib/benchmark/report/lanes.js'
import { linearScale, logScale, niceStep, pointScale } from '../../../lib/benchmark/report/scale.js'
import { drift, timeline } from '../../../lib/benchmark/report/timeline.js'
import { elementsOf, numbersOf, parsedMarkup } from '../../support/markup.js'
import { syntheticBenchmark, traceOf } from './synthetic.js'

const constant = (ms: number) => () => ms
const steady = { copyIn: constant(1), compute: constant(4), copyOut: constant(2) }

t.test('axes: round steps, ends that are marks, labels with as many decimals as the step has', (t) => {
  t.same([9.3, 10, 0.7, 41, 1e-3].map((span) => niceStep(span, 6)), [2, 2, 0.2, 10, 2e-4]) // prettier-ignore
  const even = linearScale([0, 9.3], [100, 200])
  t.same(even.domain, [0, 10])
  t.same(even.ticks.map(({ label }) => label), ['0', '2', '4', '6', '8', '10']) // prettier-ignore
  t.equal(even.at(5), 150)
  const exact = linearScale([2.61, 2.69], [0, 80], { exact: true, count: 8 })
  t.same(exact.domain, [2.61, 2.69])
  t.same(
    exact.ticks.map(({ label }) => label),
    ['2.61', '2.62', '2.63', '2.64', '2.65', '2.66', '2.67', '2.68', '2.69'],
  )
  t.same(linearScale([3, 3], [0, 1]).ticks.length > 1, true, 'a single value has an axis around it')
  t.same(linearScale([0, 120_000], [0, 1]).ticks.at(-1)?.label, '120,000')
  const ratios = logScale([1.1, 140], [0, 300], { count: 10 })
  t.same(ratios.ticks.map(({ label }) => label), ['1', '2', '5', '10', '20', '50', '100', '200']) // prettier-ignore
  t.ok(Math.abs(ratios.at(Math.sqrt(200)) - 150) < 1e-9, 'the geometric mean is in the middle')
  t.same(
    logScale([0.02, 900], [0, 1]).ticks.map(({ label }) => label),
    ['0.1', '1', '10', '100', '1,000'],
    'fewer where that were many',
  )
  const batches = pointScale([1, 2, 4, 8, 16], [0, 400])
  t.same([1, 2, 4, 8, 16].map((batch) => Math.round(batches.at(batch))), [0, 100, 200, 300, 400]) // prettier-ignore
  t.equal(pointScale([160, 320, 480], [0, 400]).at(320), 200, 'an even scale below a factor of eight')
  t.end()
})

t.test('bins: each value in one, of round edges; far away ones are counted beyond', (t) => {
  const values = [1, 1.004, 1.01, 1.01, 1.2, 1.399, 1.4]
  const { start, width, counts, beyond } = binsOf(values)
  t.same([start, width, beyond], [1, 0.01, 0])
  t.same(counts.slice(0, 2), [2, 2])
  t.same([counts[20], counts[39], counts[40], counts.length], [1, 1, 1, 41])
  const slow = [...Array.from({ length: 398 }, (_, i) => 2 + (i % 10) / 100), 30, 31]
  t.equal(binsOf(slow).beyond, 2)
  t.same(
    usualRange(slow).map((value) => Number(value.toFixed(4))),
    [2, 2.099],
    'a tenth above what 99.5 % do not exceed',
  )
  t.same(usualRange([1, 2, 3, 4]), [1, 4])
  t.match(binsOf([5, 5, 5]), { counts: [3], beyond: 0 }, 'all the same')
  t.end()
})

t.test('histogram: bars as high as their counts, marks at their values', (t) => {
  const values = [10, 10, 10, 11, 12, 12, 14]
  const summary = { min: 10, max: 14, mean: 11.3, median: 11, cv: 1, percentiles: { 90: 14, 99: 14 } }
  const drawing = parsedMarkup(histogram(values, summary))
  const bars = elementsOf(drawing, 'rect', 'bar')
  // 280 high, the plot from 64 to 236: three queries are the top
  const heights = bars.map((bar) => numbersOf(bar, 'height')[0]!)
  t.same(heights, [172, 57.33, 114.67, 57.33])
  t.same(
    bars.map((bar) => elementsOf(bar, 'title')[0]!.textContent),
    [3, 1, 2, 1].map(
      (n, i) =>
        `${['10.00 to 10.10', '11.00 to 11.10', '12.00 to 12.10', '14.00 to 14.10'][i]!} ms: ${n} ${n === 1 ? 'query' : 'queries'}`,
    ),
  )
  // bins of 0.1 from 10 to 14.1 over 64 to 944
  const at = (value: number): number => Math.round((64 + ((value - 10) / 4.1) * 880) * 100) / 100
  const marks = elementsOf(drawing, 'g', 'mark')
  t.same(
    marks.map((mark) => numbersOf(elementsOf(mark, 'line')[0]!, 'x1')[0]),
    [at(11), at(14), at(14)],
  )
  t.same(
    marks.map((mark) => elementsOf(mark, 'text')[0]!.textContent),
    ['median 11.00', '90 % 14.00', '99 % 14.00'],
  )
  const rows = marks.map((mark) => numbersOf(elementsOf(mark, 'text')[0]!, 'y')[0])
  t.same(rows, [16, 16, 32], 'names that would cover one another are in rows')
  t.end()
})

t.test('time line: where each query is, what drifts, what is too slow for the axis', (t) => {
  const trace = traceOf(8, { ...steady, compute: (i) => (i < 4 ? 4 : 7) })
  t.equal(drift(trace), (10 / 7 - 1) * 100)
  t.equal(drift(trace.slice(0, 7)), undefined)
  const drawing = parsedMarkup(timeline(trace))
  const dots = elementsOf(drawing, 'circle', 'dot').map((dot) => numbersOf(dot, 'cx', 'cy'))
  // latencies are 7 and 10; the axis goes from 7 to 10 over 196 to 34
  t.same(dots.map(([, cy]) => cy), [196, 196, 196, 196, 34, 34, 34, 34]) // prettier-ignore
  const last = trace[7]!.startH2dMs
  t.same(
    dots.map(([cx]) => cx),
    trace.map(({ startH2dMs }) => Math.round((64 + (startH2dMs / last) * 880) * 100) / 100),
  )
  const long = traceOf(1000, { ...steady, compute: (i) => (i === 500 ? 90 : 4 + (i % 7) / 100) })
  const crowded = parsedMarkup(timeline(long))
  t.equal(elementsOf(crowded, 'circle', 'dot').length, Math.ceil(1000 / 7))
  t.same(elementsOf(crowded, 'polygon', 'peak').map((peak) => peak.textContent), ['up to 93.00 ms']) // prettier-ignore
  t.end()
})

t.test('stages: boxes where they were, in as few rows as they need', (t) => {
  const spans = [
    [0, 4],
    [1, 2],
    [2, 3],
    [4, 5],
  ].map(([start, end], query) => ({ query, start: start!, end: end! }))
  t.same(tracksOf(spans).map((track) => track.map(({ query }) => query)), [[0, 3], [1, 2]]) // prettier-ignore
  const made = { queries: 5, shapes: { x: [1] } }
  const benchmark = syntheticBenchmark(steady, made)
  const drawing = parsedMarkup(stages(benchmark)!)
  const [begin, end] = [benchmark.trace[0]!.startEnqMs, benchmark.trace[4]!.endD2hMs]
  const at = (ms: number): number => 108 + ((ms - begin) / (end - begin)) * 836
  for (const [style, from, to] of [
    ['copy-in', 'startH2dMs', 'endH2dMs'],
    ['compute', 'startComputeMs', 'endComputeMs'],
    ['copy-out', 'startD2hMs', 'endD2hMs'],
  ] as const) {
    // prettier-ignore
    const boxes = elementsOf(drawing, 'rect', style)
    t.equal(boxes.length, 5, style)
    for (const [i, box] of boxes.entries()) {
      const [x, width] = numbersOf(box, 'x', 'width')
      const row = benchmark.trace[i]!
      t.ok(
        Math.abs(x! - at(row[from])) < 0.01 && Math.abs(x! + width! - at(row[to])) < 0.02,
        `${style} of query ${i + 1}`,
      )
    }
  }
  const still = {
    ...benchmark,
    trace: benchmark.trace.map((row) => ({ ...row, startH2dMs: 0, endH2dMs: 0, startD2hMs: 0, endD2hMs: 0 })),
  }
  t.equal(
    elementsOf(parsedMarkup(stages(still)!), 'rect', 'copy-in').length,
    0,
    'without copies there is no lane for them',
  )
  t.equal(stages({ ...benchmark, trace: [] }), undefined)
  t.end()
})
