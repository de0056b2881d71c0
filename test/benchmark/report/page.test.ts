import t from 'tap'
import type { Element } from '@xmldom/xmldom'
import { benchmarkReport } from '../../../lib/benchmark/index.js'
import type { Benchmark } from '../../../lib/benchmark/index.js'
import { failureOf } from '../../support/errors.js'
import { elementsOf, numbersOf, parsedMarkup } from '../../support/markup.js'
import { syntheticBenchmark } from './synthetic.js'

const stagesOf = (ms: number) => ({ copyIn: () => ms, compute: () => 4 * ms, copyOut: () => 2 * ms })
const hostile = '<script>alert("1")</script> & \u0000'

const cellsOf = (row: Element): string[] =>
  [...elementsOf(row, 'th'), ...elementsOf(row, 'td')].map(({ textContent }) => textContent ?? '')

/** The cells of a table's rows, its head first. */
function tableOf(page: ReturnType<typeof parsedMarkup>, className: string): string[][] {
  const [table] = elementsOf(page, 'table', className)
  return elementsOf(table!, 'tr').map(cellsOf)
}

t.test('one benchmark: what it ran on, its numbers, all charts, all texts escaped', (t) => {
  const title = hostile.replace('\u0000', '?')
  const layers = Array.from({ length: 42 }, (_, i) => ({
    name: i === 0 ? hostile : `layer ${i}`,
    averageMs: 1,
    medianMs: 1,
    timeShare: i === 0 ? 0.59 : 0.01,
  }))
  const made = {
    queries: 40,
    shapes: { [hostile]: [1, 3, 8, 8] },
    model: hostile,
    layers,
    warnings: [{ code: 'unstable', message: hostile }] as const,
  }
  const benchmark = syntheticBenchmark(stagesOf(1), made)
  const html = benchmarkReport(benchmark, {
    title,
    date: '2026-11-23',
    versions: { driver: hostile },
    notes: [hostile],
  })
  t.equal(
    html,
    benchmarkReport([benchmark], { title, date: '2026-11-23', versions: { driver: hostile }, notes: [hostile] }),
    'the same each time',
  )
  t.notMatch(
    html.replaceAll('http://www.w3.org/2000/svg', ''),
    /<script|https?:|<link|<img|@import|url\(/,
    'no network, no scripts',
  )
  const page = parsedMarkup(html)
  t.equal(elementsOf(page, 'h1')[0]!.textContent, title)
  t.equal(elementsOf(page, 'svg', 'chart').length, 3)
  const [head, ...rows] = tableOf(page, 'times')
  t.same(head, ['ms', 'min', 'mean', 'median', '90 %', '95 %', '99 %', 'max', 'CV'])
  const measured = {
    Latency: 7,
    'Copy in': 1,
    Compute: 4,
    'Copy out': 2,
    Enqueue: 0.05,
    'End to end': 7.08,
    'infer()': 7.101,
  }
  t.equal(rows.length, 7)
  for (const [i, [name, median]] of Object.entries(measured).entries()) {
    t.ok(rows[i]![0]!.startsWith(name), name)
    t.equal(rows[i]![3], median.toFixed(3), name)
  }
  const figures = elementsOf(page, 'dl', 'figures')[0]!.textContent
  t.match(figures, /7\.000 ms.*7\.080 ms.*\+0\.021 ms/)
  const listed = tableOf(page, 'layers')
  t.equal(listed.length, 1 + 40 + 1, 'a head, forty layers, the others')
  t.same(listed[1], [title, '1.000', '1.000', '59.0 %', ''])
  t.same(listed.at(-1), ['2 other layers', '2.000', '', '2.0 %', ''])
  const bars = elementsOf(elementsOf(page, 'table', 'layers')[0]!, 'rect').map((bar) => numbersOf(bar, 'width')[0])
  t.same(bars.slice(0, 2), [100, 1.69], 'the longest bar is the slowest layer')
  t.equal(elementsOf(page, 'ul', 'warnings').length, 1)
  t.end()
})

t.test('on the CPU, without copies: what there is not is not told', (t) => {
  const benchmark = syntheticBenchmark(
    { ...stagesOf(1), copyIn: () => 0, copyOut: () => 0 },
    { queries: 10, shapes: {} },
  )
  const zero = { ...benchmark.enqueue, max: 0 }
  const { endToEnd, javascript, ...rest } = benchmark
  const plain: Benchmark = {
    ...rest,
    backend: 'cpu',
    device: { index: -1 },
    enqueue: zero,
    settings: { ...rest.settings, transfers: false },
  }
  t.ok(endToEnd && javascript)
  const page = parsedMarkup(benchmarkReport(plain))
  t.equal(elementsOf(page, 'h1')[0]!.textContent, 'Benchmark')
  t.same(tableOf(page, 'times').slice(1).map(([name]) => name!.slice(0, 7)), ['Latency', 'Compute']) // prettier-ignore
  t.match(elementsOf(page, 'dl', 'facts')[0]!.textContent, /deviceCPU.*no copies/)
  t.match(
    parsedMarkup(benchmarkReport({ ...plain, trace: [] })).documentElement?.textContent,
    /Latency/,
    'nor what has no queries',
  )
  t.end()
})

t.test('a sweep over batch sizes is found, and drawn', (t) => {
  const batches = [1, 2, 4, 8]
  const runs = batches.map((batch) =>
    syntheticBenchmark(stagesOf(batch), {
      queries: 10,
      shapes: { images: [batch, 3, 4, 4], sizes: [batch, 2] },
      model: 'm.onnx',
    }),
  )
  const page = parsedMarkup(benchmarkReport(runs))
  const [head, ...rows] = tableOf(page, 'sweep')
  t.same(head!.slice(0, 3), ['batch size', 'queries/s', 'items/s'])
  t.same(rows.map(([batch]) => batch), ['1', '2', '4', '8']) // prettier-ignore
  t.same(rows.map((row) => row[3]), ['7.000', '14.00', '28.00', '56.00'], 'latencies') // prettier-ignore
  const [throughput, latency] = elementsOf(elementsOf(page, 'div', 'pair')[0]!, 'svg')
  // batch sizes lie at equal distances from 72 to 440
  const points = elementsOf(latency!, 'circle', 'point').map((point) => numbersOf(point, 'cx', 'cy'))
  t.same(points.map(([cx]) => cx), [72, 194.67, 317.33, 440]) // prettier-ignore
  // end to end: 7.08 to 56.08 ms on an axis from 0 to 60 over 256 to 34
  t.same(
    points.map(([, cy]) => cy),
    [7.08, 14.08, 28.08, 56.08].map((ms) => Math.round((256 - (ms / 60) * 222) * 100) / 100),
  )
  t.match(throughput!.getAttribute('aria-label'), /^items per second/)
  t.equal(elementsOf(page, 'details').length, 4)
  t.equal(elementsOf(page, 'details').filter((run) => run.hasAttribute('open')).length, 1)
  t.match(elementsOf(page, 'summary')[3]!.textContent, /^batch size 8: /)
  t.match(elementsOf(page, 'dl', 'facts')[0]!.textContent, /modelm\.onnx/, 'what all have in common is told once')
  t.end()
})

t.test('other sweeps: streams, one side of the input, several series, what was measured by others', (t) => {
  const run = (shape: number[], streams: number, model: string) =>
    syntheticBenchmark(stagesOf(shape.at(-1)!), { queries: 4, shapes: { x: shape }, streams, model })
  const titleOf = (runs: Benchmark[]): string =>
    elementsOf(parsedMarkup(benchmarkReport(runs)), 'h2')
      .map(({ textContent }) => textContent)
      .join('; ')
  t.equal(titleOf([run([1, 4], 1, 'm'), run([1, 4], 4, 'm')]), 'Over streams; Each run')
  t.equal(titleOf([run([1, 160, 160], 1, 'm'), run([1, 320, 320], 1, 'm')]), 'Over input size; Each run')
  t.equal(titleOf([run([1, 160, 160], 1, 'm'), run([1, 320, 200], 1, 'm')]), 'Each run', 'two things differ: no axis')
  t.equal(titleOf([run([1, 4], 1, 'a'), run([1, 4], 1, 'b')]), 'Each run')
  const sides = [160, 320]
  const runs = ['fp32', 'fp16'].flatMap((model) => sides.map((side) => run([1, side, side], 1, model)))
  const found = parsedMarkup(benchmarkReport(runs))
  t.same(
    elementsOf(found, 'li').map(({ textContent }) => textContent),
    ['fp32', 'fp16'],
    'series by what else they differ in',
  )
  const both = [1, 2].flatMap((batch) => [1, 2].map((streams) => run([batch, 4], streams, 'm')))
  t.same(
    elementsOf(parsedMarkup(benchmarkReport(both)), 'li').map(({ textContent }) => textContent),
    ['1 stream', '2 streams'],
  )
  const sweep = { name: 'side', unit: 'pixels', values: [...sides, ...sides], series: ['FP32', 'FP32', 'FP16', 'FP16'] }
  const others = sides.map((value) => ({ series: 'torch', value, medianMs: value, percentiles: { 99: 2 * value } }))
  const page = parsedMarkup(benchmarkReport(runs, { sweep, others }))
  t.same(elementsOf(page, 'li').map(({ textContent }) => textContent), ['FP32', 'FP16', 'torch']) // prettier-ignore
  const [throughput, latency] = elementsOf(elementsOf(page, 'div', 'pair')[0]!, 'svg')
  t.same(
    [throughput!, latency!].map((drawing) => elementsOf(drawing, 'polyline', 'line').length),
    [2, 3],
    'what others did has no throughput',
  )
  const [, second] = elementsOf(page, 'table', 'sweep')
  t.same(
    elementsOf(second!, 'tr')
      .slice(1)
      .map((row) => cellsOf(row).join(' ')),
    ['160 torch 160.0 320.0 (99 %)', '320 torch 320.0 640.0 (99 %)'],
  )
  t.end()
})

t.test('what is no benchmark is refused', async (t) => {
  const one = syntheticBenchmark(stagesOf(1), { queries: 4, shapes: {} })
  for (const wrong of [undefined, [], [undefined], {}, [one, { kind: 'engine' }], 'x'])
    t.match(await failureOf(() => benchmarkReport(wrong as any)), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /^Expected a benchmark/,
    })
  const sweep = { name: 'side', values: [1, 2] }
  t.match(await failureOf(() => benchmarkReport([one], { sweep })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /sweep\.values.*2/,
  })
  t.match(await failureOf(() => benchmarkReport([one], { colour: 'red' } as any)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await failureOf(() => benchmarkReport([one], { title: 7 } as any)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
})
