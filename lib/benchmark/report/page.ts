import { basename } from 'node:path'
import { checkedArray, checkedText } from '../../base/checks.js'
import { element, joined, type Markup, styleSheet, text } from '../../base/markup.js'
import { readOptions } from '../../base/options.js'
import { expected } from '../../errors.js'
import type { Benchmark } from '../types.js'
import { detailsOf, type Fact, factList, figureList, warningList } from './sections.js'
import { pageStyle } from './style.js'
import { type OtherMeasurement, type ReportSweep, type Sweep, sweepOf, waitOf } from './sweep.js'
import { sweepCharts } from './sweep-chart.js'
import { othersTable, sweepTable } from './tables.js'
import { milliseconds, plural, rate } from './numbers.js'

/** What {@link benchmarkReport} writes beside the figures. */
export interface ReportOptions {
  /** At the head of the page; `Benchmark of` and the name of the model's file unless given. */
  readonly title?: string | undefined
  /**
   * When it was measured, as it is to be told. The report knows no clock of its own, so that the same numbers give the
   * same page.
   */
  readonly date?: string | undefined
  /** What else it ran with, such as `{ driver: '580.65', 'node-tensorrt': '1.0.0' }`. */
  readonly versions?: Readonly<Record<string, string>> | undefined
  /** What a reader should know, a sentence each: what was left out and why. */
  readonly notes?: readonly string[] | undefined
  /** What several benchmarks differ in; found out from their shapes and streams unless given. */
  readonly sweep?: ReportSweep | undefined
  /** What others took for the same, beside ours in the charts of a sweep. */
  readonly others?: readonly OtherMeasurement[] | undefined
}

/**
 * One benchmark, or several that differ in something, as one page of HTML: what it ran on, what was measured and what
 * the words mean, how latencies are spread, how they went over time, how the stages overlap, throughput and latency
 * over what was varied, the layers. Everything is within the page (SVG, no scripts, no network); it is readable in
 * light, in dark and on paper, and well-formed XML after its first line.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function benchmarkReport(benchmarks: Benchmark | readonly Benchmark[], options?: ReportOptions): string {
  const all = checkedBenchmarks(benchmarks)
  const checked = readOptions(
    options,
    ['title', 'date', 'versions', 'notes', 'sweep', 'others'],
    'benchmarkReport',
  ) as ReportOptions
  const title = checked.title === undefined ? defaultTitle(all) : checkedText(checked.title, 'title')
  const sweep = sweepOf(all, checked.sweep)
  const head = element(
    'head',
    {},
    element('meta', { charset: 'utf-8' }),
    element('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
    element('title', {}, text(title)),
    styleSheet(pageStyle),
  )
  const facts = sharedFacts(all)
  const versions = Object.entries(checked.versions ?? {})
  const body = element(
    'main',
    {},
    element('h1', {}, text(title)),
    checked.date === undefined ? undefined : element('p', { class: 'soft' }, text(checked.date)),
    all.length === 1 ? figureList(all[0]!) : undefined,
    factList([...facts, ...versions]),
    (checked.notes ?? []).map((note) => element('p', {}, text(note))),
    sweep === undefined ? undefined : sweepSection(sweep, checked.others ?? []),
    all.length === 1
      ? joined([warningList(all[0]!.warnings), ...detailsOf(all[0]!)])
      : runs(all, sweep, new Set(facts.map(([name]) => name))),
    element(
      'footer',
      {},
      text('Made by node-tensorrt. Percentiles are by nearest rank; queries of the warm-up are not counted.'),
    ),
  )
  return `<!DOCTYPE html>\n${element('html', { lang: 'en' }, head, element('body', {}, body))}\n`
}

function checkedBenchmarks(benchmarks: unknown): readonly Benchmark[] {
  const list = Array.isArray(benchmarks) ? checkedArray(benchmarks, 'benchmarks') : [benchmarks]
  const what = 'a benchmark, or an array of them,'
  if (list.length === 0) throw expected(what, 'benchmarks', benchmarks)
  const wrong = list.find(
    (one) => typeof one !== 'object' || one === null || (one as Partial<Benchmark>).kind !== 'benchmark',
  )
  if (wrong !== undefined || list.includes(undefined)) throw expected(what, 'benchmarks', wrong)
  return list as readonly Benchmark[]
}

function defaultTitle(benchmarks: readonly Benchmark[]): string {
  const models = [...new Set(benchmarks.flatMap(({ model }) => (model === undefined ? [] : basename(model))))]
  return models.length === 0 ? 'Benchmark' : `Benchmark of ${models.join(' and ')}`
}

function sweepSection(sweep: Sweep, others: readonly OtherMeasurement[]): Markup {
  const { isEndToEnd } = waitOf(sweep)
  const measured = isEndToEnd
    ? 'The latency is that of one query at a time, as an application waits for it; thin lines go from its median to its highest percentile.'
    : 'The latency is the sum of a query’s stages; thin lines go from its median to its highest percentile.'
  return element(
    'section',
    {},
    element('h2', {}, text(`Over ${sweep.name}`)),
    element('figure', {}, element('figcaption', {}, text(measured)), sweepCharts(sweep, others)),
    element('div', { class: 'scroll' }, sweepTable(sweep)),
    element('p', { class: 'soft' }, text('Times in ms.')),
    others.length === 0 ? undefined : element('div', { class: 'scroll' }, othersTable(sweep, others)),
  )
}

/** Each run of several, folded: the first is open. On paper all are. */
function runs(benchmarks: readonly Benchmark[], sweep: Sweep | undefined, shared: ReadonlySet<string>): Markup {
  const sections = benchmarks.map((benchmark, i) => {
    const { throughput, latency } = benchmark
    const run = sweep?.runs[i]
    const name =
      run === undefined
        ? (benchmark.model ?? `Run ${i + 1}`)
        : [run.series, `${sweep!.name} ${run.value}`].filter((part) => part !== '').join(', ')
    const summary = `${name}: ${rate(throughput)} queries/s, latency ${milliseconds(latency.median)} ms`
    return element(
      'details',
      { open: i === 0 ? 'open' : undefined },
      element('summary', {}, text(summary)),
      factList(sharedFacts([benchmark]).filter(([fact]) => !shared.has(fact))),
      warningList(benchmark.warnings),
      detailsOf(benchmark),
    )
  })
  return element('section', {}, element('h2', {}, text('Each run')), sections)
}

/** What all of these have in common of what they ran on and were measured with. */
function sharedFacts(benchmarks: readonly Benchmark[]): Fact[] {
  const [first = [], ...others] = benchmarks.map(factsOf)
  return first.filter(([name, words]) =>
    others.every((facts) => facts.some((fact) => fact[0] === name && fact[1] === words)),
  )
}

function factsOf(benchmark: Benchmark): Fact[] {
  const { runtime, device, model, settings, warmUp, queries, wallMs } = benchmark
  return [
    ...(model === undefined ? [] : [['model', model] as const]),
    ['runtime', runtime],
    ['device', deviceText(device)],
    [
      'inputs',
      Object.entries(settings.shapes)
        .map(([name, shape]) => `${name} [${shape.join(', ')}]`)
        .join(', ') || 'none',
    ],
    ['streams', settings.streams === 1 ? '1' : `${settings.streams}${settings.threads ? ', a thread each' : ''}`],
    [
      'measured',
      `${plural(queries, 'query', 'queries')} in ${seconds(wallMs)}, after ${plural(warmUp.queries, 'query', 'queries')} in ${seconds(warmUp.ms)} to warm up`,
    ],
    [
      'asked for',
      `${seconds(settings.durationMs)} and ${plural(settings.iterations, 'query', 'queries')} at least, ${seconds(settings.warmUpMs)} of warm-up`,
    ],
    ['with', mannerOf(benchmark).join(', ')],
  ]
}

const deviceText = ({ index, name }: Benchmark['device']): string =>
  index < 0 ? (name ?? 'CPU') : `${name ?? 'GPU'} (number ${index})`

const seconds = (ms: number): string => `${Number((ms / 1000).toPrecision(3))} s`

/** How queries were put to the device. */
function mannerOf({ backend, settings }: Benchmark): string[] {
  const { transfers, cudaGraph, spinWait, depth, profile, sleepMs, idleMs } = settings
  return [
    transfers ? 'copies of inputs and outputs' : 'no copies',
    depth === 2 ? 'two queries under way in a stream' : 'one query at a time in a stream',
    ...(backend === 'cpu' ? [] : [cudaGraph ? 'a CUDA graph' : 'no CUDA graph']),
    ...(spinWait ? ['busy waiting'] : []),
    ...(profile > 0 ? [`optimization profile ${profile}`] : []),
    ...(sleepMs > 0 ? [`a pause of ${sleepMs} ms before the first`] : []),
    ...(idleMs > 0 ? [`${idleMs} ms of idleness between two`] : []),
  ]
}
